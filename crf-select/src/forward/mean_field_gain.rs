mod edge_sums;
mod gain;

use std::borrow::Cow;

use crf_core::{
    Decode, FeatureMap, FitContext, Label, LogLinear, Problem, Result, Scratch, Selector, Stop, Target,
    require,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::function_columns::{Columns, weights};
use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::forward::mean_field_gain::edge_sums::{EdgeSums, Other};
use crate::forward::mean_field_gain::gain::Gain;
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings};

/// Adds the features that promise the largest gain of likelihood if positions are taken by themselves (McCallum 2003, as
/// Vail 2008, §3.2.4 derives it).
///
/// The neighbours of a position have their true labels or the most likely ones, and its own have the probabilities that the
/// current model gives them. The gain of a candidate is that of its best weight, all other weights staying what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanFieldGain {
    /// Which labels the neighbours of a position have.
    pub neighbours: Neighbours,
    /// Which probabilities the labels of a position have without the candidate.
    pub probabilities: GainProbabilities,
    /// Which positions count.
    pub positions: Positions,
    /// The λ of (λ/2)μ² on a candidate's weight, without which a feature that fires on true labels only would have no
    /// best one; at least 0. Weights are bounded in any case.
    pub prior: f64,
    /// What forward selection has in common.
    #[serde(flatten)]
    pub rounds: ForwardSettings,
}

impl Default for MeanFieldGain {
    fn default() -> Self {
        let (neighbours, probabilities) = (Neighbours::default(), GainProbabilities::default());
        let positions = Positions::default();
        MeanFieldGain { neighbours, probabilities, positions, prior: 0.1, rounds: ForwardSettings::default() }
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

/// Which probabilities the labels of a position have without the candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GainProbabilities {
    /// The model's marginals, as the thesis has it (after equation 3.27). They do not know what the neighbours' labels
    /// already say, so every feature that ties a position to its neighbours promises to say it again.
    #[default]
    Marginal,
    /// Those that the model gives to the labels beside these neighbours (equation 3.26). With true ones the gain is that of
    /// the pseudo-likelihood.
    Conditional,
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

crf_core::plugin!("selector", MeanFieldGain, "mean-field-gain", example = r#"neighbours = "likely""#);

#[typetag::serde(name = "mean-field-gain")]
impl Selector for MeanFieldGain {
    fn check(&self) -> Result<()> {
        let fine = self.prior.is_finite() && self.prior >= 0.0;
        require(fine, "prior", "a finite number of at least 0", self.prior)?;
        self.rounds.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut field = CandidateObjective::new(problem, &likelihood)?;
        let columns = Columns::new(problem.map, problem.train);
        let mut gains = Gains { settings: self, columns, candidates: candidates(problem.map) };
        self.rounds.forward(&mut field, &mut gains, &mut PathReporter::new(emit), run)
    }
}

struct Gains<'a> {
    settings: &'a MeanFieldGain,
    columns: Columns,
    candidates: Vec<Candidate>,
}

/// A feature of the map, and what the last round has told of it.
struct Candidate {
    function: u32,
    target: Target,
    is_chosen: bool,
    gain: f64,
    mu: f64, // its best weight
}

impl Candidate {
    fn is_of_same_function(&self, other: &Candidate) -> bool {
        let is_state = |target| matches!(target, Target::State(_));
        self.function == other.function && is_state(self.target) == is_state(other.target)
    }

    /// The label of the tail, if it is a transition feature.
    fn tail(&self) -> Option<Label> {
        match self.target {
            Target::State(_) => None,
            Target::Transition(tail, _) => Some(tail),
        }
    }
}

/// The features of a map in its order, which has those of one function side by side, and among these those from one label.
fn candidates(map: &FeatureMap) -> Vec<Candidate> {
    let of = |(function, target)| Candidate { function, target, is_chosen: false, gain: 0.0, mu: 0.0 };
    (0..map.len()).map(|k| of(map.feature(k))).collect()
}

impl CandidateScorer for Gains<'_> {
    fn score(&mut self, field: &CandidateObjective<'_>, chosen: &[bool], scores: &mut [f64]) -> Result<Stop> {
        let (problem, support) = (&field.problem, field.support());
        let map = problem.map.narrow_to(&support).into();
        let model = LogLinear::new(map, CandidateObjective::part(&field.w, &support))?;
        let now = problem.evaluate(&model, problem.train, Decode::Posterior)?;
        let data = problem.train.data();
        let (mut starts, mut at) = (Vec::with_capacity(data.n_positions() + 1), 0);
        for i in 0..data.len() {
            let shape = data.shape(i);
            starts.extend((0..shape.n_nodes()).map(|n| at + shape.node_offset(n)));
            at += shape.node_offset(shape.n_nodes());
        }
        starts.push(at);
        let mut view = View {
            probabilities: Cow::Borrowed(&now.probabilities()?.marginals),
            starts,
            weights: weights(data),
            truth: data.labels(),
            likely: &now.predicted,
            settings: self.settings,
        };
        if self.settings.probabilities == GainProbabilities::Conditional {
            view.probabilities = Cow::Owned(view.conditionals(&model, problem)?);
        }
        for (candidate, &is_chosen) in self.candidates.iter_mut().zip(chosen) {
            candidate.is_chosen = is_chosen;
        }
        let (columns, prior) = (&self.columns, self.settings.prior);
        self.candidates.par_chunk_by_mut(Candidate::is_of_same_function).for_each_init(
            || Memory::new(data.n_positions()),
            |memory, of_function| {
                view.for_each_gain(columns, of_function, memory, |candidate, gain| {
                    (candidate.gain, candidate.mu) = gain.largest(prior, candidate.mu);
                });
            },
        );
        for (score, candidate) in scores.iter_mut().zip(&self.candidates).filter(|(_, of)| !of.is_chosen) {
            *score = candidate.gain;
        }
        Ok(Stop::Converged)
    }
}

/// The training data as the current model sees them.
struct View<'a> {
    probabilities: Cow<'a, [f64]>,
    starts: Vec<usize>, // [positions + 1] where the probabilities of each start
    weights: Vec<f64>,  // [positions] how often each counts
    truth: &'a [Option<Label>],
    likely: &'a [Label],
    settings: &'a MeanFieldGain,
}

