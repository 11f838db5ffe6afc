use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};

/// Fitted prototype inside another one.
///
/// The number of functions and the constant ones are stored beside it: asking the encoder spells
/// every name, which is too much to do per sequence.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inner {
    encoder: Box<dyn Encoder>,
    len: u32,
    constants: Vec<(u32, f64)>,
}

impl Inner {
    pub(super) fn fit(prototype: &dyn Prototype, train: &Dataset) -> Result<Self> {
        let encoder = prototype.fit(train)?;
        let (len, constants) = encoder.constants(train.schema());
        Ok(Inner { encoder, len: len as u32, constants })
    }

    /// See [`Encoder::check`].
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        self.encoder.check(schema)?;
        let (len, constants) = self.encoder.constants(schema);
        require_consistent(len == self.len as usize && constants == self.constants)
    }

    /// See [`Encoder::reach`].
    pub(super) fn reach(&self) -> Option<(usize, usize)> {
        self.encoder.reach()
    }

    /// Number of functions.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Constant functions with their values, which no row of [`Inner::encode`] holds.
    pub(super) fn constants(&self) -> &[(u32, f64)] {
        &self.constants
    }

    pub(super) fn observations(&self, schema: &Schema) -> Vec<Observation> {
        self.encoder.observations(schema)
    }

    pub(super) fn encode(&self, x: &Sequence<'_>) -> EncodedRows {
        EncodedRows::encode(&*self.encoder, x)
    }

    /// Calls `f` with the values of all functions at each position in turn, zeros and constants
    /// included.
    pub(super) fn for_each_row(&self, x: &Sequence<'_>, mut f: impl FnMut(&[f64])) {
        let rows = self.encode(x);
        let mut row = vec![0.0; self.len as usize];
        for t in 0..rows.len() {
            row.fill(0.0);
            for (g, value) in self.constants.iter().copied().chain(rows.row(t)) {
                row[g as usize] += value;
            }
            f(&row);
        }
    }
}
