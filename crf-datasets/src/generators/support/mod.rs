//! Machinery of the generators: splits and their sizes, Markov chains of labels, grids,
//! distributions.
//!
//! `splits.rs` draws the splits of a trial and gives every sequence a seed of its own.
//! `label_chain.rs` is the Markov chain that most generators draw labels from. `grid.rs` draws
//! Potts models, and `draws.rs` holds small distributions.

pub(crate) mod draws;
pub(crate) mod grid;
pub(crate) mod label_chain;
pub(crate) mod splits;

pub use splits::Size;
