use crf_core::{Decode, Label, LogLinear, Problem, Result, Run, Selector, Stop, Target, evaluate, require};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::columns::{Columns, targets};
use crate::field::{Field, likelihood};
use crate::forward::{Rounds, Score};
use crate::gain::Gain;
use crate::trail::{Emit, Trail, narrow};

/// Adds the features that promise the largest gain of likelihood if positions are taken by themselves (McCallum 2003, as
/// Vail 2008, §3.2.4 derives it).
///
/// The labels of a position have the marginals of the current model; its neighbours have their true labels or
/// the most likely ones. The gain of a candidate is that of its best weight, all other weights staying what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanFieldGain {
    /// Which labels the neighbours of a position have.
    pub neighbours: Neighbours,
    /// Which positions count.
    pub positions: Positions,
    /// The λ of (λ/2)μ² on a candidate's weight, without which a feature that fires on true labels only would have no
    /// best one; at least 0. Weights are bounded in any case.
    pub prior: f64,
    /// What forward selection has in common.
    #[serde(flatten)]
    pub rounds: Rounds,
}

impl Default for MeanFieldGain {
    fn default() -> Self {
        let (neighbours, positions) = (Neighbours::default(), Positions::default());
        MeanFieldGain { neighbours, positions, prior: 0.1, rounds: Rounds::default() }
    }
}

/// Which labels the neighbours of a position have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Neighbours {
    /// The true ones, as in a pseudo-likelihood.
    #[default]
    True,
    /// Those with the largest marginals under the current model.
    Likely,
}

/// Which positions count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// All of them.
    #[default]
    All,
    /// Those that the current model labels wrongly.
    Mistakes,
}

crf_core::plugin!("selector", MeanFieldGain, "mean-field-gain");

#[typetag::serde(name = "mean-field-gain")]
impl Selector for MeanFieldGain {
    fn check(&self) -> Result<()> {
        let fine = self.prior.is_finite() && self.prior >= 0.0;
        require(fine, "prior", "a finite number of at least 0", self.prior)?;
        self.rounds.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut Run<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut field = Field::new(problem, &likelihood)?;
        let columns = Columns::new(problem.map, problem.train);
        let mut gains = Gains { settings: self, columns, targets: targets(problem.map) };
        self.rounds.forward(&mut field, &mut gains, &mut Trail::new(emit), run)
    }
}

struct Gains<'a> {
    settings: &'a MeanFieldGain,
    columns: Columns,
    targets: Vec<(u32, Target)>, // [candidates]
}

impl Score for Gains<'_> {
    fn score(&mut self, field: &Field<'_>, chosen: &[bool], scores: &mut [f64]) -> Result<Stop> {
        let (problem, support) = (&field.problem, field.support());
        let map = narrow(problem.map, &support).into();
        let model = LogLinear::new(map, Field::part(&field.w, &support))?;
        let now = evaluate(&model, problem.train, problem.inference, Decode::Posterior)?;
        let data = problem.train.data();
        let (mut starts, mut at) = (Vec::with_capacity(data.n_positions() + 1), 0);
        for i in 0..data.len() {
            let shape = data.shape(i);
            starts.extend((0..shape.n_nodes()).map(|n| at + shape.node_at(n)));
            at += shape.node_at(shape.n_nodes());
        }
        starts.push(at);
        let view = View {
            marginals: &now.probabilities()?.marginals,
            starts,
            truth: data.labels(),
            likely: &now.predicted,
            settings: self.settings,
        };
        let (columns, targets) = (&self.columns, &self.targets);
        scores.par_iter_mut().enumerate().for_each_init(Default::default, |(gain, parts), (k, score)| {
            if !chosen[k] {
                view.fill(columns, targets[k], gain, parts);
                *score = gain.largest(self.settings.prior);
            }
        });
        Ok(Stop::Converged)
    }
}

/// The training data as the current model sees them.
struct View<'a> {
    marginals: &'a [f64],
    starts: Vec<usize>, // [positions + 1] where the marginals of each start
    truth: &'a [Option<Label>],
    likely: &'a [Label],
    settings: &'a MeanFieldGain,
}

impl View<'_> {
    /// Whether a position takes part, and with which true label.
    fn counts(&self, t: usize) -> Option<Label> {
        self.truth[t].filter(|&label| self.settings.positions == Positions::All || label != self.likely[t])
    }

    fn n_labels(&self, t: usize) -> usize {
        self.starts[t + 1] - self.starts[t]
    }

    /// The label that a neighbour has.
    fn neighbour(&self, t: usize) -> Label {
        match self.settings.neighbours {
            Neighbours::True => self.truth[t].unwrap_or(self.likely[t]),
            Neighbours::Likely => self.likely[t],
        }
    }

    /// Collects the terms of a candidate.
    fn fill(
        &self,
        columns: &Columns,
        of: (u32, Target),
        gain: &mut Gain,
        parts: &mut Vec<(usize, Label, f64)>,
    ) {
        gain.clear();
        let add = |gain: &mut Gain, t: usize, label: Label, g: f64, truth: Label| {
            gain.add(self.marginals[self.starts[t] + label as usize], g, truth == label);
        };
        match of {
            (g, Target::State(label)) => columns.for_each_position(g, |t, value| {
                if let Some(truth) = self.counts(t) {
                    add(gain, t, label, value, truth);
                    gain.end_position(self.n_labels(t));
                }
            }),
            (g, Target::Transition(before, now)) => {
                parts.clear();
                columns.for_each_edge(g, |edge, value| {
                    let (u, v) = (edge.tail as usize, edge.head as usize);
                    if self.neighbour(u) == before {
                        parts.push((v, now, value));
                    }
                    if self.neighbour(v) == now {
                        parts.push((u, before, value));
                    }
                });
                // A position's edges may say the same about one label, or something about two.
                parts.sort_unstable_by_key(|&(t, label, _)| (t, label));
                for position in parts.chunk_by(|a, b| a.0 == b.0) {
                    let t = position[0].0;
                    let Some(truth) = self.counts(t) else { continue };
                    for same in position.chunk_by(|a, b| a.1 == b.1) {
                        add(gain, t, same[0].1, same.iter().map(|part| part.2).sum(), truth);
                    }
                    gain.end_position(self.n_labels(t));
                }
            }
        }
    }
}
