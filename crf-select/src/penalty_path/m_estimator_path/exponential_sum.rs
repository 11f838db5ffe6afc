use std::ops::Range;

use crf_core::{Problem, Result};
use crf_learn::{Form, MEstimatorObjective, Objective, PartialSum, ReferenceDistribution, WorkerMemory};

/// The M-estimator Σ_t exp(−w·(F_t(y_t) − Σ_k ρ(k) F_t(k))) itself, where [`MEstimatorObjective`]
/// is n times the logarithm of its mean.
///
/// Both have the same minima, but under other penalties: λ on the sum is λ/J on the logarithm, J
/// being the mean. Where labels can be told apart without a mistake, the logarithm has no minimum
/// below some λ, while the sum has one below every λ.
pub(crate) struct ExponentialSum<'a> {
    log: MEstimatorObjective<'a>,
    n: f64, // weight of all positions
}

impl<'a> ExponentialSum<'a> {
    pub(crate) fn new(rho: &ReferenceDistribution, problem: &Problem<'a>) -> Result<Self> {
        let data = problem.train.data();
        let n = (0..data.len()).map(|i| data.weight(i) * data.range(i).len() as f64).sum();
        Ok(ExponentialSum { log: MEstimatorObjective::new(Form::Centred, rho, problem)?, n })
    }
}

impl Objective for ExponentialSum<'_> {
    fn dim(&self) -> usize {
        self.log.dim()
    }

    fn n_items(&self) -> usize {
        self.log.n_items()
    }

    fn cost(&self, item: usize) -> usize {
        self.log.cost(item)
    }

    fn part_len(&self) -> usize {
        self.log.part_len()
    }

    fn begin(&mut self, w: &[f64], some: Option<&[usize]>) {
        self.log.begin(w, some);
    }

    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        self.log.add(w, item, part, worker)
    }

    fn add_all(
        &self,
        w: &[f64],
        items: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        self.log.add_all(w, items, part, worker)
    }

    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64 {
        let mean = (self.log.finish(w, some, total, gradient) / self.n).exp();
        gradient.iter_mut().for_each(|slope| *slope *= mean);
        self.n * mean
    }

    fn is_sum(&self) -> bool {
        self.log.is_sum()
    }

    fn is_separated(&self, value: f64) -> bool {
        self.log.is_separated(self.n * (value / self.n).ln())
    }
}
