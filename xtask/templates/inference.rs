use crf_core::{Decoded, Error, Inference, Label, Potentials, Result, Scratch, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer that it computes and its quality, in one sentence (author year, equation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewPlugin {}

crf_core::plugin!("inference", NewPlugin, "new-plugin");

#[typetag::serde(name = "new-plugin")]
impl Inference for NewPlugin {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], _scratch: &mut Scratch) -> Result<Decoded> {
        // `LogZ` and `Decoded` have a grade: exact, a bound, or an estimate.
        let labellings = crf_core::oracle::all_labellings(p);
        let best = labellings.iter().max_by(|a, b| a.score.total_cmp(&b.score));
        let best = best.ok_or_else(|| Error::Infeasible("there is no labelling".to_owned()))?;
        labels.copy_from_slice(&best.labels);
        Ok(Decoded::exact(best.score))
    }
}
