use std::fmt::Debug;

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::data::sparse_rows::SparseRows;
use crate::error::Result;
use crate::features::label_pattern::Labels;

/// A rule that makes observation functions g(t, X); links then tie these to labels.
///
/// A prototype is fitted once, on training data (normalisation, thresholds by quantile), and the encoder that comes
/// of it evaluates the same functions on any data of the same schema.
#[typetag::serde(tag = "type")]
pub trait Prototype: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// Decides which observation functions there are.
    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>>;
}

/// Fitted observation functions; part of a saved model.
#[typetag::serde(tag = "type")]
pub trait Encoder: Debug + Send + Sync {
    /// The functions, in the order of their numbers, for data of the schema they were fitted on.
    fn observations(&self, schema: &Schema) -> Vec<Observation>;
    /// How many functions there are, if none is constant, none excludes another and all are for all labels: then nobody
    /// needs to spell the names of many to know it.
    fn n_plain_functions(&self) -> Option<usize> {
        None
    }
    /// How many functions there are, and those that have one value everywhere.
    fn constants(&self, schema: &Schema) -> (usize, Vec<(u32, f64)>) {
        if let Some(n) = self.n_plain_functions() {
            return (n, Vec::new());
        }
        let observations = self.observations(schema);
        let constants =
            (0..).zip(&observations).filter_map(|(g, observation)| Some((g, observation.constant?)));
        (observations.len(), constants.collect())
    }
    /// Rejects functions that were read from a file and cannot be evaluated on data of the schema beside them.
    fn check(&self, _schema: &Schema) -> Result<()> {
        Ok(())
    }
    /// How many positions before and after its own a value depends on, where that is known: then long sequences can be
    /// encoded in pieces.
    fn reach(&self) -> Option<(usize, usize)> {
        None
    }
    /// Adds one row per position of `x` to `out`, of the functions that are not constant.
    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows);
}

/// One observation function.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Its name in words: `speed²`, `word=the`, `speed>0.2`.
    pub name: String,
    /// Functions of one group are the alternatives of one variable, of which at most one is not zero.
    pub group: Option<u32>,
    /// The value everywhere, when it is the same everywhere: then it costs nothing per position.
    pub constant: Option<f64>,
    /// The labels it can be tied to.
    pub labels: Labels,
}

impl Observation {
    /// An ordinary function of the observations.
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
    /// The rows that `encoder` gives for `x`.
    pub fn encode(encoder: &dyn Encoder, x: &Sequence<'_>) -> Self {
        let mut rows = EncodedRows::default();
        encoder.encode(x, &mut rows);
        rows
    }

    /// Adds a value to the open row; zeros may be left out.
    #[inline]
    pub fn push(&mut self, observation: u32, value: f64) {
        self.rows.add(observation, value);
    }

    /// Closes the open row.
    pub fn end_row(&mut self) {
        self.rows.end_row();
    }

    /// How many rows were closed.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row was closed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entries of row `t` that are not zero: ones before others.
    pub fn row(&self, t: usize) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        self.rows.row(t)
    }

    /// The first value of row `t` that is not finite, and its function.
    pub(crate) fn not_finite(&self, t: usize) -> Option<(u32, f64)> {
        let (functions, values) = self.rows.valued(t);
        functions.iter().copied().zip(values.iter().copied()).find(|(_, value)| !value.is_finite())
    }
}
