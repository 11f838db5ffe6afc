use std::sync::Arc;

use crf_core::{Error, FitContext, Problem, Result, Stop, feature_units};
use crf_learn::{
    CostFunction, LikelihoodObjective, Objective, Penalised, Penalty, PenaltyFactor, Point, Sharded,
    StopRule, pseudo_gradient, run_steps,
};

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
    /// Unit of each candidate.
    pub(crate) units: Vec<f64>,
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
            units: feature_units(problem.map, problem.train),
        };
        objective.evaluate()?;
        Ok(objective)
    }

    /// Updates value and gradient for the current weights; an error if one is not finite, which a
    /// selector could not compare.
    pub(crate) fn evaluate(&mut self) -> Result<()> {
        self.value = self.full.evaluate(&self.w, &mut self.gradient)?;
        let what = match self.gradient.iter().position(|slope| !slope.is_finite()) {
            Some(k) => format!("the slope of `{}` is {}", self.problem.map.name(k), self.gradient[k]),
            None if self.value.is_finite() => return Ok(()),
            None => format!("the objective is {}", self.value),
        };
        Err(Error::NotFinite(format!("{what}; scale the features")))
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
        norm: SlopeNorm,
        f: impl FnOnce(&mut Self, &mut Restricted<'_>, &mut Point) -> Result<R>,
    ) -> Result<R> {
        let map = Arc::new(self.problem.map.narrow_to(features));
        let train = self.problem.train.restricted(&map);
        let problem = Problem { map: &map, train: &train, ..self.problem };
        let penalised = Penalised::new((self.build)(&problem)?, penalty, &map);
        let mut restricted = Restricted { penalised, units: self.units_of(features), norm };
        let mut point = Point::new(self.weights(features));
        self.reuse_gradient(features, &mut restricted, &mut point);
        f(self, &mut restricted, &mut point)
    }

    /// Copies value and gradient of the last evaluation to the point of a restricted model, which
    /// must be at its weights.
    pub(crate) fn reuse_gradient(&self, features: &[usize], f: &mut Restricted<'_>, point: &mut Point) {
        point.gradient.iter_mut().zip(features).for_each(|(slope, &k)| *slope = self.gradient[k]);
        f.penalised.penalise(self.value, point);
        f.measure(point);
    }

    /// Units of some candidates.
    pub(crate) fn units_of(&self, features: &[usize]) -> Vec<f64> {
        features.iter().map(|&k| self.units[k]).collect()
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
        self.restrict(features, penalty, SlopeNorm::InUnits, |objective, f, point| {
            let steps = steps.resume(f, features, objective.units_of(features), &run.seed)?;
            let trace = run_steps(f, point, steps, rule, None, (Vec::new(), 0), run)?;
            objective.set_weights(features, &point.w);
            objective.evaluate()?;
            Ok((point.value, trace.stop))
        })
    }
}

/// Norm in which the slopes of a point are compared with a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlopeNorm {
    /// Of the slopes as they are, for a tolerance that is a share of λ: both have the same unit.
    Plain,
    /// Of the slopes in units of their features, for a tolerance without a unit.
    InUnits,
}

/// Penalised objective of a model with few features, whose points are measured in the units of its
/// features.
pub(crate) struct Restricted<'b> {
    penalised: Penalised<Box<dyn Objective + 'b>>,
    units: Vec<f64>, // of its features
    norm: SlopeNorm,
}

impl Restricted<'_> {
    /// Changes the factor of the ℓ1 penalty; known points must be evaluated anew.
    pub(crate) fn set_l1(&mut self, l1: f64) {
        self.penalised.set_l1(l1);
    }

    /// Fills in the norms of a point, by which a minimisation stops.
    fn measure(&self, point: &mut Point) {
        let in_units = point.w.iter().zip(&self.units).map(|(w, unit)| w * unit);
        point.length = in_units.map(|w| w * w).sum::<f64>().sqrt();
        if self.norm == SlopeNorm::InUnits {
            let l1 = self.penalised.l1();
            let slopes = point.w.iter().zip(&point.gradient).zip(&self.units).enumerate();
            let slopes = slopes.map(|(k, ((&w, &slope), unit))| pseudo_gradient(w, slope, l1.of(k)) / unit);
            point.gradient_norm = slopes.map(|slope| slope * slope).sum::<f64>().sqrt();
        }
    }
}

