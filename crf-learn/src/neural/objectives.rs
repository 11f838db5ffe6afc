use crf_core::{EncodedDataset, Label, Problem, Result, Seed};

use crate::neural::feed_forward::{Dropout, FeedForwardNet, Pass};
use crate::objectives::fixed_scores::score;
use crate::objectives::labels::refuse_foreign;
use crate::objectives::likelihood::LikelihoodObjective;
use crate::objectives::objective::{Objective, PartialSum, WorkerMemory};
use crate::objectives::pseudo_likelihood::log_loss;

/// Objective of a classifier of single positions: −Σ log p(y_t | x_t) over the labelled positions,
/// with the scores of a net.
///
/// Its items are positions.
pub(crate) struct Classifier<'a> {
    net: &'a FeedForwardNet,
    x: &'a EncodedDataset,
    labelled: Vec<(usize, Label, f64)>, // position, label, weight
    dropout: Option<Dropout>,
    drops_units: bool, // true if units drop out in this evaluation
}

/// Objective of net and transition weights together: −log p(Y | X) of a chain, or any graph, whose
/// node potentials are the scores of a net. The derivatives of log Z, the node beliefs, are
/// propagated back through the net.
///
/// The weights are those of the net, then those of the transition features.
pub(crate) struct Joint<'a> {
    net: &'a FeedForwardNet,
    x: &'a EncodedDataset,
    likelihood: LikelihoodObjective<'a>,
    dropout: Option<Dropout>,
    drops_units: bool,
}

/// Dropout with the given probability; `None` if that is 0.
fn dropout(share: f64, seed: &Seed) -> Option<Dropout> {
    (share > 0.0).then(|| Dropout { share, rng: seed.child("dropout").rng(), step: 0 })
}

/// Redraws the dropout mask for a training step; true if dropout is active.
fn redraw(dropout: &mut Option<Dropout>, some: Option<&[usize]>) -> bool {
    match dropout {
        Some(dropout) if some.is_some() => {
            dropout.step += 1;
            true
        }
        _ => false,
    }
}

impl<'a> Classifier<'a> {
    /// The objective over the labelled positions of a dataset.
    pub(crate) fn new(
        net: &'a FeedForwardNet,
        x: &'a EncodedDataset,
        share: f64,
        seed: &Seed,
    ) -> Result<Self> {
        let data = x.data();
        refuse_foreign(data)?;
        let labelled = (0..data.len()).flat_map(|i| {
            let weight = data.weight(i);
            data.range(i).filter_map(move |t| Some((t, data.labels()[t]?, weight)))
        });
        let labelled: Vec<_> = labelled.collect();
        if labelled.is_empty() {
            return Err(crf_core::Error::data("the data have no position with a label"));
        }
        Ok(Classifier { net, x, labelled, dropout: dropout(share, seed), drops_units: false })
    }
}

impl Objective for Classifier<'_> {
    fn dim(&self) -> usize {
        self.net.len()
    }

    fn n_items(&self) -> usize {
        self.labelled.len()
    }

    fn n_positions(&self) -> f64 {
        self.labelled.iter().map(|(_, _, weight)| weight).sum()
    }

    fn cost(&self, _item: usize) -> usize {
        self.net.cost()
    }

    fn part_len(&self) -> usize {
        self.net.len()
    }

    fn begin(&mut self, _w: &[f64], some: Option<&[usize]>) {
        self.drops_units = redraw(&mut self.dropout, some);
    }

    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        let (t, label, weight) = self.labelled[item];
        let dropout = self.dropout.as_ref().filter(|_| self.drops_units);
        let pass: &mut Pass = worker.potentials.get();
        self.net.forward(w, self.x, t..t + 1, dropout, pass);
        let slopes = &mut worker.node;
        slopes.clear();
        slopes.extend_from_slice(&pass.scores);
        part.value += weight * log_loss(slopes, label);
        slopes.iter_mut().for_each(|slope| *slope *= weight);
        self.net.backward(w, slopes, dropout, pass, &mut part.vector);
        Ok(())
    }

    fn finish(
        &mut self,
        _w: &[f64],
        _some: Option<&[usize]>,
        total: &PartialSum,
        gradient: &mut [f64],
    ) -> f64 {
        gradient.copy_from_slice(&total.vector);
        total.value
    }

    fn is_separated(&self, _value: f64) -> bool {
        false
    }
}

