use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{along, listed};
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::{ConfigFault, KeyPath, same};
use crate::results::summary::Summary;

macro_rules! extreme {
    ($(#[$doc:meta])* $type:ident, $tag:literal, sign = $sign:literal, example = $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// The method.
            pub method: String,
            /// The metric.
            pub metric: String,
            /// The sweep key along which the means are compared.
            pub along: String,
            /// The values of the key at which the means are extreme.
            #[schemars(with = "Vec<serde_json::Value>")]
            pub values: Vec<Value>,
            /// Values of the other sweep keys. The claim must hold for each combination of the keys
            /// that are not given.
            #[serde(default, skip_serializing_if = "At::is_empty")]
            pub at: At,
        }

        crf_core::plugin!("claim", $type, $tag, example = $example);

        #[typetag::serde(name = $tag)]
        impl Claim for $type {
            fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
                names.method("method", &self.method)?;
                names.metric("metric", &self.metric)?;
                names.along("along", &self.along)?;
                names.values(KeyPath::new(["values"]), &self.along, &self.values)?;
                names.at(&self.at)
            }

            fn judge(&self, summary: &Summary) -> Verdict {
                judge(summary, &self.method, &self.metric, &self.along, &self.values, &self.at, $sign)
            }
        }
    };
}

extreme!(
    /// The means of a metric at certain values of a sweep key are lower than at all its other
    /// values.
    LowestAt, "lowest-at", sign = 1.0,
    example = r#"
method = "CRF"
metric = "error"
along = "dataset.noise"
values = [0.1, 0.2]
"#
);

extreme!(
    /// The means of a metric at certain values of a sweep key are higher than at all its other
    /// values.
    PeaksAt, "peaks-at", sign = -1.0,
    example = r#"
method = "CRF"
metric = "accuracy"
along = "dataset.noise"
values = [0.1, 0.2]
"#
);

fn judge(
    summary: &Summary,
    method: &str,
    metric: &str,
    key: &str,
    values: &[Value],
    at: &At,
    sign: f64,
) -> Verdict {
    let lines = summary.lines(key, &at.0);
    let verdicts = lines.iter().map(|line| {
        let means = along(summary, method, metric, line);
        let evidence = listed(summary, key, line, &means);
        let is_chosen =
            |point: usize| summary.value(point, key).is_some_and(|have| values.iter().any(|v| same(have, v)));
        let (mut chosen, mut others) = (Vec::new(), Vec::new());
        for (&point, interval) in line.points.iter().zip(&means) {
            if is_chosen(point) { &mut chosen } else { &mut others }.push(sign * interval.mean);
        }
        if chosen.len() < values.len() || others.is_empty() {
            return Verdict::skipped(format!("nothing to compare: {evidence}"));
        }
        let worst = chosen.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Verdict::new(others.into_iter().all(|other| worst < other), evidence)
    });
    Verdict::all(verdicts.collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    #[test]
    fn extremes_are_compared_with_all_other_points() {
        let claim = |tag: &str, values: &str| {
            format!(r#"{tag} = {{ method = "A", metric = "error", along = "x", values = {values} }}"#)
        };
        let results = summary(&[0.1, 0.3, 0.4, 0.2], &[0.0; 4]);
        assert_eq!(holds(&claim("lowest-at", "[0, 3]"), &results), Some(true));
        assert_eq!(holds(&claim("lowest-at", "[0, 1]"), &results), Some(false));
        assert_eq!(holds(&claim("peaks-at", "[2]"), &results), Some(true));
        assert_eq!(holds(&claim("peaks-at", "[1]"), &results), Some(false));
        assert_eq!(holds(&claim("peaks-at", "[9]"), &results), None);
    }
}
