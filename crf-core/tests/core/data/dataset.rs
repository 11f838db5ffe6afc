//! Errors of datasets, and subsets of sequences.
use std::sync::Arc;

use crf_core::{Alphabet, Dataset, DatasetBuilder, Graph, Schema, Seed, Shape, Value};
use crf_testing::datasets::{features, labelled, real, symbolic, two_kinds};

/// Builder with a real and a symbolic channel and two labels.
fn builder() -> DatasetBuilder {
    let channels = vec![real("x"), symbolic("c", &["a"])];
    DatasetBuilder::new(Arc::new(Schema::chain(channels, Alphabet::new(["n", "y"])).unwrap()))
}

fn good() -> [Value<'static>; 2] {
    [Value::Real(1.0), Value::Symbol(0)]
}

#[test]
fn values_are_checked_as_they_come() {
    let refused = |values: &[Value<'_>], message: &str| {
        let mut data = builder();
        data.push(&good(), None).unwrap();
        data.end_chain().unwrap();
        data.push(&good(), None).unwrap();
        assert_eq!(data.push(values, None).unwrap_err().to_string(), message);
        // A refused position leaves nothing behind.
        data.end_chain().unwrap();
        assert_eq!(data.finish().n_positions(), 2);
    };
    let at = "sequence 2, position 2";
    let number = "give every position a number";
    for (x, name) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let message = format!("{at}, channel `x`: not a finite number: got {name}; {number}");
        refused(&[Value::Real(x), Value::Symbol(0)], &message);
    }
    refused(&good()[..1], &format!("{at}: expected 2 values, one per channel, got 1"));
    refused(&[good()[0]; 3], &format!("{at}: expected 2 values, one per channel, got 3"));
    refused(&[good()[0]; 2], &format!("{at}, channel `c`: expected a symbol, got a number"));
    refused(&[good()[1]; 2], &format!("{at}, channel `x`: expected a number, got a symbol"));
}

#[test]
fn labels_out_of_range_are_refused() {
    let mut data = builder();
    data.push(&good(), Some(1)).unwrap();
    data.push(&good(), Some(2)).unwrap();
    let message = "sequence 1, position 2: label number 2, but there are 2 labels";
    assert_eq!(data.end_chain().unwrap_err().to_string(), message);
}

#[test]
fn labels_of_a_graph_are_held_to_the_kind_of_their_node() {
    let schema = Arc::new(two_kinds(vec![]));
    let close = |labels: [u32; 2]| {
        let mut data = DatasetBuilder::new(schema.clone());
        labels.iter().for_each(|&label| data.push(&[], Some(label)).unwrap());
        data.end_graph(Graph::new(&schema, vec![0, 1], vec![]).unwrap())
    };
    assert!(close([1, 2]).is_ok());
    let message = "sequence 1, position 1: label number 2, but there are 2 labels";
    assert_eq!(close([2, 1]).unwrap_err().to_string(), message);
}

#[test]
fn graphs_must_have_a_node_for_every_position() {
    let schema = Arc::new(two_kinds(vec![]));
    let mut data = DatasetBuilder::new(schema.clone());
    data.push(&[], None).unwrap();
    let graph = Graph::new(&schema, vec![0, 1], vec![]).unwrap();
    assert_eq!(data.end_graph(graph).unwrap_err().to_string(), "the graph has 2 nodes for 1 positions");
}

#[test]
fn chains_and_graphs_cannot_be_mixed() {
    let schema = Arc::new(Schema::chain(vec![], Alphabet::new(["n"])).unwrap());
    let graph = || Graph::new(&schema, vec![], vec![]).unwrap();
    let message = "chains and graphs cannot be mixed in one dataset";
    let mut data = DatasetBuilder::new(schema.clone());
    data.end_chain().unwrap();
    assert_eq!(data.end_graph(graph()).unwrap_err().to_string(), message);
    let mut data = DatasetBuilder::new(schema.clone());
    data.end_graph(graph()).unwrap();
    assert_eq!(data.end_chain().unwrap_err().to_string(), message);
}

