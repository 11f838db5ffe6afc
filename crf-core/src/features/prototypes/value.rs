use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};

/// Value of a real channel at the position.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RawValue {
    /// Real channels to use; all of them when empty.
    pub channels: Vec<String>,
}

crate::plugin!("prototype", RawValue, "value");

#[typetag::serde(name = "value")]
impl Prototype for RawValue {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let schema = train.schema();
        let channels = super::channels(schema, &self.channels, "real numbers")?;
        Ok(Box::new(Fitted {
            names: channels.iter().map(|&c| schema.channels()[c].name.clone()).collect(),
            channels,
        }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    channels: Vec<usize>,
    names: Vec<String>,
}

#[typetag::serde(name = "value")]
impl Encoder for Fitted {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        self.names.iter().map(Observation::new).collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        Some(self.names.len())
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        require_consistent(self.names.len() == self.channels.len())?;
        super::require_channels(schema, self.channels.iter().copied(), "real numbers")
    }

    fn reach(&self) -> Option<(usize, usize)> {
        Some((0, 0))
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let columns: Vec<&[f64]> = self.channels.iter().map(|&c| x.real(c)).collect();
        for t in 0..x.len() {
            for (g, column) in columns.iter().enumerate() {
                out.push(g as u32, column[t]);
            }
            out.end_row();
        }
    }
}
