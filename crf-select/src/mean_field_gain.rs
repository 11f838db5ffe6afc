use std::borrow::Cow;

use crf_core::{
    Corpus, Decode, Label, LogLinear, Model as _, Problem, Result, Run, Scratch, Selector, Stop, Target,
    evaluate, require,
};
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
/// The neighbours of a position have their true labels or the most likely ones, and its own have the probabilities that the
/// current model gives them. The gain of a candidate is that of its best weight, all other weights staying what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanFieldGain {
    /// Which labels the neighbours of a position have.
    pub neighbours: Neighbours,
    /// Which probabilities the labels of a position have without the candidate.
    pub probabilities: Probabilities,
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
        let (neighbours, probabilities) = (Neighbours::default(), Probabilities::default());
        let positions = Positions::default();
        MeanFieldGain { neighbours, probabilities, positions, prior: 0.1, rounds: Rounds::default() }
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
pub enum Probabilities {
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
        let (targets, mus) = (targets(problem.map), vec![0.0; problem.map.len()]);
        let mut gains = Gains { settings: self, columns, targets, mus };
        self.rounds.forward(&mut field, &mut gains, &mut Trail::new(emit), run)
    }
}

struct Gains<'a> {
    settings: &'a MeanFieldGain,
    columns: Columns,
    targets: Vec<(u32, Target)>, // [candidates]
    mus: Vec<f64>,               // [candidates] the best weight of each in the round before
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
        let mut view = View {
            probabilities: Cow::Borrowed(&now.probabilities()?.marginals),
            starts,
            truth: data.labels(),
            likely: &now.predicted,
            settings: self.settings,
        };
        if self.settings.probabilities == Probabilities::Conditional {
            view.probabilities = Cow::Owned(view.conditionals(&model, problem.train)?);
        }
        let (columns, targets) = (&self.columns, &self.targets);
        let scores = scores.par_iter_mut().zip(&mut self.mus).enumerate();
        scores.for_each_init(
            || (Gain::default(), Parts::new(data.n_positions())),
            |(gain, parts), (k, (score, mu))| {
                if !chosen[k] {
                    view.fill(columns, targets[k], gain, parts);
                    (*score, *mu) = gain.largest(self.settings.prior, *mu);
                }
            },
        );
        Ok(Stop::Converged)
    }
}

/// The training data as the current model sees them.
struct View<'a> {
    probabilities: Cow<'a, [f64]>,
    starts: Vec<usize>, // [positions + 1] where the probabilities of each start
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

    /// The probabilities of all labels beside the neighbours that positions have.
    fn conditionals(&self, model: &LogLinear, x: &Corpus) -> Result<Vec<f64>> {
        let (bound, mut memory, mut all) = (model.bind(x)?, Scratch::new(), Vec::new());
        for i in 0..x.len() {
            let (p, start) = (bound.fill(i, &mut memory)?, x.data().range(i).start);
            let (shape, mut scores) = (p.shape(), p.node().to_vec());
            for e in 0..shape.n_edges() {
                let ((u, v), table) = (shape.ends(e), p.tables().of(e));
                let (tail, head) = (self.neighbour(start + u) as usize, self.neighbour(start + v) as usize);
                let n_heads = shape.card(v);
                for k in 0..shape.card(u) {
                    scores[shape.node_at(u) + k] += table[k * n_heads + head];
                }
                for k in 0..n_heads {
                    scores[shape.node_at(v) + k] += table[tail * n_heads + k];
                }
            }
            for n in 0..shape.n_nodes() {
                let scores = &mut scores[shape.node_at(n)..shape.node_at(n + 1)];
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter_mut().for_each(|score| *score = (*score - most).exp());
                let sum: f64 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
            }
            all.extend(scores);
        }
        Ok(all)
    }

    /// Collects the terms of a candidate.
    fn fill(&self, columns: &Columns, of: (u32, Target), gain: &mut Gain, parts: &mut Parts) {
        gain.clear();
        let add = |gain: &mut Gain, t: usize, label: Label, g: f64, truth: Label| {
            gain.add(self.probabilities[self.starts[t] + label as usize], g, truth == label);
        };
        match of {
            (g, Target::State(label)) => columns.for_each_position(g, |t, value| {
                if let Some(truth) = self.counts(t) {
                    add(gain, t, label, value, truth);
                    gain.end_position(self.n_labels(t));
                }
            }),
            (g, Target::Transition(before, now)) => {
                columns.for_each_edge(g, |edge, value| {
                    let (u, v) = (edge.tail as usize, edge.head as usize);
                    if self.neighbour(u) == before {
                        parts.add(v, now, value);
                    }
                    if self.neighbour(v) == now {
                        parts.add(u, before, value);
                    }
                });
                parts.drain(|t, labels| {
                    let Some(truth) = self.counts(t) else { return };
                    for part in labels {
                        add(gain, t, part.label, part.g, truth);
                    }
                    gain.end_position(self.n_labels(t));
                });
            }
        }
    }
}

