//! Features: observation functions g(t, X), the labels they are tied to, and encoded data; the
//! trait `Prototype`.
//!
//! The way of a feature list through this room: a list of prototypes (`spec.rs`) is fitted on
//! training data (`fitted.rs`), where each entry becomes an encoder per kind of node or relation
//! (`fitted_entry.rs`); the fitted features encode datasets (`encoded_dataset.rs`), and tie
//! functions to labels, which numbers the weights (`feature_map.rs`, and `feature_set.rs` for the
//! features of states or of transitions). `units.rs` tells how large each feature is.
//!
//! **Encode once.** Observation functions are evaluated once into sparse rows, and training never
//! calls one again. Functions with one value everywhere (intercepts, transition weights) are kept
//! out of the rows and cost nothing per position. Edges with equal rows share one row, and so one
//! table of potentials.
//!
//! **A feature's index is its position.** A feature map is a sparse matrix from functions to labels
//! or pairs of labels, so weights need no index. Narrowing a map keeps the indices of functions:
//! encoded data serve every subset of features.
//!
//! **Long chains are encoded in chunks.** An encoder with a known reach (`Encoder::reach`) is given
//! parts of a sequence, on all threads. The division depends on the data and the number of
//! functions alone (`encoding_chunks.rs`), so results do not depend on threads, and encoding needs
//! little more memory than its result.
//!
//! **Labels belong to the function.** `Observation::labels` lists the labels that a function can be
//! tied to, wrapping prototypes pass it on, and the feature set narrows the targets. Patterns
//! (`label_pattern.rs`) hold names, since one function may serve several kinds of node.
//!
//! **Files are not trusted.** `Encoder::check` runs when fitted features are read from a file.
//!
//! This room may use `data` and `numeric`. Start with `spec.rs` and `prototype.rs`; the plugins are
//! in `prototypes`.

pub(crate) mod builder;
pub(crate) mod encoded_dataset;
pub(crate) mod encoding_chunks;
pub(crate) mod encoding_size;
pub(crate) mod feature_map;
pub(crate) mod feature_set;
pub(crate) mod fitted;
pub(crate) mod fitted_entry;
pub(crate) mod label_pattern;
pub(crate) mod prototype;
pub mod prototypes;
pub(crate) mod spec;
pub(crate) mod units;
