use std::collections::BTreeMap;
use std::sync::Arc;

use crf_core::{Error, Label, Result, Rng, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Normal, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::support::by_score;
use crate::generators::support::label_chain::numbered;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Sequences of a log-linear chain whose weights are known (Lafferty, McCallum & Pereira 2001, eq. 1).
///
/// Observations are drawn first, the real channels `x0`, `x1` …, and then the labels from
/// p(y | x) ∝ exp(Σ_t Σ_g W(g, y_t) x_tg + Σ_t A(y_{t−1}, y_t)): backwards the sums over all that follows a label, forwards
/// each label given the one before. So a model with the features `transition` and `{ state = "value" }` has the true
/// weights within its reach, and the distance of learnt weights to them can be measured: [`LogLinearChain::weights`]
/// gives them by the names that the model's features have, as the learner `fixed` takes them.
///
/// Weights are normal and then shifted: each channel's sum to 0 over the labels, those of transitions over all pairs. These
/// shifts change no probability, and what is left is the shortest of all weights with these probabilities, the only
/// ones a learner with a small l2 penalty can find. They depend on settings alone, not on the trial's seed: every
/// trial and every size of data has the same truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogLinearChain {
    /// The number that the weights are drawn from.
    pub model: u64,
    /// How many labels there are; at least 2.
    pub labels: usize,
    /// How many channels there are; at least 1.
    pub channels: usize,
    /// What the channels hold.
    pub observed: Observed,
    /// Standard deviation of the weights.
    pub scale: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the data for choices; none when left out.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// What the channels hold.
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
        require(self.labels >= 2, "labels", "at least 2", self.labels)?;
        require(self.channels >= 1, "channels", "at least 1", self.channels)?;
        self.deviation()?;
        self.parts().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((0..self.channels).map(|g| format!("x{g}")));
        let schema = Schema::chain(channels, numbered(self.labels))?;
        let law = self.law()?;
        let mut values = Vec::with_capacity(self.channels);
        self.parts().draw(&Arc::new(schema), seed, |_, length, rng, out| {
            let x: Vec<f64> = (0..length * self.channels).map(|_| self.observed.draw(rng)).collect();
            for (x, y) in x.chunks(self.channels).zip(law.draw(&x, rng)) {
                values.clear();
                values.extend(x.iter().map(|&x| Value::Real(x)));
                out.push(&values, Some(y as Label))?;
            }
            out.end_chain()
        })
    }
}

impl LogLinearChain {
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }

    /// The true weights by the names of their features: `y=0 ∧ x1`, `y'=0 ∧ y=1`.
    pub fn weights(&self) -> Result<BTreeMap<String, f64>> {
        let law = self.law()?;
        let state = law.state.chunks(self.labels).enumerate().flat_map(|(g, weights)| {
            weights.iter().enumerate().map(move |(y, &weight)| (format!("y={y} ∧ x{g}"), weight))
        });
        let transition = law.transition.chunks(self.labels).enumerate().flat_map(|(before, weights)| {
            weights.iter().enumerate().map(move |(y, &weight)| (format!("y'={before} ∧ y={y}"), weight))
        });
        Ok(state.chain(transition).collect())
    }

    fn deviation(&self) -> Result<Normal<f64>> {
        let normal = Normal::new(0.0, self.scale).ok().filter(|_| (0.0..=100.0).contains(&self.scale));
        normal.ok_or_else(|| Error::setting("scale", "a number between 0 and 100", self.scale))
    }

    fn law(&self) -> Result<Law> {
        let (normal, mut rng) = (self.deviation()?, Seed::new(self.model).child("log-linear-chain").rng());
        let mut draw = |n: usize| (0..n).map(|_| normal.sample(&mut rng)).collect::<Vec<f64>>();
        let mut state = draw(self.channels * self.labels);
        state.chunks_mut(self.labels).for_each(centre);
        let mut transition = draw(self.labels * self.labels);
        centre(&mut transition);
        Ok(Law { labels: self.labels, state, transition })
    }
}

/// Shifts numbers so that their sum is 0.
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

/// The weights, and how labels are drawn from them.
#[derive(Debug)]
struct Law {
    labels: usize,
    state: Vec<f64>,      // [channels × labels]
    transition: Vec<f64>, // [labels × labels], row y'
}

impl Law {
    /// Labels for observations `x`, position by position, in O(T · labels · (channels + labels)).
    fn draw(&self, x: &[f64], rng: &mut Rng) -> Vec<usize> {
        let n_channels = self.state.len() / self.labels;
        let length = x.len() / n_channels;
        // At first the scores of labels alone, then with all that follows.
        let mut scores = vec![0.0; length * self.labels];
        for (x, scores) in x.chunks(n_channels).zip(scores.chunks_mut(self.labels)) {
            for (x, weights) in x.iter().zip(self.state.chunks(self.labels)) {
                scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += x * weight);
            }
        }
        for t in (1..length).rev() {
            let (before, after) = scores.split_at_mut(t * self.labels);
            let after = &after[..self.labels];
            for (score, weights) in
                before[(t - 1) * self.labels..].iter_mut().zip(self.transition.chunks(self.labels))
            {
                *score += log_sum_exp(weights.iter().zip(after).map(|(weight, after)| weight + after));
            }
        }
        let mut y = Vec::with_capacity(length);
        for scores in scores.chunks_mut(self.labels) {
            if let Some(&before) = y.last() {
                let weights = self.transition[before * self.labels..].iter();
                scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
            }
            y.push(by_score::draw(scores, rng));
        }
        y
    }
}

fn log_sum_exp(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    max + scores.map(|score| (score - max).exp()).sum::<f64>().ln()
}
