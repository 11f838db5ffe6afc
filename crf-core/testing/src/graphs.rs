//! Random graphs, and all questions about them at once.

use crf_core::{
    Beliefs, EdgeBeliefs, Error, Graph, Inference, Label, LogZ, OwnedPotentials, Plugin, Potentials, Scratch,
    oracle,
};
use proptest::prelude::*;

use crate::close;

/// Every inference that answers graphs, with the named settings changed where it has them.
///
/// They come from the registry of plugins, so that new plugins are tested without being named.
pub fn for_graphs(settings: &[(&str, u32)]) -> Vec<Box<dyn Inference>> {
    let triangle = OwnedPotentials::graph(
        Graph::bare(vec![1; 3], [(0, 1), (1, 2), (2, 0)]).expect("a graph"),
        vec![0.0; 3],
        &[vec![0.0]],
        vec![0; 3],
    );
    let triangle = triangle.expect("potentials");
    let plugins = Plugin::all().into_iter().filter(|plugin| plugin.kind == "inference");
    let all = plugins.map(|plugin| {
        let usual: Box<dyn Inference> =
            serde_json::from_value(serde_json::json!({ "type": plugin.tag })).expect("it has defaults");
        let mut config = serde_json::to_value(&usual).expect("JSON");
        for &(key, value) in settings {
            if let Some(setting) = config.get_mut(key) {
                *setting = value.into();
            }
        }
        serde_json::from_value::<Box<dyn Inference>>(config).expect("its own settings")
    });
    let all: Vec<_> = all.filter(|with| with.supports(&triangle.shape()).is_ok()).collect();
    assert!(!all.is_empty());
    all
}

/// Distribution of the potentials of a graph.
#[derive(Debug, Clone, Copy)]
pub struct PotentialRange {
    /// Bound on the absolute value of node potentials.
    pub node: f64,
    /// Bound on the absolute value of table entries.
    pub edge: f64,
    /// True if some potentials are −∞.
    pub holes: bool,
}

/// Potentials on which every algorithm is accurate.
pub const MODERATE: PotentialRange = PotentialRange { node: 2.0, edge: 1.0, holes: false };
/// Moderate potentials of which some are −∞.
pub const HOLES: PotentialRange = PotentialRange { node: 2.0, edge: 2.0, holes: true };
/// Edges that outweigh nodes.
pub const STRONG: PotentialRange = PotentialRange { node: 5.0, edge: 50.0, holes: false };
/// Strong potentials of which some are −∞.
pub const STRONG_HOLES: PotentialRange = PotentialRange { node: 50.0, edge: 50.0, holes: true };
/// Potentials whose exponentials overflow.
pub const HUGE: PotentialRange = PotentialRange { node: 1e4, edge: 1e4, holes: true };

/// Form of a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GraphForm {
    /// Trees and isolated nodes.
    Forest,
    /// One cycle.
    Cycle,
    /// Grid of two or three columns.
    Grid,
    /// Any edges, parallel ones included.
    Any,
}

/// Strategy of all forms.
pub fn any_form() -> impl Strategy<Value = GraphForm> + Clone {
    prop_oneof![Just(GraphForm::Forest), Just(GraphForm::Cycle), Just(GraphForm::Grid), Just(GraphForm::Any)]
}

/// Strategy of graphs of up to ten nodes with one to four labels each: few enough labellings to
/// list them.
pub fn graphs(
    forms: impl Strategy<Value = GraphForm>,
    draw: PotentialRange,
) -> impl Strategy<Value = OwnedPotentials> {
    let cards = proptest::collection::vec(
        prop_oneof![1 => Just(1_u32), 6 => Just(2), 2 => Just(3), 1 => Just(4)],
        1..=10,
    );
    let wishes = proptest::collection::vec((0..100_u32, 0..100_u32, any::<bool>()), 14);
    (forms, cards, wishes, any::<bool>()).prop_flat_map(move |(form, mut cards, wishes, share)| {
        while cards.iter().map(|&card| f64::from(card)).product::<f64>() > 3000.0 {
            let largest = cards.iter().max().copied().unwrap_or(1);
            let at = cards.iter().position(|&card| card == largest).unwrap_or(0);
            cards[at] -= 1;
        }
        let edges = edges(form, cards.len() as u32, &wishes);
        let size = |&(u, v): &(u32, u32)| (cards[u as usize] * cards[v as usize]) as usize;
        let sizes: Vec<usize> = edges.iter().map(size).collect();
        let number = |range: f64| {
            let hole = if draw.holes { 1 } else { 0 };
            prop_oneof![6 => -range..range, hole => Just(f64::NEG_INFINITY)]
        };
        let node = proptest::collection::vec(number(draw.node), cards.iter().sum::<u32>() as usize);
        let tables: Vec<_> =
            sizes.iter().map(|&size| proptest::collection::vec(number(draw.edge), size)).collect();
        (node, tables).prop_map(move |(node, tables)| {
            let first_alike = |e: usize| sizes.iter().position(|&size| size == sizes[e]).unwrap_or(e);
            let of_edge = (0..edges.len()).map(|e| if share { first_alike(e) } else { e } as u32).collect();
            let graph = Graph::bare(cards.clone(), edges.iter().copied()).expect("a graph");
            OwnedPotentials::graph(graph, node, &tables, of_edge).expect("potentials")
        })
    })
}