impl<'a> Joint<'a> {
    /// The objective over the training data of a problem, with the transition features of its map.
    pub(crate) fn new(
        net: &'a FeedForwardNet,
        problem: &Problem<'a>,
        share: f64,
        seed: &Seed,
    ) -> Result<Self> {
        refuse_foreign(problem.train.data())?;
        let likelihood = LikelihoodObjective::new(problem)?;
        Ok(Joint { net, x: problem.train, likelihood, dropout: dropout(share, seed), drops_units: false })
    }
}

impl Objective for Joint<'_> {
    fn dim(&self) -> usize {
        self.net.len() + self.likelihood.dim()
    }

    fn n_items(&self) -> usize {
        self.likelihood.n_items()
    }

    fn n_positions(&self) -> f64 {
        self.likelihood.n_positions()
    }

    fn cost(&self, item: usize) -> usize {
        self.likelihood.cost(item) + self.x.data().range(item).len() * self.net.cost()
    }

    fn part_len(&self) -> usize {
        self.net.len() + self.likelihood.part_len()
    }

    fn begin(&mut self, w: &[f64], some: Option<&[usize]>) {
        self.drops_units = redraw(&mut self.dropout, some);
        self.likelihood.begin(&w[self.net.len()..], some);
    }

    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        let (net_weights, _) = w.split_at(self.net.len());
        let (range, weight) = (self.x.data().range(item), self.x.data().weight(item));
        let dropout = self.dropout.as_ref().filter(|_| self.drops_units);
        // Taken out, because the potentials are made in the same memory.
        let Memory { mut pass, mut slopes } = std::mem::take(worker.potentials.get());
        self.net.forward(net_weights, self.x, range, dropout, &mut pass);
        slopes.clear();
        slopes.resize(pass.scores.len(), 0.0);
        let partial = self.likelihood.is_partial(item);
        let passes = [(false, 1.0), (true, -1.0)];
        for (clamped, sign) in passes.into_iter().take(1 + usize::from(partial)) {
            let sum = part.sum_from(net_weights.len());
            let done = self.likelihood.add_log_z(item, clamped, sign, &pass.scores, sum, worker);
            done.map_err(|error| error.at(format!("sequence {}", item + 1)))?;
            let beliefs = slopes.iter_mut().zip(&worker.node);
            beliefs.for_each(|(slope, belief)| *slope += sign * weight * belief);
        }
        if !partial {
            let truth = self.likelihood.truth(item);
            part.value -= weight * score(&pass.scores, truth);
            let scores = slopes.chunks_mut(self.net.n_labels()).zip(truth);
            scores.for_each(|(slopes, &label)| slopes[label as usize] -= weight);
        }
        self.net.backward(net_weights, &slopes, dropout, &mut pass, &mut part.vector[..net_weights.len()]);
        *worker.potentials.get() = Memory { pass, slopes };
        Ok(())
    }

    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64 {
        let n = self.net.len();
        let (net_gradient, pair_gradient) = gradient.split_at_mut(n);
        net_gradient.copy_from_slice(&total.vector[..n]);
        self.likelihood.finish_sum(&w[n..], some, total.value, &total.vector[n..], pair_gradient)
    }

    fn is_separated(&self, _value: f64) -> bool {
        false
    }
}

/// Memory of a worker for one sequence.
#[derive(Default)]
struct Memory {
    pass: Pass,
    slopes: Vec<f64>, // [nodes × labels] of the objective with respect to the net's scores
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::objectives::sharded::Sharded;
    use crf_testing::problems::{Draw, Encoded, data, random_weights, slope_error};
    use crf_testing::runs::INFERENCE;
    use rand::RngExt as _;
    use std::sync::Arc;

