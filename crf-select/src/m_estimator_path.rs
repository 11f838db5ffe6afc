use std::sync::Arc;

use crf_core::{Candidate, Problem, Result, Run, Selector, Stop, require};
use crf_learn::Rho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::{Field, Of};
use crate::forward::best;
use crate::mean::Mean;
use crate::penalties::Penalties;
use crate::trail::{Emit, Trail, narrow};

/// The ℓ1 path of the M-estimator over patches, which needs no inference (Vail 2008, chapter 5; Jeon & Lin 2006).
///
/// Its weights are good enough to choose by; the survivors are then to be trained by `mle`. All candidates are looked at
/// now and then only, so a feature may enter some values of λ late. For candidate sets that are too large even so,
/// `keep` makes two stages of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MEstimatorPath {
    /// How many candidates take part: those with the largest derivatives at w = 0; all when left out.
    pub keep: Option<usize>,
    /// All candidates are looked at when λ has fallen to this share of the one before; above 0, and 1 looks at every λ.
    pub look: f64,
    /// The penalties of the path.
    #[serde(flatten)]
    pub penalties: Penalties,
}

impl Default for MEstimatorPath {
    fn default() -> Self {
        MEstimatorPath { keep: None, look: 0.8, penalties: Penalties::default() }
    }
}

crf_core::plugin!("selector", MEstimatorPath, "m-estimator-path");

#[typetag::serde(name = "m-estimator-path")]
impl Selector for MEstimatorPath {
    fn check(&self) -> Result<()> {
        require(self.keep != Some(0), "keep", "at least 1", 0)?;
        require(self.look > 0.0 && self.look <= 1.0, "look", "above 0 and at most 1", self.look)?;
        self.penalties.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut Run<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let rho = Rho::uniform(problem.map);
        let of: &Of<'_> = &|problem| Ok(Box::new(Mean::new(&rho, problem)?));
        let mut field = Field::new(problem, of)?;
        let Some(keep) = self.keep.filter(|&keep| keep < problem.map.len()) else {
            return self.penalties.follow(&mut field, self.look, &mut Trail::new(emit), run);
        };
        let slopes: Vec<f64> = field.gradient.iter().map(|slope| slope.abs()).collect();
        drop(field);
        let mut kept = best(&slopes, |_| true, keep);
        kept.sort_unstable();
        let map = Arc::new(narrow(problem.map, &kept));
        let mut field = Field::new(&Problem { map: &map, ..*problem }, of)?;
        let emit = &mut |candidate: Candidate<'_>| {
            let features: Vec<usize> = candidate.features.iter().map(|&k| kept[k]).collect();
            emit(Candidate { features: &features, ..candidate })
        };
        self.penalties.follow(&mut field, self.look, &mut Trail::new(emit), run)
    }
}
