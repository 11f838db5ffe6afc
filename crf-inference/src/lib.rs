//! Inference: marginals, log Z, the best labellings and draws, from log potentials.
//!
//! Chains are exact, graphs exact where that is cheap and approximate otherwise. The kernels of chains run in the probability domain with vectorised exponentials and fall back to the
//! log domain by themselves when the potentials leave the range in which that is safe.
//! What potentials mean, and the trait all of this stands behind, is `crf-core`'s business.
//!
//! ```
//! use crf_core::{Beliefs, EdgeBeliefs, Inference, OwnedPotentials, Scratch};
//! use crf_inference::ForwardBackward;
//!
//! // Two positions, two labels: the first prefers label 0, and labels like to stay.
//! let mut chain = OwnedPotentials::chain(2, 2, vec![1.0, 0.0, 0.0, 0.0], vec![0.5, 0.0, 0.0, 0.5], vec![]);
//! let (potentials, mut scratch) = (chain.view(), Scratch::new());
//! let mut node = [0.0; 4];
//! let mut beliefs = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
//! let log_z = ForwardBackward::default().infer(&potentials, &mut beliefs, &mut scratch)?;
//! assert!((log_z.value - ((1.5_f64.exp() + 1_f64.exp()) + (1.0 + 0.5_f64.exp())).ln()).abs() < 1e-12);
//! assert!(node[0] > 0.7 && (node[0] + node[1] - 1.0).abs() < 1e-12);
//! # Ok::<(), crf_core::Error>(())
//! ```
//!
//! Graphs may have any edges and nodes with different numbers of labels; every answer says what it is worth:
//!
//! ```
//! use crf_core::{Beliefs, Bound, EdgeBeliefs, Graph, Inference, OwnedPotentials, Scratch};
//! use crf_inference::{BeliefPropagation, JunctionTree};
//!
//! // A cycle of three nodes; the last one has three labels.
//! let graph = Graph::bare(vec![2, 2, 3], [(0, 1), (1, 2), (2, 0)])?;
//! let tables = [vec![0.5, 0.0, 0.0, 0.5], vec![0.1, 0.2, 0.3, 0.3, 0.2, 0.1], vec![0.0, 0.4, 0.2, 0.1, 0.3, 0.0]];
//! let mut x = OwnedPotentials::graph(graph, vec![0.0; 7], &tables, vec![0, 1, 2])?;
//! let (potentials, mut scratch, mut node) = (x.view(), Scratch::new(), [0.0; 7]);
//! let mut ask = |with: &dyn Inference| {
//!     with.infer(&potentials, &mut Beliefs { node: &mut node, edge: EdgeBeliefs::None }, &mut scratch)
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

pub use crate::chain::{Domain, ForwardBackward, Lattice};
pub use crate::graph::{
    BeliefPropagation, DualDecomposition, Enumeration, Gibbs, Icm, JunctionTree, MeanField, MessageSchedule,
    TreeReweighted,
};
