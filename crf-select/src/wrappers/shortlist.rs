use crf_core::plugin::{Named, named};
use crf_core::{EncodedDataset, FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::Emit;
use crate::candidates::working_list::WorkingList;
use crate::forward::grafting::Grafting;

/// Another selector on a short list of candidates, for sets that are too large for it.
///
/// The list has the candidates with the largest |∂ℓ/∂w| on some of the training sequences, at w = 0 first. Those say much the same,
/// as nested thresholds do; so it is made anew whenever the model has grown and when the path has come to its end, and the path is
/// followed again from its beginning. Each of its models is shown once it is larger than those before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shortlist {
    /// Whose path it is.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// How many candidates the list has; at least 1. Intercepts and the features of the model stay on it beside these.
    pub keep: usize,
    /// The share of the training sequences on which candidates are compared; above 0 and at most 1.
    pub share: f64,
    /// A new list is made when a model has so many times the features of the one at which the last was made; above 1.
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
        let some = self.sample(problem, run);
        let of = Problem { train: some.as_ref().unwrap_or(problem.train), ..*problem };
        let mut field = CandidateObjective::new(&of, &likelihood)?;
        let lists = WorkingList { keep: self.keep, growth: self.growth };
        lists.follow(
            problem,
            &mut field,
            &mut |problem, run, emit| self.of.path(problem, run, emit),
            run,
            emit,
        )
    }
}

impl Shortlist {
    /// The sequences on which candidates are compared; all when there is nothing to leave out.
    fn sample(&self, problem: &Problem<'_>, run: &FitContext<'_>) -> Option<EncodedDataset> {
        let data = problem.train.data();
        let n = ((self.share * data.len() as f64).round() as usize).max(1);
        if n >= data.len() {
            return None;
        }
        let mut some = data.shuffled(&run.seed.child("sample"));
        some.truncate(n);
        some.sort_unstable();
        Some(problem.train.subset(&some))
    }
}
