use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listed;
use crate::claims::claim::{At, Claim, Names, Verdict};
use crate::config::ConfigFault;
use crate::results::summary::Summary;

/// The curves of two methods cross: their paired difference changes sign, counting only points
/// where its 95% interval excludes 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crosses {
    /// The two methods.
    pub methods: [String; 2],
    /// The metric.
    pub metric: String,
    /// The sweep key along which the curves run.
    pub along: String,
    /// Values of the other sweep keys. The claim must hold for each combination of the keys that
    /// are not given.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The number of crossings.
    #[serde(default = "once")]
    pub times: usize,
}

fn once() -> usize {
    1
}

crf_core::plugin!(
    "claim",
    Crosses,
    "crosses",
    example = r#"
methods = ["CRF", "HMM"]
metric = "error"
along = "dataset.noise"
times = 1
"#
);

#[typetag::serde(name = "crosses")]
impl Claim for Crosses {
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault> {
        self.methods.iter().try_for_each(|method| names.method("methods", method))?;
        names.metric("metric", &self.metric)?;
        names.along("along", &self.along)?;
        names.at(&self.at)
    }

    fn judge(&self, summary: &Summary) -> Verdict {
        let [a, b] = [0, 1].map(|i| summary.method(&self.methods[i]));
        let metric = summary.metric(&self.metric);
        let lines = summary.lines(&self.along, &self.at.0);
        let verdicts = lines.iter().map(|line| {
            let differences: Vec<_> =
                line.points.iter().map(|&point| summary.difference(a, b, point, metric)).collect();
            let clear = differences.iter().filter(|interval| interval.low() > 0.0 || interval.high() < 0.0);
            let signs: Vec<bool> = clear.map(|interval| interval.mean > 0.0).collect();
            let times = signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let evidence = listed(summary, &self.along, line, &differences);
            let [a, b] = &self.methods;
            Verdict::new(times == self.times, format!("crossings: {times}; {a} − {b} at {evidence}"))
        });
        Verdict::all(verdicts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, summary};

    #[test]
    fn unclear_points_do_not_count_as_crossings() {
        let once = r#"crosses = { methods = ["A", "B"], metric = "error", along = "x" }"#;
        let never = r#"crosses = { methods = ["A", "B"], metric = "error", along = "x", times = 0 }"#;
        let crossing = summary(&[0.3, 0.2001, 0.2, 0.1], &[0.2; 4]);
        assert_eq!((holds(once, &crossing), holds(never, &crossing)), (Some(true), Some(false)));
        let apart = summary(&[0.3, 0.2, 0.3], &[0.2; 3]);
        assert_eq!((holds(once, &apart), holds(never, &apart)), (Some(false), Some(true)));
    }
}
