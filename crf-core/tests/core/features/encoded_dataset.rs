//! Encoded data: one row per position, one per distinct edge, and finite values only.
use std::sync::Arc;

use crf_core::{Dataset, EncodedDataset};
use crf_testing::datasets::{chains, features};

fn encode(list: &str, data: Dataset) -> EncodedDataset {
    features(list).fit(&data).unwrap().encode(Arc::new(data)).unwrap()
}

#[test]
fn ones_other_values_and_constants_are_kept_apart() {
    let x = encode(
        r#"["intercept", { state = "value" }, { state = "equals" }]"#,
        chains(&[&[(2.5, 1), (1.0, 0)], &[(0.0, 7)]]),
    );
    assert_eq!(x.constant_state(), [(0, 1.0)]);
    let row = |t| (x.nodes().ones(t), x.nodes().valued(t));
    assert_eq!(row(0), (&[3][..], (&[1][..], &[2.5][..])));
    assert_eq!(row(1), (&[1, 2][..], (&[][..], &[][..])));
    assert_eq!(row(2), (&[][..], (&[][..], &[][..])));
    assert_eq!((x.nodes().len(), x.nodes().n_entries(), x.n_edges()), (3, 4, 1));
}

#[test]
fn transition_functions_look_at_the_head_of_the_edge() {
    let x = encode(r#"["transition", { transition = "value" }]"#, chains(&[&[(5.0, 0), (2.0, 0), (3.0, 0)]]));
    assert_eq!(x.constant_transition(), [(0, 1.0)]);
    assert_eq!(x.edge_row_indices(0), [0, 1]);
    assert_eq!(
        (x.edge_rows().valued(0), x.edge_rows().valued(1)),
        ((&[1][..], &[2.0][..]), (&[1][..], &[3.0][..]))
    );
}

#[test]
fn edges_with_equal_rows_share_one_across_sequences() {
    let data = chains(&[&[(9.0, 0), (0.0, 0), (1.0, 0)], &[(9.0, 0), (1.0, 0), (-0.0, 0)], &[(9.0, 0)], &[]]);
    let x = encode(r#"[{ transition = "value" }]"#, data);
    assert_eq!(x.edge_rows().len(), 2);
    assert_eq!((x.edge_row_indices(0), x.edge_row_indices(1)), (&[0, 1][..], &[1, 0][..]));
    assert!(x.edge_row_indices(2).is_empty() && x.edge_row_indices(3).is_empty());
    let x = encode(r#"["transition"]"#, chains(&[&[(1.0, 0), (2.0, 1), (3.0, 2)]]));
    assert_eq!((x.edge_rows().len(), x.edge_row_indices(0)), (1, &[0, 0][..]));
}

#[test]
fn values_that_overflow_are_refused_by_name_and_place() {
    let data = chains(&[&[(1.0, 0)], &[(1.0, 0), (1e200, 0)]]);
    let fitted = features(r#"[{ state = "power" }]"#).fit(&data).unwrap();
    let error = fitted.encode(Arc::new(data)).unwrap_err().to_string();
    assert_eq!(error, "sequence 2, position 2: not a finite number: `x²` is inf; scale the channel");
    let data = chains(&[&[(1e200, 0), (-1e200, 0)]]);
    let error = features(r#"[{ state = { type = "normalised" } }]"#).fit(&data).unwrap_err().to_string();
    assert_eq!(error, "not a finite number: mean or variance of `x` on the training data");
}
