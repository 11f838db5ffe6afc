//! Inference in conditional random fields: marginals, log Z, best labellings and draws from log
//! potentials.
//!
//! `chain` is exact on chains. `graph` answers any graph: exactly where that is affordable,
//! approximately otherwise. All algorithms share `shifted.rs`, the form in which they read
//! potentials, with `possible_labels.rs`, the labels that are possible at all; `log_domain.rs`
//! (arithmetic on logarithms) and `errors.rs` (checks and errors). Single steps of messages on
//! chains are those of graphs.
//! Potentials, answers and the traits of inference belong to `crf-core`; nothing here knows of
//! features or weights.
//!
//! Start reading with [`ForwardBackward`] for chains and [`BeliefPropagation`] or [`JunctionTree`]
//! for graphs.
//!
#![doc = include_str!("../../docs/from-rust.md")]
//!
//! ```
//! use crf_core::{Beliefs, EdgeBeliefs, Inference, OwnedPotentials, Scratch};
//! use crf_inference::ForwardBackward;
//!
//! // Two positions, two labels: the first prefers label 0, and labels like to stay.
//! let (node, table) = (vec![1.0, 0.0, 0.0, 0.0], vec![0.5, 0.0, 0.0, 0.5]);
//! let mut chain = OwnedPotentials::chain(2, 2, node, table, vec![]);
//! let (potentials, mut scratch) = (chain.view(), Scratch::new());
//! let mut node = [0.0; 4];
//! let mut beliefs = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
//! let log_z = ForwardBackward::default().infer(&potentials, &mut beliefs, &mut scratch)?;
//! let z = (1.5_f64.exp() + 1_f64.exp()) + (1.0 + 0.5_f64.exp());
//! assert!((log_z.value - z.ln()).abs() < 1e-12);
//! assert!(node[0] > 0.7 && (node[0] + node[1] - 1.0).abs() < 1e-12);
//! # Ok::<(), crf_core::Error>(())
//! ```
//!
//! Graphs may have any edges, and nodes may have different numbers of labels. Every answer states
//! its grade: exact, a bound or an estimate.
//!
//! ```
//! use crf_core::{Beliefs, Bound, EdgeBeliefs, Graph, Inference, OwnedPotentials, Scratch};
//! use crf_inference::{BeliefPropagation, JunctionTree};
//!
//! // A cycle of three nodes; the last one has three labels.
//! let graph = Graph::bare(vec![2, 2, 3], [(0, 1), (1, 2), (2, 0)])?;
//! let (ab, bc) = (vec![0.5, 0.0, 0.0, 0.5], vec![0.1, 0.2, 0.3, 0.3, 0.2, 0.1]);
//! let tables = [ab, bc, vec![0.0, 0.4, 0.2, 0.1, 0.3, 0.0]];
//! let mut x = OwnedPotentials::graph(graph, vec![0.0; 7], &tables, vec![0, 1, 2])?;
//! let (potentials, mut scratch, mut node) = (x.view(), Scratch::new(), [0.0; 7]);
//! let mut ask = |with: &dyn Inference| {
//!     let mut beliefs = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
//!     with.infer(&potentials, &mut beliefs, &mut scratch)
//! };
//! let (exact, fast) = (ask(&JunctionTree::default())?, ask(&BeliefPropagation::default())?);
//! assert_eq!((exact.bound, fast.bound), (Bound::Exact, Bound::Estimate));
//! assert!((exact.value - fast.value).abs() < 0.01);
//! # Ok::<(), crf_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod chain;
mod errors;
mod graph;
mod log_domain;
mod possible_labels;
mod shifted;

pub use crate::chain::*;
pub use crate::graph::*;
