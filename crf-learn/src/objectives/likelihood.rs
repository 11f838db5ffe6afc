use crf_core::{Beliefs, Bound, Error, Forbidden, Inference, Label, Problem, Result};

use crate::objectives::fixed_scores::{FixedScores, add_scores, score};
use crate::objectives::objective::{Objective, PartialSum, WorkerMemory, weighted_positions};
use crate::scoring::scorer::Scorer;

/// Negative conditional log-likelihood −log p(Y | X): Vail (2008), equation 2.46 summed as in 2.56,
/// with the gradient 2.50.
///
/// Positions without a label are summed out: the value is then log Z − log Z of the labellings that
/// agree with the known labels. The observed features of fully labelled sequences never change and
/// are counted once.
#[derive(Debug)]
pub struct LikelihoodObjective<'a> {
    scorer: Scorer<'a>,
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    observed: Vec<u32>, // features that occur in fully labelled sequences
    counts: Vec<f64>,   // weighted count of each of these
    truth: Vec<Label>,  // [positions] arbitrary where a label is missing
    partial: Vec<bool>, // [sequences] true if a label is missing
    n_positions: f64,
    fixed: FixedScores,
}

impl<'a> LikelihoodObjective<'a> {
    /// The objective over the training data of a problem.
    pub fn new(problem: &Problem<'a>) -> Result<Self> {
        let scorer = Scorer::bundled(problem.map, problem.train)?;
        let data = problem.train.data();
        if data.n_positions() == 0 {
            return Err(Error::data("the training data have no position"));
        }
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(data))?;
        let mut counts = vec![0.0; problem.map.len()];
        let mut partial = Vec::new();
        let truth: Vec<Label> = data.labels().iter().map(|label| label.unwrap_or(0)).collect();
        for i in 0..data.len() {
            problem.inference.supports(&data.shape(i))?;
            partial.push(data.labels()[data.range(i)].contains(&None));
            if !partial[i] {
                scorer.add_features(i, &truth[data.range(i)], data.weight(i), &mut counts);
            }
        }
        let observed: Vec<u32> =
            (0..).zip(&counts).filter(|(_, count)| **count != 0.0).map(|(k, _)| k).collect();
        counts.retain(|&count| count != 0.0);
        let Problem { inference, forbidden, .. } = *problem;
        let (n_positions, fixed) = (weighted_positions(data), FixedScores::default());
        Ok(LikelihoodObjective {
            scorer,
            inference,
            forbidden,
            observed,
            counts,
            truth,
            partial,
            n_positions,
            fixed,
        })
    }

    /// Adds fixed scores of labels.
    pub(crate) fn with(self, fixed: FixedScores) -> Self {
        LikelihoodObjective { fixed, ..self }
    }

    /// True if a label of sequence `i` is missing.
    pub(crate) fn is_partial(&self, i: usize) -> bool {
        self.partial[i]
    }

    /// Labels of sequence `i`; missing ones are arbitrary.
    pub(crate) fn truth(&self, i: usize) -> &[Label] {
        &self.truth[self.scorer.encoded().data().range(i)]
    }

    /// Adds `sign` times log Z and the expected features of sequence `i` to `sum`, given its known
    /// labels if `clamped`; `fixed` scores are added to those of the weights. Leaves the node
    /// beliefs in the worker.
    pub(crate) fn add_log_z(
        &self,
        i: usize,
        clamped: bool,
        sign: f64,
        fixed: &[f64],
        sum: SumTarget<'_>,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        let WorkerMemory { potentials, constrained, inference, node, edge } = worker;
        let data = self.scorer.encoded().data();
        let weight = sign * data.weight(i);
        let mut p = self.scorer.fill(i, potentials)?;
        add_scores(&mut p, fixed);
        if let Some(forbidden) = self.forbidden {
            p = forbidden.apply(p, constrained)?;
        }
        if clamped {
            p.clamp(&data.labels()[data.range(i)]);
        }
        node.resize(p.node().len(), 0.0);
        let (packed, sums) = sum.vector.split_at_mut(self.scorer.n_packed());
        let mut beliefs = Beliefs { node, edge: self.scorer.edge_beliefs(i, weight, sums, edge) };
        let log_z = self.inference.infer(&p, &mut beliefs, inference)?;
        *sum.value += weight * log_z.value;
        *sum.exact &= log_z.bound == Bound::Exact;
        self.scorer.add_expected(i, node, edge, weight, packed, potentials);
        Ok(())
    }

    /// Returns the value and writes the gradient from the total over all sequences, or over `some`.
    pub(crate) fn finish_sum(
        &self,
        w: &[f64],
        some: Option<&[usize]>,
        value: f64,
        vector: &[f64],
        gradient: &mut [f64],
    ) -> f64 {
        let (packed, sums) = vector.split_at(self.scorer.n_packed());
        let mut value = value;
        self.scorer.unpack(packed, sums, gradient);
        let mut subtract = |k: usize, count: f64| {
            gradient[k] -= count;
            value -= w[k] * count;
        };
        match some {
            None => {
                self.observed.iter().zip(&self.counts).for_each(|(&k, &count)| subtract(k as usize, count))
            }
            Some(items) => {
                let data = self.scorer.encoded().data();
                for &i in items.iter().filter(|&&i| !self.partial[i]) {
                    let weight = data.weight(i);
                    self.scorer.for_each_feature(i, self.truth(i), |k, value| subtract(k, weight * value));
                }
            }
        }
        value
    }
}

/// Destination of value and expectations: a partial sum, or a part of its numbers.
pub(crate) struct SumTarget<'a> {
    pub(crate) value: &'a mut f64,
    pub(crate) exact: &'a mut bool,
    pub(crate) vector: &'a mut [f64],
}

impl PartialSum {
    /// The destination that starts at number `start`.
    pub(crate) fn sum_from(&mut self, start: usize) -> SumTarget<'_> {
        SumTarget { value: &mut self.value, exact: &mut self.exact, vector: &mut self.vector[start..] }
    }
}

impl Objective for LikelihoodObjective<'_> {
    fn dim(&self) -> usize {
        self.scorer.map().len()
    }

    fn n_items(&self) -> usize {
        self.partial.len()
    }

    fn n_positions(&self) -> f64 {
        self.n_positions
    }

    fn cost(&self, item: usize) -> usize {
        let shape = self.scorer.encoded().data().shape(item);
        shape.node_offset(shape.n_nodes()) * 4 + shape.edge_offset(shape.n_edges())
    }

    fn part_len(&self) -> usize {
        self.scorer.n_packed() + self.scorer.n_sums()
    }

    fn begin(&mut self, w: &[f64], _some: Option<&[usize]>) {
        self.scorer.update(w);
    }

    fn add(&self, _w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        let in_sequence = |error: Error| error.at(format!("sequence {}", item + 1));
        let data = self.scorer.encoded().data();
        let fixed = self.fixed.sequence(data, item);
        self.add_log_z(item, false, 1.0, fixed, part.sum_from(0), worker).map_err(in_sequence)?;
        if self.partial[item] {
            self.add_log_z(item, true, -1.0, fixed, part.sum_from(0), worker).map_err(in_sequence)?;
        } else {
            part.value -= data.weight(item) * score(fixed, self.truth(item));
        }
        Ok(())
    }

    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64 {
        self.finish_sum(w, some, total.value, &total.vector, gradient)
    }

    fn is_separated(&self, value: f64) -> bool {
        value < 1e-4 * self.n_positions
    }
}
