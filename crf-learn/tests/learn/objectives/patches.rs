//! Objectives over patches: values against their definition, gradients against central differences.

use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Edge, Graph, Label, Learner as _, LogLinear,
    Model as _, NodeKind, Relation, Schema, Scratch, Seed, Value,
};
use crf_inference::{BeliefPropagation, JunctionTree};
use crf_learn::{
    Form, LikelihoodObjective, MEstimatorObjective, Minimisation, Objective, PseudoLikelihood,
    PseudoLikelihoodObjective, ReferenceDistribution, Sharded,
};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data, random_weights, slope_error};
use crf_testing::runs::{INFERENCE, quiet};
use proptest::prelude::*;

/// One table for all edges of a relation, few tables, and a table for each edge.
const FEATURES: [&str; 3] = [
    r#"["intercept", "transition", {"state": "value"}]"#,
    r#"["intercept", {"state": "value"}, {"transition": {"type": "threshold", "at": [0.5]}}]"#,
    r#"[{"state": "value", "pairs": "observed"}, "transition", {"transition": "value", "pairs": "observed"}]"#,
];

/// Graphs with cycles and parallel edges over nodes of two kinds, with 2 and 3 labels.
fn graphs(nodes: u32, edges: u32, seed: u64) -> Dataset {
    let channels = vec![Channel { name: "x".into(), kind: ChannelKind::Real }];
    let kind = |name: &str, n: u32| NodeKind {
        name: name.into(),
        labels: Alphabet::new((0..n).map(|y| y.to_string())),
    };
    let relation = |name: &str, tail, head| Relation { name: name.into(), tail, head };
    let relations =
        vec![relation("two", 0, 0), relation("up", 0, 1), relation("down", 1, 0), relation("three", 1, 1)];
    let schema = Arc::new(Schema::graph(channels, vec![kind("a", 2), kind("b", 3)], relations).unwrap());
    let (mut rng, mut data) = (Seed::new(seed).rng(), DatasetBuilder::new(schema.clone()));
    for i in 0..3 {
        let kinds: Vec<u16> = (0..nodes).map(|_| rng.random_range(0..2_u16)).collect();
        for kind in &kinds {
            let label = rng.random_range(0..2 + u32::from(*kind));
            data.push(&[Value::Real(2.0 * rng.random::<f64>() - 1.0)], Some(label)).unwrap();
        }
        let mut edge = || {
            let (u, step) = (rng.random_range(0..nodes), rng.random_range(1..nodes));
            let v = (u + step) % nodes;
            Edge { u, v, relation: 2 * kinds[u as usize] + kinds[v as usize] }
        };
        let edges = if nodes > 1 { (0..edges).map(|_| edge()).collect() } else { Vec::new() };
        data.end_graph(Graph::new(&schema, kinds, edges).unwrap()).unwrap();
        data.weigh_last(0.5 + f64::from(i)).unwrap();
    }
    data.finish()
}

/// Calls `see` with the weight, the label and the patch scores of each position, from the
/// potentials of a model.
fn for_each_patch(encoded: &Encoded, w: &[f64], mut see: impl FnMut(f64, Label, &[f64])) {
    let model = LogLinear::new(encoded.map.clone(), w.to_vec()).unwrap();
    let bound = model.bind(&encoded.corpus).unwrap();
    let (data, mut scratch) = (encoded.corpus.data(), Scratch::new());
    for i in 0..data.len() {
        let p = bound.fill(i, &mut scratch).unwrap();
        let (shape, truth) = (p.shape(), &data.labels()[data.range(i)]);
        let label = |n: usize| truth[n].unwrap() as usize;
        for n in 0..shape.n_nodes() {
            let score = |y: usize| {
                let edges = (0..shape.n_edges()).filter(|&e| shape.ends(e).0 == n || shape.ends(e).1 == n);
                let of_edges = edges.map(|e| {
                    let (u, v) = shape.ends(e);
                    let at = |end: usize| if end == n { y } else { label(end) };
                    p.tables().of(e)[at(u) * shape.card(v) + at(v)]
                });
                p.node()[shape.node_offset(n) + y] + of_edges.sum::<f64>()
            };
            let scores: Vec<f64> = (0..shape.card(n)).map(score).collect();
            see(data.weight(i), truth[n].unwrap(), &scores);
        }
    }
}

