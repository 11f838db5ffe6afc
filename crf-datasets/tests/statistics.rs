//! The draws have the frequencies that the thesis states, within four standard deviations at fixed seeds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crf_core::{Dataset, Label, Seed, Sequence, Source};
use crf_datasets::{ObservationDrivenTransitions, PimaMarkov, Pool, RedundantObservations, Size};

const N: usize = 40_000;
const LONG: Size = Size { sequences: 1, length: N };

/// Holds `hits` against a binomial distribution of `n` trials with probability `p`.
fn near(hits: usize, n: usize, p: f64) {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    assert!((hits as f64 - mean).abs() <= 4.0 * deviation, "{hits} of {n} for probability {p}");
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

/// Whether a channel is the copy of a label: 0 or 1, and right.
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
        let n = of.len() as f64;
        let m = of.iter().sum::<f64>() / n;
        let v = of.iter().map(|value| (value - m).powi(2)).sum::<f64>() / n;
        assert!((m - mean).abs() < 4.0 * deviation / n.sqrt(), "{m}");
        assert!((v.sqrt() - deviation).abs() < 4.0 * deviation / (2.0 * n).sqrt(), "{v}");
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
