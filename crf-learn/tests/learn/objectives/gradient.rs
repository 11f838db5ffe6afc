//! Gradient of the likelihood against central differences, for every kind of feature.

use crf_core::{Constraints, Dataset, Problem, Result};
use crf_learn::CostFunction as _;
use crf_learn::{
    Form, LikelihoodObjective, MEstimatorObjective, Objective, Penalised, Penalty, Point,
    PseudoLikelihoodObjective, ReferenceDistribution, Sharded,
};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::INFERENCE;
use proptest::prelude::*;

/// Feature lists that together have every prototype, as state and as transition features.
const FEATURES: [&str; 8] = [
    r#"["intercept", "transition", "start"]"#,
    r#"["intercept", {"state": "value"}, {"state": {"type": "power", "degrees": [2, 3]}}]"#,
    r#"["transition", {"state": "equals"}, {"state": {"type": "lag", "by": [1, -1], "of": "equals"}}]"#,
    r#"["transition", {"state": {"type": "threshold", "at": [0.0, 1.0], "test": "both"}}]"#,
    r#"["transition", {"state": {"type": "window", "before": 2, "after": 1, "over": "mean"}}]"#,
    r#"["transition", {"state": {"type": "conjunction", "of": ["equals", {"type": "normalised"}]}}]"#,
    // Few distinct rows of edges: one table each for the whole dataset.
    r#"["intercept", "transition", {"transition": {"type": "lag", "by": [1], "of": "equals"}}]"#,
    // Every edge has its own row.
    r#"["intercept", {"state": "equals"}, "transition", {"transition": "value"}]"#,
];

fn draws() -> impl Strategy<Value = Draw> {
    (1..6_usize, 1..30_usize, 1..4_usize, 0..11_u32, any::<u64>()).prop_map(
        |(sequences, length, labels, unlabelled, seed)| Draw { sequences, length, labels, unlabelled, seed },
    )
}

/// Constraints that forbid all pairs without the first label that do not occur.
fn unseen_pairs(data: &Dataset) -> Constraints {
    let n = data.schema().labels().len() as u32;
    let pairs = (1..n).flat_map(|before| (1..n).map(move |after| (before, after)));
    let occurs = |(before, after)| {
        let mut sequences = (0..data.len()).map(|i| &data.labels()[data.range(i)]);
        sequences.any(|labels| labels.windows(2).any(|pair| pair == [Some(before), Some(after)]))
    };
    let name = |label| data.label_name(0, label).to_owned();
    let forbid =
        pairs.filter(|&pair| !occurs(pair)).map(|(before, after)| (name(before), name(after))).collect();
    Constraints { forbid, ..Constraints::default() }
}

