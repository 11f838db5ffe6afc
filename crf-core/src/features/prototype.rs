use std::fmt::Debug;

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::data::sparse_rows::SparseRows;
use crate::error::Result;
use crate::features::label_pattern::Labels;

/// Prototype: a rule that generates observation functions g(t, X), which features tie to labels.
///
/// A prototype is fitted once, on training data (normalisation, thresholds by quantile); the
/// resulting encoder evaluates the same functions on any data of the same schema.
#[typetag::serde(tag = "type")]
pub trait Prototype: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// Fits the observation functions on training data.
    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>>;
}

/// Encoder: fitted observation functions; part of a saved model.
#[typetag::serde(tag = "type")]
pub trait Encoder: Debug + Send + Sync {
    /// Lists the functions, by index, for data of the schema they were fitted on.
    fn observations(&self, schema: &Schema) -> Vec<Observation>;
    /// Number of functions, if none is constant, none excludes another and all are for all labels:
    /// then the names of many functions need not be spelt to know it. `None` otherwise.
    fn n_plain_functions(&self) -> Option<usize> {
        None
    }
    /// Number of functions, and the constant ones with their values.
    fn constants(&self, schema: &Schema) -> (usize, Vec<(u32, f64)>) {
        if let Some(n) = self.n_plain_functions() {
            return (n, Vec::new());
        }
        let observations = self.observations(schema);
        let constants =
            (0..).zip(&observations).filter_map(|(g, observation)| Some((g, observation.constant?)));
        (observations.len(), constants.collect())
    }
    /// Rejects functions that were read from a file and cannot be evaluated on data of the given
    /// schema.
    fn check(&self, _schema: &Schema) -> Result<()> {
        Ok(())
    }
    /// Reach: the numbers of positions before and after its own that a value depends on, if known.
    /// Long sequences can then be encoded in chunks.
    fn reach(&self) -> Option<(usize, usize)> {
        None
    }
    /// Appends one row per position of `x` to `out`, of the functions that are not constant.
    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows);
}

/// Observation function.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Name in words: `speed²`, `word=the`, `speed>0.2`.
    pub name: String,
    /// Group: the functions of one group are alternatives of one variable, of which at most one is
    /// not zero.
    pub group: Option<u32>,
    /// Value, if it is the same everywhere: the function then costs nothing per position.
    pub constant: Option<f64>,
    /// Labels that the function can be tied to.
    pub labels: Labels,
}

impl Observation {
    /// Ordinary function: not constant, in no group, for all labels.
    pub fn new(name: impl Into<String>) -> Self {
        Observation { name: name.into(), group: None, constant: None, labels: None }
    }
}

/// Values of observation functions on one sequence: a sparse row per position.
#[derive(Debug, Clone, Default)]
pub struct EncodedRows {
    rows: SparseRows,
}

impl EncodedRows {
    /// Encodes `x`.
    pub fn encode(encoder: &dyn Encoder, x: &Sequence<'_>) -> Self {
        let mut rows = EncodedRows::default();
        encoder.encode(x, &mut rows);
        rows
    }

    /// Adds a value to the open row; zeros may be omitted.
    #[inline]
    pub fn push(&mut self, observation: u32, value: f64) {
        self.rows.add(observation, value);
    }

    /// Closes the open row.
    pub fn end_row(&mut self) {
        self.rows.end_row();
    }

    /// Number of closed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if no row was closed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Non-zero entries of row `t`: ones before others.
    pub fn row(&self, t: usize) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        self.rows.row(t)
    }

    /// First value of row `t` that is not finite, with its function.
    pub(crate) fn not_finite(&self, t: usize) -> Option<(u32, f64)> {
        let (functions, values) = self.rows.valued(t);
        functions.iter().copied().zip(values.iter().copied()).find(|(_, value)| !value.is_finite())
    }
}
