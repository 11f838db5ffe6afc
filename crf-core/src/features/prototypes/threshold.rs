use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::graph::offsets;
use crate::data::schema::Schema;
use crate::error::{Result, require, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::{Inner, require_functions};
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
            for (thresholds, values) in thresholds.iter_mut().zip(non_zeros(&inner, train)) {
                let q = self.quantiles as usize;
                thresholds.extend((1..=q).filter_map(|k| quantile(&values, train.n_positions(), k, q + 1)));
                thresholds.sort_by(f64::total_cmp);
                thresholds.dedup();
            }
        }
        let fitted = Fitted { thresholds, test: self.test, of: inner };
        fitted.require_size()?;
        Ok(Box::new(fitted))
    }
}

/// Value at the fraction `k / of` of `n` ascending values, given those that are not zero.
fn quantile(non_zeros: &[f64], n: usize, k: usize, of: usize) -> Option<f64> {
    let at = (k as u128 * n as u128 / of as u128) as usize;
    let negative = non_zeros.partition_point(|&value| value < 0.0);
    let zeros = n.saturating_sub(non_zeros.len());
    match at {
        at if at >= n => None,
        at if at < negative => Some(non_zeros[at]),
        at if at < negative + zeros => Some(0.0),
        at => non_zeros.get(at - zeros).copied(),
    }
}

/// Ascending values of each function that are not zero, since most are.
fn non_zeros(inner: &Inner, data: &Dataset) -> Vec<Vec<f64>> {
    let mut of_functions = vec![Vec::new(); inner.len() as usize];
    for &(g, value) in inner.constants().iter().filter(|(_, value)| *value != 0.0) {
        of_functions[g as usize] = vec![value; data.n_positions()];
    }
    for i in 0..data.len() {
        let rows = inner.encode(&data.sequence(i));
        let values = (0..rows.len()).flat_map(|t| rows.row(t));
        values.for_each(|(g, value)| of_functions[g as usize].push(value));
    }
    of_functions.iter_mut().for_each(|values: &mut Vec<f64>| values.sort_by(f64::total_cmp));
    of_functions
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    thresholds: Vec<Vec<f64>>, // [functions][thresholds]
    test: Side,
    of: Inner,
}

impl Fitted {
    /// Calls `f` with every test of function `g`: true if for values above, and the threshold.
    fn tests_of(&self, g: usize, mut f: impl FnMut(bool, f64)) {
        for &at in &self.thresholds[g] {
            if self.test != Side::Below {
                f(true, at);
            }
            if self.test != Side::Above {
                f(false, at);
            }
        }
    }

    /// Number of tests at each threshold.
    fn n_sides(&self) -> usize {
        if self.test == Side::Both { 2 } else { 1 }
    }

    /// Appends the tests of function `g`, numbered from `first`, that `value` passes.
    fn push_passed(&self, g: usize, first: u32, value: f64, out: &mut EncodedRows) {
        let mut number = first;
        self.tests_of(g, |above, at| {
            if if above { value > at } else { value < at } {
                out.push(number, 1.0);
            }
            number += 1;
        });
    }

    /// True if a zero passes a test of function `g`.
    fn zero_passes(&self, g: usize) -> bool {
        let mut passes = false;
        self.tests_of(g, |above, at| passes |= if above { 0.0 > at } else { 0.0 < at });
        passes
    }

    fn require_size(&self) -> Result<()> {
        let n = self.thresholds.iter().map(Vec::len).sum::<usize>() * self.n_sides();
        require_functions("threshold", n as f64, self.of.n_plain().is_some())
    }
}

#[typetag::serde(name = "threshold")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let inner = self.of.observations(schema);
        let mut tests = Vec::new();
        for (g, inner) in inner.iter().enumerate() {
            self.tests_of(g, |above, at| {
                let name = format!("{}{}{at}", inner.name, if above { '>' } else { '<' });
                tests.push(Observation { labels: inner.labels.clone(), ..Observation::new(name) });
            });
        }
        tests
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        require_consistent(self.thresholds.len() == self.of.len() as usize)?;
        self.of.check(schema)?;
        self.require_size()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.of.n_plain().map(|_| self.thresholds.iter().map(Vec::len).sum::<usize>() * self.n_sides())
    }

    fn reach(&self) -> Option<(usize, usize)> {
        self.of.reach()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let first = offsets(self.thresholds.iter().map(|thresholds| thresholds.len() * self.n_sides()));
        let at_zero: Vec<u32> = (0..self.of.len()).filter(|&g| self.zero_passes(g as usize)).collect();
        let rows = self.of.encode(x);
        let mut row = Vec::new();
        for t in 0..rows.len() {
            // Functions that are zero matter only where a zero passes a test.
            row.clear();
            row.extend(at_zero.iter().map(|&g| (g, 0.0)));
            row.extend(self.of.constants());
            row.extend(rows.row(t));
            row.sort_by_key(|&(g, _)| g);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                let value = same.iter().map(|(_, value)| value).sum();
                self.push_passed(same[0].0 as usize, first[same[0].0 as usize] as u32, value, out);
            }
            out.end_row();
        }
    }
}
