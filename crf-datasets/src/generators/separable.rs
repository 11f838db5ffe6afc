use std::sync::Arc;

use crf_core::{Label, Result, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::{count, positive};
use crate::generators::support::splits::{Size, SplitSizes};
use crate::labels::numbered;

/// Sequences that a linear model separates with a margin (Collins 2002, theorem 1).
///
/// The margin bounds the number of mistakes of a perceptron (Novikoff 1962).
///
/// Each label has a real channel, `x0`, `x1`, …, which is a small number if the label is the true
/// one and 0 otherwise. Further channels, `noise0`, …, are uniform on a sphere and carry no
/// information. The weights 1/√L, where L is the number of labels, on each label's own channel have
/// length 1. Under them the true labelling of every sequence scores higher than every other one by
/// `margin` for each position in which they differ. With the features `value` alone, the feature
/// vector of a labelling is never longer than `radius`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Separable {
    /// Number of labels; at least 2.
    pub labels: usize,
    /// Margin γ of the bound (2R/γ)²; above 0, and at most `radius` / (length · √labels).
    pub margin: f64,
    /// Radius R of the bound; above 0.
    pub radius: f64,
    /// Number of noise channels; at least 1.
    pub noise: usize,
    /// Size of the training data.
    pub train: Size,
    /// Size of the test data; if omitted, the training data are also the test data.
    pub test: Option<Size>,
}

impl Default for Separable {
    fn default() -> Self {
        let train = Size { sequences: 50, length: 5 };
        Separable { labels: 3, margin: 0.005, radius: 1.0, noise: 20, train, test: None }
    }
}

crf_core::plugin!("source", Separable, "separable", example = "margin = 0.05");

impl Separable {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: None, test: self.test.unwrap_or(self.train) }
    }

    /// Value of the channel of the true label.
    fn signal(&self) -> f64 {
        self.margin * (self.labels as f64).sqrt()
    }
}

#[typetag::serde(name = "separable")]
impl Source for Separable {
    fn check(&self) -> Result<()> {
        count("labels", 2, self.labels)?;
        positive("radius", self.radius)?;
        count("noise", 1, self.noise)?;
        self.sizes().check()?;
        let length = self.sizes().test.length.max(self.train.length);
        let max = self.radius / (length as f64 * (self.labels as f64).sqrt());
        let want = format!("above 0 and at most {max}, the radius over the length and √labels");
        require(self.margin > 0.0 && self.margin <= max, "margin", &want, self.margin)
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let signals = (0..self.labels).map(|k| format!("x{k}"));
        let names = signals.chain((0..self.noise).map(|k| format!("noise{k}")));
        let schema = Arc::new(Schema::chain(real(names), numbered(self.labels))?);
        let mut x = vec![0.0; self.labels + self.noise];
        let mut values = Vec::with_capacity(x.len());
        let splits = self.sizes().draw(&schema, seed, |_, length, rng, out| {
            let rest = ((self.radius / length as f64).powi(2) - self.signal().powi(2)).max(0.0).sqrt();
            for _ in 0..length {
                let label = rng.random_range(0..self.labels as Label);
                let (signals, noise) = x.split_at_mut(self.labels);
                signals.fill(0.0);
                signals[label as usize] = self.signal();
                noise.iter_mut().for_each(|x| *x = StandardNormal.sample(rng));
                let norm = noise.iter().map(|x| x * x).sum::<f64>().sqrt();
                noise.iter_mut().for_each(|x| *x *= rest / norm);
                values.clear();
                values.extend(x.iter().map(|&x| Value::Real(x)));
                out.push(&values, Some(label))?;
            }
            out.end_chain()
        })?;
        Ok(match self.test {
            Some(_) => splits,
            None => Splits { test: splits.train.clone(), ..splits },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_keeps_the_margin_and_the_radius() {
        for (labels, margin) in [(2, 0.1), (3, 0.01), (7, 0.05)] {
            let source = Separable { labels, margin, radius: 2.0, ..Separable::default() };
            source.check().expect("sound settings");
            let data = source.load(&Seed::new(labels as u64)).expect("data").train;
            for i in 0..data.len() {
                let x = data.sequence(i);
                let mut length = 0.0;
                for (t, label) in x.labels().iter().enumerate() {
                    let at = |k: usize| x.real(k)[t];
                    let own = label.expect("a label") as usize;
                    let others = (0..labels).filter(|&k| k != own).map(at);
                    let lead = at(own) - others.fold(f64::NEG_INFINITY, f64::max);
                    assert!(lead / (labels as f64).sqrt() >= margin - 1e-12, "{lead}");
                    length += (0..labels + source.noise).map(|k| at(k).powi(2)).sum::<f64>().sqrt();
                }
                assert!(length <= 2.0 + 1e-12, "{length}");
            }
        }
    }

    #[test]
    fn a_margin_that_no_ball_has_is_refused() {
        let source = Separable { margin: 0.2, ..Separable::default() };
        let message = source.check().expect_err("too large").to_string();
        assert!(message.contains("`margin` must be above 0 and at most 0.115"), "{message}");
    }
}
