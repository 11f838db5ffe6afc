use crf_core::plugin::{Named, named};
use crf_core::{Candidate, Decode, FitContext, LogLinear, Problem, Result, Selector, Stop, choose, require};
use crf_learn::Mle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::Emit;
use crate::penalty_path::l1_path::L1Path;

/// What another selector finds in one part of the data, as Vail (2008), §3.4 selects in simulation what is then to do its
/// work on robots: the candidate that the holdout data of that part choose, and no other.
///
/// Parts are equal numbers of sequences in the order of the data, as the source `domains` has them. Candidates without
/// weights are compared after `mle` has trained them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InPart {
    /// Which part, counted from 1.
    pub part: usize,
    /// How many parts there are; at least 1.
    pub of: usize,
    /// What selects there.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub selector: Box<dyn Selector>,
    /// Which labelling of holdout data counts when a candidate is chosen.
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

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let train = problem.train.part(self.part, self.of)?;
        let valid = problem.valid.map(|valid| valid.part(self.part, self.of)).transpose()?;
        let inside = Problem { train: &train, valid: valid.as_ref(), ..*problem };
        let chosen = choose(&*self.selector, &Mle::default(), self.decode, &inside, run)?;
        if let Some(best) = chosen.best {
            let weights = chosen.model.as_ref().map(LogLinear::weights);
            let (features, objective) = (&chosen.features, chosen.tried[best].objective);
            let _ = emit(Candidate { features, weights, objective, seconds: run.seconds() })?;
        }
        Ok(chosen.stop)
    }
}