/// What edges say about the labels of positions: a position's edges may say the same about one label, or something about two.
struct Parts {
    first: Vec<u32>, // [positions] the place of its first part, plus one; zero without any
    at: Vec<u32>,    // the positions that have parts
    parts: Vec<Part>,
}

struct Part {
    label: Label,
    g: f64,
    next: u32, // the place of the next part of its position, plus one
}

impl Parts {
    fn new(n_positions: usize) -> Self {
        Parts { first: vec![0; n_positions], at: Vec::new(), parts: Vec::new() }
    }

    fn add(&mut self, t: usize, label: Label, g: f64) {
        let mut place = self.first[t];
        if place == 0 {
            self.at.push(t as u32);
        }
        while let Some(part) = (place as usize).checked_sub(1).map(|at| &mut self.parts[at]) {
            if part.label == label {
                part.g += g;
                return;
            }
            place = part.next;
        }
        self.parts.push(Part { label, g, next: self.first[t] });
        self.first[t] = self.parts.len() as u32;
    }

    /// Calls `f` with each position and its labels, and forgets them.
    #[inline(always)]
    fn drain(&mut self, mut f: impl FnMut(usize, Labels<'_>)) {
        for t in self.at.drain(..) {
            let place = std::mem::take(&mut self.first[t as usize]);
            f(t as usize, Labels { parts: &self.parts, place });
        }
        self.parts.clear();
    }
}

/// The parts of one position.
struct Labels<'p> {
    parts: &'p [Part],
    place: u32,
}

impl<'p> Iterator for Labels<'p> {
    type Item = &'p Part;

    #[inline(always)]
    fn next(&mut self) -> Option<&'p Part> {
        let part = &self.parts[(self.place as usize).checked_sub(1)?];
        self.place = part.next;
        Some(part)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_core::{Alphabet, Channel, ChannelKind, DatasetBuilder, Features, Schema, Seed, Value};
    use crf_inference::ForwardBackward;
    use crf_learn::{Conditionals, Sharded};
    use rand::RngExt as _;
    use std::sync::Arc;

    /// Three chains over three labels, drawn anew for each seed.
    fn corpus(seed: u64) -> (Corpus, Arc<crf_core::FeatureMap>) {
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
        let data = data.finish();
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
            let settings = MeanFieldGain { probabilities: Probabilities::Conditional, ..Default::default() };
            let n_positions = corpus.data().n_positions();
            let mut view = View {
                probabilities: Cow::Borrowed(&[]),
                starts: (0..=n_positions).map(|t| 3 * t).collect(),
                truth: corpus.data().labels(),
                likely: &vec![0; n_positions],
                settings: &settings,
            };
            view.probabilities = Cow::Owned(view.conditionals(&model, &corpus).unwrap());
            let mut objective = Sharded::new(Conditionals::new(&problem).unwrap());
            let mut value = |w: &[f64]| objective.evaluate(w, &mut vec![0.0; map.len()]).unwrap();
            let (columns, targets) = (Columns::new(&map, &corpus), targets(&map));
            let (mut gain, mut parts) = (Gain::default(), Parts::new(n_positions));
            for k in 0..map.len() {
                view.fill(&columns, targets[k], &mut gain, &mut parts);
                let mut moved = w.clone();
                moved[k] += 0.7;
                let (got, want) = (gain.at(0.7, 0.0)[0], value(&w) - value(&moved));
                assert!((got - want).abs() < 1e-9, "{}: {got} vs {want}", map.name(k));
            }
        }
    }
}
