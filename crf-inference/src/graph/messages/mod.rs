//! Message passing: belief propagation and tree-reweighted belief propagation, for marginals and
//! for the best labelling.
//!
//! `Shape::message_offset` lays messages out by node: one message over the node's labels for each
//! edge that it is an end of. Of the two kinds (Liao et al. 2007), μ tells a node its label and λ
//! tells the label of the sender. The λ of a node are computed from its μ alone and its μ from λ
//! alone, and both are stored side by side. So the parallel schedule is two passes that write
//! disjoint slices (the same bits at any number of threads), the sequential one does both node by
//! node, and the residual one keeps μ that no node has received yet.
//!
//! - *One kernel, four semirings*: sums or maxima of products, of numbers or of logarithms. Nothing
//!   is divided: a λ is the product of the messages before and behind the omitted one, so zeros are
//!   exact. As on chains, numbers are watched; what comes near to underflow is computed again with
//!   logarithms.
//! - *A forest is not a special case*: two sweeps in breadth-first order are exact, and that they
//!   suffice is all the code knows. A constant table couples nothing, so relations without features
//!   close no cycle; the marginals of their edges follow from the path between their ends.
//! - *Belief propagation is tree-reweighting with ρ = 1*, also in log Z = Σ_n log Z_n + Σ_e ρ_e
//!   (log Z_e − log Z_u − log Z_v), where no scale of a message matters. ρ are frequencies of edges
//!   in spanning forests, hence valid by construction.
//! - *Convergence is relative*: an entry of e⁻⁵⁰ decides where another potential is e⁵⁰. By
//!   absolute changes, messages seem converged too early, and upper bounds are none.
//! - *The queue of residuals is coarse*: it sorts nodes by powers of 256. A finer order needs fewer
//!   visits but takes longer, because it walks through memory at random.
//!
//! Start with `belief_propagation.rs` (a plugin) and `passing.rs` (the answers, shared by all
//! plugins here). Below them: `schedule.rs` is the setting, `sweeps.rs` the loop in each order,
//! `update.rs` the equations of one message, `semiring.rs` sum or max. `factors.rs` prepares
//! potentials, `traversal.rs` recognises forests, `distant_pairs.rs` follows their paths,
//! `edge_appearance.rs` computes ρ.

pub(crate) mod belief_propagation;
pub(crate) mod distant_pairs;
pub(crate) mod edge_appearance;
pub(crate) mod factors;
pub(crate) mod passing;
pub(crate) mod residual_queue;
pub(crate) mod schedule;
pub(crate) mod semiring;
pub(crate) mod sweeps;
pub(crate) mod traversal;
pub(crate) mod tree_reweighted;
pub(crate) mod update;

pub use belief_propagation::BeliefPropagation;
pub use schedule::MessageSchedule;
pub use tree_reweighted::TreeReweighted;
