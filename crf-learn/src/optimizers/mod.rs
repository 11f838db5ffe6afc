//! Optimizers (plugins), the loop around their steps, and penalties.
//!
//! An [`Optimizer`](optimizer::Optimizer) is one step. The loop with its limits, tolerances, trace,
//! observer and early stopping is written once, in [`minimise`](optimizer::minimise).
//! [`Penalised`](penalised::Penalised) adds λ₁‖w‖₁ + (λ₂/2)‖w‖² to an objective; a learner is
//! objective × optimizer × penalty, and has no loop of its own. The room uses `objectives` and
//! `training`; `log_linear`, `neural`, `local` and `wrappers` use it.
//!
//! Line search. A search ends on the weak Wolfe conditions, or on the approximate ones of Hager and
//! Zhang where values differ by rounding only: otherwise gradients could not be driven below the
//! square root of the rounding error.
//!
//! L-BFGS runs its recursion on inner products of the remembered vectors (Chen, Wang & Zhou 2014),
//! which are stored in single precision: one pass takes the new products and one adds the vectors
//! up, where the textbook form reads and writes the direction once per remembered vector. With
//! millions of weights that is most of the cost of an iteration beside the data. The products are
//! those of the rounded vectors, so the matrix stays positive definite and the optimum is the same.
//! How many steps are remembered depends on their cost relative to an evaluation: few where there
//! are millions of weights, many where all of them are little work.
//!
//! Passes over long vectors are split into stripes whose sums are added in order
//! (`vector_passes.rs`). All that the loop asks of a point (both penalties, the norms) is summed in
//! the pass that adds the gradient of the penalty.
//!
//! Mini-batches. Optimizers that draw (`mini_batches.rs`: `sgd`, `adam`) ask a
//! [`CostFunction`](optimizer::CostFunction) for the gradient over some of its items. Their
//! iteration is an epoch, after which the objective is evaluated over all data, so a trace means
//! the same for every optimizer. Their objective may rise on the way: the loop keeps the best
//! weights, and compares means over the stopping rule's period.
//!
//! Start with `optimizer.rs`, then `lbfgs.rs`.

pub(crate) mod adam;
pub(crate) mod lbfgs;
pub(crate) mod mini_batches;
pub(crate) mod optimizer;
pub(crate) mod owl_qn;
pub(crate) mod penalised;
pub(crate) mod projected_cg;
pub(crate) mod quasi_newton;
pub(crate) mod sgd;
pub(crate) mod vector_passes;

pub use adam::Adam;
pub use lbfgs::Lbfgs;
pub use optimizer::{
    CostFunction, Optimizer, OptimizerState, PenaltyFactor, Point, StopRule, minimise, pseudo_gradient,
    run_steps,
};
pub use owl_qn::OwlQn;
pub use penalised::{Penalised, Penalty};
pub use projected_cg::ProjectedCg;
pub use sgd::{Sgd, StepSchedule};
