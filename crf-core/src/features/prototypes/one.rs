use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::Result;
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};

/// Constant 1 at every position: the intercept as a state feature, the transition weight as a
/// transition feature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct One {}

crate::plugin!("prototype", One, "one");

#[typetag::serde(name = "one")]
impl Prototype for One {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, _train: &Dataset) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(One {}))
    }
}

#[typetag::serde(name = "one")]
impl Encoder for One {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        vec![Observation { constant: Some(1.0), ..Observation::new("1") }]
    }

    fn reach(&self) -> Option<(usize, usize)> {
        Some((0, 0))
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        (0..x.len()).for_each(|_| out.end_row());
    }
}
