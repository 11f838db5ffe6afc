//! Exact inference on chains: one plugin, `forward-backward`.
//!
//! Forward-backward runs in the probability domain, scaled: potentials are exponentiated once, and
//! the recursions only multiply and add. The head of `exp_potentials.rs` states when this is safe
//! and derives the bound. What can be checked beforehand is the range of the potentials; what
//! cannot is watched during the recursions, as the smallest positive entry of all rows. Watching
//! the scales alone would not be enough: with forbidden transitions, two classes of labels that
//! never meet can lose the class that wins in the end while every scale looks healthy (a test is
//! named after this case). Where either check fails, the sequence is computed again in the log
//! domain (`lattice.rs`), which is also the reference in tests and the source of draws and of
//! probabilities of spans.
//!
//! Kernels are written once as safe loops and compiled for several instruction sets;
//! `crf_core::simd` selects one at run time. Inside a kernel loops must be loops: a closure is a
//! function of its own and misses the instruction set of its caller. Rows are padded with zeros to
//! whole vectors, by the kernel, while it exponentiates: nobody else has to know its vector width.
//! Vectors are copied out, worked on and copied back, because rows that may overlap are processed
//! number by number. No vector is loaded that was just written in smaller parts, because that waits
//! for all of these stores. With at most four labels a row is one vector that stays in registers,
//! and consecutive edges that share a table are summed before their sum is stored
//! (`scaled_small.rs`).
//!
//! Viterbi stores scores only and recomputes on the way back which label gave each: without back
//! pointers the forward pass vectorises.
//!
//! Start with `forward_backward.rs` (the plugin) and `scaled.rs` (the recursions); `lattice.rs` has
//! the same recursions line by line as in the literature. `viterbi.rs` and `k_best.rs` find the
//! best labellings.

mod exp_potentials;
mod forward_backward;
mod k_best;
mod lattice;
mod padded_rows;
mod scaled;
mod scaled_small;
mod viterbi;

pub use forward_backward::{Domain, ForwardBackward};
pub use lattice::Lattice;
