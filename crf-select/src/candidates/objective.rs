use std::sync::Arc;

use crf_core::{FitContext, Problem, Result, Stop};
use crf_learn::{LikelihoodObjective, Objective, Penalised, Penalty, Point, Sharded, StopRule, run_steps};

use crate::candidates::warm_steps::WarmSteps;

/// Constructor of an objective: the only thing in which the likelihood's path and the M-estimator's
/// differ here.
pub(crate) type BuildObjective<'o> =
    dyn for<'b> Fn(&Problem<'b>) -> Result<Box<dyn Objective + 'b>> + Sync + 'o;

/// The negative log-likelihood of a problem.
pub(crate) fn likelihood<'b>(problem: &Problem<'b>) -> Result<Box<dyn Objective + 'b>> {
    Ok(Box::new(LikelihoodObjective::new(problem)?))
}

/// The objective over all candidate features: their weights, its value and its full gradient.
///
/// One pass over the data gives the derivative of every candidate, so a selector sees all of them
/// at once. It also builds the penalised objective of a subset, from data encoded with the
/// functions of that subset only, so few features train fast.
pub(crate) struct CandidateObjective<'a> {
    pub(crate) problem: Problem<'a>,
    build: &'a BuildObjective<'a>,
    full: Sharded<Box<dyn Objective + 'a>>,
    /// Weight of each candidate.
    pub(crate) w: Vec<f64>,
    /// Derivatives of the objective, without a penalty, at the weights of the last
    /// [`CandidateObjective::evaluate`].
    pub(crate) gradient: Vec<f64>,
    /// Value of the objective there, without a penalty.
    pub(crate) value: f64,
}

/// Saved weights, gradient and value of a [`CandidateObjective`].
pub(crate) struct Snapshot {
    w: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

impl<'a> CandidateObjective<'a> {
    /// Builds the objective of all candidates and evaluates it at w = 0.
    pub(crate) fn new(problem: &Problem<'a>, build: &'a BuildObjective<'a>) -> Result<Self> {
        let n = problem.map.len();
        let mut objective = CandidateObjective {
            problem: *problem,
            build,
            full: Sharded::new(build(problem)?),
            w: vec![0.0; n],
            gradient: vec![0.0; n],
            value: 0.0,
        };
        objective.evaluate()?;
        Ok(objective)
    }

    /// Updates value and gradient for the current weights.
    pub(crate) fn evaluate(&mut self) -> Result<()> {
        self.value = self.full.evaluate(&self.w, &mut self.gradient)?;
        Ok(())
    }

    /// Saves weights, gradient and value.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { w: self.w.clone(), gradient: self.gradient.clone(), value: self.value }
    }

    /// Restores a snapshot.
    pub(crate) fn restore(&mut self, Snapshot { w, gradient, value }: Snapshot) {
        self.w = w;
        self.gradient = gradient;
        self.value = value;
    }

    /// Candidates with a non-zero weight, ascending.
    pub(crate) fn support(&self) -> Vec<usize> {
        (0..self.w.len()).filter(|&k| self.w[k] != 0.0).collect()
    }

    /// Current weights of some candidates.
    pub(crate) fn weights(&self, features: &[usize]) -> Vec<f64> {
        features.iter().map(|&k| self.w[k]).collect()
    }

    /// Calls `f` with the penalised objective of a model that has only `features`, and with its
    /// current point.
    ///
    /// Value and gradient of the point come from the last evaluation, so it costs no pass over the
    /// data.
    pub(crate) fn restrict<R>(
        &mut self,
        features: &[usize],
        penalty: &Penalty,
        f: impl FnOnce(&mut Self, &mut Penalised<Box<dyn Objective + '_>>, &mut Point) -> Result<R>,
    ) -> Result<R> {
        let map = Arc::new(self.problem.map.narrow_to(features));
        let train = self.problem.train.restricted(&map);
        let problem = Problem { map: &map, train: &train, ..self.problem };
        let mut penalised = Penalised::new((self.build)(&problem)?, penalty, &map);
        let mut point = Point::new(self.weights(features));
        self.reuse_gradient(features, &mut penalised, &mut point);
        f(self, &mut penalised, &mut point)
    }

    /// Copies value and gradient of the last evaluation to the point of a restricted model, which
    /// must be at its weights.
    pub(crate) fn reuse_gradient<O: Objective>(
        &self,
        features: &[usize],
        f: &mut Penalised<O>,
        point: &mut Point,
    ) {
        point.gradient.iter_mut().zip(features).for_each(|(slope, &k)| *slope = self.gradient[k]);
        f.penalise(self.value, point);
    }

    /// Sets the weights of some candidates; value and gradient stay those of the last evaluation.
    pub(crate) fn set_weights(&mut self, features: &[usize], w: &[f64]) {
        features.iter().zip(w).for_each(|(&k, &w)| self.w[k] = w);
    }

    /// Trains the weights of some candidates from their current values and evaluates all candidates
    /// at the result.
    ///
    /// Returns the penalised objective and the reason why training stopped.
    pub(crate) fn train(
        &mut self,
        features: &[usize],
        penalty: &Penalty,
        rule: &StopRule,
        steps: &mut WarmSteps,
        run: &mut FitContext<'_>,
    ) -> Result<(f64, Stop)> {
        self.restrict(features, penalty, |objective, f, point| {
            let steps = steps.resume(f, features, &run.seed)?;
            let trace = run_steps(f, point, steps, rule, None, (Vec::new(), 0), run)?;
            objective.set_weights(features, &point.w);
            objective.evaluate()?;
            Ok((point.value, trace.stop))
        })
    }
}
