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
            let table = ContingencyTable::new(non_zeros, totals.all, self.bins);
            targets.iter().map(|&target| table.information(target, totals.of(target))).collect()
        });
        self.sizes.report(&scores, &mut PathReporter::new(emit), run)
    }
}

/// Contingency table of bins and targets, with the weights that are not zero.
struct ContingencyTable {
    n: f64,                        // weight of all positions or edges
    bins: Vec<f64>,                // weight of each; the first bin is that of zero
    entries: Vec<(u32, u32, f64)>, // (target, bin, weight) without the bin of zero, ascending
}

impl ContingencyTable {
    fn new(mut non_zeros: NonZeros, n: f64, max_bins: usize) -> Self {
        non_zeros.sort_by(|a, b| a.1.total_cmp(&b.1));
        let in_all = non_zeros.iter().map(|(_, _, weight)| weight).sum::<f64>();
        let per_bin = in_all / max_bins as f64;
        let mut bins = vec![n - in_all];
        let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(non_zeros.len());
        let mut in_bin = f64::INFINITY; // weight of the last bin
        for same in non_zeros.chunk_by(|a, b| a.1 == b.1) {
            // Equal values share a bin.
            if in_bin >= per_bin {
                bins.push(0.0);
                in_bin = 0.0;
            }
            for &(target, _, weight) in same {
                in_bin += weight;
                entries.push((target, bins.len() as u32 - 1, weight));
            }
            bins[entries[entries.len() - 1].1 as usize] = in_bin;
        }
        entries.sort_by_key(|&(target, bin, _)| (target, bin));
        entries.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if is_same { next.2 } else { 0.0 };
            is_same
        });
        ContingencyTable { n, bins, entries }
    }

    /// Mutual information Σ p(bin, s) log p(bin, s) / (p(bin) p(s)), where s is the event that
    /// `target`, of this total weight, is the true one.
    fn information(&self, target: u32, total: f64) -> f64 {
        let ContingencyTable { n, bins, entries } = self;
        let from = entries.partition_point(|entry| entry.0 < target);
        let own = entries[from..].iter().take_while(|entry| entry.0 == target);
        let zeros = total - own.clone().map(|(_, _, weight)| weight).sum::<f64>();
        let mut own = own.peekable();
        let mut sum = 0.0;
        for (bin, &in_bin) in bins.iter().enumerate() {
            let found = own.next_if(|entry| entry.1 as usize == bin).map_or(0.0, |entry| entry.2);
            let with = if bin == 0 { zeros } else { found };
            for (both, count) in [(with, total), (in_bin - with, n - total)] {
                if both > 0.0 {
                    sum += both / n * (both * n / (in_bin * count)).ln();
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_that_of_the_table() {
        // A function that says all about the first of two equally frequent targets, and one that
        // says nothing.
        let all: NonZeros = (0..50).map(|_| (0, 1.0, 1.0)).collect();
        let full = ContingencyTable::new(all, 100.0, 10);
        assert!((full.information(0, 50.0) - 2.0_f64.ln()).abs() < 1e-12);
        let half: NonZeros = (0..50).map(|i| (i % 2, 1.0, 1.0)).collect();
        let none = ContingencyTable::new(half, 100.0, 10);
        assert!(none.information(1, 50.0).abs() < 1e-12);
    }

    #[test]
    fn bins_have_equal_frequency_and_never_part_equal_values() {
        let non_zeros: NonZeros =
            [1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0].iter().map(|&value| (0, value, 1.0)).collect();
        let table = ContingencyTable::new(non_zeros, 9.0, 3);
        assert_eq!(table.bins, [2.0, 3.0, 3.0, 1.0]);
    }
}