#[test]
fn a_schema_whose_first_relation_is_no_chain_takes_no_chains() {
    let message = "chains need a first relation from the first kind of node to itself";
    let mut data = DatasetBuilder::new(Arc::new(two_kinds(vec![])));
    assert_eq!(data.end_chain().unwrap_err().to_string(), message);
    let lonely = Schema::graph(vec![], two_kinds(vec![]).kinds().to_vec(), vec![]).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(lonely));
    assert_eq!(data.end_chain().unwrap_err().to_string(), message);
}

#[test]
fn weights_are_finite_and_belong_to_a_closed_sequence() {
    let mut data = builder();
    assert_eq!(data.weigh_last(1.0).unwrap_err().to_string(), "no sequence was closed yet");
    data.end_chain().unwrap();
    for (weight, name) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let message = format!("`weight` must be a finite number of at least 0, got {name}");
        assert_eq!(data.weigh_last(weight).unwrap_err().to_string(), message);
    }
    data.weigh_last(0.0).unwrap();
    assert_eq!(data.finish().weight(0), 0.0);
}

#[test]
#[should_panic(expected = "the last sequence was not closed")]
fn an_open_sequence_is_our_callers_bug() {
    let mut data = builder();
    data.push(&good(), None).unwrap();
    data.finish();
}

#[test]
fn empty_sequences_and_empty_datasets_are_allowed() {
    let data = labelled(&["n"], &["", "n", ""]);
    assert_eq!((data.len(), data.n_positions()), (3, 1));
    assert!(data.sequence(0).is_empty() && !data.sequence(1).is_empty());
    let none = builder().finish();
    assert!(none.is_empty() && none.is_chains());
    let fitted = features(r#"["intercept", "transition", { state = "normalised" }]"#).fit(&none).unwrap();
    assert!(fitted.encode(Arc::new(none)).unwrap().is_empty());
}

#[test]
fn a_subset_has_the_named_sequences_in_that_order() {
    let mut data = builder();
    for i in 0..3_u32 {
        for _ in 0..=i {
            data.push(&[Value::Real(f64::from(i)), Value::Symbol(i)], Some(i % 2)).unwrap();
        }
        data.end_chain().unwrap();
        data.weigh_last(f64::from(i)).unwrap();
    }
    let data = data.finish();
    let part = data.subset(&[2, 0, 2]);
    assert_eq!(part.len(), 3);
    assert_eq!((part.range(0), part.range(1), part.range(2)), (0..3, 3..4, 4..7));
    assert_eq!((part.sequence(0).real(0), part.sequence(1).symbol(1)), (&[2.0; 3][..], &[0][..]));
    assert_eq!((part.weight(0), part.weight(1)), (2.0, 0.0));
    assert_eq!(part.sequence(1).labels(), [Some(0)]);
    assert_eq!(data.subset(&[0, 1, 2]), data);
    assert!(data.subset(&[]).is_empty());
}

#[test]
fn a_subset_of_graphs_keeps_their_graphs() {
    let schema = Arc::new(two_kinds(vec![]));
    let mut data = DatasetBuilder::new(schema.clone());
    for kinds in [vec![0], vec![1, 1]] {
        kinds.iter().for_each(|_| data.push(&[], None).unwrap());
        data.end_graph(Graph::new(&schema, kinds, vec![]).unwrap()).unwrap();
    }
    let part = data.finish().subset(&[1]);
    let Shape::Graph(graph) = part.shape(0) else { panic!("a graph stays a graph") };
    assert_eq!(graph.kinds(), [1, 1]);
}

#[test]
fn an_order_is_drawn_from_its_seed() {
    let data = labelled(&["n"], &["n"; 20]);
    let order = |number| data.shuffled(&Seed::new(number));
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let mut sorted = order(1);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..20).collect::<Vec<_>>());
}

#[test]
fn chains_have_edges_between_neighbours() {
    let data: Dataset = labelled(&["n", "y"], &["n y n", "n", ""]);
    let shape = data.shape(0);
    assert_eq!((shape.n_nodes(), shape.n_edges(), shape.ends(1)), (3, 2, (1, 2)));
    assert_eq!((shape.node_offset(3), shape.edge_offset(2)), (6, 8));
    assert_eq!((data.shape(1).n_edges(), data.shape(2).n_edges(), data.shape(2).n_nodes()), (0, 0, 0));
}
