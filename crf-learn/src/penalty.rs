use crf_core::{FeatureMap, Result, require};

use crate::objective::Objective;
use crate::optimizer::{Factor, Function};
use crate::sharded::Sharded;
use crate::stripes::Stripes;

/// λ₁‖w‖₁ + (λ₂/2)‖w‖² (Vail 2008, equations 2.57 and 2.58), with the weights it spares.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// λ₁, on the sum of absolute weights.
    pub l1: f64,
    /// λ₂, on half the sum of squared weights.
    pub l2: f64,
    /// Whether intercepts (y = label) go free.
    pub exempt_intercepts: bool,
}

impl Penalty {
    /// Rejects negative and infinite factors.
    pub fn check(&self) -> Result<()> {
        let fine = |factor: f64| factor.is_finite() && factor >= 0.0;
        require(fine(self.l1), "l1", "a finite number of at least 0", self.l1)?;
        require(fine(self.l2), "l2", "a finite number of at least 0", self.l2)
    }

    /// Whether it penalises nothing.
    pub fn is_none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }
}

/// An objective with the smooth part of a penalty added, ready for an optimizer.
pub struct Penalised<O> {
    objective: Sharded<O>,
    l1: f64,
    l2: f64,
    spared: Vec<bool>, // [weights], or empty when none is
    dim: usize,
    stripes: Stripes,
}

impl<O: Objective> Penalised<O> {
    /// Adds `penalty` to an objective over the weights of `map`.
    pub fn new(objective: O, penalty: &Penalty, map: &FeatureMap) -> Self {
        let n_spared = if penalty.exempt_intercepts { map.len() } else { 0 };
        let spared = (0..n_spared).map(|k| map.is_intercept(k)).collect();
        let (objective, stripes) = (Sharded::new(objective), Stripes::new(map.len()));
        Penalised { objective, l1: penalty.l1, l2: penalty.l2, spared, dim: map.len(), stripes }
    }

    /// The objective without the penalty.
    pub fn objective(&self) -> &Sharded<O> {
        &self.objective
    }
}

impl<O: Objective> Function for Penalised<O> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn l1(&self) -> Factor<'_> {
        Factor { of_all: self.l1, spared: &self.spared }
    }

    fn evaluations(&self) -> u32 {
        self.objective.evaluations()
    }

    fn evaluate(&mut self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = self.objective.evaluate(w, gradient)?;
        if self.l2 == 0.0 {
            return Ok(value);
        }
        let l2 = Factor { of_all: self.l2, spared: &self.spared };
        let [squares, ..] = self.stripes.update(gradient, |start, gradient| {
            let mut squares = 0.0;
            for (k, gradient) in (start..).zip(gradient) {
                let slope = l2.of(k) * w[k];
                *gradient += slope;
                squares += slope * w[k];
            }
            [squares, 0.0, 0.0]
        });
        Ok(value + 0.5 * squares)
    }
}
