//! Frequencies of the draws of every source, within four standard deviations at fixed seeds.
use std::sync::Arc;

use crf_core::{
    Dataset, EncodedDataset, Features, Label, LogLinear, Model as _, Scratch, Seed, Sequence, Source, Target,
    oracle,
};
use crf_datasets::{
    CoupledChains, HiddenTransformation, IsingGrid, LogLinearChain, NoisyIndicators,
    ObservationDrivenTransitions, Observed, PimaMarkov, Pool, PottsGrid, RedundantObservations, Signs, Size,
    StateOrTransition, Transformation, WeakObservations, WeaklyRelevant,
};

const N: usize = 40_000;
const LONG: Size = Size { sequences: 1, length: N };

/// Compares `hits` with a binomial distribution of `n` trials with probability `p`.
fn near(hits: usize, n: usize, p: f64) {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    assert!((hits as f64 - mean).abs() <= 4.0 * deviation, "{hits} of {n} for probability {p}");
}

/// Compares values with a normal distribution.
fn normal(values: &[f64], mean: f64, deviation: f64) {
    let n = values.len() as f64;
    let m = values.iter().sum::<f64>() / n;
    let v = values.iter().map(|value| (value - m).powi(2)).sum::<f64>() / n;
    assert!((m - mean).abs() < 4.0 * deviation / n.sqrt(), "{m}");
    assert!((v.sqrt() - deviation).abs() < 4.0 * deviation / (2.0 * n).sqrt(), "{v}");
}

fn count(n: usize, test: impl Fn(usize) -> bool) -> usize {
    (0..n).filter(|&t| test(t)).count()
}

fn train(source: &dyn Source) -> Dataset {
    source.load(&Seed::new(7)).unwrap().train
}

fn labels(x: &Sequence<'_>) -> Vec<Label> {
    x.labels().iter().map(|label| label.unwrap()).collect()
}

/// True if a channel copies the label: 0 or 1, and correct.
fn right(value: f64, label: Label) -> bool {
    assert!(value == 0.0 || value == 1.0);
    value == f64::from(label)
}

#[test]
fn labels_stay_as_often_as_set_and_begin_with_either() {
    for stay in [0.0, 0.3, 0.75, 1.0] {
        let data = train(&RedundantObservations { stay, train: LONG, ..Default::default() });
        let y = labels(&data.sequence(0));
        near(count(N - 1, |t| y[t] == y[t + 1]), N - 1, stay);
    }
    let many = Size { sequences: 4000, length: 2 };
    let data = train(&RedundantObservations { train: many, ..Default::default() });
    near(count(4000, |i| data.sequence(i).labels()[0] == Some(1)), 4000, 0.5);
}

#[test]
fn redundant_channels_are_identical_and_wrong_together() {
    let data = train(&RedundantObservations { copies: 4, train: LONG, ..Default::default() });
    let names: Vec<&str> = data.schema().channels().iter().map(|channel| channel.name.as_str()).collect();
    let sorts = ["redundant", "independent"];
    let want: Vec<String> =
        sorts.iter().flat_map(|sort| (1..=4).map(move |k| format!("{sort}{k}"))).collect();
    assert_eq!(names, want);
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    for c in 1..4 {
        assert_eq!(x.real(0), x.real(c));
    }
    near(count(N, |t| !right(x.real(0)[t], y[t])), N, 0.2);
}

