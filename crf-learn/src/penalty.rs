use crf_core::{FeatureMap, Result, require};

use crate::objective::Objective;
use crate::optimizer::Function;
use crate::sharded::Sharded;

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
    l2: f64,
    l1: Vec<f64>,      // [weights]
    spared: Vec<bool>, // [weights]
}

impl<O: Objective> Penalised<O> {
    /// Adds `penalty` to an objective over the weights of `map`.
    pub fn new(objective: O, penalty: &Penalty, map: &FeatureMap) -> Self {
        let spared: Vec<bool> =
            (0..map.len()).map(|k| penalty.exempt_intercepts && map.is_intercept(k)).collect();
        let l1 = spared.iter().map(|&spared| if spared { 0.0 } else { penalty.l1 }).collect();
        Penalised { objective: Sharded::new(objective), l2: penalty.l2, l1, spared }
    }

    /// The objective without the penalty.
    pub fn objective(&self) -> &Sharded<O> {
        &self.objective
    }
}

impl<O: Objective> Function for Penalised<O> {
    fn dim(&self) -> usize {
        self.l1.len()
    }

    fn l1(&self) -> &[f64] {
        &self.l1
    }

    fn evaluations(&self) -> u32 {
        self.objective.evaluations()
    }

    fn evaluate(&mut self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = self.objective.evaluate(w, gradient)?;
        if self.l2 == 0.0 {
            return Ok(value);
        }
        let mut squares = 0.0;
        for ((w, gradient), _) in w.iter().zip(gradient).zip(&self.spared).filter(|(_, spared)| !**spared) {
            squares += w * w;
            *gradient += self.l2 * w;
        }
        Ok(value + 0.5 * self.l2 * squares)
    }
}