fn edges(form: GraphForm, n: u32, wishes: &[(u32, u32, bool)]) -> Vec<(u32, u32)> {
    let mut edges: Vec<(u32, u32)> = match form {
        GraphForm::Forest => {
            (1..n).filter(|&v| wishes[v as usize].1 > 10).map(|v| (wishes[v as usize].0 % v, v)).collect()
        }
        GraphForm::Cycle => (0..n).map(|u| (u, (u + 1) % n)).collect(),
        GraphForm::Grid => {
            let width = 2 + wishes[0].0 % 2;
            let right = (0..n).filter(|u| u % width + 1 < width && u + 1 < n).map(|u| (u, u + 1));
            right.chain((0..n).filter(|u| u + width < n).map(|u| (u, u + width))).collect()
        }
        GraphForm::Any => wishes.iter().map(|&(u, v, _)| (u % n, v % n)).collect(),
    };
    edges.retain(|(u, v)| u != v);
    let turned =
        edges.iter().zip(wishes.iter().cycle()).map(|(&(u, v), wish)| if wish.2 { (v, u) } else { (u, v) });
    turned.collect()
}

/// Answers about a graph: node marginals, edge marginals, and log Z.
#[derive(Debug)]
pub struct Answers {
    /// Node marginals.
    pub node: Vec<f64>,
    /// Edge marginals, edge by edge.
    pub each: Vec<f64>,
    /// Log normaliser, with its quality.
    pub log_z: LogZ,
}

/// Asks for all answers; `None` if the instance is infeasible. Sums per table must agree with the
/// edges.
pub fn ask(with: &dyn Inference, x: &mut OwnedPotentials) -> Option<Answers> {
    with.check().expect("good settings");
    let p = x.view();
    let shape = p.shape();
    with.supports(&shape).expect("any small graph");
    let (mut node, mut each) = (vec![7.0; p.node().len()], vec![7.0; shape.edge_offset(shape.n_edges())]);
    let mut sums = vec![1.0; p.tables().values.len()];
    let mut scratch = Scratch::new();
    let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::PerTable { sums: &mut sums, weight: 2.0 } };
    let first = with.infer(&p, &mut out, &mut scratch);
    let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::PerEdge(&mut each) };
    let second = with.infer(&p, &mut out, &mut scratch);
    match (first, second) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second, "the same answer twice");
            let mut want = vec![1.0; sums.len()];
            for e in 0..shape.n_edges() {
                let at = p.tables().starts[p.tables().of_edge.table(e)];
                let beliefs = &each[shape.edge_offset(e)..shape.edge_offset(e + 1)];
                want[at..].iter_mut().zip(beliefs).for_each(|(want, belief)| *want += 2.0 * belief);
            }
            assert!(sums.iter().zip(&want).all(|(sum, want)| close(*sum, *want)), "{sums:?} {want:?}");
            assert!(node.iter().chain(&each).all(|x| (0.0..=1.0 + 1e-9).contains(x)), "{node:?} {each:?}");
            for n in 0..shape.n_nodes() {
                let total: f64 = node[shape.node_offset(n)..shape.node_offset(n + 1)].iter().sum();
                assert!((total - 1.0).abs() < 1e-9, "node {n} sums to {total}");
            }
            for e in 0..shape.n_edges() {
                let total: f64 = each[shape.edge_offset(e)..shape.edge_offset(e + 1)].iter().sum();
                assert!((total - 1.0).abs() < 1e-9, "edge {e} sums to {total}");
            }
            assert!(first.value.is_finite() && !first.convergence.residual.is_nan(), "{first:?}");
            Some(Answers { node, each, log_z: first })
        }
        (Err(Error::Infeasible(_)), Err(Error::Infeasible(_))) => {
            assert!(sums.iter().all(|&sum| sum == 1.0), "an infeasible graph adds nothing");
            None
        }
        other => panic!("{other:?}"),
    }
}

/// Largest difference between the sums of edge marginals and the node marginals at both ends.
pub fn inconsistency(x: &OwnedPotentials, answers: &Answers) -> f64 {
    let shape = x.shape();
    let mut worst: f64 = 0.0;
    for e in 0..shape.n_edges() {
        let (u, v) = shape.ends(e);
        let pair = |i: usize, j: usize| answers.each[shape.edge_offset(e) + i * shape.card(v) + j];
        for i in 0..shape.card(u) {
            let sum: f64 = (0..shape.card(v)).map(|j| pair(i, j)).sum();
            worst = worst.max((sum - answers.node[shape.node_offset(u) + i]).abs());
        }
        for j in 0..shape.card(v) {
            let sum: f64 = (0..shape.card(u)).map(|i| pair(i, j)).sum();
            worst = worst.max((sum - answers.node[shape.node_offset(v) + j]).abs());
        }
    }
    worst
}

/// Largest difference between two lists of probabilities.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Square grid, row by row: all edges to the right, then all edges down.
pub fn grid(side: u32, labels: u32) -> Graph {
    let right = (0..side * side).filter(|u| u % side + 1 < side).map(|u| (u, u + 1));
    let down = (0..side * (side - 1)).map(|u| (u, u + side));
    Graph::bare(vec![labels; (side * side) as usize], right.chain(down)).expect("a grid")
}

/// Pearson's chi-square statistic of draws over all labellings.
pub fn chi_square(p: &Potentials<'_>, draws: &[Vec<Label>]) -> f64 {
    let (log_z, mut chi_square) = (oracle::log_z(p), 0.0);
    for y in oracle::all_labellings(p) {
        let expected = draws.len() as f64 * (y.score - log_z).exp();
        let seen = draws.iter().filter(|draw| **draw == y.labels).count() as f64;
        if expected == 0.0 {
            assert_eq!(seen, 0.0, "impossible labelling {:?} was drawn", y.labels);
        } else {
            chi_square += (seen - expected).powi(2) / expected;
        }
    }
    chi_square
}
