//! Errors of schemas and graphs, and the layout of tables.
use crf_core::{Alphabet, Edge, Graph, NodeKind, OwnedPotentials, Relation, Schema, Shape};
use crf_testing::datasets::{real, symbolic, two_kinds};
use serde_json::Value;

#[test]
fn two_channels_of_one_name_are_refused() {
    let channels = vec![real("x"), real("y"), symbolic("x", &["a"])];
    let error = Schema::chain(channels, Alphabet::new(["n"])).unwrap_err();
    assert_eq!(error.to_string(), "two channels are named `x`");
}

#[test]
fn every_kind_needs_a_label() {
    let message = "every kind of node needs at least one label";
    let error = Schema::chain(vec![], Alphabet::default()).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert_eq!(Schema::graph(vec![], vec![], vec![]).unwrap_err().to_string(), message);
}

#[test]
fn relations_join_known_kinds() {
    let kinds = vec![NodeKind { name: "a".into(), labels: Alphabet::new(["n"]) }];
    let error =
        Schema::graph(vec![], kinds, vec![Relation { name: "r".into(), tail: 0, head: 1 }]).unwrap_err();
    assert_eq!(error.to_string(), "relation `r` joins an unknown kind of node");
}

#[test]
fn unknown_names_are_answered_with_the_nearest_or_with_all() {
    let schema = Schema::chain(vec![real("speed"), real("heading")], Alphabet::new(["walk", "run"])).unwrap();
    assert_eq!(schema.channel("heading").unwrap(), 1);
    let message = |error: crf_core::Error| error.to_string();
    assert_eq!(message(schema.channel("sped").unwrap_err()), "unknown channel `sped`, did you mean `speed`?");
    let all = "unknown channel `temperature`; there is `speed`, `heading`";
    assert_eq!(message(schema.channel("temperature").unwrap_err()), all);
    assert_eq!(message(schema.label(0, "rnu").unwrap_err()), "unknown label `rnu`, did you mean `run`?");
    assert_eq!(message(schema.relation("nxt").unwrap_err()), "unknown relation `nxt`, did you mean `next`?");
    assert_eq!(
        message(schema.kind("labels").unwrap_err()),
        "unknown kind of node `labels`, did you mean `label`?"
    );
}

#[test]
fn a_long_list_of_names_is_cut_off() {
    let channels = (0..15).map(|k| real(&format!("channel{k:02}"))).collect();
    let schema = Schema::chain(channels, Alphabet::new(["n"])).unwrap();
    let message = schema.channel("x").unwrap_err().to_string();
    assert!(message.ends_with("`channel11` and 3 more"), "{message}");
}

#[test]
fn a_chain_has_one_kind_and_one_relation() {
    let schema = Schema::chain(vec![], Alphabet::new(["n", "y"])).unwrap();
    assert_eq!((schema.kind("label").unwrap(), schema.relation("next").unwrap()), (0, 0));
    assert_eq!((schema.n_labels(0), schema.table_shape(0)), (2, (2, 2)));
    assert_eq!(two_kinds(vec![]).table_shape(1), (3, 2));
}

#[test]
fn repeated_names_keep_their_first_number() {
    let alphabet = Alphabet::new(["n", "y", "n"]);
    assert_eq!((alphabet.len(), alphabet.number("y"), alphabet.number("z")), (2, Some(1), None));
    let again: Alphabet = serde_json::from_str(&serde_json::to_string(&alphabet).unwrap()).unwrap();
    assert_eq!((again.number("y"), again == alphabet), (Some(1), true));
}

#[test]
fn edges_that_cannot_be_are_refused() {
    let schema = two_kinds(vec![]);
    let refused = |u, v, relation| {
        let edges = vec![Edge { u: 0, v: 1, relation: 0 }, Edge { u, v, relation }];
        Graph::new(&schema, vec![0, 1, 0], edges).unwrap_err().to_string()
    };
    let self_loop = "joins node 1 with itself; add its diagonal to the node's potentials instead";
    assert_eq!(refused(1, 1, 0), format!("edge 1 {self_loop}"));
    assert_eq!(refused(0, 3, 0), "edge 1 leads to node 3, but there are 3");
    let wrong = "joins kinds that";
    assert_eq!(refused(0, 1, 1), format!("edge 1 from node 0 to node 1 {wrong} `ba` does not"));
    assert_eq!(refused(0, 2, 0), format!("edge 1 from node 0 to node 2 {wrong} `ab` does not"));
    assert_eq!(refused(0, 1, 2), "edge 1 has relation 2, but there are 2");
    let error = Graph::new(&schema, vec![0, 2], vec![]).unwrap_err();
    assert_eq!(error.to_string(), "a node has kind 2, but there are 2");
}

