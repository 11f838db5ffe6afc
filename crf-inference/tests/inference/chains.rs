//! Every answer about a chain against enumeration, in both domains.

use crf_core::{
    Beliefs, EdgeBeliefs, Error, Inference, KBest as _, Label, OwnedPotentials, Sampler as _, Scratch, Seed,
    oracle,
};
use crf_inference::{Domain, ForwardBackward, Lattice};
use crf_testing::cases;
use crf_testing::close;
use crf_testing::graphs::{Answers, ask, chi_square};
use proptest::prelude::*;

/// Both domains.
const BOTH: [ForwardBackward; 2] = [
    ForwardBackward { domain: Domain::Auto, beam: None },
    ForwardBackward { domain: Domain::Log, beam: None },
];

/// A log potential: ordinary, far from the others, or −∞ (`holes`).
fn potential(far: f64, holes: bool) -> BoxedStrategy<f64> {
    let hole = if holes { 1 } else { 0 };
    prop_oneof![8 => -3.0..3.0, 2 => -far..far, hole => Just(f64::NEG_INFINITY)].boxed()
}

/// Chains with shared or per-edge tables; `far` is the largest absolute potential.
fn chains(far: f64, holes: bool) -> impl Strategy<Value = OwnedPotentials> {
    (0..=5_usize, 1..=4_usize, 1..=3_usize).prop_flat_map(move |(len, labels, n_tables)| {
        let numbers = |n| proptest::collection::vec(potential(far, holes), n);
        let of_edge = proptest::collection::vec(0..n_tables as u32, len.saturating_sub(1));
        (numbers(len * labels), numbers(n_tables * labels * labels), of_edge, any::<bool>()).prop_map(
            move |(node, mut tables, mut of_edge, shared)| {
                if shared || len < 2 {
                    tables.truncate(labels * labels);
                    of_edge.clear();
                }
                OwnedPotentials::chain(len, labels, node, tables, of_edge)
            },
        )
    })
}

