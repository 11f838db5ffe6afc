use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::RawValue;
use crate::features::prototypes::inner::{Inner, require_functions};
use crate::plugin::{Named, named};

/// Lagged values: another prototype's values at earlier or later positions; 0 beyond the ends of
/// the sequence.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lag {
    /// Lags: numbers of positions to look back; negative numbers look ahead.
    pub by: Vec<i64>,
    /// Prototype to shift.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Prototype>,
}

impl Default for Lag {
    fn default() -> Self {
        Lag { by: vec![1], of: Box::new(RawValue::default()) }
    }
}

crate::plugin!(
    "prototype",
    Lag,
    "lag",
    example = r#"
by = [1]
of = "value"
"#
);

#[typetag::serde(name = "lag")]
impl Prototype for Lag {
    fn check(&self) -> Result<()> {
        require(!self.by.is_empty(), "by", "a list of at least one lag", "[]")?;
        self.of.check()
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let fitted = Fitted { by: self.by.clone(), of: Inner::fit(&*self.of, train)? };
        fitted.require_size()?;
        Ok(Box::new(fitted))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    by: Vec<i64>,
    of: Inner,
}

impl Fitted {
    fn require_size(&self) -> Result<()> {
        let n = self.by.len() as f64 * f64::from(self.of.len());
        require_functions("lag", n, self.of.n_plain().is_some())
    }
}

#[typetag::serde(name = "lag")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let inner = self.of.observations(schema);
        let groups = inner.iter().filter_map(|g| g.group).max().map_or(0, |group| group + 1);
        let shifted =
            self.by.iter().enumerate().flat_map(|(k, &by)| inner.iter().map(move |g| (k as u32, by, g)));
        shifted
            .map(|(k, by, g)| Observation {
                name: if by == 0 { g.name.clone() } else { format!("{}[{:+}]", g.name, -i128::from(by)) },
                group: g.group.map(|group| k * groups + group),
                // Beyond the ends even a constant is zero.
                constant: g.constant.filter(|_| by == 0),
                labels: g.labels.clone(),
            })
            .collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.of.n_plain().map(|n| n * self.by.len())
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        self.of.check(schema)?;
        self.require_size()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let rows = self.of.encode(x);
        for t in 0..rows.len() {
            for (k, &by) in self.by.iter().enumerate() {
                let there = (t as i64).checked_sub(by).and_then(|there| usize::try_from(there).ok());
                if let Some(there) = there.filter(|&there| there < rows.len()) {
                    let constants = if by == 0 { &[] } else { self.of.constants() };
                    for (g, value) in constants.iter().copied().chain(rows.row(there)) {
                        out.push(k as u32 * self.of.len() + g, value);
                    }
                }
            }
            out.end_row();
        }
    }
}
