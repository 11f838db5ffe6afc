//! Scores and expectations of many weight vectors on one encoded dataset, laid out for speed.
//!
//! On text about half of the time of a likelihood evaluation goes into gathering scores and
//! scattering expectations. The [`Scorer`](scorer::Scorer) does both. It may be used by every room
//! of the crate, and uses none itself.
//!
//! Layout. `weight_layout.rs` keeps a copy of the state weights that is laid out for reading: the
//! weights of an observation function stand in a wide row of all labels, in a narrow row of the
//! first labels, or one by one, whichever is least work. Each position lists the rows and the
//! single weights that it needs, so no function is looked up in an iteration. Expectations are
//! summed in the same layout, and brought into the order of features once per evaluation. Functions
//! that do not occur in the data have no place.
//!
//! Bundles. A function that is 1 often implies others: a trigram implies its bigrams, a bigram its
//! words. `bundles.rs` finds such sets in the data. The weights of a bundle are summed once per
//! evaluation, and its expectations are handed to its members at the end. A bundle needs a minimum
//! of uses: with rarer ones the layout would outgrow the cache. A scorer whose weights are shifted
//! one by one has no bundles.
//!
//! Dense runs. Real channels have a value at every position. Consecutive positions whose values
//! belong to the same functions form a run (`dense_runs.rs`), which keeps their values function by
//! function: vector instructions then go along positions, and a weight is read once for a whole
//! vector of them.
//!
//! Kernels. Loops over padded rows copy vectors out, work on them and copy them back, since rows
//! that may overlap are processed number by number. They never load a vector that was just written
//! in smaller pieces. They are loops, not closures: a closure is a function of its own and would
//! miss the vector instructions of its caller.
//!
//! `merged_features.rs` trains columns that are equal everywhere in the data as one. Start with
//! `scorer.rs`.

pub(crate) mod bundles;
pub(crate) mod column_fingerprint;
pub(crate) mod dense_runs;
pub(crate) mod merged_features;
pub(crate) mod padded_rows;
pub(crate) mod scorer;
pub(crate) mod weight_layout;

pub use merged_features::MergedFeatures;
pub use scorer::Scorer;
