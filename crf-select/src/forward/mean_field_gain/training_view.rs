//! Mean-field gains, function by function: the training data as the current model sees them, and
//! the terms that they contribute to the gain of each feature.
//!
//! A position sees at most two labels of its own in a transition feature, one as the head and one
//! as the tail of edges. So the edges of a function are read once (`edge_sums.rs`), and the gains
//! of all its label pairs follow from what the positions see.

use std::borrow::Cow;

use crf_core::{FeatureMap, Label, LogLinear, Problem, Result, Scratch, Target};
use rayon::prelude::*;

use crate::candidates::function_columns::FunctionColumns;
use crate::forward::mean_field_gain::edge_sums::{EdgeSums, OtherEnd};
use crate::forward::mean_field_gain::gain::Gain;
use crate::forward::mean_field_gain::{MeanFieldGain, Neighbours, Positions};

/// A feature of the map, with its gain in the last round.
pub(crate) struct ScoredFeature {
    function: u32,
    target: Target,
    pub(crate) is_chosen: bool,
    pub(crate) gain: f64,
    /// Its best weight, from which the search of the next round starts.
    pub(crate) mu: f64,
}

impl ScoredFeature {
    /// All features in the order of the map: those of a function are side by side, and among these
    /// those with the same tail label.
    pub(crate) fn all(map: &FeatureMap) -> Vec<ScoredFeature> {
        (0..map.len())
            .map(|k| {
                let (function, target) = map.feature(k);
                ScoredFeature { function, target, is_chosen: false, gain: 0.0, mu: 0.0 }
            })
            .collect()
    }

    pub(crate) fn has_same_function(&self, other: &ScoredFeature) -> bool {
        let is_state = |target| matches!(target, Target::State(_));
        self.function == other.function && is_state(self.target) == is_state(other.target)
    }

    /// Label of the tail, if it is a transition feature.
    fn tail(&self) -> Option<Label> {
        match self.target {
            Target::State(_) => None,
            Target::Transition(tail, _) => Some(tail),
        }
    }
}

/// The training data with the probabilities of the current model.
pub(crate) struct TrainingView<'a> {
    pub(crate) probabilities: Cow<'a, [f64]>, // of the labels of each position
    pub(crate) starts: Vec<usize>,            // [positions + 1] offsets into the probabilities
    pub(crate) weights: Vec<f64>,             // [positions]
    pub(crate) truth: &'a [Option<Label>],    // [positions]
    pub(crate) likely: &'a [Label],           // [positions] labels with the largest marginals
    pub(crate) settings: &'a MeanFieldGain,
}

