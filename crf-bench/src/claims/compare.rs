use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prefix;
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::ConfigFault;
use crate::results::summary::Summary;

/// One method is significantly better than another: the 95% interval of their paired difference
/// excludes 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Better {
    /// The better method.
    pub method: String,
    /// The other one.
    pub than: String,
    /// The metric.
    pub metric: String,
    /// The points of the sweep, by values of its keys, as in `{ "dataset.noise" = 0.4 }`; all
    /// points if omitted. The claim must hold at each.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
}

crf_core::plugin!(
    "claim",
    Better,
    "better",
    example = r#"
method = "CRF"
than = "HMM"
metric = "error"
at = { "dataset.noise" = 0.4 }
"#
);

#[typetag::serde(name = "better")]
impl Claim for Better {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        check(names, [("method", &self.method), ("than", &self.than)], &self.metric, &self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        compare(summary, &self.method, &self.than, &self.metric, &self.at, "", |difference, higher| {
            if higher { difference.low() > 0.0 } else { difference.high() < 0.0 }
        })
    }
}

/// One method is not significantly worse than another: the 95% interval of their paired difference
/// does not lie entirely on the worse side. With a single trial there is no interval, and the
/// difference itself decides. With `within`, the difference of the means decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoWorse {
    /// The method that should be no worse.
    pub method: String,
    /// The other one.
    pub than: String,
    /// The metric.
    pub metric: String,
    /// The points of the sweep, by values of its keys, as in `{ "dataset.noise" = 0.4 }`; all
    /// points if omitted. The claim must hold at each.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The largest difference by which the mean may be worse; the interval decides if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

crf_core::plugin!(
    "claim",
    NoWorse,
    "no-worse",
    example = r#"
method = "CRF"
than = "HMM"
metric = "error"
"#
);

#[typetag::serde(name = "no-worse")]
impl Claim for NoWorse {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        check(names, [("method", &self.method), ("than", &self.than)], &self.metric, &self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        let note = self.within.map_or_else(String::new, allowed);
        compare(summary, &self.method, &self.than, &self.metric, &self.at, &note, |difference, higher| {
            let loss = if higher { -difference.mean } else { difference.mean };
            loss <= self.within.or(difference.half_width).unwrap_or(0.0)
        })
    }
}

/// Two methods are equal: their means differ by at most `within`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Equal {
    /// One method.
    pub method: String,
    /// The other one.
    pub other: String,
    /// The metric.
    pub metric: String,
    /// The points of the sweep, by values of its keys, as in `{ "dataset.noise" = 0.4 }`; all
    /// points if omitted. The claim must hold at each.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The largest difference of the means.
    pub within: f64,
}

crf_core::plugin!(
    "claim",
    Equal,
    "equal",
    example = r#"
method = "CRF"
other = "HMM"
metric = "error"
within = 0.01
"#
);

#[typetag::serde(name = "equal")]
impl Claim for Equal {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        check(names, [("method", &self.method), ("other", &self.other)], &self.metric, &self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        let note = allowed(self.within);
        compare(summary, &self.method, &self.other, &self.metric, &self.at, &note, |difference, _| {
            difference.mean.abs() <= self.within
        })
    }
}

fn allowed(within: f64) -> String {
    format!(", {within} allowed")
}

fn check(names: &Names<'_>, methods: [(&str, &str); 2], metric: &str, at: &At) -> Result<(), ConfigFault> {
    methods.into_iter().try_for_each(|(key, method)| names.method(key, method))?;
    names.metric("metric", metric)?;
    names.at(at)
}

/// Judges the paired difference of two methods at each point by
/// `holds(difference, higher_is_better)`; `note` ends the evidence.
fn compare(
    summary: &Summary,
    method: &str,
    than: &str,
    metric: &str,
    at: &At,
    note: &str,
    holds: impl Fn(crate::MeanInterval, bool) -> bool,
) -> Verdict {
    let (a, b, m) = (summary.method(method), summary.method(than), summary.metric(metric));
    let verdicts = summary.at(&at.0).into_iter().map(|point| {
        let difference = summary.difference(a, b, point, m);
        let evidence = format!(
            "{}{method} {}, {than} {}, difference {difference}{note}",
            prefix(&summary.points[point]),
            summary.estimate(a, point, m),
            summary.estimate(b, point, m),
        );
        Verdict::new(holds(difference, summary.metrics[m].higher_is_better), evidence)
    });
    Verdict::all(verdicts.collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    const BETTER: &str = r#"better = { method = "A", than = "B", metric = "error" }"#;

    #[test]
    fn better_needs_a_significant_difference_at_every_point() {
        assert_eq!(holds(BETTER, &summary(&[0.1, 0.2], &[0.2, 0.3])), Some(true));
        assert_eq!(holds(BETTER, &summary(&[0.1, 0.3], &[0.2, 0.2])), Some(false));
        assert_eq!(holds(BETTER, &summary(&[0.1, 0.2], &[0.1001, 0.3])), Some(false));
    }

    #[test]
    fn no_worse_allows_what_may_be_chance() {
        let no_worse = r#"no-worse = { method = "A", than = "B", metric = "error" }"#;
        assert_eq!(holds(no_worse, &summary(&[0.2, 0.1001], &[0.3, 0.1])), Some(true));
        assert_eq!(holds(no_worse, &summary(&[0.2, 0.115], &[0.3, 0.1])), Some(false));
        let within = r#"no-worse = { method = "A", than = "B", metric = "error", within = 0.02 }"#;
        assert_eq!(holds(within, &summary(&[0.2, 0.115], &[0.3, 0.1])), Some(true));
        assert_eq!(holds(within, &summary(&[0.2, 0.125], &[0.3, 0.1])), Some(false));
    }

    #[test]
    fn at_chooses_the_points() {
        let results = summary(&[0.1, 0.3], &[0.2, 0.2]);
        let at = |x: &str| {
            format!(r#"better = {{ method = "A", than = "B", metric = "error", at = {{ x = {x} }} }}"#)
        };
        assert_eq!(holds(&at("0"), &results), Some(true));
        assert_eq!(holds(&at("1.0"), &results), Some(false));
        assert_eq!(holds(&at("7"), &results), None);
    }

    #[test]
    fn equal_is_a_matter_of_distance() {
        let equal = r#"equal = { method = "A", other = "B", metric = "error", within = 0.05 }"#;
        assert_eq!(holds(equal, &summary(&[0.1], &[0.14])), Some(true));
        assert_eq!(holds(equal, &summary(&[0.1], &[0.16])), Some(false));
        let claim: Box<dyn crate::claims::claim::Claim> = toml::from_str(equal).expect("a claim");
        let evidence = claim.judge(&summary(&[0.1], &[0.16])).evidence;
        assert!(evidence.ends_with("difference -0.0600 ± 0.0043, 0.05 allowed"), "{evidence}");
    }
}
