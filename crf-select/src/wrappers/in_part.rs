use crf_core::plugin::{Named, named};
use crf_core::{Candidate, Decode, FitContext, LogLinear, Problem, Result, Selector, Stop, choose, require};
use crf_learn::Mle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::Emit;
use crate::penalty_path::l1_path::L1Path;

/// Selection in one part of the data, for transfer between domains: another selector's path is
/// followed in that part, and the candidate with the lowest error on its validation data is the
/// only one reported.
///
/// Vail (2008), §3.4 selects features in simulation and trains them on robots. The learner
/// `in-part` trains in another part. Parts are equal numbers of sequences in the order of the data,
/// as the source `domains` has them. Candidates without weights are compared after `mle` has
/// trained them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InPart {
    /// Part to select in, counted from 1.
    pub part: usize,
    /// Number of parts; at least 1.
    pub of: usize,
    /// Selector that is used in that part.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub selector: Box<dyn Selector>,
    /// Labelling of the validation data whose error decides between candidates.
    pub decode: Decode,
}

impl Default for InPart {
    fn default() -> Self {
        InPart { part: 1, of: 1, selector: Box::new(L1Path::default()), decode: Decode::default() }
    }
}

crf_core::plugin!("selector", InPart, "in-part");

#[typetag::serde(name = "in-part")]
impl Selector for InPart {
    fn check(&self) -> Result<()> {
        let is_part = (1..=self.of).contains(&self.part);
        require(is_part, "part", &format!("from 1 to {}, the number of parts", self.of), self.part)?;
        self.selector.check()
    }

    fn proposes_one(&self) -> bool {
        true
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let train = problem.train.part(self.part, self.of)?;
        let valid = problem.valid.map(|valid| valid.part(self.part, self.of)).transpose()?;
        let part = Problem { train: &train, valid: valid.as_ref(), ..*problem };
        let chosen = choose(&*self.selector, &Mle::default(), self.decode, &part, run)?;
        if let Some(best) = chosen.best {
            let weights = chosen.model.as_ref().map(LogLinear::weights);
            let (features, objective) = (&chosen.features, chosen.tried[best].objective);
            let _ = emit(Candidate { features, weights, objective, seconds: run.seconds() })?;
        }
        Ok(chosen.stop)
    }
}
