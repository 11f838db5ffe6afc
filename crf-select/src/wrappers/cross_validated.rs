use crf_core::plugin::{Named, named};
use crf_core::{
    Decode, Error, FitContext, Problem, Result, Selector, Stop, feature_units, require, warn_of_units,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::candidates::path_reporter::{Emit, OwnedCandidate, candidate_model};
use crate::penalty_path::l1_path::L1Path;

/// Cross-validation: chooses one candidate of another selector's path without validation data.
///
/// For small datasets, where no data can be held out. The wrapped selector must find weights, and
/// its path is followed once per fold and once more.
///
/// The path is followed on all folds of the training sequences but one in turn, and the error of
/// its candidates is measured on the omitted fold. The n-th candidates of all folds belong
/// together, whichever features they have: on a path of penalties they share λ/λ_0, in forward
/// selection the round. The n with the lowest mean error is chosen, the smallest in case of a tie,
/// and the path is followed to its n-th candidate on all sequences. Observation functions stay as
/// fitted on all sequences.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CrossValidated {
    /// Selector whose path is followed.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// Number of folds; at least 2.
    pub folds: usize,
    /// Labelling whose error is measured.
    pub decode: Decode,
}

impl Default for CrossValidated {
    fn default() -> Self {
        CrossValidated { of: Box::new(L1Path::default()), folds: 5, decode: Decode::default() }
    }
}

crf_core::plugin!(
    "selector",
    CrossValidated,
    "cross-validated",
    example = r#"
of = "grafting"
folds = 2
"#
);

#[typetag::serde(name = "cross-validated")]
impl Selector for CrossValidated {
    fn check(&self) -> Result<()> {
        require(self.folds >= 2, "folds", "at least 2", self.folds)?;
        self.of.check()
    }

    fn proposes_one(&self) -> bool {
        true
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let data = problem.train.data();
        if data.len() < self.folds {
            let got = format!("{} sequences for {} folds", data.len(), self.folds);
            return Err(Error::setting("folds", "at most the number of training sequences", got));
        }
        warn_of_units(problem.map, &feature_units(problem.map, problem.train));
        let order = data.shuffled(&run.seed.child("folds"));
        let mut errors: Vec<Vec<f64>> = Vec::new(); // [folds], by index on the path
        for fold in 0..self.folds {
            let (test, train): (Vec<usize>, Vec<usize>) =
                (0..order.len()).partition(|n| n % self.folds == fold);
            let [test, train] = [test, train]
                .map(|part| problem.train.subset(&part.into_iter().map(|n| order[n]).collect::<Vec<_>>()));
            let without_fold = Problem { train: &train, valid: None, ..*problem };
            let mut fold_errors = Vec::new();
            self.of.path(&without_fold, run, &mut |candidate| {
                let model = candidate_model(&candidate, problem.map, "cross-validated")?;
                fold_errors.push(problem.error(&model, &test, self.decode)?);
                Ok(ControlFlow::Continue(()))
            })?;
            errors.push(fold_errors);
        }
        let n_common = errors.iter().map(Vec::len).min().unwrap_or(0);
        let sum = |n: &usize| errors.iter().map(|fold_errors| fold_errors[*n]).sum::<f64>();
        let best = (0..n_common).min_by(|a, b| sum(a).total_cmp(&sum(b)));
        // A fold without a candidate found no feature worth adding.
        let Some(best) = best else { return Ok(Stop::Holdout) };
        // On all sequences the path may end before the chosen index; its last candidate is then the
        // nearest.
        let (mut n, mut last) = (0, None);
        self.of.path(problem, run, &mut |candidate| {
            n += 1;
            if n <= best {
                last = Some(OwnedCandidate::new(&candidate));
                return Ok(ControlFlow::Continue(()));
            }
            last = None;
            let _ = emit(candidate)?;
            Ok(ControlFlow::Break(()))
        })?;
        if let Some(last) = &last {
            let _ = emit(last.borrow())?;
        }
        Ok(Stop::Holdout)
    }
}