/// Value and gradient of an objective.
fn evaluate(objective: impl Objective, w: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; w.len()];
    let value = Sharded::new(objective).evaluate(w, &mut gradient).unwrap();
    (value, gradient)
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn what_a_model_has_no_feature_of_can_be_left_out_of_the_data(draw in draws(), features in 0..FEATURES.len(), keep: u64) {
        let encoded = Encoded::new(FEATURES[features], data(&Draw { unlabelled: 0, ..draw }));
        prop_assume!(encoded.corpus.data().n_positions() > 0);
        let (map, _) = encoded.map.narrow(|k| keep >> (k % 64) & 1 == 1);
        let (map, few) = (std::sync::Arc::new(map.clone()), encoded.corpus.restricted(&map));
        prop_assert!(few.edge_rows().len() <= encoded.corpus.edge_rows().len());
        let whole = Problem { map: &map, ..encoded.problem(&INFERENCE) };
        let restricted = Problem { train: &few, ..whole };
        let mut rng = crf_core::Seed::new(draw.seed ^ 2).rng();
        let w: Vec<f64> = (0..map.len()).map(|_| rng.random::<f64>() - 0.5).collect();
        let rho = ReferenceDistribution::uniform(&map);
        let exponential = |problem| MEstimatorObjective::new(Form::Centred, &rho, problem).unwrap();
        for (got, want) in [
            (evaluate(LikelihoodObjective::new(&restricted).unwrap(), &w), evaluate(LikelihoodObjective::new(&whole).unwrap(), &w)),
            (evaluate(exponential(&restricted), &w), evaluate(exponential(&whole), &w)),
        ] {
            prop_assert!((got.0 - want.0).abs() <= 1e-9 * (1.0 + want.0.abs()), "{} vs {}", got.0, want.0);
            for (got, want) in got.1.iter().zip(&want.1) {
                prop_assert!((got - want).abs() <= 1e-8 * (1.0 + want.abs()), "{got} vs {want}");
            }
        }
    }

    #[test]
    fn likelihood_gradient_matches_central_differences(draw in draws(), features in 0..FEATURES.len(), l2 in 0.0..2.0, constrained: bool) {
        let encoded = Encoded::new(FEATURES[features], data(&draw));
        prop_assume!(encoded.corpus.data().n_positions() > 0);
        let penalty = Penalty { l1: 0.0, l2, exempt_intercepts: true };
        let forbidden = unseen_pairs(encoded.corpus.data()).resolve(encoded.corpus.data().schema()).unwrap();
        let problem = Problem { forbidden: constrained.then_some(&forbidden), ..encoded.problem(&INFERENCE) };
        let likelihood = LikelihoodObjective::new(&problem).unwrap();
        let mut f = Penalised::new(likelihood, &penalty, &encoded.map);
        let mut rng = crf_core::Seed::new(draw.seed ^ 1).rng();
        let mut at = Point::new((0..f.dim()).map(|_| rng.random::<f64>() - 0.5).collect());
        f.evaluate(&mut at).unwrap();
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!((at.gradient_norm - length(&at.gradient)).abs() <= 1e-9 * at.gradient_norm);
        prop_assert!((at.length - length(&at.w)).abs() <= 1e-12);
        let gradient = at.gradient.clone();
        let h = 1e-5;
        for k in 0..f.dim() {
            let here = at.w[k];
            let [above, below] = [here + h, here - h].map(|w| {
                at.w[k] = w;
                f.evaluate(&mut at).unwrap();
                at.value
            });
            at.w[k] = here;
            let want = (above - below) / (2.0 * h);
            prop_assert!(
                (gradient[k] - want).abs() <= 2e-5 * (1.0 + want.abs()),
                "{}: {} vs {want}", encoded.map.name(k), gradient[k]
            );
        }
    }
}

#[test]
fn at_zero_every_labelling_is_equally_likely() {
    let draw = Draw { sequences: 7, length: 11, labels: 3, unlabelled: 0, seed: 3 };
    let encoded = Encoded::new(FEATURES[1], data(&draw));
    let mut f = Sharded::new(LikelihoodObjective::new(&encoded.problem(&INFERENCE)).unwrap());
    let mut gradient = vec![0.0; encoded.map.len()];
    let value = f.evaluate(&vec![0.0; encoded.map.len()], &mut gradient).unwrap();
    let positions: f64 = (0..7).map(|i| (11 - i % 3) as f64 * (1.0 + 0.5 * (i % 2) as f64)).sum();
    assert!((value - positions * 3_f64.ln()).abs() < 1e-9);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let draw = Draw { sequences: 400, length: 60, labels: 5, unlabelled: 1, seed: 8 };
    for features in [FEATURES[6], FEATURES[7]] {
        same_bits(LikelihoodObjective::new, &Encoded::new(features, data(&draw)));
        let labelled = Encoded::new(features, data(&Draw { unlabelled: 0, ..draw.clone() }));
        same_bits(PseudoLikelihoodObjective::new, &labelled);
        let rho = ReferenceDistribution::Same(vec![vec![0.2; 5]]);
        same_bits(|problem| MEstimatorObjective::new(Form::Centred, &rho, problem), &labelled);
    }
}

/// Asserts the same value and gradient, bit for bit, at any number of threads.
fn same_bits<'a, O: Objective>(of: impl Fn(&Problem<'a>) -> Result<O> + Sync, encoded: &'a Encoded) {
    let w: Vec<f64> = (0..encoded.map.len()).map(|k| (k as f64).sin()).collect();
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut f = Sharded::new(of(&encoded.problem(&INFERENCE)).unwrap());
            let mut gradient = vec![0.0; w.len()];
            let value = f.evaluate(&w, &mut gradient).unwrap();
            std::iter::once(value).chain(gradient).map(f64::to_bits).collect::<Vec<_>>()
        })
    };
    let one = bits(1);
    assert!([2, 3, 8].into_iter().all(|threads| bits(threads) == one), "{}", std::any::type_name::<O>());
}
