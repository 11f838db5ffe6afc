//! The M-estimator: convergence to the truth as data grow, cost relative to the likelihood, and
//! accuracy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Decode, Features, Inference as _, Learner,
    LogLinear, Model as _, Problem, Schema, Scratch, Seed, Source as _, Stop, Value, evaluate,
};
use crf_datasets::Ocr;
use crf_learn::{
    Form, LikelihoodObjective, MEstimator, MEstimatorObjective, Minimisation, Mle, Objective,
    PseudoLikelihood, Reference, ReferenceDistribution, Sharded,
};
use crf_testing::problems::{Draw, Encoded, data, random_weights};
use crf_testing::runs::{INFERENCE, quiet};
use rand::RngExt as _;

const REFERENCES: [Reference; 3] = [Reference::Uniform, Reference::Frequencies, Reference::Local];

/// Weights of three labels: of the value, and of transitions, which prefer no label and no
/// direction.
const OF_VALUE: [f64; 3] = [-0.8, 0.1, 0.7];
const OF_PAIRS: [[f64; 3]; 3] = [[0.8, -0.5, -0.3], [-0.5, 0.7, -0.2], [-0.3, -0.2, 0.5]];

/// Chains of 100 positions drawn from the model with these weights.
fn drawn(positions: usize, seed: u64) -> Encoded {
    let features = r#"["intercept", "transition", {"state": "value"}]"#;
    let channels = vec![Channel { name: "x".into(), kind: ChannelKind::Real }];
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(["0", "1", "2"])).unwrap());
    let mut rng = Seed::new(seed).rng();
    let values: Vec<f64> = (0..positions).map(|_| 4.0 * rng.random::<f64>() - 2.0).collect();
    let labelled = |labels: &[u32]| -> Dataset {
        let mut builder = DatasetBuilder::new(schema.clone());
        for (values, labels) in values.chunks(100).zip(labels.chunks(100)) {
            for (&x, &y) in values.iter().zip(labels) {
                builder.push(&[Value::Real(x)], Some(y)).unwrap();
            }
            builder.end_chain().unwrap();
        }
        builder.finish()
    };
    let blank = Encoded::new(features, labelled(&vec![0; positions]));
    let truth = LogLinear::new(blank.map.clone(), true_weights(&blank)).unwrap();
    let bound = truth.bind(&blank.corpus).unwrap();
    let (mut labels, mut potentials, mut scratch) = (Vec::new(), Scratch::new(), Scratch::new());
    for i in 0..blank.corpus.len() {
        let mut draws = [vec![0; blank.corpus.data().range(i).len()]];
        let p = bound.fill(i, &mut potentials).unwrap();
        INFERENCE.as_sampler().unwrap().sample(&p, &mut rng, &mut draws, &mut scratch).unwrap();
        labels.extend_from_slice(&draws[0]);
    }
    Encoded::new(features, labelled(&labels))
}

fn true_weights(encoded: &Encoded) -> Vec<f64> {
    let mut w = vec![0.0; 3];
    w.extend(OF_VALUE);
    w.extend(OF_PAIRS.as_flattened());
    assert_eq!((w.len(), encoded.map.name(3)), (encoded.map.len(), "y=0 ∧ x".to_owned()));
    w
}

