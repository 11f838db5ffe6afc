use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::{Inner, require_functions};
use crate::plugin::{Named, named};

/// Powers of another prototype's values. With the value itself, the square makes a Gaussian (Vail
/// 2008, §2.2.3).
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Power {
    /// Exponents, each at least 1.
    pub degrees: Vec<u32>,
    /// Prototype to raise to these powers.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

impl Default for Power {
    fn default() -> Self {
        Power { degrees: vec![2], of: Box::new(RawValue::default()) }
    }
}

crate::plugin!(
    "prototype",
    Power,
    "power",
    example = r#"
degrees = [2]
of = "value"
"#
);

#[typetag::serde(name = "power")]
impl Prototype for Power {
    fn check(&self) -> Result<()> {
        let is_valid =
            !self.degrees.is_empty() && self.degrees.iter().all(|&degree| (1..=64).contains(&degree));
        require(is_valid, "degrees", "a list of whole numbers from 1 to 64", format!("{:?}", self.degrees))?;
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let fitted = Fitted { degrees: self.degrees.clone(), of: Inner::fit(&*self.of, train)? };
        fitted.require_size()?;
        Ok(Box::new(fitted))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    degrees: Vec<u32>,
    of: Inner,
}

impl Fitted {
    fn require_size(&self) -> Result<()> {
        let n = self.degrees.len() as f64 * f64::from(self.of.len());
        require_functions("power", n, self.of.n_plain().is_some())
    }
}

#[typetag::serde(name = "power")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let inner = self.of.observations(schema);
        let raised = self.degrees.iter().flat_map(|&degree| inner.iter().map(move |g| (degree, g)));
        raised
            .map(|(degree, g)| Observation {
                name: match degree {
                    1 => g.name.clone(),
                    2 => format!("{}²", g.name),
                    _ => format!("{}^{degree}", g.name),
                },
                group: None,
                constant: g.constant.map(|value| value.powi(degree as i32)),
                labels: g.labels.clone(),
            })
            .collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.of.n_plain().map(|n| n * self.degrees.len())
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        self.of.check(schema)?;
        self.require_size()
    }

    fn reach(&self) -> Option<(usize, usize)> {
        self.of.reach()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let rows = self.of.encode(x);
        for t in 0..rows.len() {
            for (d, &degree) in self.degrees.iter().enumerate() {
                for (g, value) in rows.row(t) {
                    out.push(d as u32 * self.of.len() + g, value.powi(degree as i32));
                }
            }
            out.end_row();
        }
    }
}
