use std::collections::BTreeMap;

use crf_core::plugin::{NameOr, name_or};
use crf_core::{Dataset, Error, Result, Schema, require};
use schemars::JsonSchema;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Margin Δ(y, y_i) by which the true labelling shall win against another labelling. A config may
/// give the loss alone.
///
/// The margin is scaled by the loss (Tsochantaridis et al. 2005). For `zero-one` slack scaling is
/// the same; for `hamming` there is none, since no inference finds argmax_y Δ(y, y_i) · (1 −
/// w·(F(x, y_i) − F(x, y))).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Margin {
    /// Loss of a labelling.
    pub loss: Loss,
    /// Cost of a wrong position per true label, for `hamming`; at least 0, and 1 for labels that
    /// are not listed.
    pub costs: BTreeMap<String, f64>,
}

/// Loss of a labelling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Sum of the costs of its wrong positions.
    #[default]
    Hamming,
    /// 1 if any position is wrong, else 0. The inference must be able to list the two best
    /// labellings.
    ZeroOne,
}

impl<'de> NameOr<'de> for Margin {
    const EXPECTING: &'static str = "a margin: `hamming`, `zero-one`, or a table";

    fn from_name<E: serde::de::Error>(name: &str) -> Result<Self, E> {
        let loss = Loss::deserialize(StrDeserializer::new(name))?;
        Ok(Margin { loss, costs: BTreeMap::new() })
    }

    fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Margin::deserialize(table)
    }
}

impl Serialize for Margin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Margin::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Margin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or(deserializer)
    }
}

impl Margin {
    /// Rejects costs that can never work.
    pub fn check(&self) -> Result<()> {
        if self.loss == Loss::ZeroOne && !self.costs.is_empty() {
            let got = format!("{} labels", self.costs.len());
            return Err(Error::setting(
                "margin.costs",
                "empty for `zero-one`, which counts no positions",
                got,
            ));
        }
        self.costs.iter().try_for_each(|(label, &cost)| {
            let fine = cost.is_finite() && cost >= 0.0;
            require(fine, &format!("margin.costs.{label}"), "a finite number of at least 0", cost)
        })
    }

    /// Cost of each position of all sequences if it is wrong.
    pub(crate) fn costs(&self, data: &Dataset) -> Result<Vec<f64>> {
        let by_kind = self.by_kind(data.schema())?;
        let mut costs = Vec::with_capacity(data.n_positions());
        for i in 0..data.len() {
            let (shape, labels) = (data.shape(i), &data.labels()[data.range(i)]);
            let cost = |(n, label): (usize, &Option<u32>)| {
                label.and_then(|label| by_kind[shape.kind(n) as usize].get(label as usize)).copied()
            };
            costs.extend(labels.iter().enumerate().map(|position| cost(position).unwrap_or(1.0)));
        }
        Ok(costs)
    }

    /// The cost of each label of each kind of node.
    fn by_kind(&self, schema: &Schema) -> Result<Vec<Vec<f64>>> {
        let names = || schema.kinds().iter().flat_map(|kind| kind.labels.names().iter());
        if let Some(unknown) = self.costs.keys().find(|label| !names().any(|name| name == label.as_str())) {
            return Err(Error::unknown("label", unknown, names()));
        }
        let cost = |name| self.costs.get(name).copied().unwrap_or(1.0);
        Ok(schema.kinds().iter().map(|kind| kind.labels.names().iter().map(cost).collect()).collect())
    }
}