fn value<O: Objective>(f: O, w: &[f64]) -> f64 {
    Sharded::new(f).evaluate(w, &mut vec![0.0; w.len()]).unwrap()
}

/// −Σ_t log p(y_t | the others) by its definition.
fn pseudo_likelihood(encoded: &Encoded, w: &[f64]) -> f64 {
    let mut sum = 0.0;
    for_each_patch(encoded, w, |weight, y, scores| {
        let z: f64 = scores.iter().map(|score| score.exp()).sum();
        sum += weight * (z.ln() - scores[y as usize]);
    });
    sum
}

/// The M-estimator by its definition; `rho` returns the distribution over the labels of each
/// position in turn.
fn m_estimator(encoded: &Encoded, w: &[f64], form: Form, rho: &[Vec<f64>]) -> f64 {
    let (mut sum, mut linear, mut rho) = (0.0, 0.0, rho.iter());
    for_each_patch(encoded, w, |weight, y, scores| {
        let mean: f64 = scores.iter().zip(rho.next().unwrap()).map(|(score, rho)| rho * score).sum();
        let centre = if form == Form::Centred { mean } else { 0.0 };
        sum += weight * (centre - scores[y as usize]).exp();
        linear += weight * mean;
    });
    if form == Form::Centred { sum } else { sum + linear }
}

/// All three reference distributions, with their probabilities of the labels of each position.
fn references(encoded: &Encoded, seed: u64) -> Vec<(ReferenceDistribution, Vec<Vec<f64>>)> {
    let (mut rng, data) = (Seed::new(seed).child("rho").rng(), encoded.corpus.data());
    let normalised = |shares: Vec<f64>| -> Vec<f64> {
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    };
    let kinds = data.schema().kinds();
    let drawn: Vec<Vec<f64>> = kinds
        .iter()
        .map(|kind| normalised((0..kind.labels.len()).map(|_| 0.1 + rng.random::<f64>()).collect()))
        .collect();
    let positions = (0..data.len()).flat_map(|i| (0..data.range(i).len()).map(move |n| (i, n)));
    let same = positions.map(|(i, n)| drawn[data.shape(i).kind(n) as usize].clone()).collect();
    let n_state = encoded.map.state().len();
    let mut local = random_weights(&encoded.map, 1.0, seed ^ 1);
    local[n_state..].fill(0.0);
    let mut each = Vec::new();
    for_each_patch(encoded, &local, |_, _, scores| {
        each.push(normalised(scores.iter().map(|score| score.exp()).collect()));
    });
    vec![(ReferenceDistribution::Same(drawn), same), (ReferenceDistribution::Local(local), each)]
}