#[test]
fn self_loops_are_refused_even_within_a_relation_of_one_kind() {
    let schema = Schema::chain(vec![], Alphabet::new(["n"])).unwrap();
    assert!(Graph::new(&schema, vec![0, 0], vec![Edge { u: 1, v: 1, relation: 0 }]).is_err());
}

#[test]
fn a_graph_needs_no_schema_but_the_same_checks() {
    let message = |cards: &[u32], edge| Graph::bare(cards.to_vec(), [edge]).unwrap_err().to_string();
    assert!(message(&[2, 3], (1, 1)).starts_with("edge 0 joins node 1 with itself"));
    assert_eq!(message(&[2, 3], (2, 0)), "edge 0 leads to node 2, but there are 2");
    assert_eq!(message(&[2, 0], (0, 1)), "node 1 has no labels");
    assert_eq!(Graph::bare(vec![2, 3], [(0, 1), (1, 0)]).unwrap().edges().len(), 2);
}

#[test]
fn a_stored_graph_is_checked_when_it_is_read() {
    let graph = Graph::bare(vec![2, 3, 2], [(0, 1), (2, 1)]).unwrap();
    let text = serde_json::to_string(&graph).unwrap();
    assert_eq!(serde_json::from_str::<Graph>(&text).unwrap(), graph);
    let error = serde_json::from_str::<Graph>(&text.replace("\"u\":2", "\"u\":7")).unwrap_err();
    assert!(error.to_string().contains("edge 1 leads to node 7, but there are 3"), "{error}");
    assert!(serde_json::from_str::<Graph>(&text.replace("[2,3,2]", "[2,3]")).is_err());
}

#[test]
fn every_end_of_an_edge_knows_its_opposite() {
    let graph = Graph::bare(vec![2, 3, 4], [(0, 1), (2, 1), (1, 0)]).unwrap();
    let as_graph = Graph::bare(vec![3; 4], [(0, 1), (1, 2), (2, 3)]).unwrap();
    let shapes = [
        Shape::Graph(&graph),
        Shape::Graph(&as_graph),
        Shape::Chain { len: 4, labels: 3 },
        Shape::Chain { len: 1, labels: 2 },
        Shape::Chain { len: 0, labels: 2 },
    ];
    for shape in shapes {
        let mut ends = 0;
        for n in 0..shape.n_nodes() {
            assert_eq!(
                shape.message_offset(n + 1) - shape.message_offset(n),
                shape.degree(n) * shape.card(n)
            );
            for k in 0..shape.degree(n) {
                let end = shape.incidence(n, k);
                let (u, v) = shape.ends(end.edge as usize);
                let other = end.other as usize;
                assert_eq!(if end.is_head { (other, n) } else { (n, other) }, (u, v));
                let back = (0..shape.degree(other))
                    .find(|&j| shape.message_offset(other) + j * shape.card(other) == end.opposite);
                let back = shape.incidence(other, back.expect("a message of the other node"));
                assert_eq!((back.edge, back.other as usize), (end.edge, n));
                assert_eq!(back.opposite, shape.message_offset(n) + k * shape.card(n));
                ends += 1;
            }
        }
        assert_eq!(ends, 2 * shape.n_edges());
    }
    let (chain, graph) = (shapes[2], shapes[1]);
    for n in 0..4 {
        (0..chain.degree(n)).for_each(|k| assert_eq!(chain.incidence(n, k), graph.incidence(n, k)));
    }
}

#[test]
fn owned_potentials_that_do_not_fit_their_graph_are_refused() {
    let owned = |node: usize, table: usize, of_edge: Vec<u32>| {
        let graph = Graph::bare(vec![2, 3], [(0, 1)]).unwrap();
        OwnedPotentials::graph(graph, vec![0.0; node], &[vec![0.0; table]], of_edge)
    };
    assert!(owned(5, 6, vec![]).is_ok() && owned(5, 6, vec![0]).is_ok());
    let message = |owned: crf_core::Result<OwnedPotentials>| owned.unwrap_err().to_string();
    assert_eq!(message(owned(6, 6, vec![])), "expected 5 node potentials, got 6");
    assert_eq!(message(owned(5, 4, vec![])), "edge 0 needs a table of 6 numbers, table 0 is not one");
    assert_eq!(message(owned(5, 6, vec![1])), "edge 0 needs a table of 6 numbers, table 1 is not one");
    assert_eq!(message(owned(5, 6, vec![0, 0])), "expected tables for 1 edges, got 2");
    let graph = Graph::bare(vec![2], []).unwrap();
    let bad = OwnedPotentials::graph(graph, vec![0.0, f64::NAN], &[[0.0; 0]; 0], vec![]);
    assert_eq!(message(bad), "not a finite number: potential NaN of position 1; scale the features");
}

