//! Selections that several methods share.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{Error, FeatureMap, FitContext, LogLinear, Model, Problem, Result, Seed};
use crf_core::{TriedCandidate, choose_with};

use serde::Serialize;

use crate::config::Method;
use crate::results::selection_path::PathPoint;

/// The selections on the data of one point and trial: methods with the same selector, features,
/// inference and decoding share one, and may differ in the learner.
///
/// The seed of a selection comes from these settings, so that it does not depend on which methods
/// run, or on their order.
#[derive(Default)]
pub(crate) struct SelectionCache {
    known: HashMap<String, Rc<Selection>>,
}

/// The answer of a selector.
pub(crate) struct Selection {
    /// The chosen features.
    pub(crate) map: Arc<FeatureMap>,
    /// Their weights, if the selector found any.
    pub(crate) start: Option<LogLinear>,
    /// The measured candidates.
    pub(crate) path: Vec<PathPoint>,
    /// Seconds of selection.
    pub(crate) seconds: f64,
}

/// The measurement of a candidate.
type Measure<'m> = dyn Fn(&dyn Model) -> Result<Vec<f64>> + 'm;

impl SelectionCache {
    /// The selection of a method, and true if it was cached. Candidates are measured by `measure`,
    /// if given.
    pub(crate) fn get_or_select(
        &mut self,
        method: &Method,
        problem: &Problem<'_>,
        seed: &Seed,
        measure: Option<&Measure<'_>>,
    ) -> Result<(Rc<Selection>, bool)> {
        let Method { features, learner, inference, selector, .. } = method;
        let decode = method.decode();
        let mut key = json(&(features, selector, inference, decode))?;
        if let Some(constraints) = &method.constraints {
            key += &json(constraints)?;
        }
        // Candidates without weights are compared after the method's learner has trained them.
        let key_with_learner = key.clone() + &json(learner)?;
        if let Some(known) = self.known.get(&key).or_else(|| self.known.get(&key_with_learner)) {
            return Ok((known.clone(), true));
        }
        let clock = Instant::now();
        let mut path = Vec::new();
        let mut record = |candidate: &TriedCandidate, model: &dyn Model| {
            if let Some(measure) = measure {
                let values = measure(model)?;
                path.push(PathPoint { features: candidate.features, seconds: candidate.seconds, values });
            }
            Ok(())
        };
        let mut observer = |_: &crf_core::Iteration| ControlFlow::Continue(());
        let mut run = FitContext::new(seed.child(&key), &mut observer);
        let chosen = choose_with(&**selector, &**learner, decode, problem, &mut run, &mut record)?;
        let seconds = clock.elapsed().as_secs_f64();
        let selection = Rc::new(Selection { map: chosen.map, start: chosen.model, path, seconds });
        let key = if chosen.by_learner { key_with_learner } else { key };
        self.known.insert(key, selection.clone());
        Ok((selection, false))
    }

    /// The selection of all features, without running a selector: the only candidate need not be
    /// trained twice.
    pub(crate) fn all_features(map: &Arc<FeatureMap>) -> Rc<Selection> {
        Rc::new(Selection { map: map.clone(), start: None, path: Vec::new(), seconds: 0.0 })
    }
}

/// Settings as JSON.
fn json(settings: &impl Serialize) -> Result<String> {
    serde_json::to_string(settings).map_err(|error| Error::Plugin(Box::new(error)))
}