/// Distance of weights from the truth, up to changes that leave the distribution as it is.
fn distance(encoded: &Encoded, w: &[f64]) -> f64 {
    let centred = |w: &[f64]| -> Vec<f64> {
        let of_value = (0..3).map(|y| w[3 + y] - (w[3] + w[4] + w[5]) / 3.0);
        let pair = |i: usize, j: usize| w[6 + 3 * i + j];
        let mean = |f: &dyn Fn(usize) -> f64| (f(0) + f(1) + f(2)) / 3.0;
        let of_pairs = (0..9).map(|k| (k / 3, k % 3)).map(|(i, j)| {
            let all = mean(&|i| mean(&|j| pair(i, j)));
            pair(i, j) - mean(&|j| pair(i, j)) - mean(&|i| pair(i, j)) + all
        });
        of_value.chain(of_pairs).collect()
    };
    let (found, truth) = (centred(w), centred(&true_weights(encoded)));
    found.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn weights(learner: &dyn Learner, problem: &Problem<'_>) -> Vec<f64> {
    let fit = quiet(1, |run| learner.fit(problem, run)).unwrap();
    fit.model.log_linear().unwrap().weights().to_vec()
}

#[test]
fn the_distance_to_the_truth_halves_with_sixteen_times_the_data() {
    let [few, many] = [4_000, 64_000].map(|positions| drawn(positions, 7));
    let mut learners: Vec<Box<dyn Learner>> = vec![Box::<Mle>::default(), Box::<PseudoLikelihood>::default()];
    learners.extend(REFERENCES.map(|reference| -> Box<dyn Learner> {
        Box::new(MEstimator { reference, ..MEstimator::default() })
    }));
    for learner in &learners {
        let [far, near] = [&few, &many]
            .map(|encoded| distance(encoded, &weights(&**learner, &encoded.problem(&INFERENCE))));
        println!("{learner:?}: {far:.3}, then {near:.3}");
        assert!(near <= 0.5 * far && near < 0.1, "{learner:?}: {far}, then {near}");
    }
}

#[test]
fn log_rho_is_part_of_the_model() {
    // With intercepts alone, every reference leads to the frequencies of the labels.
    let draw = Draw { sequences: 20, length: 30, labels: 3, unlabelled: 0, seed: 4 };
    let encoded = Encoded::new(r#"["intercept"]"#, data(&draw));
    let exact = weights(&Mle::default(), &encoded.problem(&INFERENCE));
    for reference in REFERENCES {
        let found = weights(&MEstimator { reference, ..MEstimator::default() }, &encoded.problem(&INFERENCE));
        for y in 1..3 {
            let [found, exact] = [&found, &exact].map(|w| w[y] - w[0]);
            assert!((found - exact).abs() < 1e-3, "{reference:?}: {found} vs {exact}");
        }
    }
}

#[test]
fn frequencies_need_intercepts() {
    let draw = Draw { sequences: 2, length: 9, labels: 2, unlabelled: 0, seed: 4 };
    let encoded = Encoded::new(r#"["transition"]"#, data(&draw));
    let learner = MEstimator { reference: Reference::Frequencies, ..MEstimator::default() };
    let error = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap_err();
    let want = "`reference` must be another than `frequencies`, which needs an intercept for every label, \
                got no intercept for `L0`";
    assert_eq!(error.to_string(), want);
}

#[test]
fn margins_of_thousands_are_infinite_but_never_nan() {
    let draw = Draw { sequences: 9, length: 12, labels: 3, unlabelled: 0, seed: 2 };
    let encoded = Encoded::new(r#"["transition", {"state": "value"}]"#, data(&draw));
    let (problem, rho) = (encoded.problem(&INFERENCE), ReferenceDistribution::Same(vec![vec![1.0 / 3.0; 3]]));
    let of = |rho: &ReferenceDistribution| {
        Sharded::new(MEstimatorObjective::new(Form::Centred, rho, &problem).unwrap())
    };
    // ρ of zero weights is uniform too, so both ways must agree.
    let (mut same, mut each) = (of(&rho), of(&ReferenceDistribution::Local(vec![0.0; encoded.map.len()])));
    for scale in [1.0, 1e2, 1e3, 1e5] {
        let w = random_weights(&encoded.map, scale, 3);
        let [mut a, mut b] = [vec![0.0; w.len()], vec![0.0; w.len()]];
        let (one, other) = (same.evaluate(&w, &mut a).unwrap(), each.evaluate(&w, &mut b).unwrap());
        assert!(one == other || (one - other).abs() <= 1e-9 * one.abs(), "{one} vs {other}");
        assert_eq!(one.is_finite(), scale < 1e3, "{one}");
        if one.is_finite() {
            assert!(a.iter().any(|slope| *slope != 0.0));
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + a.abs())), "{a:?} {b:?}");
        }
    }
}

/// One chain whose readings tell the labels for certain.
fn certain(positions: u32) -> Encoded {
    let channels = vec![Channel { name: "x".into(), kind: ChannelKind::Real }];
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(["0", "1", "2"])).unwrap());
    let mut builder = DatasetBuilder::new(schema);
    for t in 0..positions {
        let y = t / 7 % 3;
        builder.push(&[Value::Real(f64::from(y) - 1.0 + 0.1 * f64::from(t % 3))], Some(y)).unwrap();
    }
    builder.end_chain().unwrap();
    Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, builder.finish())
}