#[test]
fn independent_channels_are_wrong_one_by_one() {
    let data = train(&RedundantObservations { copies: 3, train: LONG, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    let wrong = |c: usize, t: usize| !right(x.real(c)[t], y[t]);
    for c in 3..6 {
        near(count(N, |t| wrong(c, t)), N, 0.25);
    }
    near(count(N, |t| wrong(3, t) && wrong(4, t)), N, 0.25 * 0.25);
    near(count(N, |t| wrong(3, t) && wrong(5, t)), N, 0.25 * 0.25);
    near(count(N, |t| wrong(0, t) && wrong(3, t)), N, 0.2 * 0.25);
}

#[test]
fn noise_of_one_tells_the_opposite() {
    let source = RedundantObservations { noise_redundant: 1.0, noise_independent: 0.0, ..Default::default() };
    let data = train(&source);
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    assert!((0..y.len()).all(|t| !right(x.real(0)[t], y[t]) && right(x.real(1)[t], y[t])));
}

#[test]
fn the_coin_before_picks_the_transition() {
    let data = train(&ObservationDrivenTransitions { p: 0.8, train: LONG, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    let coin = x.symbol(data.schema().channel("coin").unwrap());
    for (side, stay) in [(0, 0.2), (1, 0.8)] {
        let tossed = count(N - 1, |t| coin[t] == side);
        near(count(N - 1, |t| coin[t] == side && y[t] == y[t + 1]), tossed, stay);
    }
    near(count(N - 1, |t| y[t] == y[t + 1]), N - 1, 0.5);
}

#[test]
fn the_coin_is_fair_and_says_nothing_about_its_own_position() {
    let data = train(&ObservationDrivenTransitions { train: LONG, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    let (copy, coin) = (x.real(0), x.symbol(1));
    near(count(N, |t| coin[t] == 1), N, 0.5);
    near(count(N, |t| coin[t] == y[t]), N, 0.5);
    near(count(N - 1, |t| coin[t] == coin[t + 1]), N - 1, 0.5);
    near(count(N, |t| !right(copy[t], y[t])), N, 0.25);
    near(count(N, |t| coin[t] == 1 && !right(copy[t], y[t])), N, 0.125);
}

#[test]
fn gaussian_pima_has_the_means_and_deviations_of_the_file() {
    let source = PimaMarkov { pool: Pool::Gaussian, train: LONG, ..Default::default() };
    let data = train(&source);
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    near(count(N - 1, |t| y[t] == y[t + 1]), N - 1, 0.75);
    let glucose = x.real(data.schema().channel("glucose").unwrap());
    for (label, mean, deviation) in [(0, 109.98, 26.141), (1, 141.257, 31.94)] {
        let of: Vec<f64> = (0..N).filter(|&t| y[t] == label).map(|t| glucose[t]).collect();
        normal(&of, mean, deviation);
    }
}

#[test]
fn indicators_are_seen_through_noise_of_their_own() {
    let data = train(&NoisyIndicators { stay: 0.8, noise: 0.4, train: LONG, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    near(count(N - 1, |t| y[t] == y[t + 1]), N - 1, 0.8);
    near(count(N - 1, |t| (y[t] + 1) % 3 == y[t + 1]), N - 1, 0.1);
    for channel in 0..3 {
        for label in 0..3 {
            let of = (0..N).filter(|&t| y[t] == label).map(|t| x.real(channel)[t]);
            normal(&of.collect::<Vec<_>>(), f64::from(u8::from(channel == label as usize)), 0.4);
        }
    }
    let both =
        count(N, |t| x.real(0)[t] > f64::from(u8::from(y[t] == 0)) && x.real(1)[t] > f64::from(y[t] % 2));
    near(both, N, 0.25);
}

#[test]
fn diotte_has_nine_unary_and_twenty_seven_binary_weights() {
    let data = Arc::new(train(&NoisyIndicators::default()));
    assert_eq!((data.len(), data.n_positions()), (900, 9000));
    let features = r#"[{"state": "value"}, {"transition": {"type": "window", "before": 1, "over": "mean"}}]"#;
    let fitted = serde_json::from_str::<Features>(features).unwrap().fit(&data).unwrap();
    let corpus = fitted.encode(data.clone()).unwrap();
    let map = fitted.map(&corpus).unwrap();
    assert_eq!((map.state().len(), map.transition().len()), (9, 27));
    // With weight 1 on `y'=0 ∧ y=0 ∧ x0` alone, a labelling of zeros scores half of all sums of
    // neighbours.
    let weight = |k: usize| f64::from(u8::from(map.name(k) == "y'=0 ∧ y=0 ∧ mean(x0, -1..+0)"));
    let model = LogLinear::new(Arc::new(fitted.map(&corpus).unwrap()), (0..map.len()).map(weight).collect());
    let (model, mut scratch) = (model.unwrap(), Scratch::new());
    let model = model.bind(&corpus).unwrap();
    let x = data.sequence(0).real(0);
    let sums: f64 = x.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum();
    let score = model.fill(0, &mut scratch).unwrap().score(&[0; 10]);
    assert!((score - sums).abs() < 1e-12, "{score} for {sums}");
}

#[test]
fn labels_are_like_those_so_many_steps_back() {
    for distance in [1, 2, 5] {
        let data = train(&WeakObservations { distance, observations: 1, train: LONG, ..Default::default() });
        let y = labels(&data.sequence(0));
        for k in 1..6 {
            let agree = if k == distance {
                0.9
            } else if k % distance == 0 {
                (1.0 + 0.8_f64.powi((k / distance) as i32)) / 2.0 // of a symmetric chain
            } else {
                0.5
            };
            // Neighbours are alike, so a count varies more than one of independent cases: by a
            // factor below 4.
            let n = N - k;
            let share = count(n, |t| y[t] == y[t + k]) as f64 / n as f64;
            assert!((share - agree).abs() < 16.0 * (0.25 / n as f64).sqrt(), "{distance} {k} {share}");
        }
    }
}

#[test]
fn weak_observations_are_one_with_probabilities_of_the_range() {
    let source =
        WeakObservations { lowest: 0.2, highest: 0.6, train: LONG, test: LONG, ..Default::default() };
    let splits = source.load(&Seed::new(7)).unwrap();
    let share = |data: &Dataset, c: usize, label: Label| {
        let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
        let n = count(N, |t| y[t] == label);
        count(N, |t| y[t] == label && right(x.real(c)[t], 1)) as f64 / n as f64
    };
    let all: Vec<f64> =
        (0..50).flat_map(|c| [share(&splits.train, c, 0), share(&splits.train, c, 1)]).collect();
    assert!(all.iter().all(|share| (0.18..0.62).contains(share)));
    // 100 draws that are uniform.
    let mean = all.iter().sum::<f64>() / 100.0;
    assert!((mean - 0.4).abs() < 4.0 * 0.4 / 1200.0_f64.sqrt(), "{mean}");
    assert!(all.iter().any(|&share| share < 0.25) && all.iter().any(|&share| share > 0.55));
    assert!(all.chunks(2).any(|of| (of[0] - of[1]).abs() > 0.2));
    // One observation model for all parts of a trial.
    for c in 0..50 {
        assert!((share(&splits.test, c, 1) - all[2 * c + 1]).abs() < 0.03);
    }
}

#[test]
fn weak_copies_are_replaced_ever_more_often_and_together() {
    let source =
        WeaklyRelevant { groups: 2, copies: 4, step: 0.2, noise: 2.0, train: LONG, ..Default::default() };
    let data = train(&source);
    let names: Vec<&str> = data.schema().channels().iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names[..6], ["strong1", "weak1-1", "weak1-2", "weak1-3", "weak1-4", "strong2"]);
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    for strong in [0, 5] {
        for (label, mean) in [(0, -1.0), (1, 1.0)] {
            let of = (0..N).filter(|&t| y[t] == label).map(|t| x.real(strong)[t]);
            normal(&of.collect::<Vec<_>>(), mean, 2.0);
        }
        for j in 1..=4 {
            let replaced = |j: usize, t: usize| x.real(strong + j)[t] != x.real(strong)[t];
            near(count(N, |t| replaced(j, t)), N, 0.2 * j as f64);
            assert!((0..N).all(|t| j == 4 || !replaced(j, t) || replaced(j + 1, t)));
            for label in 0..2 {
                let of = (0..N).filter(|&t| y[t] == label && replaced(j, t)).map(|t| x.real(strong + j)[t]);
                normal(&of.collect::<Vec<_>>(), 0.0, 8.0_f64.sqrt());
            }
        }
    }
    let replaced = |strong: usize, t: usize| x.real(strong + 2)[t] != x.real(strong)[t];
    near(count(N, |t| replaced(0, t) && replaced(5, t)), N, 0.4 * 0.4);
}

#[test]
fn transition_channels_tell_changes_and_state_channels_labels() {
    let data = train(&StateOrTransition { pairs: 2, noise: 0.5, train: LONG, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    near(count(N - 1, |t| y[t] == y[t + 1]), N - 1, 0.75);
    for pair in [0, 2] {
        for bit in [0, 1] {
            let mean = 2.0 * f64::from(bit) - 1.0;
            let state = (0..N).filter(|&t| y[t] == bit).map(|t| x.real(pair)[t]);
            normal(&state.collect::<Vec<_>>(), mean, 0.5);
            let change = (1..N).filter(|&t| y[t] ^ y[t - 1] == bit).map(|t| x.real(pair + 1)[t]);
            normal(&change.collect::<Vec<_>>(), mean, 0.5);
        }
    }
    // A first position has changed as often as any other.
    let many = Size { sequences: 4000, length: 1 };
    let data = train(&StateOrTransition { noise: 0.0, train: many, ..Default::default() });
    let changed = |i: usize| data.sequence(i).real(1)[0] == 1.0;
    near(count(4000, changed), 4000, 0.25);
    near(count(4000, |i| changed(i) && data.sequence(i).labels()[0] == Some(1)), 4000, 0.125);
}

#[test]
fn evidence_is_the_hidden_transformation() {
    const BINS: usize = 10;
    for truth in [Transformation::Threshold(0.2), Transformation::Power(1), Transformation::Power(4)] {
        let strength = 1.5;
        let data =
            train(&HiddenTransformation { truth, strength, channels: 2, train: LONG, ..Default::default() });
        let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
        let g = |x: f64| match truth {
            Transformation::Threshold(at) => f64::from(u8::from(x > at)),
            Transformation::Power(degree) => x.powi(degree as i32),
        };
        for label in 0..2 {
            // The density by the midpoint rule, 1,000 points a bin.
            let sign = 2.0 * f64::from(label) - 1.0;
            let points = (0..1000 * BINS).map(|k| -1.0 + (2.0 * k as f64 + 1.0) / (1000 * BINS) as f64);
            let density: Vec<f64> = points.map(|x| (sign * strength / 2.0 * g(x)).exp()).collect();
            let z: f64 = density.iter().sum();
            let n = count(N, |t| y[t] == label);
            for (bin, density) in density.chunks(1000).enumerate() {
                let within = |t: usize| ((x.real(1)[t] + 1.0) / 2.0 * BINS as f64) as usize == bin;
                near(count(N, |t| y[t] == label && within(t)), n, density.iter().sum::<f64>() / z);
            }
        }
    }
}

#[test]
fn contexts_stay_and_new_states_agree_with_them_as_often_as_set() {
    let source = CoupledChains { train: LONG, stay_state: 0.6, ..Default::default() };
    let y = labels(&train(&source).sequence(0));
    let (state, context) = y.split_at(N);
    near(count(N - 1, |t| context[t] == context[t + 1]), N - 1, 0.95);
    // A new state may be the old one: one of two that belong to a context, or of four that do not.
    for (agrees, again) in [(true, 0.9 / 2.0), (false, 0.1 / 4.0)] {
        let before = |t: usize| (state[t] % 3 == context[t + 1]) == agrees;
        let n = count(N - 1, before);
        near(count(N - 1, |t| before(t) && state[t] == state[t + 1]), n, 0.6 + 0.4 * again);
    }
    let y = labels(&train(&CoupledChains { stay_state: 0.0, ..source }).sequence(0));
    let (state, context) = y.split_at(N);
    near(count(N, |t| state[t] % 3 == context[t]), N, 0.9);
    for k in 0..6 {
        near(count(N, |t| state[t] % 3 == k % 3 && state[t] == k), count(N, |t| state[t] % 3 == k % 3), 0.5);
    }
}

#[test]
fn both_nodes_of_a_step_see_the_same_noisy_labels() {
    let data = train(&CoupledChains { train: LONG, noise: 0.5, ..Default::default() });
    let (x, y) = (data.sequence(0), labels(&data.sequence(0)));
    let (state, context) = y.split_at(N);
    for (kind, labels, first) in [(0, state, 0), (1, context, 6)] {
        for label in 0..data.schema().n_labels(kind) {
            let channel = &x.real(first + label);
            assert_eq!(data.schema().channels()[first + label].name, data.label_name(kind, label as Label));
            assert_eq!(channel[..N], channel[N..]);
            for truth in [false, true] {
                let of = (0..N).filter(|&t| (labels[t] == label as Label) == truth);
                normal(&of.map(|t| channel[t]).collect::<Vec<_>>(), f64::from(u8::from(truth)), 0.5);
            }
        }
    }
}

/// Number of edges of an image that join equal labels.
fn equal_neighbours(data: &Dataset, y: &[Label]) -> f64 {
    let shape = data.shape(0);
    count(shape.n_edges(), |e| y[shape.ends(e).0] == y[shape.ends(e).1]) as f64
}

#[test]
fn potts_fields_have_as_many_equal_neighbours_as_enumeration_says() {
    let source =
        PottsGrid { rows: 2, columns: 3, labels: 3, coupling: 0.6, train: 4000, ..Default::default() };
    let data = train(&source);
    let equal = |y: &[Label]| equal_neighbours(&data, y);
    let fields = (0..3_u32.pow(6)).map(|k| (0..6).map(|n| k / 3_u32.pow(n) % 3).collect::<Vec<Label>>());
    let (mut z, mut mean, mut square) = (0.0, 0.0, 0.0);
    for k in fields.map(|y| equal(&y)) {
        let weight = (0.6 * k).exp();
        (z, mean, square) = (z + weight, mean + weight * k, square + weight * k * k);
    }
    let (mean, square) = (mean / z, square / z);
    let drawn = (0..4000).map(|i| equal(&labels(&data.sequence(i)))).sum::<f64>() / 4000.0;
    assert!((drawn - mean).abs() < 4.0 * ((square - mean * mean) / 4000.0).sqrt(), "{drawn} for {mean}");
    for label in 0..3 {
        near(count(4000, |i| data.sequence(i).labels()[4] == Some(label)), 4000, 1.0 / 3.0);
    }
}

#[test]
fn potts_images_follow_the_log_linear_model_that_their_documentation_states() {
    const IMAGES: usize = 2000;
    let (coupling, noise) = (0.7, 0.8);
    let grid =
        PottsGrid { rows: 2, columns: 2, labels: 3, coupling, noise, train: IMAGES, ..Default::default() };
    let data = Arc::new(train(&grid));
    let features = r#"["intercept", {"state": "value"}, "transition"]"#;
    let fitted = serde_json::from_str::<Features>(features).unwrap().fit(&data).unwrap();
    let corpus = fitted.encode(data.clone()).unwrap();
    let map = Arc::new(fitted.map(&corpus).unwrap());
    // A normal density around y, as factors of 1 and x.
    let weight = |k: usize| match map.feature(k).1 {
        Target::State(y) if map.is_intercept(k) => -f64::from(y * y) / (2.0 * noise * noise),
        Target::State(y) => f64::from(y) / (noise * noise),
        Target::Transition(before, now) => {
            if before == now {
                coupling
            } else {
                0.0
            }
        }
    };
    let model = LogLinear::new(map.clone(), (0..map.len()).map(weight).collect()).unwrap();
    unbiased(&model, &corpus, |_, y| equal_neighbours(&data, y));
}

/// Compares a statistic of the labels with its expectation under the true model: the derivative of
/// the log-likelihood by the statistic's weight is 0 at the truth, up to chance.
fn unbiased(model: &LogLinear, corpus: &EncodedDataset, statistic: impl Fn(usize, &[Label]) -> f64) {
    let model = model.bind(corpus).unwrap();
    let mut scratch = Scratch::new();
    let surplus = (0..corpus.len()).map(|i| {
        let p = model.fill(i, &mut scratch).unwrap();
        let log_z = oracle::log_z(&p);
        let expected = oracle::all_labellings(&p);
        let expected = expected.iter().map(|y| (y.score - log_z).exp() * statistic(i, &y.labels));
        statistic(i, &labels(&corpus.data().sequence(i))) - expected.sum::<f64>()
    });
    let (sum, squares) = surplus.fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
    assert!(f64::abs(sum) < 4.0 * f64::sqrt(squares), "{sum} with a deviation of {}", f64::sqrt(squares));
}

#[test]
fn ising_grids_follow_the_log_linear_model_that_their_documentation_states() {
    let (rows, columns, train_on) = (2, 3, 2000);
    let grid = IsingGrid { rows, columns, field: 0.8, coupling: 0.9, train: train_on, ..Default::default() };
    for signs in [Signs::Attractive, Signs::Mixed] {
        let data = Arc::new(train(&IsingGrid { signs, ..grid.clone() }));
        let features = r#"[
            {"state": {"type": "value", "channels": ["field"]}},
            {"transition": {"type": "value", "channels": ["right"]}, "relation": "right"},
            {"transition": {"type": "value", "channels": ["down"]}, "relation": "down"}
        ]"#;
        let fitted = serde_json::from_str::<Features>(features).unwrap().fit(&data).unwrap();
        let corpus = fitted.encode(data.clone()).unwrap();
        let map = Arc::new(fitted.map(&corpus).unwrap());
        let weight = |k: usize| match map.feature(k).1 {
            Target::State(y) => 2.0 * f64::from(y),
            Target::Transition(before, now) => 2.0 * f64::from(u8::from(before == now)),
        };
        let model = LogLinear::new(map.clone(), (0..map.len()).map(weight).collect()).unwrap();
        let spin = |y: Label| 2.0 * f64::from(y) - 1.0;
        unbiased(&model, &corpus, |i, y| {
            y.iter().zip(data.sequence(i).real(0)).map(|(&y, field)| field * spin(y)).sum()
        });
        unbiased(&model, &corpus, |i, y| {
            let (x, shape) = (data.sequence(i), data.shape(i));
            let edge = |e: usize| {
                let (u, v) = shape.ends(e);
                x.real(1 + shape.relation(e) as usize)[v] * spin(y[u]) * spin(y[v])
            };
            (0..shape.n_edges()).map(edge).sum()
        });
        let couplings =
            (0..data.len()).flat_map(|i| [1, 2].map(|c| data.sequence(i).real(c).to_vec()).concat());
        let lowest = couplings.fold(0.0, f64::min);
        assert!(if signs == Signs::Mixed { lowest < -0.85 } else { lowest == 0.0 }, "{lowest}");
    }
}

#[test]
fn log_linear_chains_have_the_weights_that_they_tell() {
    for (observed, labels_of, channels) in [(Observed::Binary, 2, 3), (Observed::Real, 3, 2)] {
        let size = Size { sequences: 3000, length: 4 };
        let source =
            LogLinearChain { observed, labels: labels_of, channels, train: size, ..Default::default() };
        let data = Arc::new(train(&source));
        let features = r#"["transition", {"state": "value"}]"#;
        let fitted = serde_json::from_str::<Features>(features).unwrap().fit(&data).unwrap();
        let corpus = fitted.encode(data.clone()).unwrap();
        let map = Arc::new(fitted.map(&corpus).unwrap());
        let truth = source.weights().unwrap();
        assert_eq!(map.len(), truth.len());
        let weights: Vec<f64> = (0..map.len()).map(|k| truth[&map.name(k)]).collect();
        for (k, &weight) in weights.iter().enumerate() {
            assert!(weight.abs() > 1e-3 && weight.abs() < 4.0, "{} {weight}", map.name(k));
        }
        let model = LogLinear::new(map.clone(), weights).unwrap();
        for label in 0..labels_of as Label {
            for c in 0..channels {
                let with = |i: usize, y: &[Label]| {
                    let x = data.sequence(i).real(c);
                    y.iter().zip(x).filter(|(y, _)| **y == label).map(|(_, x)| x).sum()
                };
                unbiased(&model, &corpus, with);
            }
            for before in 0..labels_of as Label {
                unbiased(&model, &corpus, |_, y| count(3, |t| y[t] == before && y[t + 1] == label) as f64);
            }
        }
        let x: Vec<f64> = (0..data.len()).flat_map(|i| data.sequence(i).real(0).to_vec()).collect();
        match observed {
            Observed::Real => normal(&x, 0.0, 1.0),
            Observed::Binary => near(x.iter().filter(|&&x| right(x, 1)).count(), x.len(), 0.5),
        }
    }
}

#[test]
fn the_truth_of_a_log_linear_chain_is_its_settings_alone() {
    let weights = |model| LogLinearChain { model, ..Default::default() }.weights().unwrap();
    assert_ne!(weights(1), weights(2));
    let sum =
        |part: &str| weights(1).iter().filter(|(name, _)| name.ends_with(part)).map(|(_, w)| w).sum::<f64>();
    for g in 0..5 {
        assert!(sum(&format!(" x{g}")).abs() < 1e-12);
    }
    assert!((0..3).map(|y| sum(&format!("∧ y={y}"))).sum::<f64>().abs() < 1e-12);
}

#[test]
fn neighbours_in_one_row_of_pixels_are_equal_as_often_as_in_a_chain() {
    let source =
        PottsGrid { rows: 1, columns: 2, coupling: -1.0, noise: 0.3, train: 4000, ..Default::default() };
    let data = train(&source);
    let y: Vec<Vec<Label>> = (0..4000).map(|i| labels(&data.sequence(i))).collect();
    near(count(4000, |i| y[i][0] == y[i][1]), 4000, 1.0 / (1.0 + 1.0_f64.exp()));
    for label in 0..2 {
        let of = (0..4000).filter(|&i| y[i][0] == label).map(|i| data.sequence(i).real(0)[0]);
        normal(&of.collect::<Vec<_>>(), f64::from(label), 0.3);
    }
}

#[test]
#[ignore = "needs CRF_DATA"]
fn csv_pima_never_shows_a_training_row_in_the_test_data() {
    let source = PimaMarkov { train: LONG, holdout: Some(LONG), test: LONG, ..Default::default() };
    let splits = source.load(&Seed::new(7)).unwrap();
    // Rows are told apart by all attributes; the file has no two equal ones.
    let rows = |data: &Dataset| {
        let x = data.sequence(0);
        let row = |t: usize| (0..8).map(|c| x.real(c)[t].to_bits()).collect::<Vec<u64>>();
        (0..N).map(row).collect::<std::collections::HashSet<_>>()
    };
    let (train, holdout, test) = (rows(&splits.train), rows(&splits.holdout.unwrap()), rows(&splits.test));
    assert_eq!((train.len(), holdout.len(), test.len()), (384, 384, 384));
    assert_eq!(train, holdout);
    assert!(train.is_disjoint(&test));
    let other = rows(&source.load(&Seed::new(8)).unwrap().train);
    assert_ne!(train, other);
}