/// Chains with potentials in and out of the range of the probability domain.
fn any_chain() -> impl Strategy<Value = OwnedPotentials> {
    prop_oneof![
        chains(3.0, false),
        chains(3.0, true),
        chains(1e4, false),
        chains(1e4, true),
        chains(200.0, true)
    ]
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn marginals_and_log_z_agree_with_enumeration(mut x in any_chain()) {
        let want = oracle::log_z(&x.view());
        let (len, l) = (x.shape().n_nodes(), x.shape().card(0));
        for with in &BOTH {
            let Some(Answers { node, each, log_z }) = ask(with, &mut x) else {
                prop_assert_eq!(want, f64::NEG_INFINITY);
                continue;
            };
            prop_assert!(close(log_z.value, want), "{log_z:?} vs {want}");
            let p = x.view();
            for t in 0..len {
                for j in 0..l {
                    let want = oracle::probability(&p, |y| y[t] as usize == j);
                    prop_assert!(close(node[t * l + j], want), "node {t} {j}: {} vs {want}", node[t * l + j]);
                }
            }
            for e in 0..len.saturating_sub(1) {
                for i in 0..l {
                    for j in 0..l {
                        let want = oracle::probability(&p, |y| (y[e] as usize, y[e + 1] as usize) == (i, j));
                        let got = each[(e * l + i) * l + j];
                        prop_assert!(close(got, want), "edge {e} {i} {j}: {got} vs {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn viterbi_and_n_best_agree_with_enumeration(mut x in any_chain(), k in 0..12_usize) {
        let p = x.view();
        let mut all = oracle::all_labellings(&p);
        all.retain(|y| y.score > f64::NEG_INFINITY);
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        let with = &BOTH[0];
        let mut labels = vec![0; p.shape().n_nodes()];
        match with.decode(&p, &mut labels, &mut Scratch::new()) {
            Ok(decoded) => {
                let score = decoded.score;
                prop_assert_eq!(decoded.upper, Some(score));
                prop_assert!(close(score, all[0].score) && close(p.score(&labels), all[0].score));
                let best = with.k_best(&p, k, &mut Scratch::new()).unwrap();
                prop_assert_eq!(best.len(), k.min(all.len()));
                for (n, (got, want)) in best.iter().zip(&all).enumerate() {
                    prop_assert!(close(got.score, want.score) && close(p.score(&got.labels), got.score));
                    prop_assert!(!best[..n].iter().any(|other| other.labels == got.labels), "no labelling twice");
                }
            }
            Err(Error::Infeasible(_)) => prop_assert!(all.is_empty()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_beam_over_all_labels_is_exact_and_a_narrow_one_finds_what_is_possible(mut x in any_chain(), beam in 1..6_usize) {
        let p = x.view();
        let n = p.shape().n_nodes();
        let decode = |beam| {
            let (with, mut labels) = (ForwardBackward { beam, ..ForwardBackward::default() }, vec![0; n]);
            with.decode(&p, &mut labels, &mut Scratch::new()).ok().map(|decoded| (decoded, labels))
        };
        let (exact, narrow) = (decode(None), decode(Some(beam)));
        prop_assert_eq!(exact.is_some(), narrow.is_some());
        if let (Some(exact), Some(narrow)) = (exact, narrow) {
            prop_assert!(close(p.score(&narrow.1), narrow.0.score) && narrow.0.score <= exact.0.score);
            prop_assert!(narrow.0.upper.is_none_or(|upper| upper == exact.0.score));
            prop_assert!(n == 0 || beam < p.shape().card(0) || narrow == exact);
        }
    }

    /// A beam of one label takes the best next label, whatever follows.
    #[test]
    fn a_beam_of_one_is_greedy(mut x in chains(3.0, false)) {
        let p = x.view();
        let (n, mut labels) = (p.shape().n_nodes(), vec![0; p.shape().n_nodes()]);
        let with = ForwardBackward { beam: Some(1), ..ForwardBackward::default() };
        with.decode(&p, &mut labels, &mut Scratch::new()).unwrap();
        for t in 0..n {
            let l = p.shape().card(t);
            let score = |y: usize| {
                let tie = t.checked_sub(1).map_or(0.0, |e| p.tables().of(e)[labels[e] as usize * l + y]);
                p.node()[t * l + y] + tie
            };
            prop_assert!((0..l).all(|y| score(y) <= score(labels[t] as usize) + 1e-9));
        }
    }

    #[test]
    fn spans_agree_with_enumeration(mut x in any_chain(), start in 0..5_usize, labels in proptest::collection::vec(0..4_u32, 1..5)) {
        let labels: Vec<Label> = labels.into_iter().map(|y| y % x.shape().card(0) as u32).collect();
        let p = x.view();
        let Ok(lattice) = Lattice::new(&p) else { return Ok(()) };
        prop_assume!(start + labels.len() <= p.shape().n_nodes());
        let want = oracle::probability(&p, |y| y[start..start + labels.len()] == labels[..]);
        prop_assert!(close(lattice.span(&p, start, &labels), want));
    }

    #[test]
    fn clamping_conditions_on_what_is_known(mut x in any_chain(), known in proptest::collection::vec(proptest::option::of(0..4_u32), 5)) {
        let known: Vec<Option<Label>> = known[..x.shape().n_nodes()].iter().map(|y| y.map(|y| y % x.shape().card(0) as u32)).collect();
        let agrees = |y: &[Label]| y.iter().zip(&known).all(|(y, known)| known.is_none_or(|known| known == *y));
        let mut free = x.clone();
        let (log_z, part) = (oracle::log_z(&free.view()), oracle::probability(&free.view(), agrees));
        prop_assume!(log_z.is_finite() && part > 1e-12);
        x.view().clamp(&known);
        for with in &BOTH {
            let Answers { node, log_z: clamped, .. } = ask(with, &mut x).unwrap();
            prop_assert!((clamped.value - log_z - part.ln()).abs() < 1e-8 * (1.0 + log_z.abs()));
            for (t, y) in known.iter().enumerate() {
                if let Some(y) = y {
                    prop_assert!(close(node[t * x.shape().card(0) + *y as usize], 1.0));
                }
            }
        }
    }

    #[test]
    fn shifting_potentials_shifts_log_z_only(mut x in chains(3.0, true), shift in -1e3..1e3) {
        let Some(Answers { node, each, log_z, .. }) = ask(&BOTH[0], &mut x) else { return Ok(()) };
        let (len, l) = (x.shape().n_nodes(), x.shape().card(0));
        x.node.iter_mut().take(l).for_each(|potential| *potential += shift);
        let moved = ask(&BOTH[0], &mut x).unwrap();
        prop_assert!(len == 0 || close(moved.log_z.value, log_z.value + shift));
        prop_assert!(node.iter().zip(&moved.node).all(|(a, b)| (a - b).abs() < 1e-10));
        prop_assert!(each.iter().zip(&moved.each).all(|(a, b)| (a - b).abs() < 1e-10));
    }

    #[test]
    fn permuting_labels_permutes_answers(mut x in chains(3.0, true), turn in 0..4_usize) {
        let (len, l) = (x.shape().n_nodes(), x.shape().card(0));
        let to = |y: usize| (y + turn) % l;
        let mut turned = x.clone();
        for t in 0..len {
            (0..l).for_each(|y| turned.node[t * l + to(y)] = x.node[t * l + y]);
        }
        for k in 0..x.tables.len() / (l * l) {
            for i in 0..l {
                (0..l).for_each(|j| turned.tables[(k * l + to(i)) * l + to(j)] = x.tables[(k * l + i) * l + j]);
            }
        }
        let (a, b) = (ask(&BOTH[0], &mut x), ask(&BOTH[0], &mut turned));
        prop_assert_eq!(a.is_some(), b.is_some());
        if let (Some(a), Some(b)) = (a, b) {
            prop_assert!(close(a.log_z.value, b.log_z.value));
            for t in 0..len {
                (0..l).for_each(|y| assert!((a.node[t * l + y] - b.node[t * l + to(y)]).abs() < 1e-10));
            }
        }
    }

    #[test]
    fn domains_agree_on_longer_chains(len in 1..60_usize, labels in 1..40_usize, scale in 0.1..40.0, seed in any::<u64>()) {
        let mut x = OwnedPotentials::random(len, labels, scale, &Seed::new(seed));
        let (a, b) = (ask(&BOTH[0], &mut x).unwrap(), ask(&BOTH[1], &mut x).unwrap());
        prop_assert!(close(a.log_z.value, b.log_z.value));
        for (a, b) in [(a.node, b.node), (a.each, b.each)] {
            prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-8));
        }
    }
}

#[test]
fn draws_have_the_right_frequencies() {
    for seed in 0..3 {
        let mut x = OwnedPotentials::random(3, 3, 1.5, &Seed::new(seed));
        x.node[1] = f64::NEG_INFINITY;
        let p = x.view();
        let n = 40_000;
        let mut draws = vec![Vec::new(); n];
        BOTH[0].sample(&p, &mut Seed::new(7 + seed).rng(), &mut draws, &mut Scratch::new()).unwrap();
        // The 99.9 % quantile of Pearson's statistic for 26 degrees of freedom is 54.05.
        let chi_square = chi_square(&p, &draws);
        assert!(chi_square < 54.05, "{chi_square}");
    }
}

#[test]
fn a_bad_potential_is_named() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut x = OwnedPotentials::random(4, 3, 1.0, &Seed::new(1));
        x.node[7] = bad;
        for with in &BOTH {
            let mut node = vec![0.0; 12];
            let error = with
                .infer(
                    &x.view(),
                    &mut Beliefs { node: &mut node, edge: EdgeBeliefs::None },
                    &mut Scratch::new(),
                )
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("not a finite number: potential {bad} of position 3; scale the features")
            );
        }
    }
}

#[test]
fn a_very_long_chain_needs_no_stack() {
    let mut x = OwnedPotentials::random(300_000, 3, 2.0, &Seed::new(5));
    let Answers { node, log_z, .. } = ask(&BOTH[0], &mut x).unwrap();
    assert!(log_z.value.is_finite());
    assert!(node.chunks(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
}

#[test]
fn label_classes_that_never_meet_keep_their_probability() {
    // Label 0 wins every early step by e^140, label 1 every late one: scaled rows lose label 1 long
    // before it wins.
    let (len, far) = (12, 140.0);
    let node = (0..len).flat_map(|t| if t < 5 { [0.0, -far] } else { [-far, 0.0] }).collect();
    let no = f64::NEG_INFINITY;
    let mut x = OwnedPotentials::chain(len, 2, node, vec![0.0, no, no, 0.0], Vec::new());
    let beliefs = ask(&BOTH[0], &mut x).unwrap().node;
    assert!((beliefs[1] - 1.0).abs() < 1e-12, "label 1 is certain, got {}", beliefs[1]);
}

#[test]
fn a_list_of_labellings_that_no_memory_holds_is_refused_with_its_size() {
    let mut x = OwnedPotentials::random(2_000, 2, 1.0, &Seed::new(1));
    let with = ForwardBackward::default();
    let ask = |k: usize, x: &mut OwnedPotentials| with.k_best(&x.view(), k, &mut Scratch::new());
    if cfg!(target_os = "linux") {
        // 2,000 positions with two lists of a billion paths of 16 bytes: 64 TB, and the labels.
        let message = ask(1_000_000_000, &mut x).unwrap_err().to_string();
        assert!(message.starts_with("a list of the 1000000000 best labellings would need 71."), "{message}");
        assert!(message.ends_with("available; ask for fewer"), "{message}");
    }
    // A short sequence has few labellings, however many are asked for.
    let mut short = OwnedPotentials::random(3, 2, 1.0, &Seed::new(1));
    assert_eq!(ask(usize::MAX, &mut short).unwrap().len(), 8);
}
