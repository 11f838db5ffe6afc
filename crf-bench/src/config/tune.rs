//! The choice of settings by cross-validation: the key `tune` and the option `--tune`.

use crf_core::Metric;
use crf_core::metrics::Accuracy;
use crf_core::plugin::named;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::grid::Grid;
use super::{ConfigFault, KeyPath, Override, SweepValues, Training};
use crate::error::{Error, Result};

/// The settings that cross-validation chooses before a model is trained.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tune {
    /// The keys, each with a list of values to choose from; several keys make a grid.
    pub over: Table,
    /// The number of folds into which the sequences are dealt.
    pub folds: usize,
    /// The metric that compares the values.
    #[serde(deserialize_with = "named")]
    pub by: Box<dyn Metric>,
}

impl Default for Tune {
    fn default() -> Self {
        Tune { over: Table::new(), folds: 5, by: Box::new(Accuracy {}) }
    }
}

/// Trainings to choose from by cross-validation.
#[derive(Debug)]
pub struct Candidates {
    /// The values of the keys, and the whole config with these values.
    pub points: Vec<(SweepValues, Value)>,
    /// The number of folds into which the sequences are dealt.
    pub folds: usize,
    /// The metric that compares the candidates.
    pub by: Box<dyn Metric>,
}

impl Tune {
    /// The candidates for a config, which is without its `tune`.
    pub(super) fn candidates(self, config: &Value) -> Result<Candidates, ConfigFault> {
        let root = KeyPath::new(["tune"]);
        if self.folds < 2 {
            let message = format!("`folds` must be at least 2, got {}", self.folds);
            return Err(ConfigFault::value(root.child("folds"), message));
        }
        if self.over.is_empty() {
            let message = "nothing to tune: expected keys with lists of values, such as \
                           `--tune learner.l2=0.1,1,10`";
            return Err(ConfigFault::value(root, message));
        }
        let grid = Grid {
            called: "tuning",
            path: root.child("over"),
            lists: &self.over,
            over: &["features", "learner", "inference", "decode"],
            least: (2, "two values"),
        };
        Ok(Candidates { points: grid.points::<Training>(config)?, folds: self.folds, by: self.by })
    }

    /// Reads `key=value,value,…`; values that are not TOML are strings.
    pub(crate) fn option(text: &str) -> Result<Override> {
        let option = format!("--tune {text}");
        let wrong = || Error::config(&option, "expected key=value,value,…, such as learner.l2=0.1,1,10");
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let (key, values) = (key.trim(), values.trim());
        let list = if values.starts_with('[') { values.to_owned() } else { format!("[{values}]") };
        let list = match toml::from_str::<Table>(&format!("list = {list}")) {
            Ok(mut table) if table.len() == 1 => table.remove("list"),
            _ => None,
        };
        let strings = || values.split(',').map(str::trim).map(Value::from).collect();
        let value = list.unwrap_or_else(|| Value::Array(strings()));
        Ok(Override { option, path: KeyPath::new(["tune", "over", key]), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_a_toml_list_or_else_strings() {
        let value = |text: &str| Tune::option(text).expect("a setting").value.to_string();
        assert_eq!(value("learner.l2=0.1,1"), "[0.1, 1]");
        assert_eq!(value("learner.l2 = [0.1, 1]"), "[0.1, 1]");
        assert_eq!(value("decode=viterbi, posterior"), "[\"viterbi\", \"posterior\"]");
        assert_eq!(value("decode=viterbi"), "[\"viterbi\"]");
        assert_eq!(value("learner.stop={delta = 0.1},{delta = 1}"), "[{ delta = 0.1 }, { delta = 1 }]");
    }
}
