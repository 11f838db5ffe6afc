//! Learners: models from labelled data.
//!
//! Learners of the likelihood family pair an objective (value and gradient, summed over the data on all cores) with
//! an optimizer and a penalty; each of the three is one file and knows nothing of the others. Inference is asked for
//! through `crf-core`'s trait: no algorithm of `crf-inference` is named here.
#![forbid(unsafe_code)]

mod objective;
mod penalty;
mod sharded;

mod history;
mod lbfgs;
mod optimizer;
mod owl_qn;

mod hmm;
mod likelihood;
mod mle;

pub use crate::hmm::{Emission, Hmm, HmmModel};
pub use crate::lbfgs::Lbfgs;
pub use crate::likelihood::Likelihood;
pub use crate::mle::Mle;
pub use crate::objective::{Objective, Part, Worker};
pub use crate::optimizer::{Function, Optimizer, Point, Step, StopRule, minimise};
pub use crate::owl_qn::OwlQn;
pub use crate::penalty::{Penalised, Penalty};
pub use crate::sharded::Sharded;
