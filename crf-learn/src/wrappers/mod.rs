//! Learners around learners, and given weights (plugins).
//!
//! `best-of` chooses among learners by validation data, `in-part` and `label-weighted` change the
//! data that a learner sees, `fixed` takes weights from the config. Each passes everything else on
//! to the learner inside, so nothing else knows of them. The room uses `log_linear` for defaults
//! alone. Start with `in_part.rs`.

pub(crate) mod best_of;
pub(crate) mod fixed;
pub(crate) mod in_part;
pub(crate) mod label_weighted;

pub use best_of::BestOf;
pub use fixed::Fixed;
pub use in_part::InPart;
pub use label_weighted::{LabelWeighted, LabelWeights, Rule};
