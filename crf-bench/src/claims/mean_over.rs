use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::claims::claim::{Claim, Names, Verdict};
use crate::config::{ConfigFault, KeyPath};
use crate::results::summary::Summary;

/// Another claim, made about the mean over all values of a sweep key; single values may differ.
///
/// The mean at each value takes the place of a trial: intervals tell how far the mean would move
/// with other values, such as other data sets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeanOver {
    /// The sweep key over whose values the mean is taken.
    pub key: String,
    /// The claim about the mean; it cannot refer to the key.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub claim: Box<dyn Claim>,
}

crf_core::plugin!(
    "claim",
    MeanOver,
    "mean-over",
    example = r#"
key = "dataset.noise"
claim = { at-most = { method = "CRF", metric = "error", value = 0.4 } }
"#
);

#[typetag::serde(name = "mean-over")]
impl Claim for MeanOver {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        names.along("key", &self.key)?;
        let path = KeyPath::new(["claim", self.claim.typetag_name()]);
        self.claim.check(&names.without(&self.key)).map_err(|fault| fault.below(&path))
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        self.claim.judge(&with_trials_along(summary, &self.key))
    }
}

/// A summary in which the values of a key are the trials.
fn with_trials_along(summary: &Summary, key: &str) -> Summary {
    let lines = summary.lines(key, &Table::new());
    let points = lines.iter().map(|line| line.others.clone()).collect();
    let (methods, metrics) = (summary.methods.clone(), summary.metrics.clone());
    // A sweep is a product: all lines are of one length.
    let n_values = lines.first().map_or(0, |line| line.points.len());
    Summary::new(methods, points, metrics, n_values, |method, point, metric, value| {
        summary.estimate(method, lines[point].points[value], metric).mean
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};
    use super::*;

    fn claim(of: &str) -> String {
        format!(r#"mean-over = {{ key = "x", claim = {{ {of} }} }}"#)
    }

    #[test]
    fn single_values_may_differ() {
        let results = summary(&[0.1, 0.3, 0.2], &[0.3, 0.29, 0.4]);
        let bound = |value| format!(r#"at-most = {{ method = "A", metric = "error", value = {value} }}"#);
        assert_eq!(holds(&bound(0.21), &results), Some(false));
        assert_eq!(holds(&claim(&bound(0.21)), &results), Some(true));
        assert_eq!(holds(&claim(&bound(0.19)), &results), Some(false));
    }

    #[test]
    fn values_are_the_trials_of_intervals() {
        let better = claim(r#"better = { method = "A", than = "B", metric = "error" }"#);
        assert_eq!(holds(&better, &summary(&[0.1, 0.5, 0.9], &[0.2, 0.61, 0.99])), Some(true));
        assert_eq!(holds(&better, &summary(&[0.1, 0.3, 0.2], &[0.3, 0.29, 0.4])), Some(false));
    }

    #[test]
    fn other_keys_keep_their_points() {
        use crate::config::SweepValues;
        let value = |v: usize| toml::Value::from(v as i64);
        let points = (0..6).map(|p| SweepValues::default().with("x", &value(p / 2)).with("y", &value(p % 2)));
        let metrics = summary(&[0.0], &[0.0]).metrics;
        let results = Summary::new(vec!["A".into()], points.collect(), metrics, 2, |_, point, _, trial| {
            (100 * (point % 2) + 10 * (point / 2) + trial) as f64
        });
        let means = with_trials_along(&results, "x");
        let at = |y: usize| SweepValues::default().with("y", &value(y));
        assert_eq!(means.points, [at(0), at(1)]);
        assert_eq!(means.values(0, 0, 0), [0.5, 10.5, 20.5]);
        assert_eq!(means.values(0, 1, 0), [100.5, 110.5, 120.5]);
    }
}
