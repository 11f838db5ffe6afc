//! Tests of the room `boosting`.

mod gradient_tree_boosting;
mod virtual_evidence_boosting;
