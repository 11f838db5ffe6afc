mod edge_sums;
mod gain;
mod training_view;

use std::borrow::Cow;

use crf_core::{Decode, FitContext, LogLinear, Problem, Result, Selector, Stop, require};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::function_columns::{FunctionColumns, weights};
use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::forward::mean_field_gain::training_view::{GainBuffers, ScoredFeature, TrainingView};
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings};

/// Mean-field gain: forward selection that adds the features with the largest gain of likelihood if
/// positions are taken by themselves (McCallum 2003, as Vail 2008, §3.2.4 derives it).
///
/// Unlike `grafting`, which takes the derivative at weight zero, it scores a candidate by its best
/// weight. The neighbours of a position have fixed labels, the labels of the position have the
/// probabilities that the current model gives them, and all other weights stay what they are; so
/// the gain of a candidate needs no inference of its own. With `probabilities = "conditional"` the
/// gain is that of the pseudo-likelihood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanFieldGain {
    /// Labels of the neighbours of a position.
    pub neighbours: Neighbours,
    /// Probabilities of the labels of a position without the candidate.
    pub probabilities: GainProbabilities,
    /// Positions that are part of the gain.
    pub positions: Positions,
    /// λ of the penalty (λ/2)μ² on a candidate's weight μ, without which a feature that fires on
    /// true labels only would have no best weight; at least 0. Weights are bounded in any case.
    pub prior: f64,
    /// Settings of forward selection.
    #[serde(flatten)]
    pub settings: ForwardSettings,
}

impl Default for MeanFieldGain {
    fn default() -> Self {
        MeanFieldGain {
            neighbours: Neighbours::default(),
            probabilities: GainProbabilities::default(),
            positions: Positions::default(),
            prior: 0.1,
            settings: ForwardSettings::default(),
        }
    }
}

/// Labels of the neighbours of a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Neighbours {
    /// The true ones, as in a pseudo-likelihood.
    #[default]
    True,
    /// The ones with the largest marginals under the current model.
    Likely,
}

/// Probabilities of the labels of a position without the candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GainProbabilities {
    /// The model's marginals, as in the thesis (after equation 3.27). They do not know what the
    /// neighbours' labels already say, so every feature that ties a position to its neighbours
    /// promises to say it again.
    #[default]
    Marginal,
    /// The model's probabilities given the labels of the neighbours (equation 3.26). With true
    /// neighbours the gain is that of the pseudo-likelihood.
    Conditional,
}

/// Positions that are part of the gain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// All positions with a label.
    #[default]
    All,
    /// The positions that the current model labels wrongly.
    Mistakes,
}

crf_core::plugin!("selector", MeanFieldGain, "mean-field-gain", example = r#"neighbours = "likely""#);

#[typetag::serde(name = "mean-field-gain")]
impl Selector for MeanFieldGain {
    fn check(&self) -> Result<()> {
        let fine = self.prior.is_finite() && self.prior >= 0.0;
        require(fine, "prior", "a finite number of at least 0", self.prior)?;
        self.settings.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut objective = CandidateObjective::new(problem, &likelihood)?;
        let mut scorer = GainScorer {
            settings: self,
            columns: FunctionColumns::new(problem.map, problem.train),
            features: ScoredFeature::all(problem.map),
        };
        self.settings.follow(&mut objective, &mut scorer, &mut PathReporter::new(emit), run)
    }
}

/// Scores by the mean-field gain.
struct GainScorer<'a> {
    settings: &'a MeanFieldGain,
    columns: FunctionColumns,
    features: Vec<ScoredFeature>,
}

impl CandidateScorer for GainScorer<'_> {
    fn score(
        &mut self,
        objective: &CandidateObjective<'_>,
        chosen: &[bool],
        scores: &mut [f64],
    ) -> Result<Stop> {
        let problem = &objective.problem;
        let support = objective.support();
        let map = problem.map.narrow_to(&support).into();
        let model = LogLinear::new(map, objective.weights(&support))?;
        let evaluation = problem.evaluate(&model, problem.train, Decode::Posterior)?;
        let data = problem.train.data();
        let mut starts = Vec::with_capacity(data.n_positions() + 1);
        let mut offset = 0;
        for i in 0..data.len() {
            let shape = data.shape(i);
            starts.extend((0..shape.n_nodes()).map(|n| offset + shape.node_offset(n)));
            offset += shape.node_offset(shape.n_nodes());
        }
        starts.push(offset);
        let mut view = TrainingView {
            probabilities: Cow::Borrowed(&evaluation.probabilities()?.marginals),
            starts,
            weights: weights(data),
            truth: data.labels(),
            likely: &evaluation.predicted,
            settings: self.settings,
        };
        if self.settings.probabilities == GainProbabilities::Conditional {
            view.probabilities = Cow::Owned(view.conditionals(&model, problem)?);
        }
        for (feature, &is_chosen) in self.features.iter_mut().zip(chosen) {
            feature.is_chosen = is_chosen;
        }
        let columns = &self.columns;
        let prior = self.settings.prior;
        self.features.par_chunk_by_mut(ScoredFeature::has_same_function).for_each_init(
            || GainBuffers::new(data.n_positions()),
            |buffers, of_function| {
                view.for_each_gain(columns, of_function, buffers, |feature, gain| {
                    (feature.gain, feature.mu) = gain.maximise(prior, feature.mu);
                });
            },
        );
        for (score, feature) in
            scores.iter_mut().zip(&self.features).filter(|(_, feature)| !feature.is_chosen)
        {
            *score = feature.gain;
        }
        Ok(Stop::Converged)
    }
}
