//! Graphs with numbers of every size, through every inference: an answer is right for what it says
//! it is, or there is an error.

use serde_json::Value;

use crate::exact::{Exact, Graph, number};
use crate::harness::{Outcome, Place, each};

/// Names of all inferences, and true for those that give marginals.
const INFERENCES: [(&str, bool); 9] = [
    ("belief-propagation", true),
    ("dual-decomposition", false),
    ("enumeration", true),
    ("forward-backward", true),
    ("gibbs", true),
    ("icm", false),
    ("junction-tree", true),
    ("mean-field", true),
    ("tree-reweighted", true),
];

/// Small graphs of every shape, with small potentials.
fn shapes() -> Vec<(&'static str, Graph)> {
    let graph = |cards: &[usize], ends: &[(usize, usize)]| {
        let small = |i: usize| Some((i * 7 % 13) as f64 / 8.0 - 0.5);
        let node: Vec<Vec<_>> = (0..cards.len())
            .map(|v| (0..cards[v]).map(|label| small(3 * v + 5 * label + 1)).collect())
            .collect();
        let table = |e: usize, u: usize, v: usize| {
            let row = |a: usize| (0..cards[v]).map(|b| small(2 * e + 4 * a + 9 * b)).collect();
            (0..cards[u]).map(row).collect()
        };
        let edges = ends.iter().enumerate().map(|(e, &(u, v))| (u, v, table(e, u, v))).collect();
        Graph { node, edges }
    };
    vec![
        ("a node", graph(&[3], &[])),
        ("a node of one label", graph(&[1], &[])),
        ("lone nodes", graph(&[2, 3, 2], &[])),
        ("a chain", graph(&[3, 3, 3, 3], &[(0, 1), (1, 2), (2, 3)])),
        ("a star", graph(&[2, 3, 1, 2], &[(0, 1), (2, 0), (0, 3)])),
        ("two parts", graph(&[2, 2, 3, 3], &[(0, 1), (3, 2)])),
        ("a triangle", graph(&[2, 2, 2], &[(0, 1), (1, 2), (2, 0)])),
        ("two edges between the same nodes", graph(&[2, 3], &[(0, 1), (1, 0)])),
        ("a grid", graph(&[2; 6], &[(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])),
    ]
}

/// Something that is done to the numbers of a graph.
type Change = fn(&mut Graph);

/// Changes of the numbers of a graph, by name.
fn changes() -> Vec<(&'static str, Change)> {
    fn shift(row: &mut [Option<f64>], by: f64) {
        row.iter_mut().flatten().for_each(|score| *score += by);
    }
    fn middle(graph: &mut Graph) -> &mut Vec<Option<f64>> {
        let at = graph.node.len() / 2;
        &mut graph.node[at]
    }
    vec![
        ("as they are", |_| {}),
        ("10⁹ at a node", |graph| shift(middle(graph), 1e9)),
        ("10¹⁵ at a node", |graph| shift(middle(graph), 1e15)),
        ("−10¹⁵ at a node", |graph| shift(middle(graph), -1e15)),
        ("±10¹⁵ in turn", |graph| {
            let signs = [1e15, -1e15].iter().cycle();
            graph.node.iter_mut().zip(signs).for_each(|(row, by)| shift(row, *by));
        }),
        ("10¹² at all nodes", |graph| graph.node.iter_mut().for_each(|row| shift(row, 1e12))),
        ("10⁹ in all tables", |graph| {
            graph.edges.iter_mut().flat_map(|edge| &mut edge.2).for_each(|row| shift(row, 1e9));
        }),
        ("all labels 10¹⁷", |graph| middle(graph).iter_mut().for_each(|score| *score = Some(1e17))),
        ("one label 10¹⁷", |graph| middle(graph)[0] = Some(1e17)),
        ("one label −10¹⁷", |graph| middle(graph)[0] = Some(-1e17)),
        ("one label 200 below", |graph| middle(graph)[0] = Some(-200.0)),
        ("one label 800 above", |graph| middle(graph)[0] = Some(800.0)),
        ("one label forbidden", |graph| middle(graph)[0] = None),
        ("all labels forbidden", |graph| middle(graph).fill(None)),
        ("one pair forbidden", |graph| {
            graph.edges.iter_mut().for_each(|(_, _, table)| table[0][0] = None);
        }),
        ("only equal pairs allowed", |graph| {
            for (_, _, table) in &mut graph.edges {
                for (a, row) in table.iter_mut().enumerate() {
                    row.iter_mut().enumerate().filter(|(b, _)| *b != a).for_each(|(_, score)| *score = None);
                }
            }
        }),
        ("tiny", |graph| graph.node.iter_mut().flatten().flatten().for_each(|score| *score *= 1e-300)),
        ("large and forbidden", |graph| {
            shift(middle(graph), 1e15);
            graph.node[0][0] = None;
        }),
    ]
}

#[test]
fn every_answer_about_a_graph_is_right_for_what_it_says_it_is() {
    let place = Place::new("numbers");
    let shapes = shapes();
    let attacks = shapes.iter().flat_map(|shape| changes().into_iter().map(move |change| (shape, change)));
    let attacks = attacks.flat_map(|(shape, change)| INFERENCES.map(|inference| (shape, change, inference)));
    each(attacks, |((shape, graph), (change, apply), inference)| {
        let mut graph = graph.clone();
        apply(&mut graph);
        let attack = format!("{}, {shape}, {change}", inference.0);
        let outcome = infer(&place, &graph.line(), *inference);
        check(&outcome, &graph, graph.solve().as_ref(), inference.0, &attack);
    });
}

/// The answer to a line of JSON.
fn infer(place: &Place, line: &str, (name, has_marginals): (&str, bool)) -> Outcome {
    place.write("graph.jsonl", format!("{line}\n"));
    let mut args = vec!["infer", "graph.jsonl", "--with", name];
    args.extend(has_marginals.then_some("--edge-marginals"));
    place.run(&args, &[])
}

/// Holds an answer to the exact one.
fn check(outcome: &Outcome, graph: &Graph, exact: Option<&Exact>, name: &str, attack: &str) {
    if name == "forward-backward" && !graph.is_chain() {
        assert!(outcome.stderr.contains("answers chains only"), "{attack}: {outcome:?}");
        return;
    }
    let Some(exact) = exact else {
        assert!(outcome.stderr.contains("infeasible"), "{attack}: {outcome:?}");
        return;
    };
    assert_eq!(outcome.code, 0, "{attack}: {outcome:?}");
    let answer: Value = serde_json::from_str(&outcome.stdout).expect("one line of JSON");
    let said = || format!("{attack}: {} for {exact:?} of {}", outcome.stdout, graph.line());
    // 10¹⁷ has a spacing of 16.
    let slack = 1e-9 + 1e-15 * exact.log_z.abs();
    let is_exact = answer["log_z_is"] == "exact";
    if let Some(log_z) = answer["log_z"].as_f64() {
        let above = log_z - exact.log_z;
        match answer["log_z_is"].as_str() {
            Some("exact") => assert!(above.abs() <= slack, "{}", said()),
            Some("lower") => assert!(above <= slack, "{}", said()),
            Some("upper") => assert!(above >= -slack, "{}", said()),
            Some("estimate") => assert!(log_z.is_finite(), "{}", said()),
            other => panic!("log Z is {other:?}: {}", said()),
        }
    } else {
        assert!(matches!(name, "icm" | "dual-decomposition"), "no log Z: {}", said());
    }
    if matches!(name, "junction-tree" | "enumeration" | "forward-backward") || graph.is_forest() {
        let exact_ones = ["belief-propagation", "junction-tree", "enumeration", "forward-backward"];
        assert!(is_exact || !exact_ones.contains(&name), "not exact: {}", said());
    }
    for (rows, right) in [
        (answer["marginals"].clone(), exact.marginals.clone()),
        (flat(&answer["edge_marginals"]), exact.edge_marginals.iter().map(|table| table.concat()).collect()),
    ] {
        for (row, right) in rows.as_array().into_iter().flatten().zip(&right) {
            let row: Vec<f64> = numbers(row);
            assert_eq!(row.len(), right.len(), "{}", said());
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "no probability: {}", said());
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "they do not sum to 1: {}", said());
            let near = row.iter().zip(right).all(|(p, right)| (p - right).abs() < 1e-6);
            assert!(near || !is_exact, "not exact: {}", said());
        }
    }
    let map: Vec<usize> = numbers(&answer["map"]).iter().map(|&label| label as usize).collect();
    if map.is_empty() {
        return;
    }
    let score = graph.score(&map).unwrap_or_else(|| panic!("an impossible labelling: {}", said()));
    let written = answer["map_score"].as_f64().expect("a score");
    assert!((written - number(score)).abs() <= slack, "not the score of the labelling: {}", said());
    assert!(!is_exact || number(exact.best - score) <= 1e-9, "not the best labelling: {}", said());
    if let Some(upper) = answer["map_upper"].as_f64() {
        assert!(upper >= number(exact.best) - slack, "no upper bound: {}", said());
    }
}

