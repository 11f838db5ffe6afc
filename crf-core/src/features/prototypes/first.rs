use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::Result;
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};

/// Start indicator: 1 at the first position only (Vail 2008, equation 2.16).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct First {}

crate::plugin!("prototype", First, "first");

#[typetag::serde(name = "first")]
impl Prototype for First {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, _train: &Dataset) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(First {}))
    }
}

#[typetag::serde(name = "first")]
impl Encoder for First {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        vec![Observation::new("first")]
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        for t in 0..x.len() {
            if t == 0 {
                out.push(0, 1.0);
            }
            out.end_row();
        }
    }
}
