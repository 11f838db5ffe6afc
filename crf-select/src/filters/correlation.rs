use crf_core::{FitContext, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::filters::ranking::{Sizes, score_functions};

/// Ranks features by |r|, the correlation of their function with whether their label, or pair of labels, is the true one
/// (Guyon & Elisseeff 2003, §2.2).
///
/// A filter: it looks at one feature at a time and trains nothing, so it sees neither that two say the same nor that two
/// say something together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation(pub Sizes);

crf_core::plugin!("selector", Correlation, "correlation");

#[typetag::serde(name = "correlation")]
impl Selector for Correlation {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let scores = score_functions(problem.map, problem.train, |seen, totals, targets| {
            let (n, mut sum, mut square, mut of) =
                (totals.iter().sum::<f64>(), 0.0, 0.0, vec![0.0; totals.len()]);
            for (target, value, weight) in seen {
                sum += weight * value;
                square += weight * value * value;
                of[target as usize] += weight * value;
            }
            let r = |&target: &u32| {
                let (with, count) = (of[target as usize], totals[target as usize]);
                let spread = (n * square - sum * sum) * (count * (n - count));
                if spread > 0.0 { (n * with - sum * count).abs() / spread.sqrt() } else { 0.0 }
            };
            targets.iter().map(r).collect()
        });
        self.0.show(&scores, &mut PathReporter::new(emit), run)
    }
}
