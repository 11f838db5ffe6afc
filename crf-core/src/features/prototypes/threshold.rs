use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::Inner;
use crate::plugin::{Named, named};

/// Threshold tests: 1 where another prototype's value is above or below a threshold.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Threshold {
    /// Thresholds, the same for every function.
    pub at: Vec<f64>,
    /// Number of further thresholds at equally spaced quantiles of each function's values in the
    /// training data.
    pub quantiles: u32,
    /// Sides of the thresholds that are tested.
    pub test: Side,
    /// Prototype whose values are compared.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

/// Side of a threshold on which a test is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Values greater than the threshold.
    Above,
    /// Values less than the threshold.
    Below,
    /// Both sides, one test each.
    Both,
}

impl Default for Threshold {
    fn default() -> Self {
        Threshold { at: vec![0.0], quantiles: 0, test: Side::Above, of: Box::new(RawValue::default()) }
    }
}

crate::plugin!(
    "prototype",
    Threshold,
    "threshold",
    example = r#"
quantiles = 3
of = "value"
"#
);

#[typetag::serde(name = "threshold")]
impl Prototype for Threshold {
    fn check(&self) -> Result<()> {
        let is_valid = self.at.iter().all(|at| at.is_finite()) && self.at.len() + self.quantiles as usize > 0;
        require(
            is_valid,
            "at",
            "a list of finite numbers, or `quantiles` above 0",
            format!("{:?}", self.at),
        )?;
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let inner = Inner::fit(&*self.of, train)?;
        let n = inner.len() as usize;
        let mut thresholds = vec![self.at.clone(); n];
        if self.quantiles > 0 {
            let mut values = vec![Vec::new(); n];
            for i in 0..train.len() {
                inner.for_each_row(&train.sequence(i), |row| {
                    values.iter_mut().zip(row).for_each(|(values, &value)| values.push(value));
                });
            }
            for (thresholds, mut values) in thresholds.iter_mut().zip(values) {
                values.sort_by(f64::total_cmp);
                let q = self.quantiles as usize;
                let cuts = (1..=q).filter_map(|k| values.get(k * values.len() / (q + 1)));
                thresholds.extend(cuts);
                thresholds.sort_by(f64::total_cmp);
                thresholds.dedup();
            }
        }
        Ok(Box::new(Fitted { thresholds, test: self.test, of: inner }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    thresholds: Vec<Vec<f64>>, // [functions][thresholds]
    test: Side,
    of: Inner,
}

impl Fitted {
    /// Calls `f` with every test: function, true if it is for values above, threshold.
    fn tests(&self, mut f: impl FnMut(usize, bool, f64)) {
        for (g, thresholds) in self.thresholds.iter().enumerate() {
            for &at in thresholds {
                if self.test != Side::Below {
                    f(g, true, at);
                }
                if self.test != Side::Above {
                    f(g, false, at);
                }
            }
        }
    }
}

#[typetag::serde(name = "threshold")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let inner = self.of.observations(schema);
        let mut tests = Vec::new();
        self.tests(|g, above, at| {
            let name = format!("{}{}{at}", inner[g].name, if above { '>' } else { '<' });
            tests.push(Observation { labels: inner[g].labels.clone(), ..Observation::new(name) });
        });
        tests
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        require_consistent(self.thresholds.len() == self.of.len() as usize)?;
        self.of.check(schema)
    }

    fn reach(&self) -> Option<(usize, usize)> {
        self.of.reach()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        self.of.for_each_row(x, |row| {
            let mut number = 0;
            self.tests(|g, above, at| {
                if if above { row[g] > at } else { row[g] < at } {
                    out.push(number, 1.0);
                }
                number += 1;
            });
            out.end_row();
        });
    }
}