fn problems() -> impl Strategy<Value = Encoded> {
    let of_graphs =
        (1..8_u32, 0..12_u32, any::<u64>()).prop_map(|(nodes, edges, seed)| graphs(nodes, edges, seed));
    let of_chains =
        (1..5_usize, 3..20_usize, 1..4_usize, any::<u64>()).prop_map(|(sequences, length, labels, seed)| {
            data(&Draw { sequences, length, labels, unlabelled: 0, seed })
        });
    (prop_oneof![of_graphs, of_chains], 0..FEATURES.len())
        .prop_map(|(data, features)| Encoded::new(FEATURES[features], data))
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn pseudo_likelihood_is_what_its_definition_says(encoded in problems(), seed in any::<u64>()) {
        let w = random_weights(&encoded.map, 1.0, seed);
        let objective = || PseudoLikelihoodObjective::new(&encoded.problem(&INFERENCE)).unwrap();
        let (got, want) = (value(objective(), &w), pseudo_likelihood(&encoded, &w));
        prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{got} vs {want}");
        let error = {
 let mut f = Sharded::new(objective());
 slope_error(|w, gradient| f.evaluate(w, gradient).unwrap(), &w)
 };
        prop_assert!(error < 1e-5, "{error}");
    }

    #[test]
    fn m_estimators_are_what_their_definitions_say(encoded in problems(), seed in any::<u64>()) {
        let w = random_weights(&encoded.map, 1.0, seed);
        for (rho, shares) in references(&encoded, seed) {
            for form in [Form::Centred, Form::Joint] {
                let objective = || MEstimatorObjective::new(form, &rho, &encoded.problem(&INFERENCE)).unwrap();
                let (got, want) = (value(objective(), &w), m_estimator(&encoded, &w, form, &shares));
                prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{form:?} {rho:?}: {got} vs {want}");
                let error = {
 let mut f = Sharded::new(objective());
 slope_error(|w, gradient| f.evaluate(w, gradient).unwrap(), &w)
 };
                prop_assert!(error < 1e-4 * (1.0 + want.abs()), "{form:?} {rho:?}: {error}");
            }
        }
    }

    #[test]
    fn at_zero_the_m_estimator_falls_as_pseudo_likelihood_does(encoded in problems()) {
        let w = vec![0.0; encoded.map.len()];
        let [mut ours, mut theirs] = [w.clone(), w.clone()];
        let problem = encoded.problem(&INFERENCE);
        let rho = ReferenceDistribution::uniform(&encoded.map);
        let exponential = MEstimatorObjective::new(Form::Centred, &rho, &problem).unwrap();
        Sharded::new(exponential).evaluate(&w, &mut ours).unwrap();
        Sharded::new(PseudoLikelihoodObjective::new(&problem).unwrap()).evaluate(&w, &mut theirs).unwrap();
        prop_assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-9), "{ours:?} {theirs:?}");
    }

    #[test]
    fn without_edges_pseudo_likelihood_is_likelihood(nodes in 1..8_u32, seed in any::<u64>()) {
        let encoded = Encoded::new(FEATURES[0], graphs(nodes, 0, seed));
        let inference = JunctionTree::default();
        let (w, problem) = (random_weights(&encoded.map, 2.0, seed), encoded.problem(&inference));
        let (mut ours, mut theirs) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        let got = Sharded::new(PseudoLikelihoodObjective::new(&problem).unwrap()).evaluate(&w, &mut ours).unwrap();
        let want = Sharded::new(LikelihoodObjective::new(&problem).unwrap()).evaluate(&w, &mut theirs).unwrap();
        prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want), "{got} vs {want}");
        prop_assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-9), "{ours:?} {theirs:?}");
    }
}

#[test]
fn constraints_leave_forbidden_labels_out_of_the_sum() {
    let encoded =
        Encoded::new(FEATURES[0], data(&Draw { sequences: 1, length: 2, labels: 3, unlabelled: 0, seed: 5 }));
    let data = encoded.corpus.data();
    let names: Vec<String> = (0..3).map(|y| format!("L{y}")).collect();
    let [first, last] = [0, 1].map(|t| data.labels()[t].unwrap() as usize);
    // Only the truth and one other label may start or end the sequence, so at w = 0 each position
    // has the probability 1/2.
    let others = |y: usize| vec![names[(y + 1) % 3].clone()];
    let constraints = crf_core::Constraints {
        never_first: others(first),
        never_last: others(last),
        ..crf_core::Constraints::default()
    };
    let forbidden = constraints.resolve(data.schema()).unwrap();
    let problem = crf_core::Problem { forbidden: Some(&forbidden), ..encoded.problem(&INFERENCE) };
    let got = value(PseudoLikelihoodObjective::new(&problem).unwrap(), &vec![0.0; encoded.map.len()]);
    assert!((got - 2.0 * 2_f64.ln()).abs() < 1e-12, "{got}");
}

#[test]
fn missing_labels_are_refused_by_those_who_need_them() {
    let encoded = Encoded::new(
        FEATURES[0],
        data(&Draw { sequences: 2, length: 9, labels: 2, unlabelled: 10, seed: 1 }),
    );
    let error =
        quiet(1, |run| PseudoLikelihood::default().fit(&encoded.problem(&INFERENCE), run)).unwrap_err();
    let want =
        "sequence 1: a position has no label, and `pseudo-likelihood` needs all of them; `mle` does not";
    assert_eq!(error.to_string(), want);
}

#[test]
fn pseudo_likelihood_trains_on_graphs_without_asking_the_inference() {
    let encoded = Encoded::new(FEATURES[0], graphs(7, 12, 3));
    let learner = PseudoLikelihood(Minimisation { l2: 0.1, ..Minimisation::default() });
    let fit = |inference| quiet(1, |run| learner.fit(&encoded.problem(inference), run)).unwrap();
    let (chains, graphs) = (fit(&INFERENCE), fit(&BeliefPropagation::default()));
    let weights = |fit: &crf_core::Fit| fit.model.log_linear().unwrap().weights().to_vec();
    assert_eq!(weights(&chains), weights(&graphs));
    assert!(weights(&chains).iter().any(|w| *w != 0.0));
}
