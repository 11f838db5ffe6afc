use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Error, Result, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::Inner;
use crate::numeric::moments::Moments;
use crate::plugin::{Named, named};

/// Normalised values: another prototype's values, shifted and scaled to mean 0 and variance 1 on
/// the training data.
///
/// A function that is constant on the training data is only shifted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Normalised {
    /// Prototype to normalise.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

impl Default for Normalised {
    fn default() -> Self {
        Normalised { of: Box::new(RawValue::default()) }
    }
}

crate::plugin!("prototype", Normalised, "normalised", example = r#"of = "value""#);

#[typetag::serde(name = "normalised")]
impl Prototype for Normalised {
    fn check(&self) -> Result<()> {
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let inner = Inner::fit(&*self.of, train)?;
        let observations = inner.observations(train.schema());
        let mut moments = vec![Moments::default(); observations.len()];
        for i in 0..train.len() {
            inner.for_each_row(&train.sequence(i), |row| {
                moments.iter_mut().zip(row).for_each(|(moments, &value)| moments.add(value));
            });
        }
        let scale = moments.iter().zip(&observations).map(|(moments, g)| {
            let not_finite =
                || Error::NotFinite(format!("mean or variance of `{}` on the training data", g.name));
            moments.scale().ok_or_else(not_finite)
        });
        Ok(Box::new(Fitted { scale: scale.collect::<Result<_>>()?, of: inner }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    scale: Vec<(f64, f64)>, // [functions] mean, inverse deviation
    of: Inner,
}

#[typetag::serde(name = "normalised")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let inner = self.of.observations(schema).into_iter();
        inner
            .map(|g| Observation { labels: g.labels, ..Observation::new(format!("norm({})", g.name)) })
            .collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.of.n_plain()
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        require_consistent(self.scale.len() == self.of.len() as usize)?;
        self.of.check(schema)
    }

    fn reach(&self) -> Option<(usize, usize)> {
        self.of.reach()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        self.of.for_each_row(x, |row| {
            for (g, (&value, (mean, factor))) in row.iter().zip(&self.scale).enumerate() {
                out.push(g as u32, (value - mean) * factor);
            }
            out.end_row();
        });
    }
}
