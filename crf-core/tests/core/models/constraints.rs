//! Constrained potentials against the labellings that obey the constraints.
use crf_core::{
    Alphabet, Constrained, ConstrainedTables, Constraints, DatasetBuilder, Edge, Error, Forbidden, Graph,
    LogLinear, Model as _, NodeKind, OwnedPotentials, Relation, Schema, Scratch, Seed, TableVersion, Value,
    oracle,
};
use crf_testing::cases;
use crf_testing::datasets::{Sharing, features, labelled, random_corpus, random_weights, symbolic};
use proptest::prelude::*;

const CHUNKS: [&str; 5] = ["O", "B-X", "I-X", "B-Y", "I-Y"];

fn constraints(toml: &str) -> Result<Constraints, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct Config {
        constraints: Constraints,
    }
    toml::from_str(&format!("constraints = {toml}")).map(|config: Config| config.constraints)
}

fn schema(labels: &[&str]) -> Schema {
    (**labelled(labels, &[]).schema()).clone()
}

/// True if conlleval would find the labels well formed: every I continues a chunk of its type.
fn well_formed(labels: &[u32]) -> bool {
    let kind = |label: u32| CHUNKS[label as usize].split_once('-').map(|(_, kind)| kind);
    let mut before = None;
    labels.iter().all(|&label| {
        let fine = !CHUNKS[label as usize].starts_with('I') || before == kind(label);
        before = kind(label);
        fine
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn exactly_the_well_formed_labellings_stay_possible(seed in any::<u64>(), len in 1..5_usize, shared: bool) {
        let n = CHUNKS.len();
        let mut p = OwnedPotentials::random(len, n, 2.0, &Seed::new(seed));
        if !shared {
            let twice = [p.tables.clone(), p.tables.iter().map(|x| x + 0.5).collect()].concat();
            let of_edge = (1..len as u32).map(|e| e % 2).collect();
            p = OwnedPotentials::chain(len, n, p.node.clone(), twice, of_edge);
        }
        let free: Vec<_> = oracle::all_labellings(&p.view());
        let forbidden = constraints("\"bio\"").unwrap().resolve(&schema(&CHUNKS)).unwrap();
        let mut memory = ConstrainedTables::default();
        // The memory serves one set of potentials after another.
        for _ in 0..2 {
            let view = p.view();
            let bound = forbidden.apply(view, &mut memory).unwrap();
            for (free, bound) in free.iter().zip(oracle::all_labellings(&bound)) {
                let want = if well_formed(&free.labels) { free.score } else { f64::NEG_INFINITY };
                prop_assert_eq!(bound.score, want, "{:?}", free.labels);
            }
        }
    }

    #[test]
    fn a_constrained_model_has_the_inner_models_scores_or_none(seed in any::<u64>(), own: bool) {
        let sharing = if own { Sharing::Own } else { Sharing::Few };
        let (data, fitted) = random_corpus(seed, false, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = std::sync::Arc::new(fitted.map(&x).unwrap());
        let w = random_weights(seed, map.len());
        let names: Vec<String> = data.schema().labels().names().iter().map(str::to_owned).collect();
        let rules = Constraints { forbid: vec![(names[0].clone(), names[0].clone())], ..Constraints::default() };
        let forbidden = rules.resolve(data.schema()).unwrap();
        let plain = LogLinear::new(map, w).unwrap();
        let constrained = Constrained::new(Box::new(plain.clone()), forbidden);
        let (plain, constrained) = (plain.bind(&x).unwrap(), constrained.bind(&x).unwrap());
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        for i in (0..x.len()).filter(|&i| x.data().shape(i).n_nodes() <= 6) {
            let (p, q) = (plain.fill(i, &mut one).unwrap(), constrained.fill(i, &mut other).unwrap());
            for (free, bound) in oracle::all_labellings(&p).iter().zip(oracle::all_labellings(&q)) {
                let broken = free.labels.windows(2).any(|pair| pair == [0, 0]);
                prop_assert_eq!(bound.score, if broken { f64::NEG_INFINITY } else { free.score });
            }
        }
    }
}

/// Labels of one kind, and edges of two relations among them.
fn two_relations(labels: &[&str]) -> Schema {
    let kinds = vec![NodeKind { name: "label".into(), labels: Alphabet::new(labels.iter().copied()) }];
    let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
    Schema::graph(vec![], kinds, vec![relation("next"), relation("same")]).unwrap()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn constraints_hold_for_the_edges_of_a_graph_not_for_its_positions(
        labels in prop::collection::vec(prop::option::weighted(0.9, 0..3_u32), 1..7),
        wishes in prop::collection::vec((0..7_u32, 0..7_u32, 0..2_u16), 0..8),
        apart: bool,
    ) {
        let n = labels.len() as u32;
        let edges = wishes.iter().map(|&(u, v, relation)| Edge { u: u % n, v: v % n, relation });
        let mut edges: Vec<Edge> = edges.filter(|edge| edge.u != edge.v).collect();
        edges.sort_by_key(|edge| edge.relation);
        let schema = std::sync::Arc::new(two_relations(&["O", "B-X", "I-X"]));
        let forbidden = constraints("\"bio\"").unwrap().resolve(&schema).unwrap();
        let graph = Graph::new(&schema, vec![0; labels.len()], edges.clone()).unwrap();
        let mut data = DatasetBuilder::new(schema);
        labels.iter().for_each(|&label| data.push(&[], label).unwrap());
        data.end_graph(graph.clone()).unwrap();
        // One table for each relation, or one for each edge.
        let number = |e: usize| if apart { e as u32 } else { u32::from(edges[e].relation) };
        let of_edge: Vec<u32> = (0..edges.len()).map(number).collect();
        let tables = vec![[0.0; 9]; edges.len().max(2)];
        let of_edge = if edges.is_empty() { vec![] } else { of_edge };
        let mut p = OwnedPotentials::graph(graph, vec![0.0; 3 * labels.len()], &tables, of_edge).unwrap();
        let mut memory = ConstrainedTables::default();
        let view = p.view();
        let p = forbidden.apply(view, &mut memory).unwrap();
        // Unknown labels at an end may be what is allowed there; `check` looks at known ones alone.
        let breaks = |n: usize, y: u32| p.node()[3 * n + y as usize] == f64::NEG_INFINITY;
        let at_ends = labels.iter().enumerate().any(|(n, y)| y.is_some_and(|y| breaks(n, y)));
        let on_edges = (0..edges.len()).any(|e| {
            let (u, v) = p.shape().ends(e);
            let pair = labels[u].zip(labels[v]);
            pair.is_some_and(|(before, now)| p.tables().of(e)[(3 * before + now) as usize] == f64::NEG_INFINITY)
        });
        let checked = forbidden.check(&data.finish());
        prop_assert_eq!(checked.is_err(), at_ends || on_edges, "{:?}", checked);
        if let Some(labels) = labels.iter().copied().collect::<Option<Vec<u32>>>() {
            prop_assert_eq!(checked.is_ok(), p.score(&labels) > f64::NEG_INFINITY);
        }
    }
}

/// Versions of the tables of all sequences, without and with constraints.
fn versions(rules: &Constraints) -> [Vec<TableVersion>; 2] {
    // Forty distinct rows of edges, so that each table is first used somewhere else.
    let symbols: Vec<String> = (0..40).map(|k| format!("s{k}")).collect();
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let schema = Schema::chain(vec![symbolic("c", &names)], Alphabet::new(["u", "v"])).unwrap();
    let mut data = DatasetBuilder::new(schema.into());
    for k in 0..80 {
        (0..3).for_each(|t| data.push(&[Value::Symbol((k + t) % 40)], Some(t % 2)).unwrap());
        data.end_chain().unwrap();
    }
    let data = std::sync::Arc::new(data.finish());
    let fitted = features(r#"["intercept", { transition = "equals" }]"#).fit(&data).unwrap();
    let x = fitted.encode(data.clone()).unwrap();
    let map = std::sync::Arc::new(fitted.map(&x).unwrap());
    assert_eq!(x.edge_rows().len(), 40);
    let plain = LogLinear::new(map.clone(), vec![0.5; map.len()]).unwrap();
    let forbidden = rules.resolve(data.schema()).unwrap();
    let plain = plain.bind(&x).unwrap();
    let (mut memory, mut scratch) = (ConstrainedTables::default(), Scratch::new());
    let mut seen = [Vec::new(), Vec::new()];
    for i in 0..x.len() {
        let p = plain.fill(i, &mut scratch).unwrap();
        seen[0].push(p.tables().version);
        seen[1].push(forbidden.apply(p, &mut memory).unwrap().tables().version);
    }
    seen
}

#[test]
fn constraints_change_the_tables_once_for_all_sequences() {
    let forbid = vec![("u".to_owned(), "u".to_owned())];
    let [plain, bound] = versions(&Constraints { forbid, ..Constraints::default() });
    assert!(plain.iter().all(|&version| version == plain[0] && !version.may_forbid()));
    assert!(bound.iter().all(|&version| version == bound[0] && version.may_forbid()));
    assert_ne!(plain[0], bound[0]);
}

#[test]
fn constraints_without_forbidden_pairs_leave_the_tables_as_they_are() {
    let [plain, bound] =
        versions(&Constraints { never_first: vec!["u".to_owned()], ..Constraints::default() });
    assert_eq!(plain, bound);
}

#[test]
fn stored_constraints_with_lists_of_another_length_are_refused() {
    let forbidden = constraints("\"bio\"").unwrap().resolve(&schema(&["O", "B-X", "I-X"])).unwrap();
    let json = serde_json::to_value(&forbidden).unwrap();
    assert_eq!(serde_json::from_value::<Forbidden>(json.clone()).unwrap(), forbidden);
    for key in ["pairs", "first", "last"] {
        for more in [true, false] {
            let mut damaged = json.clone();
            let list = damaged[key].as_array_mut().unwrap();
            if more {
                list.push(true.into())
            } else {
                drop(list.pop())
            }
            let error = serde_json::from_value::<Forbidden>(damaged).unwrap_err().to_string();
            assert!(error.contains("the lists of the constraints do not fit"), "{error}");
        }
    }
    for n in [0, 2, 4, u64::MAX] {
        let mut damaged = json.clone();
        damaged["n_labels"] = n.into();
        assert!(serde_json::from_value::<Forbidden>(damaged).is_err(), "{n}");
    }
}

#[test]
fn chunks_that_must_end_do() {
    let labels = ["O", "B-X", "I-X", "E-X", "S-X"];
    let mut p = OwnedPotentials::random(3, labels.len(), 1.0, &Seed::new(1));
    let forbidden = constraints("\"bioes\"").unwrap().resolve(&schema(&labels)).unwrap();
    let mut memory = ConstrainedTables::default();
    let bound = forbidden.apply(p.view(), &mut memory).unwrap();
    let possible = oracle::all_labellings(&bound).into_iter().filter(|y| y.score.is_finite());
    let words = |y: crf_core::Labelling| {
        y.labels.iter().map(|&label| labels[label as usize]).collect::<Vec<_>>().join(" ")
    };
    let mut possible: Vec<String> = possible.map(words).collect();
    possible.sort();
    let want = [
        "B-X E-X O",
        "B-X E-X S-X",
        "B-X I-X E-X",
        "O B-X E-X",
        "O O O",
        "O O S-X",
        "O S-X O",
        "O S-X S-X",
        "S-X B-X E-X",
        "S-X O O",
        "S-X O S-X",
        "S-X S-X O",
        "S-X S-X S-X",
    ];
    assert_eq!(possible, want);
}

#[test]
fn rules_of_the_users_own_hold_at_the_ends_too() {
    let data = labelled(&["a", "b"], &["a b a", "b ? b", "a a"]);
    let rules = constraints(r#"{ forbid = [["a", "a"]], never_first = ["b"], never_last = ["b"] }"#).unwrap();
    let error = rules.resolve(data.schema()).unwrap().check(&data).unwrap_err().to_string();
    assert_eq!(error, "sequence 2: no sequence may begin with `b`, say the constraints");
    let rules = constraints(r#"{ forbid = [["a", "a"]] }"#).unwrap();
    let error = rules.resolve(data.schema()).unwrap().check(&data).unwrap_err().to_string();
    assert_eq!(error, "sequence 3: position 2: `a` may not follow `a`, say the constraints");
}

#[test]
fn wrong_rules_are_refused_with_what_would_do() {
    let resolve = |toml: &str| constraints(toml).unwrap().resolve(&schema(&["NP", "VP"]));
    let error = resolve("\"bio\"").unwrap_err();
    assert!(matches!(&error, Error::Setting { key, .. } if key == "constraints"), "{error}");
    assert!(error.to_string().ends_with("got the label `NP`"), "{error}");
    let error = resolve(r#"{ never_first = ["N"] }"#).unwrap_err().to_string();
    assert!(error.contains("unknown label `N`, did you mean `NP`?"), "{error}");
    let error = constraints("\"bi\"").unwrap_err().to_string();
    assert!(error.contains("unknown variant `bi`, expected `bio` or `bioes`"), "{error}");
}
