use std::collections::BTreeMap;
use std::sync::Arc;

use crf_core::{Error, Label, Result, Rng, Schema, Seed, Source, Splits, Value, require_memory};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Normal, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::draw_by_score;
use crate::generators::support::splits::{Size, SplitSizes};
use crate::labels::numbered;

/// Sequences of a log-linear chain with known weights (Lafferty, McCallum & Pereira 2001, eq. 1).
///
/// The observations are drawn first, the real channels `x0`, `x1`, …, and then the labels from p(y
/// | x) ∝ exp(Σ_t Σ_g W(g, y_t) x_tg + Σ_t A(y_{t−1}, y_t)) by backward filtering and forward
/// sampling. A model with the features `transition` and `{ state = "value" }` can represent the
/// true weights, so the distance of learnt weights to them can be measured.
/// [`LogLinearChain::weights`] returns the true weights by the names of the model's features, as
/// the learner `fixed` takes them.
///
/// Weights are normal and then centred: those of a channel sum to 0 over the labels, those of
/// transitions over all pairs. This changes no probability. The centred weights are the shortest of
/// all weights with these probabilities, the only ones that a learner with a small l2 penalty can
/// find. They depend on the settings alone, not on the seed of the trial: every trial and every
/// size of data has the same true weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogLinearChain {
    /// Seed of the true weights.
    pub model: u64,
    /// Number of labels; at least 2.
    pub labels: usize,
    /// Number of channels; at least 1.
    pub channels: usize,
    /// Distribution of the observations: `binary` or `real`.
    pub observed: Observed,
    /// Standard deviation of the weights.
    pub scale: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// Distribution of the observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Observed {
    /// Fair coins: 0 or 1.
    Binary,
    /// Standard normal numbers.
    Real,
}

impl Default for LogLinearChain {
    fn default() -> Self {
        LogLinearChain {
            model: 1,
            labels: 3,
            channels: 5,
            observed: Observed::Binary,
            scale: 1.0,
            train: Size { sequences: 100, length: 20 },
            holdout: None,
            test: Size { sequences: 100, length: 20 },
        }
    }
}

crf_core::plugin!("source", LogLinearChain, "log-linear-chain", example = r#"observed = "real""#);

#[typetag::serde(name = "log-linear-chain")]
impl Source for LogLinearChain {
    fn check(&self) -> Result<()> {
        count("labels", 2, self.labels)?;
        count("channels", 1, self.channels)?;
        self.weight_distribution()?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((0..self.channels).map(|g| format!("x{g}")));
        let schema = Schema::chain(channels, numbered(self.labels))?;
        // A sequence is drawn whole, with a score for each label.
        let bytes = 8.0 * self.sizes().longest() as f64 * (self.labels + self.channels) as f64;
        require_memory(bytes, "a drawn sequence", "use shorter ones")?;
        let true_weights = self.true_weights()?;
        let mut values = Vec::with_capacity(self.channels);
        self.sizes().draw(&Arc::new(schema), seed, |_, length, rng, out| {
            let x: Vec<f64> = (0..length * self.channels).map(|_| self.observed.draw(rng)).collect();
            for (x, y) in x.chunks(self.channels).zip(true_weights.draw(&x, rng)) {
                values.clear();
                values.extend(x.iter().map(|&x| Value::Real(x)));
                out.push(&values, Some(y as Label))?;
            }
            out.end_chain()
        })
    }
}

impl LogLinearChain {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }

    /// True weights by the names of their features: `y=0 ∧ x1`, `y'=0 ∧ y=1`.
    pub fn weights(&self) -> Result<BTreeMap<String, f64>> {
        let true_weights = self.true_weights()?;
        let state = true_weights.state.chunks(self.labels).enumerate().flat_map(|(g, weights)| {
            weights.iter().enumerate().map(move |(y, &weight)| (format!("y={y} ∧ x{g}"), weight))
        });
        let transition =
            true_weights.transition.chunks(self.labels).enumerate().flat_map(|(previous, weights)| {
                weights.iter().enumerate().map(move |(y, &weight)| (format!("y'={previous} ∧ y={y}"), weight))
            });
        Ok(state.chain(transition).collect())
    }

    fn weight_distribution(&self) -> Result<Normal<f64>> {
        let normal = Normal::new(0.0, self.scale).ok().filter(|_| (0.0..=100.0).contains(&self.scale));
        normal.ok_or_else(|| Error::setting("scale", "a number between 0 and 100", self.scale))
    }

    fn true_weights(&self) -> Result<TrueWeights> {
        let normal = self.weight_distribution()?;
        let n_weights = self.labels as f64 * (self.labels + self.channels) as f64;
        require_memory(8.0 * n_weights, "the true weights", "use fewer labels or channels")?;
        let mut rng = Seed::new(self.model).child("log-linear-chain").rng();
        let mut draw = |n: usize| (0..n).map(|_| normal.sample(&mut rng)).collect::<Vec<f64>>();
        let mut state = draw(self.channels * self.labels);
        state.chunks_mut(self.labels).for_each(centre);
        let mut transition = draw(self.labels * self.labels);
        centre(&mut transition);
        Ok(TrueWeights { n_labels: self.labels, state, transition })
    }
}

/// Shifts weights so that their sum is 0.
fn centre(weights: &mut [f64]) {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight -= mean);
}

impl Observed {
    fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Observed::Binary => f64::from(rng.random_range(0..2_u8)),
            Observed::Real => StandardNormal.sample(rng),
        }
    }
}

/// True weights, from which labels are drawn.
#[derive(Debug)]
struct TrueWeights {
    n_labels: usize,
    state: Vec<f64>,      // [channels × labels]
    transition: Vec<f64>, // [labels × labels], row y'
}

impl TrueWeights {
    /// Draws the labels for observations `x` (`[T × channels]`), in O(T · labels · (channels +
    /// labels)).
    fn draw(&self, x: &[f64], rng: &mut Rng) -> Vec<usize> {
        let n_channels = self.state.len() / self.n_labels;
        let length = x.len() / n_channels;
        // First the scores of the labels alone, then with the log-sum over all that follows.
        let mut scores = vec![0.0; length * self.n_labels];
        for (x, scores) in x.chunks(n_channels).zip(scores.chunks_mut(self.n_labels)) {
            for (x, weights) in x.iter().zip(self.state.chunks(self.n_labels)) {
                scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += x * weight);
            }
        }
        for t in (1..length).rev() {
            let (left, right) = scores.split_at_mut(t * self.n_labels);
            let next = &right[..self.n_labels];
            for (score, weights) in
                left[(t - 1) * self.n_labels..].iter_mut().zip(self.transition.chunks(self.n_labels))
            {
                *score += log_sum_exp(weights.iter().zip(next).map(|(weight, next)| weight + next));
            }
        }
        let mut y = Vec::with_capacity(length);
        for scores in scores.chunks_mut(self.n_labels) {
            if let Some(&previous) = y.last() {
                let weights = self.transition[previous * self.n_labels..].iter();
                scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
            }
            y.push(draw_by_score(scores, rng));
        }
        y
    }
}

fn log_sum_exp(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    max + scores.map(|score| (score - max).exp()).sum::<f64>().ln()
}
