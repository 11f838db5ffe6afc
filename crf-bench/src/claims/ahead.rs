use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prefix;
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::{ConfigFault, KeyPath};
use crate::results::summary::Summary;

/// The first method of each pair has the better mean, with few exceptions.
///
/// A pair is like a row of a table: not ahead at one point or at several, it is one exception. For
/// comparisons that must be significant, use `better`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ahead {
    /// Pairs of methods; the first should have the better mean.
    pub pairs: Vec<[String; 2]>,
    /// The metric.
    pub metric: String,
    /// The difference of the means that must be exceeded; at least 0.
    #[serde(default)]
    pub by: f64,
    /// The number of pairs that may be exceptions.
    #[serde(default)]
    pub exceptions: usize,
    /// The points of the sweep, by values of its keys; all points if omitted. A pair must be ahead
    /// at each.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
}

crf_core::plugin!(
    "claim",
    Ahead,
    "ahead",
    example = r#"
pairs = [["CRF", "HMM"]]
metric = "error"
exceptions = 0
"#
);

#[typetag::serde(name = "ahead")]
impl Claim for Ahead {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        self.pairs.iter().flatten().try_for_each(|method| names.method("pairs", method))?;
        names.metric("metric", &self.metric)?;
        if self.by.is_nan() || self.by < 0.0 {
            return Err(ConfigFault::value(
                KeyPath::new(["by"]),
                format!("expected at least 0, got {}", self.by),
            ));
        }
        names.at(&self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        let metric = summary.metric(&self.metric);
        let sign = if summary.metrics[metric].higher_is_better { 1.0 } else { -1.0 };
        let points = summary.at(&self.at.0);
        if points.is_empty() {
            return Verdict::skipped("no such point in this run");
        }
        let mut evidence = Vec::new();
        let mut exceptions = Vec::new();
        for [method, than] in &self.pairs {
            let (a, b) = (summary.method(method), summary.method(than));
            let differences = points.iter().map(|&point| (point, summary.difference(a, b, point, metric)));
            let differences: Vec<_> = differences.collect();
            // NaN is no lead.
            if !differences.iter().all(|(_, difference)| sign * difference.mean > self.by) {
                exceptions.push(method.as_str());
            }
            let listed =
                differences.iter().map(|(point, by)| format!("{}{by}", prefix(&summary.points[*point])));
            evidence.push(format!("{method} − {than}: {}", listed.collect::<Vec<_>>().join(", ")));
        }
        let count = match exceptions.len() {
            0 => format!("ahead in all of {}", self.pairs.len()),
            n => format!("not ahead in {n} of {} ({})", self.pairs.len(), exceptions.join(", ")),
        };
        Verdict::new(exceptions.len() <= self.exceptions, format!("{count}; {}", evidence.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    fn ahead(pairs: &str, exceptions: usize) -> String {
        format!(r#"ahead = {{ pairs = {pairs}, metric = "error", exceptions = {exceptions} }}"#)
    }

    #[test]
    fn a_mean_decides_even_where_the_difference_may_be_chance() {
        let claim = r#"ahead = { pairs = [["A", "B"]], metric = "error" }"#;
        assert_eq!(holds(claim, &summary(&[0.1, 0.2], &[0.1001, 0.3])), Some(true));
        assert_eq!(holds(claim, &summary(&[0.1, 0.3], &[0.2, 0.2999])), Some(false));
        assert_eq!(holds(claim, &summary(&[0.1], &[f64::NAN])), Some(false));
    }

    #[test]
    fn a_pair_is_one_exception_at_however_many_points() {
        let results = summary(&[0.3, 0.3, 0.1], &[0.2; 3]);
        assert_eq!(holds(&ahead(r#"[["A", "B"]]"#, 0), &results), Some(false));
        assert_eq!(holds(&ahead(r#"[["A", "B"]]"#, 1), &results), Some(true));
        assert_eq!(holds(&ahead(r#"[["A", "B"], ["B", "A"]]"#, 1), &results), Some(false));
        assert_eq!(holds(&ahead(r#"[["A", "B"], ["B", "A"]]"#, 2), &results), Some(true));
    }

    #[test]
    fn a_lead_can_be_asked_to_be_large() {
        let by = |by: f64| format!(r#"ahead = {{ pairs = [["A", "B"]], metric = "error", by = {by} }}"#);
        let results = summary(&[0.1], &[0.2]);
        assert_eq!((holds(&by(0.09), &results), holds(&by(0.11), &results)), (Some(true), Some(false)));
    }

    #[test]
    fn points_that_a_run_leaves_out_are_not_judged() {
        let claim = r#"ahead = { pairs = [["A", "B"]], metric = "error", at = { x = 7 } }"#;
        assert_eq!(holds(claim, &summary(&[0.1], &[0.2])), None);
    }
}
