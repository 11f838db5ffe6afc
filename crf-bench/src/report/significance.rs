//! Paired tests between methods.

use serde::{Deserialize, Serialize};

use crate::results::summary::Summary;

/// The paired difference of two methods, with its significance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The point of the sweep; empty without a sweep.
    pub point: String,
    /// The metric.
    pub metric: String,
    /// The method and the one it is compared with.
    pub methods: [String; 2],
    /// The mean difference over trials with its interval.
    pub difference: String,
    /// The p-value of Student's paired test.
    pub p: f64,
    /// The p-value corrected for all comparisons (Holm 1979).
    pub p_all: f64,
}

/// Compares every pair of methods at every point by every metric; empty with fewer than two trials.
pub(crate) fn comparisons(summary: &Summary) -> Vec<Comparison> {
    let n = summary.methods.len();
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let mut all = Vec::new();
    for (p, point) in summary.points.iter().enumerate() {
        for (m, metric) in summary.metrics.iter().enumerate() {
            for &(a, b) in &pairs {
                let difference = summary.difference(a, b, p, m);
                all.extend(difference.p_value().map(|p| Comparison {
                    point: point.to_string(),
                    metric: metric.name.clone(),
                    methods: [a, b].map(|method| summary.methods[method].clone()),
                    difference: difference.to_string(),
                    p,
                    p_all: p,
                }));
            }
        }
    }
    holm(&mut all);
    all
}

/// Holm's correction: the k-th smallest of n p-values is multiplied by n − k + 1, and none becomes
/// smaller than the one before it.
fn holm(all: &mut [Comparison]) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[a].p.total_cmp(&all[b].p));
    let mut least = 0.0_f64;
    for (k, &i) in order.iter().enumerate() {
        least = least.max((all[i].p * (all.len() - k) as f64).min(1.0));
        all[i].p_all = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SweepValues;
    use crate::results::summary::MetricColumn;

    fn summary(values: [[f64; 4]; 3]) -> Summary {
        let metrics = vec![MetricColumn { name: "error".into(), higher_is_better: false }];
        let methods = ["A", "B", "C"].map(str::to_owned).to_vec();
        Summary::new(methods, vec![SweepValues::default()], metrics, 4, |method, _, _, trial| {
            values[method][trial]
        })
    }

    #[test]
    fn a_paired_test_sees_what_unpaired_means_hide() {
        // Noise that the methods share is a hundred times their difference.
        let all = comparisons(&summary([
            [0.10, 0.50, 0.90, 0.30],
            [0.11, 0.512, 0.909, 0.311],
            [0.50, 0.10, 0.30, 0.90],
        ]));
        // t = mean / (deviation / √n) = −0.0105 / (0.001291 / 2) = −16.27 with three degrees of
        // freedom.
        assert!((all[0].p - 0.000505).abs() < 2e-5, "{all:?}");
        assert!((all[0].p_all - 3.0 * all[0].p).abs() < 1e-12 && all[1].p > 0.9, "{all:?}");
        assert!(all[1].p_all <= 1.0 && all[2].p_all >= all[0].p_all);
    }

    #[test]
    fn equal_methods_do_not_differ_and_a_constant_difference_is_no_chance() {
        let all = comparisons(&summary([[0.25; 4], [0.25; 4], [0.5; 4]]));
        assert_eq!((all[0].p, all[1].p), (1.0, 0.0));
    }
}
