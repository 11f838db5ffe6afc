use crf_core::{FitContext, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::filters::ranking::{Sizes, score_functions};

/// Correlation filter: ranks features by |r|, the correlation between the value of their
/// observation function and the event that their label, or label pair, is the true one (Guyon &
/// Elisseeff 2003, §2.2).
///
/// A fast first cut of a large feature set. It scores each feature by itself, so it keeps features
/// that say the same and misses those that say something only together. It trains nothing: the
/// learner of the method trains the chosen features.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation(pub Sizes);

crf_core::plugin!("selector", Correlation, "correlation");

#[typetag::serde(name = "correlation")]
impl Selector for Correlation {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let scores = score_functions(problem.map, problem.train, |non_zeros, totals, targets| {
            // Correlations have no unit, and squares of large numbers would overflow.
            let largest = non_zeros.iter().map(|(_, value, _)| value.abs()).fold(0.0, f64::max);
            let mut sum = 0.0;
            let mut square = 0.0;
            let mut sum_of_target: Vec<(u32, f64)> = Vec::new(); // ascending, without zeros
            for (target, value, weight) in non_zeros {
                let value = value / largest;
                sum += weight * value;
                square += weight * value * value;
                match sum_of_target.last_mut() {
                    Some((last, sum)) if *last == target => *sum += weight * value,
                    _ => sum_of_target.push((target, weight * value)),
                }
            }
            let n = totals.all;
            let r = |&target: &u32| {
                let index = sum_of_target.binary_search_by_key(&target, |(target, _)| *target);
                let with = index.map_or(0.0, |index| sum_of_target[index].1);
                let count = totals.of(target);
                let spread = (n * square - sum * sum) * (count * (n - count));
                if spread > 0.0 { (n * with - sum * count).abs() / spread.sqrt() } else { 0.0 }
            };
            targets.iter().map(r).collect()
        });
        self.0.report(&scores, &mut PathReporter::new(emit), run)
    }
}