    const FEATURES: &str =
        r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}, {"transition": "value"}]"#;

    fn encoded(unlabelled: u32, seed: u64) -> Encoded {
        Encoded::new(FEATURES, data(&Draw { sequences: 3, length: 7, labels: 3, unlabelled, seed }))
    }

    #[test]
    fn gradients_match_differences() {
        for seed in 0..6 {
            let encoded = encoded(2 * (seed % 2) as u32, seed);
            let n_state = encoded.map.state().len();
            let pairs = Arc::new(encoded.map.narrow(|k| k >= n_state).0);
            let net = FeedForwardNet::new(encoded.map.state(), &[6, 5], 3, true);
            // Biases of 0 would put units that nothing reaches on their kink.
            let mut rng = Seed::new(seed).rng();
            let mut w: Vec<f64> = (0..net.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
            let classifier = Classifier::new(&net, &encoded.corpus, 0.0, &Seed::new(1)).unwrap();
            let error = {
                let mut f = Sharded::new(classifier);
                slope_error(|w, gradient| f.evaluate(w, gradient).unwrap(), &w)
            };
            assert!(error < 1e-5, "classifier, seed {seed}: {error}");
            w.extend(random_weights(&pairs, 0.5, seed));
            let problem = Problem { map: &pairs, ..encoded.problem(&INFERENCE) };
            let joint = Joint::new(&net, &problem, 0.0, &Seed::new(1)).unwrap();
            let error = {
                let mut f = Sharded::new(joint);
                slope_error(|w, gradient| f.evaluate(w, gradient).unwrap(), &w)
            };
            assert!(error < 1e-5, "joint, seed {seed}: {error}");
        }
    }

    #[test]
    fn without_hidden_layers_it_is_the_log_linear_model() {
        let encoded = encoded(2, 9);
        let n_state = encoded.map.state().len();
        let pairs = Arc::new(encoded.map.narrow(|k| k >= n_state).0);
        let net = FeedForwardNet::new(encoded.map.state(), &[], 3, true);
        let log_linear = random_weights(&encoded.map, 0.7, 3);
        let (state, transition) = log_linear.split_at(n_state);
        // The first function is the intercept, which the net has as its bias, behind all others.
        let mut w = vec![0.0; 3];
        w.extend(&state[3..]);
        w.extend(&state[..3]);
        w.extend(transition);
        let problem = encoded.problem(&INFERENCE);
        let mut gradient = vec![0.0; w.len()];
        let joint = Joint::new(&net, &Problem { map: &pairs, ..problem }, 0.0, &Seed::new(1)).unwrap();
        let got = Sharded::new(joint).evaluate(&w, &mut gradient).unwrap();
        let mut want = vec![0.0; log_linear.len()];
        let value = Sharded::new(LikelihoodObjective::new(&problem).unwrap())
            .evaluate(&log_linear, &mut want)
            .unwrap();
        assert!((got - value).abs() < 1e-9 * (1.0 + value), "{got} vs {value}");
        let n_net = net.len();
        for (k, want) in want.iter().enumerate() {
            let index = if k < 3 {
                n_net - 3 + k
            } else if k < n_state {
                k
            } else {
                n_net + k - n_state
            };
            assert!(
                (gradient[index] - want).abs() < 1e-9,
                "{}: {} vs {want}",
                encoded.map.name(k),
                gradient[index]
            );
        }
    }

    #[test]
    fn units_drop_out_in_steps_only() {
        let encoded = encoded(0, 2);
        let net = FeedForwardNet::new(encoded.map.state(), &[20], 3, true);
        let w = net.draw(&mut Seed::new(1).rng());
        let classifier =
            |share| Sharded::new(Classifier::new(&net, &encoded.corpus, share, &Seed::new(1)).unwrap());
        let mut with = classifier(0.5);
        let mut without = classifier(0.0);
        let mut gradient = vec![0.0; w.len()];
        let items: Vec<usize> = (0..10).collect();
        let mut steps = || with.evaluate_some(&items, &w, &mut gradient).unwrap();
        let (first, second) = (steps(), steps());
        assert_ne!(first, second);
        assert_ne!(first, without.evaluate_some(&items, &w, &mut gradient).unwrap());
        assert_eq!(with.evaluate(&w, &mut gradient).unwrap(), without.evaluate(&w, &mut gradient).unwrap());
    }
}