impl CostFunction for Restricted<'_> {
    fn dim(&self) -> usize {
        self.penalised.dim()
    }

    fn l1(&self) -> PenaltyFactor<'_> {
        self.penalised.l1()
    }

    fn l2(&self) -> PenaltyFactor<'_> {
        self.penalised.l2()
    }

    fn n_items(&self) -> usize {
        self.penalised.n_items()
    }

    fn n_positions(&self) -> f64 {
        self.penalised.n_positions()
    }

    fn work(&self) -> usize {
        self.penalised.work()
    }

    fn evaluations(&self) -> u32 {
        self.penalised.evaluations()
    }

    fn evaluate(&mut self, point: &mut Point) -> Result<()> {
        self.penalised.evaluate(point)?;
        self.measure(point);
        Ok(())
    }

    fn evaluate_some(&mut self, items: &[usize], w: &[f64], gradient: &mut [f64]) -> Result<()> {
        self.penalised.evaluate_some(items, w, gradient)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::candidates::warm_steps::MAX_DENSE;
    use crf_core::{Alphabet, Channel, ChannelKind, DatasetBuilder, Schema, Seed, Value};
    use crf_testing::cases;
    use crf_testing::problems::Encoded;
    use crf_testing::runs::{INFERENCE, quiet};
    use proptest::prelude::*;

    /// Noisy numbers of two labels, each times a power of two.
    fn encoded(seed: u64, digits: [i32; 3]) -> Encoded {
        let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
        let channels = ["x", "y", "z"].map(channel).to_vec();
        let schema = Schema::chain(channels, Alphabet::new(["a", "b"])).unwrap();
        let (mut rng, mut data) = (Seed::new(seed).rng(), DatasetBuilder::new(Arc::new(schema)));
        for _ in 0..80 {
            let label = rng.random_range(0..2_u32);
            let values = digits.map(|digits| {
                let value = f64::from(label) + rng.random_range(-3.0..3.0);
                Value::Real(value * f64::from(digits).exp2())
            });
            data.push(&values, Some(label)).unwrap();
        }
        data.end_chain().unwrap();
        Encoded::new(r#"[{"state": "value"}]"#, data.finish())
    }

    proptest! {
        #![proptest_config(cases(32))]

        // Pairs of steps and slopes were dropped by a test with units: numbers of size 1e6, whose
        // squares have curvatures of 1e24, were never trained.
        #[test]
        fn training_is_the_same_to_the_bit_in_any_units(
            seed in any::<u64>(), digits in proptest::array::uniform3(-60..60_i32),
        ) {
            let train = |digits: [i32; 3]| {
                let encoded = encoded(seed, digits);
                let problem = encoded.problem(&INFERENCE);
                let mut objective = CandidateObjective::new(&problem, &likelihood).unwrap();
                let features: Vec<usize> = (0..encoded.map.len()).collect();
                let none = Penalty { l1: 0.0, l2: 0.0, exempt_intercepts: false };
                let mut steps = WarmSteps::new(MAX_DENSE);
                let rule = StopRule { delta: 0.0, ..StopRule::default() };
                let train = |run: &mut FitContext<'_>| objective.train(&features, &none, &rule, &mut steps, run);
                let (value, stop) = quiet(1, train).unwrap();
                let scaled = objective.w.iter().zip(&objective.units).map(|(w, unit)| w * unit);
                (scaled.collect::<Vec<f64>>(), value, stop)
            };
            let plain = train([0; 3]);
            prop_assert_eq!(plain.2, Stop::Converged);
            prop_assert_eq!(plain, train(digits));
        }
    }
}
