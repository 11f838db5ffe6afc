use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Error, Result, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::memory::require_memory;
use crate::plugin::{nested, one_deeper};

/// Upper limit of the functions whose names are spelt to know them.
const MOST_SPELT: f64 = 1e7;
/// Approximate bytes of a function whose name is spelt, and of another one.
const SPELT_BYTES: f64 = 128.0;
const PLAIN_BYTES: f64 = 8.0;

/// Rejects a prototype that would make `n` functions, before it makes them; `plain` functions are
/// not spelt until a name is asked for.
pub(super) fn require_functions(tag: &str, n: f64, plain: bool) -> Result<()> {
    let (most, bytes) = if plain { (f64::from(u32::MAX), PLAIN_BYTES) } else { (MOST_SPELT, SPELT_BYTES) };
    if n > most {
        let message = format!("`{tag}` would make {n} functions of what is in it, more than {most}");
        return Err(Error::data(format!("{message}; put fewer or smaller prototypes within each other")));
    }
    require_memory(n * bytes, &format!("`{tag}` of {n} functions"), "use fewer or smaller prototypes")
}

/// Fitted prototype inside another one.
///
/// The number of functions and the constant ones are stored beside it: asking the encoder spells
/// every name, which is too much to do per sequence.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inner {
    #[serde(deserialize_with = "nested")]
    encoder: Box<dyn Encoder>,
    len: u32,
    constants: Vec<(u32, f64)>,
}

impl Inner {
    pub(super) fn fit(prototype: &dyn Prototype, train: &Dataset) -> Result<Self> {
        let encoder = one_deeper(|| prototype.fit(train))??;
        let (len, constants) = encoder.constants(train.schema());
        let len = u32::try_from(len).map_err(|_| Error::data("a prototype has more than 2³² functions"))?;
        Ok(Inner { encoder, len, constants })
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

    /// See [`Encoder::n_plain_functions`].
    pub(super) fn n_plain(&self) -> Option<usize> {
        self.encoder.n_plain_functions()
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