impl TrainingView<'_> {
    /// True label and weight of a position; `None` if the position is not part of the gain.
    fn label_and_weight(&self, t: usize) -> Option<(Label, f64)> {
        let is_wrong = |label| label != self.likely[t];
        let truth =
            self.truth[t].filter(|&label| self.settings.positions == Positions::All || is_wrong(label));
        truth.map(|label| (label, self.weights[t])).filter(|(_, weight)| *weight > 0.0)
    }

    /// Probabilities of the labels of a position.
    fn position(&self, t: usize) -> &[f64] {
        &self.probabilities[self.starts[t]..self.starts[t + 1]]
    }

    /// Label of a position as a neighbour.
    fn neighbour(&self, t: usize) -> Label {
        match self.settings.neighbours {
            Neighbours::True => self.truth[t].unwrap_or(self.likely[t]),
            Neighbours::Likely => self.likely[t],
        }
    }

    /// Probabilities of the labels of all positions given the labels of their neighbours.
    pub(crate) fn conditionals(&self, model: &LogLinear, problem: &Problem<'_>) -> Result<Vec<f64>> {
        let encoded = problem.train;
        let bound = problem.bind(model, encoded)?;
        let of_sequence = |scratch: &mut Scratch, i: usize| {
            let potentials = bound.fill(i, scratch)?;
            let start = encoded.data().range(i).start;
            let shape = potentials.shape();
            let mut scores = potentials.node().to_vec();
            for e in 0..shape.n_edges() {
                let ((u, v), table) = (shape.ends(e), potentials.tables().of(e));
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
                let mut largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if largest == f64::NEG_INFINITY {
                    // No label is possible beside these neighbours, so all are equally likely.
                    scores.fill(0.0);
                    largest = 0.0;
                }
                scores.iter_mut().for_each(|score| *score = (*score - largest).exp());
                let sum: f64 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
            }
            Ok(scores)
        };
        let all = (0..encoded.len()).into_par_iter().map_init(Scratch::new, of_sequence);
        Ok(all.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Calls `f` with each feature of one function that is not chosen, and with its gain.
    pub(crate) fn for_each_gain(
        &self,
        columns: &FunctionColumns,
        of_function: &mut [ScoredFeature],
        buffers: &mut GainBuffers,
        mut f: impl FnMut(&mut ScoredFeature, &Gain),
    ) {
        let GainBuffers { edge_sums, labels, gains } = buffers;
        let Some(&ScoredFeature { function, target, .. }) = of_function.first() else { return };
        if let Target::Transition(..) = target {
            edge_sums.clear();
            columns.for_each_edge(function, |edge, value| {
                let (u, v) = (edge.tail as usize, edge.head as usize);
                edge_sums.add(u, OtherEnd::Head(self.neighbour(v)), value);
                edge_sums.add(v, OtherEnd::Tail(self.neighbour(u)), value);
            });
        }
        // One tail label at a time: the gains of all label pairs at once would take too much
        // memory.
        for group in of_function.chunk_by_mut(|a, b| a.tail() == b.tail()) {
            labels.clear();
            labels.extend(group.iter().filter(|feature| !feature.is_chosen).map(
                |feature| match feature.target {
                    Target::State(label) | Target::Transition(_, label) => label,
                },
            ));
            gains.resize_with(labels.len().max(gains.len()), Gain::default);
            gains.iter_mut().for_each(Gain::clear);
            match group[0].tail() {
                None => self.add_state_terms(columns, function, labels, gains),
                Some(tail) => self.add_transition_terms(edge_sums, tail, labels, gains),
            }
            let free = group.iter_mut().filter(|feature| !feature.is_chosen);
            free.zip(&*gains).for_each(|(feature, gain)| f(feature, gain));
        }
    }

    /// Adds the terms of the state features of a function with these labels.
    fn add_state_terms(
        &self,
        columns: &FunctionColumns,
        function: u32,
        labels: &[Label],
        gains: &mut [Gain],
    ) {
        columns.for_each_position(function, |t, value| {
            let Some((truth, weight)) = self.label_and_weight(t) else { return };
            let p = self.position(t);
            for (gain, &label) in gains.iter_mut().zip(labels) {
                gain.add_single(p, (label, value, truth == label), weight);
            }
        });
    }

    /// Adds the terms of the transition features from one tail label to these head labels, which
    /// are ascending.
    fn add_transition_terms(&self, edge_sums: &EdgeSums, tail: Label, heads: &[Label], gains: &mut [Gain]) {
        for (t, sums) in edge_sums.positions() {
            let Some((truth, weight)) = self.label_and_weight(t) else { continue };
            let p = self.position(t);
            let term = |label: Label, g: f64| (label, g, truth == label);
            // A position is the head of edges from such a tail, the tail of edges to some head, or
            // both.
            let Some(as_head) = sums.sum_over(OtherEnd::Tail(tail)) else {
                for edge_sum in sums {
                    if let OtherEnd::Head(head) = edge_sum.other
                        && let Ok(index) = heads.binary_search(&head)
                    {
                        gains[index].add_single(p, term(tail, edge_sum.g), weight);
                    }
                }
                continue;
            };
            for (gain, &head) in gains.iter_mut().zip(heads) {
                match sums.sum_over(OtherEnd::Head(head)) {
                    None => gain.add_single(p, term(head, as_head), weight),
                    Some(as_tail) if tail == head => {
                        gain.add_single(p, term(head, as_head + as_tail), weight);
                    }
                    Some(as_tail) => gain.add_pair(p, [term(head, as_head), term(tail, as_tail)], weight),
                }
            }
        }
    }
}

/// Buffers of a thread for the gains of one function.
pub(crate) struct GainBuffers {
    edge_sums: EdgeSums,
    labels: Vec<Label>, // of the features that are scored together
    gains: Vec<Gain>,   // one per label
}

impl GainBuffers {
    pub(crate) fn new(n_positions: usize) -> Self {
        GainBuffers { edge_sums: EdgeSums::new(n_positions), labels: Vec::new(), gains: Vec::new() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::candidates::function_columns::weights;
    use crate::forward::mean_field_gain::GainProbabilities;
    use crf_core::{
        Alphabet, Channel, ChannelKind, DatasetBuilder, EncodedDataset, Features, Schema, Seed, Value,
    };
    use crf_inference::ForwardBackward;
    use crf_learn::{PseudoLikelihoodObjective, Sharded};
    use rand::RngExt as _;
    use std::sync::Arc;

    /// Three chains over three labels, with different weights.
    fn encoded(seed: u64) -> (EncodedDataset, Arc<crf_core::FeatureMap>) {
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
        let encoded = fitted.encode(Arc::new(data)).unwrap();
        let map = Arc::new(fitted.map(&encoded).unwrap());
        (encoded, map)
    }

    #[test]
    fn with_true_neighbours_and_conditional_probabilities_the_gain_is_that_of_the_pseudo_likelihood() {
        for seed in 1..=5 {
            let (encoded, map) = encoded(seed);
            let inference = ForwardBackward::default();
            let problem = Problem::new(&encoded, &map, &inference);
            let mut draw = Seed::new(seed).child("weights").rng();
            let w: Vec<f64> = (0..map.len()).map(|_| draw.random_range(-1.0..1.0)).collect();
            let model = LogLinear::new(map.clone(), w.clone()).unwrap();
            let settings =
                MeanFieldGain { probabilities: GainProbabilities::Conditional, ..Default::default() };
            let n_positions = encoded.data().n_positions();
            let mut view = TrainingView {
                probabilities: Cow::Borrowed(&[]),
                starts: (0..=n_positions).map(|t| 3 * t).collect(),
                weights: weights(encoded.data()),
                truth: encoded.data().labels(),
                likely: &vec![0; n_positions],
                settings: &settings,
            };
            view.probabilities = Cow::Owned(view.conditionals(&model, &problem).unwrap());
            let mut objective = Sharded::new(PseudoLikelihoodObjective::new(&problem).unwrap());
            let mut value = |w: &[f64]| objective.evaluate(w, &mut vec![0.0; map.len()]).unwrap();
            let columns = FunctionColumns::new(&map, &encoded);
            let mut features = ScoredFeature::all(&map);
            // A chosen feature has no gain and leaves those of the others unchanged.
            features[5].is_chosen = true;
            let mut buffers = GainBuffers::new(n_positions);
            for of_function in features.chunk_by_mut(ScoredFeature::has_same_function) {
                view.for_each_gain(&columns, of_function, &mut buffers, |feature, gain| {
                    feature.gain = gain.evaluate(0.7, 0.0)[0]
                });
            }
            for (k, feature) in features.iter().enumerate() {
                let mut moved = w.clone();
                moved[k] += if k == 5 { 0.0 } else { 0.7 };
                let (got, want) = (feature.gain, value(&w) - value(&moved));
                assert!((got - want).abs() < 1e-9, "{}: {got} vs {want}", map.name(k));
            }
        }
    }
}
