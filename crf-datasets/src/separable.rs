use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Label, Result, Rng, Schema, Seed, Source, Splits, Value, require,
};
use rand::RngExt as _;
use rand_distr::{Distribution as _, UnitBall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parts::Parts;
use crate::size::Size;

/// Sequences that a linear model separates with a margin, which bounds the mistakes of a perceptron (Novikoff 1962;
/// Collins 2002, theorem 1).
///
/// There is a real channel `x0`, `x1` … for each label. Weights of 1/√L, L being the number of labels, on each label's
/// own channel have length 1, and under them the true labelling of every sequence beats every other one by `margin` at
/// least. With the features `value` alone, no labelling of a sequence has features longer than `radius`: each position is
/// drawn from a ball of that radius over its length, and drawn towards its label as far as the margin asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Separable {
    /// How many labels there are; at least 2.
    pub labels: usize,
    /// The γ of the bound (2R/γ)²; above 0, and at most `radius` / (length · √labels).
    pub margin: f64,
    /// The R of the bound; above 0.
    pub radius: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the test data; the training data again when left out.
    pub test: Option<Size>,
}

impl Default for Separable {
    fn default() -> Self {
        let train = Size { sequences: 50, length: 5 };
        Separable { labels: 3, margin: 0.02, radius: 1.0, train, test: None }
    }
}

crf_core::plugin!("source", Separable, "separable");

impl Separable {
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: None, test: self.test.unwrap_or(self.train) }
    }

    /// By how much the channel of the true label leads at least.
    fn lead(&self) -> f64 {
        self.margin * (self.labels as f64).sqrt()
    }

    /// One position: a point of the ball whose largest entry is that of the label, by `lead` at least.
    fn draw(&self, label: Label, radius: f64, rng: &mut Rng, x: &mut [f64]) {
        // A ball of any dimension from three at a time: longer pieces are cut down to the radius.
        for piece in x.chunks_mut(3) {
            let point: [f64; 3] = UnitBall.sample(rng);
            piece.iter_mut().zip(point).for_each(|(x, entry)| *x = radius * entry);
        }
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x *= (radius / length).min(1.0));
        let label = label as usize;
        let largest = (1..x.len()).fold(0, |best, k| if x[k] > x[best] { k } else { best });
        x.swap(label, largest);
        let second = (0..x.len()).filter(|&k| k != label).map(|k| x[k]).fold(f64::NEG_INFINITY, f64::max);
        let lead = x[label] - second;
        if lead < self.lead() {
            // The way to the label's own corner of the ball, which leads by the whole radius.
            let part = ((self.lead() - lead) / (radius - lead)).min(1.0);
            x.iter_mut().for_each(|x| *x *= 1.0 - part);
            x[label] += part * radius;
        }
    }
}

#[typetag::serde(name = "separable")]
impl Source for Separable {
    fn check(&self) -> Result<()> {
        require(self.labels >= 2, "labels", "at least 2", self.labels)?;
        require(
            self.radius.is_finite() && self.radius > 0.0,
            "radius",
            "a finite number above 0",
            self.radius,
        )?;
        self.parts().check()?;
        let length = self.parts().test.length.max(self.train.length);
        let most = self.radius / (length as f64 * (self.labels as f64).sqrt());
        let want = format!("above 0 and at most {most}, the radius over the length and √labels");
        require(self.margin > 0.0 && self.margin <= most, "margin", &want, self.margin)
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let channel = |k| Channel { name: format!("x{k}"), kind: ChannelKind::Real };
        let names = Alphabet::new((0..self.labels).map(|y| y.to_string()));
        let schema = Arc::new(Schema::chain((0..self.labels).map(channel).collect(), names)?);
        let (mut x, mut values) = (vec![0.0; self.labels], Vec::with_capacity(self.labels));
        let splits = self.parts().draw(&schema, seed, |_, length, rng, out| {
            for _ in 0..length {
                let label = rng.random_range(0..self.labels as Label);
                self.draw(label, self.radius / length as f64, rng, &mut x);
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
                let (x, mut length) = (data.sequence(i), 0.0);
                for (t, label) in x.labels().iter().enumerate() {
                    let at = |k: usize| x.real(k)[t];
                    let own = label.expect("a label") as usize;
                    let others = (0..labels).filter(|&k| k != own).map(at);
                    let lead = at(own) - others.fold(f64::NEG_INFINITY, f64::max);
                    assert!(lead / (labels as f64).sqrt() >= margin - 1e-12, "{lead}");
                    length += (0..labels).map(|k| at(k).powi(2)).sum::<f64>().sqrt();
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
