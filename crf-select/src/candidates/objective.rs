use std::sync::Arc;

use crf_core::{FitContext, Problem, Result, Stop};
use crf_learn::{LikelihoodObjective, Objective, Penalised, Penalty, Point, Sharded, StopRule, run_steps};

use crate::candidates::warm_steps::WarmSteps;

/// What makes an objective of a problem.
pub(crate) type Of<'o> = dyn for<'b> Fn(&Problem<'b>) -> Result<Box<dyn Objective + 'b>> + Sync + 'o;

/// The likelihood, as an objective among others.
pub(crate) fn likelihood<'b>(problem: &Problem<'b>) -> Result<Box<dyn Objective + 'b>> {
    Ok(Box::new(LikelihoodObjective::new(problem)?))
}

/// All candidates under one objective: one pass over the data gives the derivative of every one of them, and the data of
/// few are enough to train these.
pub(crate) struct CandidateObjective<'a> {
    pub(crate) problem: Problem<'a>,
    of: &'a Of<'a>,
    all: Sharded<Box<dyn Objective + 'a>>,
    /// The weight of each candidate.
    pub(crate) w: Vec<f64>,
    /// The derivative of the objective, without a penalty, at these weights; see [`CandidateObjective::look`].
    pub(crate) gradient: Vec<f64>,
    /// Its value there.
    pub(crate) value: f64,
}

/// Where a field stood.
pub(crate) struct Stand {
    w: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

impl<'a> CandidateObjective<'a> {
    /// All candidates with weight zero.
    pub(crate) fn new(problem: &Problem<'a>, of: &'a Of<'a>) -> Result<Self> {
        let (all, n) = (Sharded::new(of(problem)?), problem.map.len());
        let mut field = CandidateObjective {
            problem: *problem,
            of,
            all,
            w: vec![0.0; n],
            gradient: vec![0.0; n],
            value: 0.0,
        };
        field.look()?;
        Ok(field)
    }

    /// Finds value and gradient at the weights.
    pub(crate) fn look(&mut self) -> Result<()> {
        self.value = self.all.evaluate(&self.w, &mut self.gradient)?;
        Ok(())
    }

    /// Where the field stands, to go back to.
    pub(crate) fn stand(&self) -> Stand {
        Stand { w: self.w.clone(), gradient: self.gradient.clone(), value: self.value }
    }

    /// Goes back to where the field stood.
    pub(crate) fn go_back(&mut self, Stand { w, gradient, value }: Stand) {
        (self.w, self.gradient, self.value) = (w, gradient, value);
    }

    /// The candidates whose weight is not zero.
    pub(crate) fn support(&self) -> Vec<usize> {
        (0..self.w.len()).filter(|&k| self.w[k] != 0.0).collect()
    }

    /// Some candidates' part of a vector over all.
    pub(crate) fn part(of: &[f64], features: &[usize]) -> Vec<f64> {
        features.iter().map(|&k| of[k]).collect()
    }

    /// Calls `f` with the penalised objective of a model that has some candidates only, and the point where these stand:
    /// value and gradient there are those of the last look.
    pub(crate) fn restrict<R>(
        &mut self,
        features: &[usize],
        penalty: &Penalty,
        f: impl FnOnce(&mut Self, &mut Penalised<Box<dyn Objective + '_>>, &mut Point) -> Result<R>,
    ) -> Result<R> {
        let map = Arc::new(self.problem.map.narrow_to(features));
        let train = self.problem.train.restricted(&map);
        let problem = Problem { map: &map, train: &train, ..self.problem };
        let mut penalised = Penalised::new((self.of)(&problem)?, penalty, &map);
        let mut at = Point::new(Self::part(&self.w, features));
        self.recall(features, &mut penalised, &mut at);
        f(self, &mut penalised, &mut at)
    }

    /// Gives a restricted model's point, at the weights of the last look, the value and gradient that were found.
    pub(crate) fn recall<O: Objective>(&self, features: &[usize], f: &mut Penalised<O>, at: &mut Point) {
        at.gradient.iter_mut().zip(features).for_each(|(slope, &k)| *slope = self.gradient[k]);
        f.penalise(self.value, at);
    }

    /// Gives candidates the weights of a restricted model.
    pub(crate) fn move_to(&mut self, features: &[usize], w: &[f64]) {
        features.iter().zip(w).for_each(|(&k, &w)| self.w[k] = w);
    }

    /// Trains the weights of some candidates, from where they are, and looks; the penalised objective, and why training stopped.
    pub(crate) fn train(
        &mut self,
        features: &[usize],
        penalty: &Penalty,
        rule: &StopRule,
        steps: &mut WarmSteps,
        run: &mut FitContext<'_>,
    ) -> Result<(f64, Stop)> {
        self.restrict(features, penalty, |field, f, at| {
            let steps = steps.on(f, features, &run.seed)?;
            let trace = run_steps(f, at, steps, rule, None, (Vec::new(), 0), run)?;
            field.move_to(features, &at.w);
            field.look()?;
            Ok((at.value, trace.stop))
        })
    }
}
