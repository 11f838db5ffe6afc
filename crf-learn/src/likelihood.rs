use crf_core::{Beliefs, Bound, Error, Forbidden, Inference, Label, Problem, Result, Scorer};

use crate::objective::{Objective, Part, Worker};

/// −log p(Y | X): Vail (2008), equation 2.46 summed as in 2.56, with the gradient 2.50.
///
/// Positions without a label are summed out: the value is then log Z − log Z of the labellings that agree with what
/// is known. The observed features of wholly labelled sequences never change and are counted once.
#[derive(Debug)]
pub struct Likelihood<'a> {
    scorer: Scorer<'a>,
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    observed: Vec<u32>, // features that occur
    counts: Vec<f64>,   // how often each of these occurs
    partial: Vec<bool>, // [sequences] whether some label is missing
}

impl<'a> Likelihood<'a> {
    /// The likelihood of a problem's training data.
    pub fn new(problem: &Problem<'a>) -> Result<Self> {
        let scorer = Scorer::new(problem.map, problem.train)?;
        let data = problem.train.data();
        if data.n_positions() == 0 {
            return Err(Error::data("the training data have no position"));
        }
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(data))?;
        let (mut counts, mut partial) = (vec![0.0; problem.map.len()], Vec::new());
        for i in 0..data.len() {
            problem.inference.supports(&data.shape(i))?;
            let labels: Option<Vec<Label>> = data.labels()[data.range(i)].iter().copied().collect();
            partial.push(labels.is_none());
            if let Some(labels) = labels {
                scorer.add_features(i, &labels, data.weight(i), &mut counts);
            }
        }
        let observed: Vec<u32> =
            (0..).zip(&counts).filter(|(_, count)| **count != 0.0).map(|(k, _)| k).collect();
        counts.retain(|&count| count != 0.0);
        let Problem { inference, forbidden, .. } = *problem;
        Ok(Likelihood { scorer, inference, forbidden, observed, counts, partial })
    }

    /// Adds `sign` times log Z and the expected features of sequence `i`, given its labels if `clamped`.
    fn add_log_z(
        &self,
        i: usize,
        clamped: bool,
        sign: f64,
        part: &mut Part,
        worker: &mut Worker,
    ) -> Result<()> {
        let Worker { potentials, constrained, inference, node, edge } = worker;
        let data = self.scorer.corpus().data();
        let weight = sign * data.weight(i);
        let mut p = self.scorer.fill(i, potentials)?;
        if let Some(forbidden) = self.forbidden {
            p = forbidden.apply(p, constrained)?;
        }
        if clamped {
            p.clamp(&data.labels()[data.range(i)]);
        }
        node.resize(p.node().len(), 0.0);
        let (packed, sums) = part.vector.split_at_mut(self.scorer.n_packed());
        let mut beliefs = Beliefs { node, edge: self.scorer.edge_beliefs(i, weight, sums, edge) };
        let log_z = self.inference.infer(&p, &mut beliefs, inference)?;
        part.value += weight * log_z.value;
        part.exact &= log_z.bound == Bound::Exact;
        self.scorer.add_expected(i, node, edge, weight, packed, potentials);
        Ok(())
    }
}

impl Objective for Likelihood<'_> {
    fn dim(&self) -> usize {
        self.scorer.map().len()
    }

    fn n_items(&self) -> usize {
        self.partial.len()
    }

    fn cost(&self, item: usize) -> usize {
        let shape = self.scorer.corpus().data().shape(item);
        shape.node_at(shape.n_nodes()) * 4 + shape.edge_at(shape.n_edges())
    }

    fn part_len(&self) -> usize {
        self.scorer.n_packed() + self.scorer.n_sums()
    }

    fn begin(&mut self, w: &[f64]) {
        self.scorer.update(w);
    }

    fn add(&self, _w: &[f64], item: usize, part: &mut Part, worker: &mut Worker) -> Result<()> {
        let at = |error: Error| error.at(format!("sequence {}", item + 1));
        self.add_log_z(item, false, 1.0, part, worker).map_err(at)?;
        if self.partial[item] {
            self.add_log_z(item, true, -1.0, part, worker).map_err(at)?;
        }
        Ok(())
    }

    fn finish(&self, w: &[f64], total: &Part, gradient: &mut [f64]) -> f64 {
        let (packed, sums) = total.vector.split_at(self.scorer.n_packed());
        let mut value = total.value;
        self.scorer.unpack(packed, sums, gradient);
        for (&k, count) in self.observed.iter().zip(&self.counts) {
            gradient[k as usize] -= count;
            value -= w[k as usize] * count;
        }
        value
    }

    fn is_separated(&self, value: f64) -> bool {
        value < 1e-4 * self.scorer.corpus().data().n_positions() as f64
    }
}
