use crf_core::{FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::filters::ranking::{NonZeros, Sizes, score_functions};

/// Mutual-information filter: ranks features by the mutual information, in nats, between the value
/// of their observation function and the event that their label, or label pair, is the true one
/// (Guyon & Elisseeff 2003, equation 3).
///
/// A fast first cut of a large feature set, which also finds dependences that are not linear.
/// Values are discretised: zero is a bin of its own, the others are put into bins of equal
/// frequency. Like every filter it scores each feature by itself, so it keeps features that say the
/// same, and it trains nothing: the learner of the method trains the chosen features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MutualInformation {
    /// Number of bins for values other than zero; at least 1.
    pub bins: usize,
    /// Sizes of the candidate models.
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
        let scores = score_functions(problem.map, problem.train, |non_zeros, totals, targets| {
            let (table, bin_totals) = contingency_table(non_zeros, totals, self.bins);
            targets.iter().map(|&target| information(&table, &bin_totals, totals, target as usize)).collect()
        });
        self.sizes.report(&scores, &mut PathReporter::new(emit), run)
    }
}

/// Contingency table of bins and targets, with the totals of the bins; the first bin is that of
/// zero.
fn contingency_table(mut non_zeros: NonZeros, totals: &[f64], bins: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    non_zeros.sort_by(|a, b| a.1.total_cmp(&b.1));
    let per_bin = non_zeros.iter().map(|(_, _, weight)| weight).sum::<f64>() / bins as f64;
    let mut table = vec![totals.to_vec()];
    let mut in_bin = f64::INFINITY; // weight of the last bin
    for same in non_zeros.chunk_by(|a, b| a.1 == b.1) {
        // Equal values share a bin.
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
    let bin_totals = table.iter().map(|bin| bin.iter().sum()).collect();
    (table, bin_totals)
}

/// Mutual information Σ p(bin, s) log p(bin, s) / (p(bin) p(s)), where s is the event that `target`
/// is the true one.
fn information(table: &[Vec<f64>], bin_totals: &[f64], totals: &[f64], target: usize) -> f64 {
    let n: f64 = totals.iter().sum();
    let mut sum = 0.0;
    for (bin, &in_bin) in table.iter().zip(bin_totals) {
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
        // A function that says all about the first of two equally frequent targets, and one that
        // says nothing.
        let all: NonZeros = (0..50).map(|_| (0, 1.0, 1.0)).collect();
        let (full, bin_totals) = contingency_table(all, &[50.0, 50.0], 10);
        assert!((information(&full, &bin_totals, &[50.0, 50.0], 0) - 2.0_f64.ln()).abs() < 1e-12);
        let half: NonZeros = (0..50).map(|i| (i % 2, 1.0, 1.0)).collect();
        let (none, bin_totals) = contingency_table(half, &[50.0, 50.0], 10);
        assert!(information(&none, &bin_totals, &[50.0, 50.0], 1).abs() < 1e-12);
    }

    #[test]
    fn bins_have_equal_frequency_and_never_part_equal_values() {
        let non_zeros: NonZeros =
            [1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0].iter().map(|&value| (0, value, 1.0)).collect();
        let (_, bin_totals) = contingency_table(non_zeros, &[9.0], 3);
        assert_eq!(bin_totals, [2.0, 3.0, 3.0, 1.0]);
    }
}
