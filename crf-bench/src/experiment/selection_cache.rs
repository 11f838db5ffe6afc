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

/// What selectors found on the data of one point and trial: methods that ask the same question, and differ in what they make
/// of the answer, share it.
///
/// A selection's seed comes from its question, so it is the same whichever method asks first, and if no other does.
#[derive(Default)]
pub(crate) struct SelectionCache {
    known: HashMap<String, Rc<Selection>>,
}

/// What a selector found.
pub(crate) struct Selection {
    /// The features that were chosen.
    pub(crate) map: Arc<FeatureMap>,
    /// Their weights, if the selector found any.
    pub(crate) start: Option<LogLinear>,
    /// What was measured of the candidates on the way.
    pub(crate) path: Vec<PathPoint>,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// How a candidate is measured.
type Measure<'m> = dyn Fn(&dyn Model) -> Result<Vec<f64>> + 'm;

impl SelectionCache {
    /// The selection of a method, and whether it was known. Candidates are measured if there is something to `measure`.
    pub(crate) fn of(
        &mut self,
        method: &Method,
        problem: &Problem<'_>,
        seed: &Seed,
        measure: Option<&Measure<'_>>,
    ) -> Result<(Rc<Selection>, bool)> {
        let Method { features, learner, inference, selector, .. } = method;
        let decode = method.decode();
        let mut question = text(&(features, selector, inference, decode))?;
        if let Some(constraints) = &method.constraints {
            question += &text(constraints)?;
        }
        // Candidates without weights are compared after the method's learner has trained them.
        let with_learner = question.clone() + &text(learner)?;
        if let Some(known) = self.known.get(&question).or_else(|| self.known.get(&with_learner)) {
            return Ok((known.clone(), true));
        }
        let (clock, mut path) = (Instant::now(), Vec::new());
        let mut see = |tried: &TriedCandidate, model: &dyn Model| {
            if let Some(measure) = measure {
                let values = measure(model)?;
                path.push(PathPoint { features: tried.features, seconds: tried.seconds, values });
            }
            Ok(())
        };
        let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
        let mut run = FitContext::new(seed.child(&question), &mut go_on);
        let chosen = choose_with(&**selector, &**learner, decode, problem, &mut run, &mut see)?;
        let seconds = clock.elapsed().as_secs_f64();
        let selection = Rc::new(Selection { map: chosen.map, start: chosen.model, path, seconds });
        let key = if chosen.by_learner { with_learner } else { question };
        self.known.insert(key, selection.clone());
        Ok((selection, false))
    }

    /// All features, without a question: the only candidate wins, and there is no need to train it twice.
    pub(crate) fn none(map: &Arc<FeatureMap>) -> Rc<Selection> {
        Rc::new(Selection { map: map.clone(), start: None, path: Vec::new(), seconds: 0.0 })
    }
}

/// Settings as they are written.
fn text(settings: &impl Serialize) -> Result<String> {
    serde_json::to_string(settings).map_err(|error| Error::Plugin(Box::new(error)))
}
