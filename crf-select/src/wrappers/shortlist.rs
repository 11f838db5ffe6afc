use crf_core::plugin::{Named, named};
use crf_core::{EncodedDataset, FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::Emit;
use crate::candidates::working_list::WorkingList;
use crate::forward::grafting::Grafting;

/// Short list: follows another selector's path on the most promising candidates only, for feature
/// sets that are too large for it.
///
/// The list has the candidates with the largest |∂ℓ/∂w| on a share of the training sequences, at
/// first at w = 0. Many of these resemble each other, as nested thresholds do. So the list is
/// rebuilt whenever the model has grown by the factor `growth`, and when the path has ended with a
/// tenth more features than the one before; the path is then followed again from its beginning. A
/// model is reported only if it has more features than all before. Lists are rebuilt only if the
/// wrapped selector finds weights.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shortlist {
    /// Selector whose path is followed.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// Number of candidates on the list, beside intercepts and the features of the model; at least
    /// 1.
    pub keep: usize,
    /// Share of the training sequences on which candidates are compared; above 0 and at most 1.
    pub share: f64,
    /// Factor by which the number of features must grow before the list is rebuilt; above 1.
    pub growth: f64,
}

impl Default for Shortlist {
    fn default() -> Self {
        Shortlist { of: Box::new(Grafting::default()), keep: 1000, share: 1.0, growth: 2.0 }
    }
}

crf_core::plugin!("selector", Shortlist, "shortlist");

#[typetag::serde(name = "shortlist")]
impl Selector for Shortlist {
    fn check(&self) -> Result<()> {
        require(self.keep >= 1, "keep", "at least 1", self.keep)?;
        require(self.share > 0.0 && self.share <= 1.0, "share", "above 0 and at most 1", self.share)?;
        let grows = self.growth.is_finite() && self.growth > 1.0;
        require(grows, "growth", "a finite number above 1", self.growth)?;
        self.of.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let sample = self.sample(problem, run);
        let sampled = Problem { train: sample.as_ref().unwrap_or(problem.train), ..*problem };
        let mut objective = CandidateObjective::new(&sampled, &likelihood)?;
        let working_list = WorkingList { keep: self.keep, growth: self.growth };
        working_list.follow(
            problem,
            &mut objective,
            &mut |problem, run, emit| self.of.path(problem, run, emit),
            run,
            emit,
        )
    }
}

impl Shortlist {
    /// The sequences on which candidates are compared; `None` for all.
    fn sample(&self, problem: &Problem<'_>, run: &FitContext<'_>) -> Option<EncodedDataset> {
        let data = problem.train.data();
        let n = ((self.share * data.len() as f64).round() as usize).max(1);
        if n >= data.len() {
            return None;
        }
        let mut sample = data.shuffled(&run.seed.child("sample"));
        sample.truncate(n);
        sample.sort_unstable();
        Some(problem.train.subset(&sample))
    }
}
