use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{along, listed};
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::ConfigFault;
use crate::results::summary::Summary;

/// A metric stays the same along a sweep key: its largest and smallest mean differ by at most
/// `within`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flat {
    /// The method.
    pub method: String,
    /// The metric.
    pub metric: String,
    /// The sweep key along which the means are compared.
    pub along: String,
    /// Values of the other sweep keys. The claim must hold for each combination of the keys that
    /// are not given.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The largest difference of two means.
    pub within: f64,
}

crf_core::plugin!(
    "claim",
    Flat,
    "flat",
    example = r#"
method = "HMM"
metric = "error"
along = "dataset.noise"
within = 0.02
"#
);

#[typetag::serde(name = "flat")]
impl Claim for Flat {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        names.method("method", &self.method)?;
        names.metric("metric", &self.metric)?;
        names.along("along", &self.along)?;
        names.at(&self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        let lines = summary.lines(&self.along, &self.at.0);
        let verdicts = lines.iter().map(|line| {
            let means = along(summary, &self.method, &self.metric, line);
            let low = means.iter().map(|interval| interval.mean).fold(f64::INFINITY, f64::min);
            let high = means.iter().map(|interval| interval.mean).fold(f64::NEG_INFINITY, f64::max);
            let apart = format!("{:.4} apart", high - low);
            Verdict::new(
                high - low <= self.within,
                format!("{apart}: {}", listed(summary, &self.along, line, &means)),
            )
        });
        Verdict::all(verdicts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    #[test]
    fn the_spread_of_the_means_decides() {
        let flat = r#"flat = { method = "A", metric = "error", along = "x", within = 0.05 }"#;
        assert_eq!(holds(flat, &summary(&[0.1, 0.14, 0.12], &[0.0; 3])), Some(true));
        assert_eq!(holds(flat, &summary(&[0.1, 0.16, 0.12], &[0.0; 3])), Some(false));
    }
}