#[test]
fn nodes_and_tables_stand_one_behind_the_other() {
    let edge = |u, v, relation| Edge { u, v, relation };
    // Parallel edges are allowed.
    let edges = vec![edge(0, 1, 0), edge(0, 1, 0), edge(1, 2, 1)];
    let graph = Graph::new(&two_kinds(vec![]), vec![0, 1, 0], edges).unwrap();
    let shape = Shape::Graph(&graph);
    assert_eq!((shape.n_nodes(), shape.n_edges()), (3, 3));
    assert_eq!((0..4).map(|n| shape.node_offset(n)).collect::<Vec<_>>(), [0, 2, 5, 7]);
    assert_eq!((0..4).map(|e| shape.edge_offset(e)).collect::<Vec<_>>(), [0, 6, 12, 18]);
    assert_eq!((shape.card(1), shape.kind(1), shape.relation(2), shape.ends(2)), (3, 1, 1, (1, 2)));
}

/// Every copy of `json` in which one number was replaced by a larger or a smaller one, one list
/// lost its last item, or one name was replaced by another of the same list.
fn damaged(json: &Value) -> Vec<Value> {
    fn places(json: &Value, at: &str, out: &mut Vec<String>) {
        out.push(at.to_owned());
        match json {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(k, item)| places(item, &format!("{at}/{k}"), out));
            }
            Value::Object(items) => {
                items.iter().for_each(|(k, item)| places(item, &format!("{at}/{k}"), out))
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    places(json, "", &mut all);
    let mut damaged = Vec::new();
    for at in all {
        let mut change = |to: Value| {
            let mut copy = json.clone();
            *copy.pointer_mut(&at).unwrap() = to;
            damaged.push(copy);
        };
        match json.pointer(&at).unwrap() {
            Value::Number(number) => {
                let number = number.as_u64().unwrap();
                let others = [number + 1, number + 2, 65_535, number.saturating_sub(1)];
                others.into_iter().for_each(|to| change(to.into()));
            }
            Value::Array(items) if !items.is_empty() => {
                change(items[..items.len() - 1].into());
                change([items.clone(), items[..1].to_vec()].concat().into());
            }
            _ => {}
        }
    }
    damaged
}

#[test]
fn a_stored_schema_whose_relation_joins_a_missing_kind_is_refused() {
    let schema = two_kinds(vec![real("x"), symbolic("c", &["a", "b"])]);
    let json = serde_json::to_value(&schema).unwrap();
    assert_eq!(serde_json::from_value::<Schema>(json.clone()).unwrap(), schema);
    let mut n_refused = 0;
    for damaged in damaged(&json) {
        let Ok(read) = serde_json::from_value::<Schema>(damaged.clone()) else {
            n_refused += 1;
            continue;
        };
        // What is read can be used.
        let again = Schema::graph(read.channels().to_vec(), read.kinds().to_vec(), read.relations().to_vec());
        assert_eq!(again.unwrap(), read, "{damaged}");
        (0..read.relations().len())
            .for_each(|relation| assert_ne!(read.table_shape(relation as u16), (0, 0)));
    }
    assert!(n_refused > 10, "{n_refused}");
    let error = serde_json::to_string(&json).unwrap().replace("\"tail\":1", "\"tail\":5");
    let error = serde_json::from_str::<Schema>(&error).unwrap_err().to_string();
    assert!(error.starts_with("relation `ba` joins an unknown kind of node"), "{error}");
}

#[test]
fn stored_names_that_occur_twice_are_refused() {
    let error = serde_json::from_str::<Alphabet>(r#"["n", "y", "n"]"#).unwrap_err().to_string();
    assert!(error.starts_with("a name occurs twice in an alphabet"), "{error}");
    let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
    let kinds = vec![NodeKind { name: "a".into(), labels: Alphabet::new(["n"]) }];
    let error = Schema::graph(vec![], kinds, vec![relation("r"), relation("s"), relation("r")]).unwrap_err();
    assert_eq!(error.to_string(), "two relations are named `r`");
}
