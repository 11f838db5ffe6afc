//! Small datasets: by hand, and random ones that reach every case of shared edge tables.

use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Edge, Features, FittedFeatures, Graph, Label,
    NodeKind, Relation, Rng, Schema, Seed, Value,
};
use rand::RngExt as _;

/// Channel of real numbers.
pub fn real(name: &str) -> Channel {
    Channel { name: name.into(), kind: ChannelKind::Real }
}

/// Channel of symbols.
pub fn symbolic(name: &str, symbols: &[&str]) -> Channel {
    Channel { name: name.into(), kind: ChannelKind::Symbol(Alphabet::new(symbols.iter().copied())) }
}

/// Unlabelled chains with the real channel `x` and the symbolic channel `c` (a, b, c).
pub fn chains(sequences: &[&[(f64, u32)]]) -> Dataset {
    let schema = Schema::chain(vec![real("x"), symbolic("c", &["a", "b", "c"])], Alphabet::new(["n", "y"]));
    let mut data = DatasetBuilder::new(Arc::new(schema.unwrap()));
    for sequence in sequences {
        for &(x, c) in *sequence {
            data.push(&[Value::Real(x), Value::Symbol(c)], None).unwrap();
        }
        data.end_chain().unwrap();
    }
    data.finish()
}

/// Chains without channels, whose positions have the given labels, one word each; `?` is an unknown
/// label.
pub fn labelled(labels: &[&str], sequences: &[&str]) -> Dataset {
    let schema = Schema::chain(vec![], Alphabet::new(labels.iter().copied())).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(schema.clone()));
    for sequence in sequences {
        for name in sequence.split_whitespace() {
            data.push(&[], (name != "?").then(|| schema.label(0, name).unwrap())).unwrap();
        }
        data.end_chain().unwrap();
    }
    data.finish()
}

/// Schema of two kinds of node, `a` with two labels and `b` with three, and a relation each way
/// between them.
pub fn two_kinds(channels: Vec<Channel>) -> Schema {
    let kind = |name: &str, labels: &[&str]| NodeKind {
        name: name.into(),
        labels: Alphabet::new(labels.iter().copied()),
    };
    let relation = |name: &str, tail, head| Relation { name: name.into(), tail, head };
    let kinds = vec![kind("a", &["a0", "a1"]), kind("b", &["b0", "b1", "b2"])];
    Schema::graph(channels, kinds, vec![relation("ab", 0, 1), relation("ba", 1, 0)]).unwrap()
}

/// Feature list as a config writes it.
pub fn features(list: &str) -> Features {
    #[derive(serde::Deserialize)]
    struct Config {
        features: Features,
    }
    toml::from_str::<Config>(&format!("features = {list}")).unwrap().features
}

/// Sharing of edge tables in an encoded dataset, which decides the code path of a scorer.
#[derive(Debug, Clone, Copy)]
pub enum Sharing {
    /// One table for all edges.
    One,
    /// One table for each of a few distinct rows.
    Few,
    /// More than 64 distinct rows, so that each sequence computes its own tables.
    Own,
}

/// Up to four small random instances; [`Sharing::Own`] adds a long one.
pub fn random_corpus(seed: u64, graphs: bool, sharing: Sharing) -> (Arc<Dataset>, FittedFeatures) {
    let mut rng = Seed::new(seed).child("corpus").rng();
    let channels = vec![real("x"), symbolic("c", &["a", "b", "c"])];
    let schema = Arc::new(match graphs {
        true => two_kinds(channels),
        false => Schema::chain(channels, Alphabet::new(["u", "v", "w"])).unwrap(),
    });
    let mut lengths: Vec<usize> = (0..rng.random_range(1..=4)).map(|_| rng.random_range(0..=4)).collect();
    if let Sharing::Own = sharing {
        lengths.push(90);
    }
    let mut data = DatasetBuilder::new(schema.clone());
    for length in lengths {
        for _ in 0..length {
            // Zeros, ones and a symbol outside of the alphabet must not be special.
            let x = match rng.random_range(0..4) {
                0 if length <= 4 => 0.0,
                1 if length <= 4 => 1.0,
                _ => rng.random_range(-1.0..1.0),
            };
            data.push(&[Value::Real(x), Value::Symbol(rng.random_range(0..4))], None).unwrap();
        }
        match graphs {
            true => data.end_graph(random_graph(&schema, length, &mut rng)).unwrap(),
            false => data.end_chain().unwrap(),
        }
        data.weigh_last(rng.random_range(0.5..2.0)).unwrap();
    }
    let edge = match sharing {
        Sharing::One => "",
        Sharing::Few => r#", { transition = "equals" }"#,
        Sharing::Own => r#", { transition = "value" }, { transition = "equals" }"#,
    };
    let by_owner = match graphs {
        true => r#", { state = "equals", kind = "b" }, { transition = "one", relation = "ba" }"#,
        false => "",
    };
    let list = format!(
        r#"["intercept", "transition", "start", {{ state = "value" }}, {{ state = "equals" }}{edge}{by_owner}]"#
    );
    let data = Arc::new(data.finish());
    let fitted = features(&list).fit(&data).unwrap();
    (data, fitted)
}

/// Random graph: nodes of alternating kinds, a path through them, and two random edges that may be
/// parallel to others.
fn random_graph(schema: &Schema, length: usize, rng: &mut Rng) -> Graph {
    let first = rng.random_range(0..2);
    let kinds: Vec<u16> = (0..length).map(|n| (first + n as u16) % 2).collect();
    let mut edges: Vec<Edge> = Vec::new();
    let mut join = |u: usize, v: usize| {
        if kinds[u] != kinds[v] {
            edges.push(Edge { u: u as u32, v: v as u32, relation: kinds[u] });
        }
    };
    (1..length).for_each(|n| join(n - 1, n));
    if length > 0 {
        (0..2).for_each(|_| join(rng.random_range(0..length), rng.random_range(0..length)));
    }
    Graph::new(schema, kinds, edges).unwrap()
}

/// Draws `n` random weights.
pub fn random_weights(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = Seed::new(seed).child("weights").rng();
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Random labelling of instance `i`.
pub fn random_labels(seed: u64, data: &Dataset, i: usize) -> Vec<Label> {
    let mut rng = Seed::new(seed).child("labels").child(&i.to_string()).rng();
    let shape = data.shape(i);
    (0..shape.n_nodes()).map(|n| rng.random_range(0..shape.card(n) as Label)).collect()
}
