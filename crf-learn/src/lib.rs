//! Learners: models from labelled data.
//!
//! Learners of the likelihood family pair an objective (value and gradient, summed over the data on all cores) with
//! an optimizer and a penalty; each of the three is one file and knows nothing of the others. Learners of the margin
//! family go over the data in rounds with one loss-augmented decoder. Inference is asked for through `crf-core`'s trait:
//! no algorithm of `crf-inference` is named here.
//!
//! ```
//! use std::sync::Arc;
//! use crf_core::{Decode, Features, Learner, Next, Problem, Run, Seed, Source, evaluate};
//! use crf_datasets::RedundantObservations;
//! use crf_inference::ForwardBackward;
//! use crf_learn::{Mle, Pairing};
//!
//! let data = RedundantObservations::default().load(&Seed::new(1))?;
//! let features: Features = serde_json::from_str(r#"["intercept", "transition", {"state": "value"}]"#)?;
//! let fitted = features.fit(&data.train)?;
//! let train = fitted.encode(Arc::new(data.train))?;
//! let map = Arc::new(fitted.map(&train)?);
//! let inference = ForwardBackward::default();
//! let problem = Problem::new(&train, &map, &inference);
//! let mle = Mle(Pairing { l2: 0.1, ..Pairing::default() });
//! let fit = mle.fit(&problem, &mut Run::new(Seed::new(2), &mut |_| Next::Continue))?;
//!
//! let test = fitted.encode(Arc::new(data.test))?;
//! let evaluation = evaluate(&*fit.model, &test, &inference, Decode::Posterior)?;
//! let wrong = evaluation.pairs().filter(|(truth, predicted)| truth != predicted).count();
//! assert!(wrong < 200, "{wrong} of 1000");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as crf_learn;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

mod columns;
mod given;
mod objective;
mod patches;
mod penalty;
mod sharded;
mod stripes;
mod truth;

mod adam;
mod epochs;
mod history;
mod lbfgs;
mod optimizer;
mod owl_qn;
mod pairing;
mod projected_cg;
mod sgd;
mod watch;

mod averaged;
mod decoder;
mod dual;
mod margin;
mod online;
mod order;
mod rounds;
mod simplex;
mod ssvm;

mod boosted_chains;
mod boosted_patches;
mod boosting;
mod evidence;
mod functional;
mod patience;
mod trees;
mod weak;

mod additive_model;
mod best_of;
mod boosted_hmm;
mod boosted_random_field;
mod brf_model;
mod conditionals;
mod discriminative_hmm;
mod exponential;
mod fixed;
mod gradient_tree_boosting;
mod hmm;
mod in_part;
mod label_weighted;
mod likelihood;
#[cfg(feature = "linfa")]
pub mod linfa;
#[cfg(feature = "linfa")]
mod local;
#[cfg(feature = "linfa")]
mod logistic;
mod logit_boost;
mod m_estimator;
mod mle;
mod net;
mod net_objective;
mod neural_chain;
mod neural_model;
mod passive_aggressive;
mod perceptron;
mod pseudo_likelihood;
mod ssvm_frank_wolfe;
mod ssvm_n_slack;
mod ssvm_one_slack;
mod ssvm_subgradient;
#[cfg(feature = "linfa")]
mod svc;
mod tree_model;
mod virtual_evidence_boosting;

pub use crate::adam::Adam;
pub use crate::additive_model::AdditiveModel;
pub use crate::best_of::BestOf;
pub use crate::boosted_hmm::BoostedHmm;
pub use crate::boosted_random_field::BoostedRandomField;
pub use crate::brf_model::BrfModel;
pub use crate::conditionals::Conditionals;
pub use crate::discriminative_hmm::DiscriminativeHmm;
pub use crate::exponential::{Exponential, Form, Rho};
pub use crate::fixed::Fixed;
pub use crate::functional::Leaf;
pub use crate::gradient_tree_boosting::{Gradient, GradientTreeBoosting};
pub use crate::hmm::{Emission, Hmm, HmmModel};
pub use crate::in_part::InPart;
pub use crate::label_weighted::{LabelWeighted, LabelWeights, Rule};
pub use crate::lbfgs::Lbfgs;
pub use crate::likelihood::Likelihood;
#[cfg(feature = "linfa")]
pub use crate::logistic::Logistic;
pub use crate::logit_boost::LogitBoost;
pub use crate::m_estimator::{MEstimator, Reference};
pub use crate::margin::{Loss, Margin};
pub use crate::mle::Mle;
pub use crate::neural_chain::{By, NeuralChain, Pairwise, Training};
pub use crate::neural_model::NeuralModel;
pub use crate::objective::{Objective, Part, Worker};
pub use crate::optimizer::{
    Factor, Function, Optimizer, Point, Step, StopRule, descend, minimise, pseudo_gradient,
};
pub use crate::owl_qn::OwlQn;
pub use crate::pairing::Pairing;
pub use crate::passive_aggressive::{PassiveAggressive, Slack};
pub use crate::penalty::{Penalised, Penalty};
pub use crate::perceptron::Perceptron;
pub use crate::projected_cg::ProjectedCg;
pub use crate::pseudo_likelihood::PseudoLikelihood;
pub use crate::sgd::{Schedule, Sgd};
pub use crate::sharded::Sharded;
pub use crate::ssvm::Ssvm;
pub use crate::ssvm_frank_wolfe::SsvmFrankWolfe;
pub use crate::ssvm_n_slack::SsvmNSlack;
pub use crate::ssvm_one_slack::SsvmOneSlack;
pub use crate::ssvm_subgradient::SsvmSubgradient;
#[cfg(feature = "linfa")]
pub use crate::svc::Svc;
pub use crate::tree_model::TreeModel;
pub use crate::trees::Symbols;
pub use crate::virtual_evidence_boosting::VirtualEvidenceBoosting;
pub use crate::watch::Watch;
