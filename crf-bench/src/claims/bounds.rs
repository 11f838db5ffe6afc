use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prefix;
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::ConfigFault;
use crate::results::summary::Summary;

macro_rules! bound {
    ($(#[$doc:meta])* $type:ident, $tag:literal, $holds:expr, example = $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// The method.
            pub method: String,
            /// The metric.
            pub metric: String,
            /// The bound on the mean.
            pub value: f64,
            /// The points of the sweep, by values of its keys, as in `{ "dataset.noise" = 0.4 }`;
            /// all points if omitted. The claim must hold at each.
            #[serde(default, skip_serializing_if = "At::is_empty")]
            pub at: At,
        }

        crf_core::plugin!("claim", $type, $tag, example = $example);

        #[typetag::serde(name = $tag)]
        impl Claim for $type {
            fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
                names.method("method", &self.method)?;
                names.metric("metric", &self.metric)?;
                names.at(&self.at)
            }

            fn judge(&self, summary: &Summary) -> Verdict {
                let (method, metric) = (summary.method(&self.method), summary.metric(&self.metric));
                let holds: fn(f64, f64) -> bool = $holds;
                let verdicts = summary.at(&self.at.0).into_iter().map(|point| {
                    let estimate = summary.estimate(method, point, metric);
                    Verdict::new(holds(estimate.mean, self.value), format!("{}{estimate}", prefix(&summary.points[point])))
                });
                Verdict::all(verdicts.collect())
            }
        }
    };
}

bound!(
    /// The mean of a metric is at most a value.
    AtMost, "at-most", |mean, value| mean <= value,
    example = r#"
method = "CRF"
metric = "error"
value = 0.1
at = { "dataset.noise" = 0.4 }
"#
);

bound!(
    /// The mean of a metric is at least a value.
    AtLeast, "at-least", |mean, value| mean >= value,
    example = r#"
method = "CRF"
metric = "accuracy"
value = 0.9
"#
);

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    #[test]
    fn bounds_hold_at_all_points_or_not_at_all() {
        let results = summary(&[0.1, 0.2], &[0.0; 2]);
        let claim =
            |tag: &str, value| format!(r#"{tag} = {{ method = "A", metric = "error", value = {value} }}"#);
        assert_eq!(holds(&claim("at-most", 0.25), &results), Some(true));
        assert_eq!(holds(&claim("at-most", 0.15), &results), Some(false));
        assert_eq!(holds(&claim("at-least", 0.05), &results), Some(true));
        assert_eq!(holds(&claim("at-least", 0.15), &results), Some(false));
    }
}
