use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::Inner;
use crate::numeric::compensated_sum::CompensatedSum;
use crate::plugin::{Named, named};

/// Window statistics: another prototype's values around the position t, combined into one. Windows
/// are truncated at the ends of the sequence.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// Number of positions before t in the window.
    pub before: u32,
    /// Number of positions after t in the window.
    pub after: u32,
    /// Statistic of the values.
    pub over: Over,
    /// Prototype whose values are combined.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

/// Statistic that combines the values of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// 1 if any value is not zero.
    Any,
    /// 1 if no value is zero.
    All,
    /// Mean of the values.
    Mean,
}

impl Over {
    pub(crate) const ALL: [Over; 3] = [Over::Any, Over::All, Over::Mean];

    /// Name of the statistic in names of functions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Over::Any => "any",
            Over::All => "all",
            Over::Mean => "mean",
        }
    }

    /// Value of a window of `width` positions.
    fn value(self, window: &WindowSum, width: usize) -> f64 {
        match self {
            Over::Any => f64::from(window.non_zeros > 0),
            Over::All => f64::from(window.non_zeros == width),
            Over::Mean => window.sum.value() / width as f64,
        }
    }

    /// Appends to `out` the value of the window around each of the given values.
    pub(crate) fn slide(self, values: &[f64], before: u32, after: u32, out: &mut Vec<f64>) {
        let mut window = WindowSum::default();
        let (mut start, mut end) = (0, 0);
        for t in 0..values.len() {
            while end < values.len().min(t + after as usize + 1) {
                window.enter(values[end]);
                end += 1;
            }
            while start < t.saturating_sub(before as usize) {
                window.leave(values[start]);
                start += 1;
            }
            out.push(self.value(&window, end - start));
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Window { before: 1, after: 0, over: Over::Mean, of: Box::new(RawValue::default()) }
    }
}

crate::plugin!("prototype", Window, "window", example = r#"of = "value""#);

#[typetag::serde(name = "window")]
impl Prototype for Window {
    fn check(&self) -> Result<()> {
        require(self.before > 0 || self.after > 0, "before", "above 0, or `after` above 0", self.before)?;
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let Window { before, after, over, .. } = *self;
        Ok(Box::new(Fitted { before, after, over, of: Inner::fit(&*self.of, train)? }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    before: u32,
    after: u32,
    over: Over,
    of: Inner,
}

#[typetag::serde(name = "window")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let over = self.over.name();
        let inner = self.of.observations(schema);
        let taken = inner.into_iter().map(|g| Observation {
            name: format!("{over}({}, {:+}..{:+})", g.name, -i64::from(self.before), self.after),
            group: None,
            constant: g
                .constant
                .map(|value| if self.over == Over::Mean { value } else { f64::from(value != 0.0) }),
            labels: g.labels,
        });
        taken.collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.of.n_plain()
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        self.of.check(schema)
    }

    /// Sums slide along the sequence, so that a position costs the functions that are not zero in
    /// the window, whatever its width and however many functions there are.
    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let rows = self.of.encode(x);
        // Functions with a value in the window, in the order of their numbers.
        let mut window: BTreeMap<u32, WindowSum> = BTreeMap::new();
        let (mut start, mut end) = (0, 0);
        for t in 0..rows.len() {
            while end < rows.len().min(t + self.after as usize + 1) {
                rows.row(end).for_each(|(g, value)| window.entry(g).or_default().enter(value));
                end += 1;
            }
            while start < t.saturating_sub(self.before as usize) {
                for (g, value) in rows.row(start) {
                    if let Entry::Occupied(mut sum) = window.entry(g) {
                        sum.get_mut().leave(value);
                        if sum.get().non_zeros == 0 {
                            sum.remove();
                        }
                    }
                }
                start += 1;
            }
            let width = end - start;
            for (&g, sum) in &window {
                out.push(g, self.over.value(sum, width));
            }
            out.end_row();
        }
    }
}

/// Running sum and count of the values in a sliding window.
#[derive(Debug, Clone, Copy, Default)]
struct WindowSum {
    non_zeros: usize,
    sum: CompensatedSum,
}

impl WindowSum {
    fn enter(&mut self, value: f64) {
        if value != 0.0 {
            self.non_zeros += 1;
            self.sum.add(value);
        }
    }

    fn leave(&mut self, value: f64) {
        if value != 0.0 {
            self.non_zeros -= 1;
            self.sum.add(-value);
            if self.non_zeros == 0 {
                self.sum = CompensatedSum::default();
            }
        }
    }
}
