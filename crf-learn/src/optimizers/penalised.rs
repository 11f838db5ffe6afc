use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{FeatureMap, Result, require};

use crate::objectives::objective::Objective;
use crate::objectives::sharded::Sharded;
use crate::optimizers::optimizer::{CostFunction, PenaltyFactor, Point, pseudo_gradient};
use crate::optimizers::vector_passes::VectorPasses;

/// Penalty λ₁‖w‖₁ + (λ₂/2)‖w‖² (Vail 2008, equations 2.57 and 2.58), with the weights that it
/// spares.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// λ₁, factor of the sum of absolute weights.
    pub l1: f64,
    /// λ₂, factor of half the sum of squared weights.
    pub l2: f64,
    /// True if intercepts (y = label) are not penalised.
    pub exempt_intercepts: bool,
}

impl Penalty {
    /// Rejects negative and infinite factors.
    pub fn check(&self) -> Result<()> {
        let fine = |factor: f64| factor.is_finite() && factor >= 0.0;
        require(fine(self.l1), "l1", "a finite number of at least 0", self.l1)?;
        require(fine(self.l2), "l2", "a finite number of at least 0", self.l2)
    }

    /// True if it penalises nothing.
    pub fn is_none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }
}

/// An objective plus a penalty, as the cost function of an optimizer.
pub struct Penalised<O> {
    objective: Sharded<O>,
    l1: f64,
    l2: f64,
    exempt: Vec<bool>, // [weights] true if never penalised; empty if all are penalised
    spared: Vec<bool>, // [weights] true if exempt or frozen; empty likewise
    free: Range<usize>,
    dim: usize,
    passes: VectorPasses,
}

impl<O: Objective> Penalised<O> {
    /// Adds `penalty` to an objective over the weights of `map`.
    pub fn new(objective: O, penalty: &Penalty, map: &FeatureMap) -> Self {
        let n_spared = if penalty.exempt_intercepts { map.len() } else { 0 };
        Penalised::sparing((0..n_spared).map(|k| map.is_intercept(k)).collect(), objective, penalty)
    }

    /// Adds `penalty` to an objective, except on weights that are `exempt`; empty if none is.
    pub(crate) fn sparing(exempt: Vec<bool>, objective: O, penalty: &Penalty) -> Self {
        let dim = objective.dim();
        Penalised {
            objective: Sharded::new(objective),
            l1: penalty.l1,
            l2: penalty.l2,
            spared: exempt.clone(),
            exempt,
            free: 0..dim,
            dim,
            passes: VectorPasses::new(dim),
        }
    }

    /// Freezes all weights but some: frozen ones are not penalised and have the gradient 0.
    pub fn set_free(&mut self, free: Range<usize>) {
        self.spared = if free == (0..self.dim) {
            self.exempt.clone()
        } else {
            let exempt = |k: usize| self.exempt.get(k) == Some(&true);
            (0..self.dim).map(|k| !free.contains(&k) || exempt(k)).collect()
        };
        self.free = free;
    }

    /// Changes the factor of the ℓ1 penalty; [`Penalised::penalise`] must be called for known
    /// points.
    pub fn set_l1(&mut self, l1: f64) {
        self.l1 = l1;
    }

    /// Fills in value, gradient and norms of a point, given the value of the objective alone and
    /// its gradient in the point.
    pub fn penalise(&mut self, value: f64, point: &mut Point) {
        let Point { w, gradient, .. } = point;
        self.zero_frozen(gradient);
        let (l1, l2, spared) = (self.l1, self.l2, &self.spared);
        let [penalty, gradient, length, non_zeros] = self.passes.update(gradient, |start, gradient| {
            let w = &w[start..start + gradient.len()];
            match spared.get(start..start + gradient.len()) {
                Some(spared) => dispatch(Penalise::<true> { w, gradient, l1, l2, spared }),
                None => dispatch(Penalise::<false> { w, gradient, l1, l2, spared: &[] }),
            }
        });
        point.value = value + penalty;
        point.gradient_norm = gradient.sqrt();
        point.length = length.sqrt();
        point.non_zeros = non_zeros as usize;
    }

    /// Zeroes the gradient of frozen weights.
    fn zero_frozen(&self, gradient: &mut [f64]) {
        gradient[..self.free.start].fill(0.0);
        gradient[self.free.end..].fill(0.0);
    }

    /// The objective without the penalty.
    pub fn objective(&self) -> &Sharded<O> {
        &self.objective
    }
}

impl<O: Objective> CostFunction for Penalised<O> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn l1(&self) -> PenaltyFactor<'_> {
        PenaltyFactor { of_all: self.l1, spared: &self.spared }
    }

    fn l2(&self) -> PenaltyFactor<'_> {
        PenaltyFactor { of_all: self.l2, spared: &self.spared }
    }

    fn n_items(&self) -> usize {
        self.objective.objective().n_items()
    }

    fn n_positions(&self) -> f64 {
        self.objective.objective().n_positions()
    }

    fn work(&self) -> usize {
        self.objective.work()
    }

    fn evaluations(&self) -> u32 {
        self.objective.evaluations()
    }

    fn evaluate(&mut self, point: &mut Point) -> Result<()> {
        let value = self.objective.evaluate(&point.w, &mut point.gradient)?;
        self.penalise(value, point);
        Ok(())
    }

    fn evaluate_some(&mut self, items: &[usize], w: &[f64], gradient: &mut [f64]) -> Result<()> {
        self.objective.evaluate_some(items, w, gradient)?;
        self.zero_frozen(gradient);
        Ok(())
    }
}

/// Adds the gradient of the ℓ2 penalty to a stretch of the gradient, and in the same pass computes
/// all sums over it: both penalties, the squares of the pseudo-gradient and of the weights, and the
/// number of non-zero weights.
struct Penalise<'a, const SPARED: bool> {
    w: &'a [f64],
    gradient: &'a mut [f64],
    l1: f64,
    l2: f64,
    spared: &'a [bool],
}

impl<const SPARED: bool> Kernel for Penalise<'_, SPARED> {
    type Output = [f64; 4];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 4] {
        const LANES: usize = 8;
        let Penalise { w, gradient, l1, l2, spared } = self;
        let mut sums = [[0.0; LANES]; 4];
        for (block, gradient) in gradient.chunks_mut(LANES).enumerate() {
            let w = &w[block * LANES..];
            for (j, (gradient, &w)) in gradient.iter_mut().zip(w).enumerate() {
                let (l1, l2) = if SPARED && spared[block * LANES + j] { (0.0, 0.0) } else { (l1, l2) };
                *gradient = fma::<FMA>(l2, w, *gradient);
                let slope = pseudo_gradient(w, *gradient, l1);
                sums[0][j] += fma::<FMA>(0.5 * l2 * w, w, l1 * w.abs());
                sums[1][j] = fma::<FMA>(slope, slope, sums[1][j]);
                sums[2][j] = fma::<FMA>(w, w, sums[2][j]);
                sums[3][j] += f64::from(w != 0.0);
            }
        }
        sums.map(|sums| sums.iter().sum())
    }
}
