use std::sync::Arc;

use crf_core::{Candidate, Next, Problem, Result, Run, Selector, Stop, require};
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
    /// What features are chosen to explain.
    pub patches: Patches,
    /// How many candidates take part: those with the largest derivatives at w = 0; all when left out.
    pub keep: Option<usize>,
    /// All candidates are looked at when λ has fallen to this share of the one before; above 0, and 1 looks at every λ.
    pub look: f64,
    /// The penalties of the path.
    #[serde(flatten)]
    pub penalties: Penalties,
}

/// What the features of a patch are chosen to explain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Patches {
    /// State features explain labels without their neighbours, and transition features those with true neighbours: two
    /// paths, of which both have the same λ/λ_0 (after the piecewise training of Sutton & McCallum 2005).
    #[default]
    Pieces,
    /// All features of a position explain its label, its neighbours having their true ones, as the thesis has it. Where
    /// labels seldom change, true neighbours tell nearly all and hardly a state feature is chosen.
    Positions,
}

impl Default for MEstimatorPath {
    fn default() -> Self {
        let (patches, penalties) = (Patches::default(), Penalties::default());
        MEstimatorPath { patches, keep: None, look: 0.8, penalties }
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
        let kept = self.kept(problem)?;
        let (state, transition) = kept.split_at(kept.partition_point(|&k| k < problem.map.state().len()));
        if self.patches == Patches::Positions || state.is_empty() || transition.is_empty() {
            return self.along(problem, &kept, run, emit);
        }
        let (mut pieces, mut stops) = (Vec::new(), Vec::new());
        for features in [state, transition] {
            let (mut points, began) = (Vec::new(), run.seconds());
            stops.push(self.along(problem, features, run, &mut |candidate| {
                points.push(Point::new(&candidate, began));
                Ok(Next::Continue)
            })?);
            pieces.push(points);
        }
        // Shorter is the path of a piece that had too many features, or none worth one.
        for n in 0..pieces.iter().map(Vec::len).max().unwrap_or(0) {
            let points: Vec<&Point> = pieces.iter().filter_map(|points| points.get(n).or(points.last())).collect();
            let features: Vec<usize> = points.iter().flat_map(|point| &point.features).copied().collect();
            let weights: Vec<f64> = points.iter().flat_map(|point| &point.weights).copied().collect();
            if self.penalties.most.is_some_and(|most| features.len() > most) {
                return Ok(Stop::Budget);
            }
            let objective = Some(points.iter().map(|point| point.objective).sum());
            let seconds = points.iter().map(|point| point.seconds).sum();
            let weights = Some(&weights[..]);
            if emit(Candidate { features: &features, weights, objective, seconds })? == Next::Stop {
                return Ok(Stop::Observer);
            }
        }
        let early = stops.iter().find(|&&stop| stop != Stop::Converged);
        Ok(early.copied().unwrap_or(Stop::Converged))
    }
}

/// A candidate of a piece.
struct Point {
    features: Vec<usize>,
    weights: Vec<f64>,
    objective: f64,
    seconds: f64, // since the path of its piece began
}

impl Point {
    fn new(of: &Candidate<'_>, began: f64) -> Self {
        let weights = of.weights.unwrap_or_default().to_vec();
        let objective = of.objective.unwrap_or_default();
        Point { features: of.features.to_vec(), weights, objective, seconds: of.seconds - began }
    }
}

impl MEstimatorPath {
    /// The candidates that take part, ascending.
    fn kept(&self, problem: &Problem<'_>) -> Result<Vec<usize>> {
        let all = problem.map.len();
        let Some(keep) = self.keep.filter(|&keep| keep < all) else { return Ok((0..all).collect()) };
        let rho = Rho::uniform(problem.map);
        let of: &Of<'_> = &|problem| Ok(Box::new(Mean::new(&rho, problem)?));
        let slopes: Vec<f64> = Field::new(problem, of)?.gradient.iter().map(|slope| slope.abs()).collect();
        let mut kept = best(&slopes, |_| true, keep);
        kept.sort_unstable();
        Ok(kept)
    }

    /// Follows the path of some candidates.
    fn along(
        &self,
        problem: &Problem<'_>,
        features: &[usize],
        run: &mut Run<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Stop> {
        let map = Arc::new(narrow(problem.map, features));
        let rho = Rho::uniform(&map);
        let of: &Of<'_> = &|problem| Ok(Box::new(Mean::new(&rho, problem)?));
        let mut field = Field::new(&Problem { map: &map, ..*problem }, of)?;
        let emit = &mut |candidate: Candidate<'_>| {
            let features: Vec<usize> = candidate.features.iter().map(|&k| features[k]).collect();
            emit(Candidate { features: &features, ..candidate })
        };
        self.penalties.follow(&mut field, self.look, &mut Trail::new(emit), run)
    }
}
