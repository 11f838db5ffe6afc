use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Sequence};
use crate::error::{Error, Result};
use crate::plugin::{Named, named};
use crate::prototype::{Block, Encoder, Observation, Prototype};
use crate::prototypes::RawValue;
use crate::prototypes::inner::Inner;
use crate::schema::Schema;

/// Another prototype's values shifted and scaled to mean 0 and variance 1 on the training data.
///
/// A function that is constant on the training data is only shifted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Normalised {
    /// What is normalised.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

impl Default for Normalised {
    fn default() -> Self {
        Normalised { of: Box::new(RawValue::default()) }
    }
}

crate::plugin!("prototype", Normalised, "normalised");

#[typetag::serde(name = "normalised")]
impl Prototype for Normalised {
    fn check(&self) -> Result<()> {
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let of = Inner::fit(&*self.of, train)?;
        let observations = of.observations(train.schema());
        // Welford (1962): one pass, no cancellation between large sums.
        let (mut count, mut moments) = (0.0, vec![(0.0, 0.0); observations.len()]);
        for i in 0..train.len() {
            of.for_each_row(&train.sequence(i), |row| {
                count += 1.0;
                for ((mean, square), &value) in moments.iter_mut().zip(row) {
                    let off: f64 = value - *mean;
                    *mean += off / count;
                    *square += off * (value - *mean);
                }
            });
        }
        let mut scale = Vec::new();
        for ((mean, square), g) in moments.iter().zip(&observations) {
            let deviation = (square / f64::max(count, 1.0)).sqrt();
            if !(mean.is_finite() && deviation.is_finite()) {
                return Err(Error::NotFinite(format!(
                    "mean or variance of `{}` on the training data",
                    g.name
                )));
            }
            scale.push((*mean, if deviation > 1e-12 * mean.abs() { deviation.recip() } else { 1.0 }));
        }
        Ok(Box::new(Fitted { scale, of }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    scale: Vec<(f64, f64)>, // mean and inverse deviation of each function
    of: Inner,
}

#[typetag::serde(name = "normalised")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let of = self.of.observations(schema).into_iter();
        of.map(|g| Observation { labels: g.labels, ..Observation::new(format!("norm({})", g.name)) })
            .collect()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut Block) {
        self.of.for_each_row(x, |row| {
            for (g, (&value, (mean, factor))) in row.iter().zip(&self.scale).enumerate() {
                out.push(g as u32, (value - mean) * factor);
            }
            out.end_row();
        });
    }
}
