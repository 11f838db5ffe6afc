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
#![doc = include_str!("../../docs/from-rust.md")]
//!
//! ```
//! use std::sync::Arc;
//! use std::ops::ControlFlow;
//! use crf_core::prototypes::RawValue;
//! use crf_core::{Decode, Features, FitContext, Learner, Problem, Seed, Source, evaluate};
//! use crf_datasets::RedundantObservations;
//! use crf_inference::ForwardBackward;
//! use crf_learn::{Mle, Minimisation};
//!
//! let data = RedundantObservations::default().load(&Seed::new(1))?;
//! let features = Features::new().intercept().transition().state(RawValue::default());
//! let fitted = features.fit(&data.train)?;
//! let train = fitted.encode(Arc::new(data.train))?;
//! let map = Arc::new(fitted.map(&train)?);
//! let inference = ForwardBackward::default();
//! let problem = Problem::new(&train, &map, &inference);
//! let mle = Mle(Minimisation { l2: 0.1, ..Minimisation::default() });
//! let mut go_on = |_: &_| ControlFlow::Continue(());
//! let fit = mle.fit(&problem, &mut FitContext::new(Seed::new(2), &mut go_on))?;
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

pub use crate::boosting::*;
pub use crate::generative::*;
#[cfg(feature = "linfa")]
pub use crate::local::*;
pub use crate::log_linear::*;
pub use crate::margin::*;
pub use crate::neural::*;
pub use crate::objectives::*;
pub use crate::optimizers::*;
pub use crate::scoring::*;
pub use crate::training::*;
pub use crate::wrappers::*;
