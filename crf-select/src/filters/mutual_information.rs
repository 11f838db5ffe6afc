use crf_core::{FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::filters::ranking::{Seen, Sizes, score_functions};

/// Ranks features by the mutual information of their function and whether their label, or pair of labels, is the true one
/// (Guyon & Elisseeff 2003, equation 3), in nats.
///
/// Values other than zero are put into bins of equal frequency; zero is a bin of its own. A filter, like `correlation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MutualInformation {
    /// How many bins there are for values other than zero; at least 1.
    pub bins: usize,
    /// What the candidates are.
    #[serde(flatten)]
    pub sizes: Sizes,
}

impl Default for MutualInformation {
    fn default() -> Self {
        MutualInformation { bins: 10, sizes: Sizes::default() }
    }
}

crf_core::plugin!("selector", MutualInformation, "mutual-information");

#[typetag::serde(name = "mutual-information")]
impl Selector for MutualInformation {
    fn check(&self) -> Result<()> {
        require(self.bins >= 1, "bins", "at least 1", self.bins)?;
        self.sizes.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let scores = score_functions(problem.map, problem.train, |seen, totals, targets| {
            let (table, of_bin) = table(seen, totals, self.bins);
            targets.iter().map(|&target| information(&table, &of_bin, totals, target as usize)).collect()
        });
        self.sizes.show(&scores, &mut PathReporter::new(emit), run)
    }
}

/// How often each target comes with each bin, the first of which is zero, and how often each bin comes.
fn table(mut seen: Seen, totals: &[f64], bins: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    seen.sort_by(|a, b| a.1.total_cmp(&b.1));
    let per_bin = seen.iter().map(|(_, _, weight)| weight).sum::<f64>() / bins as f64;
    let mut table = vec![totals.to_vec()];
    let mut in_bin = f64::INFINITY;
    for same in seen.chunk_by(|a, b| a.1 == b.1) {
        // Equal values stay together.
        if in_bin >= per_bin {
            table.push(vec![0.0; totals.len()]);
            in_bin = 0.0;
        }
        for &(target, _, weight) in same {
            in_bin += weight;
            let last = table.len() - 1;
            table[last][target as usize] += weight;
            table[0][target as usize] -= weight;
        }
    }
    let of_bin = table.iter().map(|bin| bin.iter().sum()).collect();
    (table, of_bin)
}

/// Σ p(bin, s) log p(bin, s) / (p(bin) p(s)), s saying whether the target is the true one.
fn information(table: &[Vec<f64>], of_bin: &[f64], totals: &[f64], target: usize) -> f64 {
    let n: f64 = totals.iter().sum();
    let mut sum = 0.0;
    for (bin, &in_bin) in table.iter().zip(of_bin) {
        for (both, count) in [(bin[target], totals[target]), (in_bin - bin[target], n - totals[target])] {
            if both > 0.0 {
                sum += both / n * (both * n / (in_bin * count)).ln();
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_that_of_the_table() {
        // A function that says all about the first of two equally frequent targets, and one that says nothing.
        let all: Seen = (0..50).map(|_| (0, 1.0, 1.0)).collect();
        let (full, of_bin) = table(all, &[50.0, 50.0], 10);
        assert!((information(&full, &of_bin, &[50.0, 50.0], 0) - 2.0_f64.ln()).abs() < 1e-12);
        let half: Seen = (0..50).map(|i| (i % 2, 1.0, 1.0)).collect();
        let (none, of_bin) = table(half, &[50.0, 50.0], 10);
        assert!(information(&none, &of_bin, &[50.0, 50.0], 1).abs() < 1e-12);
    }

    #[test]
    fn bins_have_equal_frequency_and_never_part_equal_values() {
        let seen: Seen = [1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0].iter().map(|&value| (0, value, 1.0)).collect();
        let (_, of_bin) = table(seen, &[9.0], 3);
        assert_eq!(of_bin, [2.0, 3.0, 3.0, 1.0]);
    }
}
