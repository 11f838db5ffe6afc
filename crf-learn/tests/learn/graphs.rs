//! Training on graphs: gradients against central differences, weights against the truth and each
//! other.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Edge, Graph, Inference, Learner as _, NodeKind,
    Relation, Schema, Seed, Source as _, Value,
};
use crf_datasets::PottsGrid;
use crf_inference::{BeliefPropagation, JunctionTree};
use crf_learn::{Fixed, LikelihoodObjective, Minimisation, Mle, Sharded, StopRule};
use crf_testing::cases;
use crf_testing::problems::{Encoded, random_weights, slope_error};
use crf_testing::runs::quiet;
use proptest::prelude::*;
use tracing::field::{Field, Visit};
use tracing::subscriber::{Interest, with_default};
use tracing::{Event, Id, Level, Metadata, Subscriber, span};

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}]"#;

/// Noisy images of 2 to 4 rows and columns, with cycles.
fn images(rows: usize, columns: usize, labels: usize, seed: u64) -> Encoded {
    let source = PottsGrid { rows, columns, labels, train: 3, ..PottsGrid::default() };
    Encoded::new(FEATURES, source.load(&Seed::new(seed)).unwrap().train)
}

/// Trees in which every later node is linked to a random earlier one; its value is its label plus
/// noise.
fn trees(nodes: u32, labels: u32, seed: u64) -> Dataset {
    let channels = vec![Channel { name: "x".into(), kind: ChannelKind::Real }];
    let kinds =
        vec![NodeKind { name: "label".into(), labels: Alphabet::new((0..labels).map(|y| y.to_string())) }];
    let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
    let schema = Schema::graph(channels, kinds, vec![relation("even"), relation("odd")]).unwrap();
    let schema = Arc::new(schema);
    let (mut rng, mut data) = (Seed::new(seed).rng(), DatasetBuilder::new(schema.clone()));
    for _ in 0..8 {
        for _ in 0..nodes {
            let label = rng.random_range(0..labels);
            data.push(&[Value::Real(f64::from(label) + 2.0 * rng.random::<f64>())], Some(label)).unwrap();
        }
        let edge = |v: u32| Edge { u: rng.random_range(0..v), v, relation: (v % 2) as u16 };
        let edges = (1..nodes).map(edge).collect();
        data.end_graph(Graph::new(&schema, vec![0; nodes as usize], edges).unwrap()).unwrap();
    }
    data.finish()
}

/// Largest difference between the gradient of the likelihood and central differences, at random
/// weights.
fn gradient_error(encoded: &Encoded, inference: &dyn Inference, seed: u64) -> f64 {
    let mut f = Sharded::new(LikelihoodObjective::new(&encoded.problem(inference)).unwrap());
    slope_error(|w, gradient| f.evaluate(w, gradient).unwrap(), &random_weights(&encoded.map, 0.3, seed))
}

/// Weights that maximum likelihood finds with an inference.
fn train(encoded: &Encoded, inference: &dyn Inference, l2: f64) -> Vec<f64> {
    let stop = StopRule { iterations: 1000, tolerance: 1e-7, delta: 0.0, period: 10 };
    let learner = Mle(Minimisation { l2, stop, ..Minimisation::default() });
    let fit = quiet(1, |run| learner.fit(&encoded.problem(inference), run)).unwrap();
    fit.model.log_linear().unwrap().weights().to_vec()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn gradients_on_images_match_central_differences(
        rows in 2..5_usize, columns in 2..5_usize, labels in 2..4_usize, seed in any::<u64>(),
    ) {
        let encoded = images(rows, columns, labels, seed);
        let exact = gradient_error(&encoded, &JunctionTree::default(), seed);
        prop_assert!(exact < 1e-6, "junction tree: {exact}");
        // Beliefs at a fixed point are the gradient of the Bethe free energy there.
        let tight = BeliefPropagation { tolerance: 1e-13, ..BeliefPropagation::default() };
        let bethe = gradient_error(&encoded, &tight, seed);
        prop_assert!(bethe < 1e-6, "belief propagation: {bethe}");
    }

    #[test]
    fn on_trees_two_exact_inferences_train_the_same_weights(
        nodes in 1..12_u32, labels in 2..4_u32, seed in any::<u64>(),
    ) {
        let encoded = Encoded::new(FEATURES, trees(nodes, labels, seed));
        let [a, b] = [&BeliefPropagation::default() as &dyn Inference, &JunctionTree::default()]
            .map(|inference| train(&encoded, inference, 0.5));
        let difference = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        prop_assert!(difference < 1e-5, "{difference}");
    }
}

