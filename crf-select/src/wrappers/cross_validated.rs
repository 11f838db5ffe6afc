use crf_core::plugin::{Named, named};
use crf_core::{Candidate, Decode, Error, FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::candidates::path_reporter::Emit;
use crate::candidates::path_reporter::fitted;
use crate::penalty_path::l1_path::L1Path;

/// The one candidate of another selector's path that cross-validation chooses.
///
/// The path is followed on all folds of the training sequences but one in turn, and its candidates are tried on that one.
/// The n-th candidates of all folds belong together, whichever features they have: on a path of penalties they share λ/λ_0, in
/// forward selection the round. The number with the lowest mean error is chosen, of equal ones the first, and the
/// path is followed that far on all sequences. Observation functions stay as they were fitted on all of them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CrossValidated {
    /// Whose path it is.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// Into how many parts the sequences are dealt; at least 2.
    pub folds: usize,
    /// Which labelling counts.
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

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let data = problem.train.data();
        if data.len() < self.folds {
            let got = format!("{} sequences for {} folds", data.len(), self.folds);
            return Err(Error::setting("folds", "at most the number of training sequences", got));
        }
        let order = data.shuffled(&run.seed.child("folds"));
        let mut errors: Vec<Vec<f64>> = Vec::new(); // [folds], by number on the path
        for fold in 0..self.folds {
            let (out, rest): (Vec<usize>, Vec<usize>) =
                (0..order.len()).partition(|place| place % self.folds == fold);
            let [out, rest] = [out, rest].map(|places| {
                problem.train.subset(&places.into_iter().map(|place| order[place]).collect::<Vec<_>>())
            });
            let part = Problem { train: &rest, valid: None, ..*problem };
            let mut of_fold = Vec::new();
            self.of.path(&part, run, &mut |candidate| {
                let model = fitted(&candidate, problem.map, "cross-validated")?;
                of_fold.push(problem.error(&model, &out, self.decode)?);
                Ok(ControlFlow::Continue(()))
            })?;
            errors.push(of_fold);
        }
        let n_common = errors.iter().map(Vec::len).min().unwrap_or(0);
        let sum = |n: &usize| errors.iter().map(|of_fold| of_fold[*n]).sum::<f64>();
        let best = (0..n_common).min_by(|a, b| sum(a).total_cmp(&sum(b)));
        // Where a fold has no candidate, nothing is worth a feature.
        let Some(best) = best else { return Ok(Stop::Holdout) };
        // On all sequences the path may end before; its last candidate is then the nearest.
        let (mut n, mut last) = (0, None);
        self.of.path(problem, run, &mut |candidate| {
            n += 1;
            if n <= best {
                let weights = candidate.weights.map(<[f64]>::to_vec);
                last = Some((candidate.features.to_vec(), weights, candidate.objective, candidate.seconds));
                return Ok(ControlFlow::Continue(()));
            }
            last = None;
            let _ = emit(candidate)?;
            Ok(ControlFlow::Break(()))
        })?;
        if let Some((features, weights, objective, seconds)) = last {
            let _ = emit(Candidate { features: &features, weights: weights.as_deref(), objective, seconds })?;
        }
        Ok(Stop::Holdout)
    }
}
