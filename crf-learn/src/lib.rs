//! Learners: models from labelled data.
//!
//! Learners of the likelihood family pair an objective (value and gradient, summed over the data on
//! all cores) with an optimizer and a penalty; each of the three is one file and knows nothing of
//! the others. Margin learners pass over the data in rounds with one loss-augmented decoder.
//! Boosting, hidden Markov models, a neural chain, local baselines and wrappers have rooms of their
//! own. Inference is used through the traits of `crf-core`: no algorithm of `crf-inference` is
//! named here.
//!
//! Arrows between rooms go one way: `scoring` ← `objectives` ← `training` ← `optimizers` ←
//! `log_linear` ← {`neural`, `wrappers`}, with `margin`, `boosting`, `generative` and `local`
//! beside. To follow a training start with `log_linear/mle.rs`.
//!
//! ```
//! use std::sync::Arc;
//! use std::ops::ControlFlow;
//! use crf_core::{Decode, Features, Learner, Problem, FitContext, Seed, Source, evaluate};
//! use crf_datasets::RedundantObservations;
//! use crf_inference::ForwardBackward;
//! use crf_learn::{Mle, Minimisation};
//!
//! let data = RedundantObservations::default().load(&Seed::new(1))?;
//! let features: Features = serde_json::from_str(r#"["intercept", "transition", {"state": "value"}]"#)?;
//! let fitted = features.fit(&data.train)?;
//! let train = fitted.encode(Arc::new(data.train))?;
//! let map = Arc::new(fitted.map(&train)?);
//! let inference = ForwardBackward::default();
//! let problem = Problem::new(&train, &map, &inference);
//! let mle = Mle(Minimisation { l2: 0.1, ..Minimisation::default() });
//! let fit = mle.fit(&problem, &mut FitContext::new(Seed::new(2), &mut |_| ControlFlow::Continue(())))?;
//!
//! let test = fitted.encode(Arc::new(data.test))?;
//! let evaluation = evaluate(&*fit.model, &test, &inference, Decode::Posterior)?;
//! let wrong = evaluation.pairs().filter(|(truth, predicted)| truth != predicted).count();
//! assert!(wrong < 200, "{wrong} of 1000");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod boosting;
mod generative;
#[cfg(feature = "linfa")]
mod local;
mod log_linear;
mod margin;
mod neural;
mod objectives;
mod optimizers;
mod scoring;
mod training;
mod wrappers;

#[cfg(feature = "linfa")]
pub mod linfa;

pub use crate::boosting::additive_model::AdditiveModel;
pub use crate::boosting::boosted_hmm::BoostedHmm;
pub use crate::boosting::boosted_random_field::BoostedRandomField;
pub use crate::boosting::boosted_random_field::model::BrfModel;
pub use crate::boosting::gradient_tree_boosting::loss::Leaf;
pub use crate::boosting::gradient_tree_boosting::model::TreeModel;
pub use crate::boosting::gradient_tree_boosting::{Gradient, GradientTreeBoosting};
pub use crate::boosting::logit_boost::LogitBoost;
pub use crate::boosting::trees::Symbols;
pub use crate::boosting::virtual_evidence_boosting::VirtualEvidenceBoosting;
pub use crate::generative::discriminative_hmm::DiscriminativeHmm;
pub use crate::generative::hmm::model::HmmModel;
pub use crate::generative::hmm::{Emission, Hmm};
#[cfg(feature = "linfa")]
pub use crate::local::logistic::Logistic;
#[cfg(feature = "linfa")]
pub use crate::local::svc::Svc;
pub use crate::log_linear::m_estimator::{MEstimator, Reference};
pub use crate::log_linear::minimisation::Minimisation;
pub use crate::log_linear::mle::Mle;
pub use crate::log_linear::pseudo_likelihood::PseudoLikelihood;
pub use crate::margin::arow::Arow;
pub use crate::margin::loss::{Loss, Margin};
pub use crate::margin::passive_aggressive::{PassiveAggressive, Slack};
pub use crate::margin::perceptron::Perceptron;
pub use crate::margin::ssvm::Ssvm;
pub use crate::margin::ssvm_frank_wolfe::SsvmFrankWolfe;
pub use crate::margin::ssvm_n_slack::SsvmNSlack;
pub use crate::margin::ssvm_one_slack::SsvmOneSlack;
pub use crate::margin::ssvm_subgradient::SsvmSubgradient;
pub use crate::neural::model::NeuralModel;
pub use crate::neural::neural_chain::{By, NeuralChain, Pairwise, Training};
pub use crate::objectives::likelihood::LikelihoodObjective;
pub use crate::objectives::m_estimator::{Form, MEstimatorObjective, ReferenceDistribution};
pub use crate::objectives::objective::{Objective, PartialSum, WorkerMemory};
pub use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;
pub use crate::objectives::sharded::Sharded;
pub use crate::optimizers::adam::Adam;
pub use crate::optimizers::lbfgs::Lbfgs;
pub use crate::optimizers::optimizer::{
    CostFunction, Optimizer, OptimizerState, PenaltyFactor, Point, StopRule, minimise, pseudo_gradient,
    run_steps,
};
pub use crate::optimizers::owl_qn::OwlQn;
pub use crate::optimizers::penalised::{Penalised, Penalty};
pub use crate::optimizers::projected_cg::ProjectedCg;
pub use crate::optimizers::sgd::{Sgd, StepSchedule};
pub use crate::scoring::merged_features::MergedFeatures;
pub use crate::scoring::scorer::Scorer;
pub use crate::training::early_stopping::EarlyStopping;
pub use crate::wrappers::best_of::BestOf;
pub use crate::wrappers::fixed::Fixed;
pub use crate::wrappers::in_part::InPart;
pub use crate::wrappers::label_weighted::{LabelWeighted, LabelWeights, Rule};