#[test]
fn a_penalty_holds_the_weights_where_labels_are_certain() {
    let encoded = certain(3000);
    let problem = encoded.problem(&INFERENCE);
    let largest =
        |learner: &dyn Learner| weights(learner, &problem).iter().fold(0.0, |a: f64, w| a.max(w.abs()));
    let minimisation = |l2| Minimisation { l2, ..Minimisation::default() };
    for l2 in [1.0, 0.01] {
        let pseudo = largest(&PseudoLikelihood(minimisation(l2)));
        for reference in [Reference::Uniform, Reference::Frequencies] {
            let ours =
                largest(&MEstimator { form: Form::Centred, reference, minimisation: minimisation(l2) });
            assert!(
                ours < 3.0 * pseudo,
                "{reference:?}, l2 = {l2}: {ours} where pseudo-likelihood has {pseudo}"
            );
        }
    }
    // Without one the weights grow for ever, which is said.
    let fit = quiet(1, |run| MEstimator::default().fit(&problem, run)).unwrap();
    assert_eq!(fit.trace.stop, Stop::Diverging);
}

#[test]
fn unknown_settings_are_refused_and_known_ones_kept() {
    let read = |text: &str| serde_json::from_str::<Box<dyn Learner>>(text);
    let learner =
        read(r#"{"type": "m-estimator", "form": "joint", "reference": "local", "l2": 0.5}"#).unwrap();
    let text = serde_json::to_string(&learner).unwrap();
    assert!(text.contains(r#""form":"joint","reference":"local","l1":0.0,"l2":0.5"#), "{text}");
    let error = read(r#"{"type": "m-estimator", "l3": 0.5}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `l3`"), "{error}");
}

/// Best time of an evaluation.
fn best_time<O: Objective>(objective: O, w: &[f64]) -> Duration {
    let (mut f, mut gradient) = (Sharded::new(objective), vec![0.0; w.len()]);
    let times = (0..200).map(|_| {
        let start = Instant::now();
        f.evaluate(w, &mut gradient).unwrap();
        start.elapsed()
    });
    times.min().unwrap()
}

#[test]
#[ignore = "needs CRF_DATA"]
fn on_words_an_iteration_costs_a_fraction_of_the_likelihood() {
    let splits = Ocr::default().load(&Seed::new(1)).unwrap();
    let features: Features =
        serde_json::from_str(r#"["intercept", {"state": "attributes"}, "transition"]"#).unwrap();
    let fitted = features.fit(&splits.train).unwrap();
    let train = fitted.encode(Arc::new(splits.train)).unwrap();
    let test = fitted.encode(Arc::new(splits.test)).unwrap();
    let map = Arc::new(fitted.map(&train).unwrap());
    let problem = Problem::new(&train, &map, &INFERENCE);
    let w = random_weights(&map, 0.1, 1);
    // Inside the pool, as experiments train: entering and leaving it would take as long as all the
    // rest.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let [likelihood, ours] = pool.install(|| {
        let rho = ReferenceDistribution::uniform(&map);
        let ours = MEstimatorObjective::new(Form::Centred, &rho, &problem).unwrap();
        [best_time(LikelihoodObjective::new(&problem).unwrap(), &w), best_time(ours, &w)]
    });
    println!("an evaluation: likelihood {likelihood:?}, M-estimator {ours:?}");
    let least = if cfg!(debug_assertions) { 3 } else { 10 };
    assert!(ours * least <= likelihood, "{ours:?} against {likelihood:?}");

    let accuracy = |learner: &dyn Learner| {
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        let answers = evaluate(&*fit.model, &test, &INFERENCE, Decode::Viterbi).unwrap();
        let right = answers.pairs().filter(|(truth, predicted)| truth == predicted).count();
        let last = fit.trace.iterations.last().unwrap();
        let accuracy = right as f64 / answers.predicted.len() as f64;
        println!("{accuracy:.4} in {:.2} s, {} iterations: {learner:?}", last.seconds, last.iteration);
        accuracy
    };
    let minimisation = |l2| Minimisation { l2, ..Minimisation::default() };
    let mle = accuracy(&Mle(minimisation(1.0)));
    let pseudo = accuracy(&PseudoLikelihood(minimisation(1.0)));
    let [uniform, frequencies, local] = REFERENCES.map(|reference| {
        let [centred, joint] = [Form::Centred, Form::Joint]
            .map(|form| accuracy(&MEstimator { form, reference, minimisation: minimisation(1.0) }));
        assert!(joint > 0.5, "{joint}");
        centred
    });
    assert!(uniform > 0.63 && frequencies > 0.58 && local > 0.75, "{uniform} {frequencies} {local}");
    assert!(mle > 0.8 && pseudo > 0.775, "{mle} {pseudo}");
}