fn numbers(row: &Value) -> Vec<f64> {
    row.as_array().into_iter().flatten().map(|p| p.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Tables as rows.
fn flat(tables: &Value) -> Value {
    let table = |table: &Value| {
        Value::Array(
            table
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|row| row.as_array().cloned().unwrap_or_default())
                .collect(),
        )
    };
    Value::Array(tables.as_array().into_iter().flatten().map(table).collect())
}

/// Numbers that no double can be the sum of, or that are near the end of what there is.
#[test]
fn an_answer_that_is_no_finite_number_is_an_error() {
    let place = Place::new("overflow");
    let edge = r#""edges":[{"u":0,"v":1,"table":[[1e308,0],[0,0]]}]"#;
    let graphs = [
        format!(r#"{{"cards":[2,2],"node":[[1e308,0],[1e308,0]],{edge}}}"#),
        format!(r#"{{"cards":[2,2],"node":[[1e308,1e308],[1e308,1e308]],{edge}}}"#),
        r#"{"cards":[2,2],"node":[[-1e308,-1e308],[-1e308,-1e308]]}"#.to_owned(),
        r#"{"cards":[1,1,1],"node":[[1.7e308],[1.7e308],[1.7e308]]}"#.to_owned(),
    ];
    let attacks = graphs.iter().flat_map(|graph| INFERENCES.map(|inference| (graph, inference)));
    each(attacks, |(graph, inference)| {
        let outcome = infer(&place, graph, *inference);
        if inference.0 == "forward-backward" && !graph.contains("edges") {
            return;
        }
        let refused = outcome.code == 1 && outcome.stderr.contains("finite");
        assert!(refused, "{}, {graph}: {outcome:?}", inference.0);
    });
}
