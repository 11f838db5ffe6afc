//! Claims: statements about the results of an experiment, judged after the run.
//!
//! A claim is a plugin like a learner: `claim.rs` has the trait, and each other file one kind of
//! claim, or two that mirror each other. A claim is checked against the names of the experiment
//! before anything runs, and judged by the [`Summary`] afterwards. It holds, fails, or is skipped
//! if the run omits its points, as quick runs may.
//!
//! Uses `results` and the errors of `config`; nothing here reads data, trains or prints.

mod ahead;
mod bounds;
pub(crate) mod claim;
mod compare;
mod crosses;
mod extremes;
mod flat;
mod mean_over;
mod trend;

pub use ahead::Ahead;
pub use bounds::{AtLeast, AtMost};
pub use compare::{Better, Equal, NoWorse};
pub use crosses::Crosses;
pub use extremes::{LowestAt, PeaksAt};
pub use flat::Flat;
pub use mean_over::MeanOver;
pub use trend::{Falls, Rises};

use crate::config::{SweepValues, show};
use crate::results::mean_interval::MeanInterval;
use crate::results::summary::{Line, Summary};

/// The means of a method along a line, with intervals.
fn along(summary: &Summary, method: &str, metric: &str, line: &Line) -> Vec<MeanInterval> {
    let (method, metric) = (summary.method(method), summary.metric(metric));
    line.points.iter().map(|&point| summary.estimate(method, point, metric)).collect()
}

/// `1: 0.15 ± 0.01, 2: 0.12 ± 0.01`, after the settings that the points of the line share.
fn listed(summary: &Summary, key: &str, line: &Line, estimates: &[MeanInterval]) -> String {
    let value = |point: usize| summary.value(point, key).map(show).unwrap_or_default();
    let entries = line.points.iter().zip(estimates).map(|(&point, of)| format!("{}: {of}", value(point)));
    format!("{}{}", prefix(&line.others), entries.collect::<Vec<_>>().join(", "))
}

/// `dataset.copies = 1: `, or nothing without a sweep.
fn prefix(settings: &SweepValues) -> String {
    if settings.is_empty() { String::new() } else { format!("{settings}: ") }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::results::summary::MetricColumn;

    /// Methods `A` and `B`, metric `error` (lower is better), three trials around the given means
    /// at x = 0, 1, 2, …
    pub(super) fn summary(a: &[f64], b: &[f64]) -> Summary {
        let points = (0..a.len()).map(|x| SweepValues::default().with("x", &toml::Value::from(x as i64)));
        let metrics = vec![MetricColumn { name: "error".into(), higher_is_better: false }];
        let means = [a.to_vec(), b.to_vec()];
        let noise = [-0.001, 0.0, 0.001];
        Summary::new(vec!["A".into(), "B".into()], points.collect(), metrics, 3, |method, point, _, trial| {
            means[method][point] + noise[(trial + method) % 3]
        })
    }

    /// The verdict on a claim in TOML: true if it holds, `None` if it is skipped.
    pub(super) fn holds(claim: &str, summary: &Summary) -> Option<bool> {
        let claim: Box<dyn crate::claims::claim::Claim> = toml::from_str(claim).expect("a claim");
        let verdict = claim.judge(summary);
        assert!(!verdict.evidence.is_empty());
        match verdict.outcome {
            crate::claims::claim::Outcome::Holds => Some(true),
            crate::claims::claim::Outcome::Fails => Some(false),
            crate::claims::claim::Outcome::Skipped => None,
        }
    }
}
