use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{along, listed};
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::ConfigFault;
use crate::results::summary::Summary;

macro_rules! trend {
    ($(#[$doc:meta])* $type:ident, $tag:literal, down = $down:literal, example = $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// The method.
            pub method: String,
            /// The metric.
            pub metric: String,
            /// The sweep key along which the metric is followed.
            pub along: String,
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
                names.at(&self.at)
            }

            fn judge(&self, summary: &Summary) -> Verdict {
                judge(summary, &self.method, &self.metric, &self.along, &self.at, $down)
            }
        }
    };
}

trend!(
    /// A metric falls along a sweep key: the last 95% interval lies below the first, and no step
    /// rises significantly.
    Falls, "falls", down = true,
    example = r#"
method = "CRF"
metric = "error"
along = "dataset.noise"
"#
);

trend!(
    /// A metric rises along a sweep key: the last 95% interval lies above the first, and no step
    /// falls significantly.
    Rises, "rises", down = false,
    example = r#"
method = "HMM"
metric = "error"
along = "dataset.noise"
"#
);

fn judge(summary: &Summary, method: &str, metric: &str, key: &str, at: &At, down: bool) -> Verdict {
    let lines = summary.lines(key, &at.0);
    let verdicts = lines.iter().map(|line| {
        let means = along(summary, method, metric, line);
        let evidence = listed(summary, key, line, &means);
        let (Some(first), Some(last)) = (means.first(), means.last()) else {
            return Verdict::skipped("no such point in this run");
        };
        if means.len() == 1 {
            return Verdict::skipped(format!("one point only: {evidence}"));
        }
        let (ends, mut back) = if down {
            (
                first.is_above(last),
                means.windows(2).map(|step| step[1].is_above(&step[0])).collect::<Vec<_>>(),
            )
        } else {
            (last.is_above(first), means.windows(2).map(|step| step[0].is_above(&step[1])).collect())
        };
        back.retain(|&back| back);
        Verdict::new(ends && back.is_empty(), evidence)
    });
    Verdict::all(verdicts.collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    const FALLS: &str = r#"falls = { method = "A", metric = "error", along = "x" }"#;
    const RISES: &str = r#"rises = { method = "A", metric = "error", along = "x" }"#;

    #[test]
    fn a_falling_metric_falls_and_does_not_rise() {
        let results = summary(&[0.3, 0.2, 0.1], &[0.0; 3]);
        assert_eq!((holds(FALLS, &results), holds(RISES, &results)), (Some(true), Some(false)));
    }

    #[test]
    fn a_significant_step_back_breaks_a_trend() {
        let results = summary(&[0.1, 0.3, 0.2], &[0.0; 3]);
        assert_eq!((holds(RISES, &results), holds(FALLS, &results)), (Some(false), Some(false)));
    }

    #[test]
    fn noise_is_no_trend() {
        assert_eq!(holds(FALLS, &summary(&[0.1001, 0.1], &[0.0; 2])), Some(false));
    }

    #[test]
    fn one_point_is_not_judged() {
        assert_eq!(holds(FALLS, &summary(&[0.1], &[0.1])), None);
    }
}
