//! The path of a selector: its candidates in order, and the columns that summarise it for claims.

use crf_core::Metric;
use serde::{Deserialize, Serialize};

use crate::results::summary::MetricColumn;

/// A candidate on a method's path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// Number of features.
    pub features: usize,
    /// Seconds of selection until the candidate was found.
    pub seconds: f64,
    /// The values of the path's metrics on the test data.
    pub values: Vec<f64>,
}

/// The largest loss against the best candidate within the basin.
const BASIN: f64 = 0.02;

/// The columns that summarise a path, beside the metrics of the final model.
///
/// For the first metric of the path: `best`, its best value; `size`, the number of features of the
/// first candidate with that value; `basin`, the difference between the largest and the smallest
/// number of features among candidates within 0.02 of it. For each other metric: `entry`, the
/// number of features of the first candidate for which it is above 0, or one more than the largest
/// candidate has if there is none.
pub(crate) fn columns(metrics: &[Box<dyn Metric>]) -> Vec<MetricColumn> {
    let Some((first, others)) = metrics.split_first() else { return Vec::new() };
    let column = |name: String, higher_is_better| MetricColumn { name, higher_is_better };
    let first_columns = [
        column(format!("best({})", first.name()), first.higher_is_better()),
        column(format!("size({})", first.name()), false),
        column(format!("basin({})", first.name()), true),
    ];
    let entries = others.iter().map(|metric| column(format!("entry({})", metric.name()), false));
    first_columns.into_iter().chain(entries).collect()
}

/// The values of these columns; NaN for an empty path.
pub(crate) fn values(metrics: &[Box<dyn Metric>], path: &[PathPoint]) -> Vec<f64> {
    let Some((first, others)) = metrics.split_first() else { return Vec::new() };
    let sign = if first.higher_is_better() { -1.0 } else { 1.0 };
    let score = |step: &PathPoint| sign * step.values[0];
    // Of equals the first.
    let best = path.iter().reduce(|best, step| if score(step) < score(best) { step } else { best });
    let first_values = best.map_or([f64::NAN; 3], |best| {
        let good = path.iter().filter(|step| score(step) <= score(best) + BASIN).map(|step| step.features);
        let (least, most) =
            good.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
        [best.values[0], best.features as f64, (most - least) as f64]
    });
    let entry = |k: usize| {
        let first = path.iter().find(|step| step.values[k] > 0.0);
        let after = path.iter().map(|step| step.features + 1).max();
        first.map(|step| step.features).or(after).map_or(f64::NAN, |size| size as f64)
    };
    first_values.into_iter().chain((1..=others.len()).map(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::metrics::{ErrorRate, FeatureCount};

    #[test]
    fn a_path_tells_its_best_candidate_its_basin_and_when_features_entered() {
        let metrics: Vec<Box<dyn Metric>> = vec![
            Box::new(ErrorRate {}),
            Box::new(FeatureCount { with: vec!["a".into()], ..Default::default() }),
        ];
        let step = |features, error, a| PathPoint { features, seconds: 0.0, values: vec![error, a] };
        let path =
            [step(1, 0.5, 0.0), step(3, 0.21, 0.0), step(4, 0.2, 1.0), step(9, 0.2, 2.0), step(12, 0.3, 2.0)];
        assert_eq!(values(&metrics, &path), [0.2, 4.0, 6.0, 4.0]);
        let names: Vec<String> = columns(&metrics).into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["best(error)", "size(error)", "basin(error)", "entry(features(a))"]);
        assert_eq!(values(&metrics, &path[..2])[3], 4.0);
        assert!(values(&metrics, &[]).iter().all(|value| value.is_nan()));
        assert!(values(&[], &path).is_empty());
    }
}