impl View<'_> {
    /// Whether a position takes part, with which true label and how often.
    fn counts(&self, t: usize) -> Option<(Label, f64)> {
        let is_wrong = |label| label != self.likely[t];
        let truth =
            self.truth[t].filter(|&label| self.settings.positions == Positions::All || is_wrong(label));
        truth.map(|label| (label, self.weights[t])).filter(|(_, weight)| *weight > 0.0)
    }

    /// The probabilities of a position's labels.
    fn at(&self, t: usize) -> &[f64] {
        &self.probabilities[self.starts[t]..self.starts[t + 1]]
    }

    /// The label that a neighbour has.
    fn neighbour(&self, t: usize) -> Label {
        match self.settings.neighbours {
            Neighbours::True => self.truth[t].unwrap_or(self.likely[t]),
            Neighbours::Likely => self.likely[t],
        }
    }

    /// The probabilities of all labels beside the neighbours that positions have.
    fn conditionals(&self, model: &LogLinear, problem: &Problem<'_>) -> Result<Vec<f64>> {
        let (x, bound) = (problem.train, problem.bind(model, problem.train)?);
        let of_sequence = |memory: &mut Scratch, i: usize| {
            let (p, start) = (bound.fill(i, memory)?, x.data().range(i).start);
            let (shape, mut scores) = (p.shape(), p.node().to_vec());
            for e in 0..shape.n_edges() {
                let ((u, v), table) = (shape.ends(e), p.tables().of(e));
                let (tail, head) = (self.neighbour(start + u) as usize, self.neighbour(start + v) as usize);
                let n_heads = shape.card(v);
                for k in 0..shape.card(u) {
                    scores[shape.node_offset(u) + k] += table[k * n_heads + head];
                }
                for k in 0..n_heads {
                    scores[shape.node_offset(v) + k] += table[tail * n_heads + k];
                }
            }
            for n in 0..shape.n_nodes() {
                let scores = &mut scores[shape.node_offset(n)..shape.node_offset(n + 1)];
                let mut most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if most == f64::NEG_INFINITY {
                    // Beside these neighbours no label is possible, and none less than another.
                    scores.fill(0.0);
                    most = 0.0;
                }
                scores.iter_mut().for_each(|score| *score = (*score - most).exp());
                let sum: f64 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
            }
            Ok(scores)
        };
        let all = (0..x.len()).into_par_iter().map_init(Scratch::new, of_sequence);
        Ok(all.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Calls `f` with each candidate of one function that is not chosen, and with its gain.
    fn for_each_gain(
        &self,
        columns: &Columns,
        of_function: &mut [Candidate],
        memory: &mut Memory,
        mut f: impl FnMut(&mut Candidate, &Gain),
    ) {
        let Memory { sights, heads, gains } = memory;
        let Some(&Candidate { function, target, .. }) = of_function.first() else { return };
        if let Target::Transition(..) = target {
            sights.clear();
            columns.for_each_edge(function, |edge, value| {
                let (u, v) = (edge.tail as usize, edge.head as usize);
                sights.add(u, Other::Head(self.neighbour(v)), value);
                sights.add(v, Other::Tail(self.neighbour(u)), value);
            });
        }
        // Gains of all pairs of labels at once would take memory for all of them.
        for group in of_function.chunk_by_mut(|a, b| a.tail() == b.tail()) {
            heads.clear();
            heads.extend(group.iter().filter(|of| !of.is_chosen).map(|of| match of.target {
                Target::State(label) | Target::Transition(_, label) => label,
            }));
            gains.resize_with(heads.len().max(gains.len()), Gain::default);
            gains.iter_mut().for_each(Gain::clear);
            match group[0].tail() {
                None => self.fill_state(columns, function, heads, gains),
                Some(tail) => self.fill_transitions(sights, tail, heads, gains),
            }
            group.iter_mut().filter(|of| !of.is_chosen).zip(&*gains).for_each(|(of, gain)| f(of, gain));
        }
    }

    /// Collects the terms of state features with these labels.
    fn fill_state(&self, columns: &Columns, function: u32, labels: &[Label], gains: &mut [Gain]) {
        columns.for_each_position(function, |t, value| {
            let Some((truth, weight)) = self.counts(t) else { return };
            let p = self.at(t);
            for (gain, &label) in gains.iter_mut().zip(labels) {
                gain.single(p, (label, value, truth == label), weight);
            }
        });
    }

    /// Collects the terms of transition features from one label to these, which are in ascending order.
    fn fill_transitions(&self, sights: &EdgeSums, tail: Label, heads: &[Label], gains: &mut [Gain]) {
        for (t, seen) in sights.positions() {
            let Some((truth, weight)) = self.counts(t) else { continue };
            let p = self.at(t);
            let of = |label: Label, g: f64| (label, g, truth == label);
            // A position is the head of edges from such a tail, the tail of edges to some head, or both.
            let Some(as_head) = seen.of(Other::Tail(tail)) else {
                for sight in seen {
                    if let Other::Head(head) = sight.other
                        && let Ok(place) = heads.binary_search(&head)
                    {
                        gains[place].single(p, of(tail, sight.g), weight);
                    }
                }
                continue;
            };
            for (gain, &head) in gains.iter_mut().zip(heads) {
                match seen.of(Other::Head(head)) {
                    None => gain.single(p, of(head, as_head), weight),
                    Some(as_tail) if tail == head => gain.single(p, of(head, as_head + as_tail), weight),
                    Some(as_tail) => gain.pair(p, [of(head, as_head), of(tail, as_tail)], weight),
                }
            }
        }
    }
}

/// What gains are told with.
struct Memory {
    sights: EdgeSums,
    heads: Vec<Label>,
    gains: Vec<Gain>,
}

impl Memory {
    fn new(n_positions: usize) -> Self {
        Memory { sights: EdgeSums::new(n_positions), heads: Vec::new(), gains: Vec::new() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_core::{
        Alphabet, Channel, ChannelKind, DatasetBuilder, EncodedDataset, Features, Schema, Seed, Value,
    };
    use crf_inference::ForwardBackward;
    use crf_learn::{PseudoLikelihoodObjective, Sharded};
    use rand::RngExt as _;
    use std::sync::Arc;

    /// Three chains over three labels that do not count alike, drawn anew for each seed.
    fn corpus(seed: u64) -> (EncodedDataset, Arc<crf_core::FeatureMap>) {
        let mut draw = Seed::new(seed).rng();
        let channel = Channel { name: "x".into(), kind: ChannelKind::Real };
        let schema = Schema::chain(vec![channel], Alphabet::new(["a", "b", "c"])).unwrap();
        let mut data = DatasetBuilder::new(Arc::new(schema));
        for _ in 0..3 {
            for _ in 0..6 {
                data.push(&[Value::Real(draw.random_range(-1.0..1.0))], Some(draw.random_range(0..3)))
                    .unwrap();
            }
            data.end_chain().unwrap();
        }
        let data = data.finish().reweighted(|i| [1.0, 0.5, 2.0][i]).unwrap();
        let features: Features = serde_json::from_str(
            r#"["intercept", "transition", {"state": "value"}, {"transition": {"type": "threshold", "at": [0.0]}}]"#,
        )
        .unwrap();
        let fitted = features.fit(&data).unwrap();
        let corpus = fitted.encode(Arc::new(data)).unwrap();
        let map = Arc::new(fitted.map(&corpus).unwrap());
        (corpus, map)
    }

    #[test]
    fn with_true_neighbours_and_conditional_probabilities_the_gain_is_that_of_the_pseudo_likelihood() {
        for seed in 1..=5 {
            let (corpus, map) = corpus(seed);
            let inference = ForwardBackward::default();
            let problem = Problem::new(&corpus, &map, &inference);
            let mut draw = Seed::new(seed).child("weights").rng();
            let w: Vec<f64> = (0..map.len()).map(|_| draw.random_range(-1.0..1.0)).collect();
            let model = LogLinear::new(map.clone(), w.clone()).unwrap();
            let settings =
                MeanFieldGain { probabilities: GainProbabilities::Conditional, ..Default::default() };
            let n_positions = corpus.data().n_positions();
            let mut view = View {
                probabilities: Cow::Borrowed(&[]),
                starts: (0..=n_positions).map(|t| 3 * t).collect(),
                weights: weights(corpus.data()),
                truth: corpus.data().labels(),
                likely: &vec![0; n_positions],
                settings: &settings,
            };
            view.probabilities = Cow::Owned(view.conditionals(&model, &problem).unwrap());
            let mut objective = Sharded::new(PseudoLikelihoodObjective::new(&problem).unwrap());
            let mut value = |w: &[f64]| objective.evaluate(w, &mut vec![0.0; map.len()]).unwrap();
            let (columns, mut candidates) = (Columns::new(&map, &corpus), candidates(&map));
            // One that is chosen has no gain, and does not stand in the way of the others.
            candidates[5].is_chosen = true;
            let mut memory = Memory::new(n_positions);
            for of_function in candidates.chunk_by_mut(Candidate::is_of_same_function) {
                view.for_each_gain(&columns, of_function, &mut memory, |of, gain| {
                    of.gain = gain.at(0.7, 0.0)[0]
                });
            }
            for (k, candidate) in candidates.iter().enumerate() {
                let mut moved = w.clone();
                moved[k] += if k == 5 { 0.0 } else { 0.7 };
                let (got, want) = (candidate.gain, value(&w) - value(&moved));
                assert!((got - want).abs() < 1e-9, "{}: {got} vs {want}", map.name(k));
            }
        }
    }
}