/// Parameters that training on images recovers: β of both relations, and the weight of the
/// brightness.
fn recovered(encoded: &Encoded, w: &[f64]) -> [f64; 3] {
    let weight = |name: &str| w[(0..w.len()).find(|&k| encoded.map.name(k) == name).unwrap()];
    let coupling = |relation: &str| {
        let pair = |a: u32, b: u32| weight(&format!("{relation}: y'={a} ∧ y={b}"));
        (pair(0, 0) + pair(1, 1) - pair(0, 1) - pair(1, 0)) / 2.0
    };
    [coupling("right"), coupling("down"), weight("y=1 ∧ brightness") - weight("y=0 ∧ brightness")]
}

#[test]
fn training_on_images_recovers_the_model_they_were_drawn_from() {
    let source =
        PottsGrid { rows: 6, columns: 6, coupling: 0.5, noise: 1.0, train: 300, ..PottsGrid::default() };
    let encoded = Encoded::new(FEATURES, source.load(&Seed::new(11)).unwrap().train);
    for inference in [&JunctionTree::default() as &dyn Inference, &BeliefPropagation::default()] {
        let found = recovered(&encoded, &train(&encoded, inference, 0.01));
        for (found, want) in found.into_iter().zip([0.5, 0.5, 1.0]) {
            assert!((found - want).abs() < 0.1, "{inference:?}: {found} vs {want}");
        }
    }
}

#[test]
fn an_approximate_likelihood_is_pointed_out_by_its_inference() {
    let encoded = images(3, 3, 2, 5);
    let warnings = |inference: &dyn Inference| {
        let warned = Arc::new(Mutex::new(String::new()));
        with_default(Warnings(warned.clone()), || train(&encoded, inference, 0.5));
        let warned = warned.lock().unwrap();
        warned.clone()
    };
    let warned = warnings(&BeliefPropagation::default());
    assert!(
        warned.contains("the likelihood is approximate") && warned.contains("BeliefPropagation"),
        "{warned}"
    );
    assert_eq!(warnings(&JunctionTree::default()), "");
}

#[test]
fn given_weights_are_taken_by_the_names_of_features() {
    let encoded = images(2, 2, 2, 5);
    let fit = |weights: &[(&str, f64)]| {
        let weights = weights.iter().map(|&(name, weight)| (name.to_owned(), weight)).collect();
        let fit = quiet(1, |run| Fixed { weights }.fit(&encoded.problem(&JunctionTree::default()), run));
        fit.map(|fit| fit.model.log_linear().unwrap().weights().to_vec()).map_err(|error| error.to_string())
    };
    let w = fit(&[("y=1 ∧ *", 2.0), ("*y'=0 ∧ y=0", 0.5), ("*y'=1 ∧ y=1", 0.5)]).unwrap();
    assert_eq!(recovered(&encoded, &w), [0.5, 0.5, 2.0]);
    assert_eq!(w.iter().filter(|&&w| w == 0.0).count(), w.len() - 5);
    let twice = fit(&[("y=1*", 2.0), ("y=1 ∧ *", 1.0)]).unwrap_err();
    assert!(twice.contains("one weight for a feature, got `y=1 ∧ *` and `y=1*`"), "{twice}");
    assert!(fit(&[("y=2", 1.0)]).unwrap_err().starts_with("unknown feature `y=2`"));
}

/// Collects the text of warnings.
struct Warnings(Arc<Mutex<String>>);

impl Subscriber for Warnings {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        struct Text<'a>(&'a mut String);
        impl Visit for Text<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, "{field}={value:?} ").unwrap();
            }
        }
        event.record(&mut Text(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
