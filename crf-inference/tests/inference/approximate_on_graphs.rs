//! Approximate algorithms on any graph: estimates are near the truth, bounds hold, labellings are
//! possible.

use crf_core::{
    Beliefs, Bound, EdgeBeliefs, Error, Inference, Label, OwnedPotentials, Potentials, Scratch, Seed, Stop,
};
use crf_inference::{
    BeliefPropagation, DualDecomposition, Enumeration, Gibbs, JunctionTree, MeanField, MessageSchedule,
    TreeReweighted,
};
use crf_testing::cases;
use crf_testing::close;
use crf_testing::graphs::{
    GraphForm, HOLES, HUGE, MODERATE, PotentialRange, STRONG, STRONG_HOLES, any_form, ask, distance,
    for_graphs, graphs, grid, inconsistency,
};
use proptest::prelude::*;

/// Couplings at which belief propagation is accurate.
const WEAK: PotentialRange = PotentialRange { node: 1.0, edge: 0.1, holes: false };
/// Couplings at which messages converge to a unique fixed point: with at most four neighbours, 3
/// tanh(1/4) < 1 (Ihler et al. 2005).
const GENTLE: PotentialRange = PotentialRange { node: 2.0, edge: 0.25, holes: false };
const SCHEDULES: [MessageSchedule; 3] =
    [MessageSchedule::Sequential, MessageSchedule::Parallel, MessageSchedule::Residual];

/// Graphs of any form with potentials of any strength.
fn wild() -> impl Strategy<Value = OwnedPotentials> {
    prop_oneof![
        graphs(any_form(), MODERATE),
        graphs(any_form(), HOLES),
        graphs(any_form(), STRONG),
        graphs(any_form(), STRONG_HOLES),
        graphs(any_form(), HUGE),
    ]
}

/// Forms with at most two edges between the same nodes: to messages, every further edge is another
/// cycle.
fn sparse() -> impl Strategy<Value = GraphForm> {
    prop_oneof![Just(GraphForm::Forest), Just(GraphForm::Cycle), Just(GraphForm::Grid)]
}

/// Score of the best labelling, if one is possible.
fn best_score(p: &Potentials<'_>) -> Option<f64> {
    let mut labels = vec![0; p.shape().n_nodes()];
    Enumeration::default().decode(p, &mut labels, &mut Scratch::new()).ok().map(|best| best.score)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn belief_propagation_is_near_the_truth_on_weakly_coupled_graphs(mut x in graphs(sparse(), WEAK)) {
        let want = ask(&Enumeration::default(), &mut x).unwrap();
        for schedule in SCHEDULES {
            for damping in [0.0, 0.4] {
                let with = BeliefPropagation { schedule, damping, ..BeliefPropagation::default() };
                let got = ask(&with, &mut x).unwrap();
                prop_assert!(got.log_z.bound == Bound::Exact || got.log_z.convergence.stop == Stop::Converged);
                prop_assert!((got.log_z.value - want.log_z.value).abs() < 0.03, "{:?} vs {:?}", got.log_z, want.log_z);
                prop_assert!(distance(&got.node, &want.node) < 0.03);
                prop_assert!(distance(&got.each, &want.each) < 0.03);
                prop_assert!(inconsistency(&x, &got) < 1e-7);
            }
        }
    }

    #[test]
    fn edges_whose_tables_are_constant_close_no_cycle(
        mut x in prop_oneof![graphs(Just(GraphForm::Any), MODERATE), graphs(Just(GraphForm::Any), STRONG), graphs(Just(GraphForm::Any), HOLES)],
        height in -3.0..3.0_f64,
    ) {
        // Only edges between different trees keep their tables: others would close cycles.
        prop_assume!(x.of_edge.iter().enumerate().all(|(e, &table)| table as usize == e));
        let mut tree: Vec<usize> = (0..x.shape().n_nodes()).collect();
        for e in 0..x.shape().n_edges() {
            let (u, v) = x.shape().ends(e);
            let (from, to) = (tree[u], tree[v]);
            if from == to {
                let range = x.shape().edge_offset(e)..x.shape().edge_offset(e + 1);
                x.tables[range].fill(height);
            }
            tree.iter_mut().filter(|tree| **tree == from).for_each(|tree| *tree = to);
        }
        prop_assume!(Enumeration::default().decode(&x.view(), &mut vec![0; tree.len()], &mut Scratch::new()).is_ok());
        let want = ask(&Enumeration::default(), &mut x).unwrap();
        for with in [&BeliefPropagation::default() as &dyn Inference, &TreeReweighted::default()] {
            let got = ask(with, &mut x).unwrap();
            prop_assert_eq!((got.log_z.bound, got.log_z.convergence.stop), (Bound::Exact, Stop::Direct));
            prop_assert!(close(got.log_z.value, want.log_z.value), "{:?} vs {:?}", got.log_z, want.log_z);
            prop_assert!(distance(&got.node, &want.node) < 1e-9);
            prop_assert!(distance(&got.each, &want.each) < 1e-9, "what is called exact is exact");
            prop_assert!(inconsistency(&x, &got) < 1e-9);
            let mut labels = vec![0; x.shape().n_nodes()];
            let p = x.view();
            let score = with.decode(&p, &mut labels, &mut Scratch::new()).unwrap().score;
            prop_assert!(close(score, best_score(&p).unwrap()));
        }
    }

    #[test]
    fn all_schedules_find_the_same_fixed_point(mut x in graphs(sparse(), GENTLE)) {
        let [a, b, c] = SCHEDULES.map(|schedule| {
            let with = BeliefPropagation { schedule, ..BeliefPropagation::default() };
            ask(&with, &mut x).unwrap()
        });
        for (a, b) in [(&a, &b), (&a, &c)] {
            prop_assert!(a.log_z.convergence.stop != Stop::Budget && b.log_z.convergence.stop != Stop::Budget);
            prop_assert!((a.log_z.value - b.log_z.value).abs() < 1e-7);
            prop_assert!(distance(&a.node, &b.node) < 1e-7 && distance(&a.each, &b.each) < 1e-7);
        }
    }

    #[test]
    fn shifting_potentials_shifts_log_z_only(mut x in graphs(sparse(), GENTLE), shift in -1e3..1e3_f64) {
        let all: [&dyn Inference; 4] =
            [&BeliefPropagation::default(), &TreeReweighted::default(), &MeanField::default(), &JunctionTree::default()];
        let mut moved = x.clone();
        let first = x.shape().card(0);
        moved.node[..first].iter_mut().for_each(|potential| *potential += shift);
        for with in all {
            let (a, b) = (ask(with, &mut x).unwrap(), ask(with, &mut moved).unwrap());
            prop_assert!((a.log_z.value + shift - b.log_z.value).abs() < 1e-6, "{:?} {:?}", a.log_z, b.log_z);
            prop_assert!(distance(&a.node, &b.node) < 1e-6 && distance(&a.each, &b.each) < 1e-6);
        }
    }

    #[test]
    fn bounds_hold_and_no_answer_is_nan(mut x in wild()) {
        let want = ask(&Enumeration::default(), &mut x);
        let lower = ask(&MeanField { max_sweeps: 100, ..MeanField::default() }, &mut x);
        prop_assert_eq!(lower.is_some(), want.is_some());
        for schedule in SCHEDULES {
            let trw = TreeReweighted { schedule, max_sweeps: 100, ..TreeReweighted::default() };
            let bp = BeliefPropagation { schedule, max_sweeps: 100, ..BeliefPropagation::default() };
            let (trw, bp) = (ask(&trw, &mut x), ask(&bp, &mut x));
            prop_assert_eq!((trw.is_some(), bp.is_some()), (want.is_some(), want.is_some()));
            let (Some(trw), Some(want)) = (trw, &want) else { continue };
            let slack = 1e-8 * (1.0 + want.log_z.value.abs());
            match trw.log_z.bound {
                Bound::Upper => prop_assert!(trw.log_z.value >= want.log_z.value - slack, "{:?} {:?}", trw.log_z, want.log_z),
                Bound::Exact => prop_assert!(close(trw.log_z.value, want.log_z.value)),
                bound => prop_assert_eq!((bound, trw.log_z.convergence.stop), (Bound::Estimate, Stop::Budget)),
            }
        }
        if let (Some(lower), Some(want)) = (lower, want) {
            prop_assert_eq!(lower.log_z.bound, Bound::Lower);
            let slack = 1e-9 * (1.0 + want.log_z.value.abs());
            prop_assert!(lower.log_z.value <= want.log_z.value + slack, "{:?} {:?}", lower.log_z, want.log_z);
        }
    }

    #[test]
    fn tree_reweighting_bounds_and_agrees_with_itself(mut x in graphs(sparse(), GENTLE)) {
        let want = ask(&Enumeration::default(), &mut x).unwrap();
        let got = ask(&TreeReweighted::default(), &mut x).unwrap();
        prop_assert!(got.log_z.bound != Bound::Estimate, "{:?}", got.log_z);
        prop_assert!(got.log_z.value >= want.log_z.value - 1e-9);
        prop_assert!(inconsistency(&x, &got) < 1e-6);
    }

    #[test]
    fn every_labelling_is_possible_and_below_every_bound(mut x in wild()) {
        let p = x.view();
        let best = best_score(&p);
        let mut all = for_graphs(&[("max_sweeps", 50), ("samples", 50), ("burn_in", 5)]);
        let residual = BeliefPropagation { max_sweeps: 50, schedule: MessageSchedule::Residual, damping: 0.5, ..BeliefPropagation::default() };
        all.push(Box::new(residual));
        for with in all {
            let mut labels = vec![0; p.shape().n_nodes()];
            match with.decode(&p, &mut labels, &mut Scratch::new()) {
                Ok(decoded) => {
                    let best = best.expect("what is infeasible has no labelling");
                    let slack = 1e-9 * (1.0 + best.abs());
                    prop_assert_eq!(decoded.score, p.score(&labels));
                    prop_assert!(decoded.score.is_finite() && decoded.score <= best + slack, "{with:?} {decoded:?} {best}");
                    prop_assert!(decoded.upper.is_none_or(|upper| upper >= best - slack), "{with:?} {decoded:?} {best}");
                    prop_assert!(is_locally_best(&p, &labels));
                }
                Err(Error::Infeasible(_)) => prop_assert_eq!(best, None, "{:?}", with),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn dual_decomposition_is_tight_on_forests(mut x in graphs(Just(GraphForm::Forest), MODERATE)) {
        let p = x.view();
        let best = best_score(&p).unwrap();
        let mut labels = vec![0; p.shape().n_nodes()];
        let decoded = DualDecomposition::default().decode(&p, &mut labels, &mut Scratch::new()).unwrap();
        prop_assert!(close(decoded.score, best) && decoded.upper.unwrap() < best + 1e-4, "{decoded:?} {best}");
    }
}

/// True if no change of a single label improves the score, rounding aside.
fn is_locally_best(p: &Potentials<'_>, labels: &[Label]) -> bool {
    let score = p.score(labels);
    (0..labels.len()).all(|n| {
        (0..p.shape().card(n) as Label).all(|y| {
            let mut changed = labels.to_vec();
            changed[n] = y;
            p.score(&changed) <= score + 1e-9 * (1.0 + score.abs())
        })
    })
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn gibbs_is_within_its_standard_errors(mut x in graphs(any_form(), MODERATE)) {
        let want = ask(&Enumeration::default(), &mut x).unwrap();
        let got = ask(&Gibbs::default(), &mut x).unwrap();
        let error = got.log_z.convergence.residual;
        // Couplings that are seldom left make it larger, and rightly so.
        prop_assert!(error < 0.2, "{error}");
        // What is too rare to be met adds nothing to the standard error.
        prop_assert!(distance(&got.node, &want.node) <= 6.0 * error + 0.01, "{error}");
        prop_assert!(distance(&got.each, &want.each) <= 8.0 * error + 0.01, "{error}");
        // The mean probability of a step to one labelling may be that of a rare event, of which the
        // standard error of the marginals says nothing: no distance holds for every graph.
        prop_assert!(got.log_z.value.is_finite() && got.log_z.bound == Bound::Estimate, "{:?}", got.log_z);
        prop_assert!(inconsistency(&x, &got) <= 8.0 * error + 0.01);
    }

    #[test]
    fn gibbs_survives_anything(mut x in wild()) {
        let want = ask(&Enumeration::default(), &mut x);
        let got = ask(&Gibbs { samples: 64, burn_in: 3, thin: 2, seed: 5 }, &mut x);
        prop_assert_eq!(got.is_some(), want.is_some());
    }
}

#[test]
fn edges_with_constant_tables_have_the_marginals_that_their_answer_calls_exact() {
    let graph = crf_core::Graph::bare(vec![2; 3], [(0, 1), (1, 2), (2, 0)]).unwrap();
    let tables = [[3.0, 0.0, 0.0, 3.0], [3.0, 0.0, 0.0, 3.0], [1.0; 4]];
    let mut x = OwnedPotentials::graph(graph, vec![0.0; 6], &tables, vec![0, 1, 2]).unwrap();
    let want = ask(&JunctionTree::default(), &mut x).unwrap();
    for with in [&BeliefPropagation::default() as &dyn Inference, &TreeReweighted::default()] {
        let got = ask(with, &mut x).unwrap();
        assert_eq!(got.log_z.bound, Bound::Exact);
        assert!(distance(&got.each, &want.each) < 1e-12, "{with:?} {:?}", got.each);
    }
}

#[test]
fn gibbs_estimates_log_z_where_the_chain_moves_freely() {
    let mut rng = Seed::new(12).rng();
    let mut draw = |scale: f64| scale * (2.0 * rng.random::<f64>() - 1.0);
    let graph = grid(3, 2);
    let tables: Vec<[f64; 4]> = graph.edges().iter().map(|_| draw(0.5)).map(|j| [j, -j, -j, j]).collect();
    let node = (0..18).map(|_| draw(1.0)).collect();
    let of_edge = (0..tables.len() as u32).collect();
    let mut x = OwnedPotentials::graph(graph, node, &tables, of_edge).unwrap();
    let want = ask(&JunctionTree::default(), &mut x).unwrap().log_z.value;
    let got = ask(&Gibbs::default(), &mut x).unwrap().log_z;
    assert!((got.value - want).abs() < 0.1, "{got:?} {want}");
}

#[test]
fn an_ising_grid_agrees_with_the_junction_tree() {
    let mut rng = Seed::new(12).rng();
    let mut draw = |scale: f64| scale * (2.0 * rng.random::<f64>() - 1.0);
    let graph = grid(9, 2);
    let tables: Vec<[f64; 4]> = graph.edges().iter().map(|_| draw(0.5)).map(|j| [j, -j, -j, j]).collect();
    let node = (0..81).map(|_| draw(1.0)).flat_map(|h| [-h, h]).collect();
    let of_edge = (0..tables.len() as u32).collect();
    let mut x = OwnedPotentials::graph(graph, node, &tables, of_edge).unwrap();
    let want = ask(&JunctionTree::default(), &mut x).unwrap();
    let lower = ask(&MeanField::default(), &mut x).unwrap().log_z.value;
    let upper = ask(&TreeReweighted::default(), &mut x).unwrap().log_z;
    assert!(lower < want.log_z.value && want.log_z.value < upper.value && upper.bound == Bound::Upper);
    let values = SCHEDULES.map(|schedule| {
        let got = ask(&BeliefPropagation { schedule, ..BeliefPropagation::default() }, &mut x).unwrap();
        assert_eq!((got.log_z.bound, got.log_z.convergence.stop), (Bound::Estimate, Stop::Converged));
        assert!((got.log_z.value - want.log_z.value).abs() < 0.1, "{:?} {:?}", got.log_z, want.log_z);
        assert!(distance(&got.node, &want.node) < 0.02 && distance(&got.each, &want.each) < 0.02);
        assert!(inconsistency(&x, &got) < 1e-8);
        got.log_z.value
    });
    assert!(distance(&values[..2], &values[1..]) < 1e-8, "{values:?}");
}

#[test]
fn a_cycle_of_unequal_pairs_is_infeasible_when_it_is_odd() {
    let no = f64::NEG_INFINITY;
    for (n, feasible) in [(4, true), (5, false)] {
        let edges = (0..n).map(|u| (u, (u + 1) % n));
        let graph = crf_core::Graph::bare(vec![2; n as usize], edges).unwrap();
        let mut x =
            OwnedPotentials::graph(graph, vec![0.0; 2 * n as usize], &[[no, 0.0, 0.0, no]], vec![]).unwrap();
        let all: [&dyn Inference; 5] = [
            &BeliefPropagation::default(),
            &TreeReweighted::default(),
            &MeanField::default(),
            &Gibbs { samples: 32, ..Gibbs::default() },
            &JunctionTree::default(),
        ];
        for with in all {
            assert_eq!(ask(with, &mut x).is_some(), feasible, "{with:?}");
        }
    }
}

#[test]
fn algorithms_that_find_labels_only_reject_marginals() {
    let mut x = OwnedPotentials::random(3, 2, 1.0, &Seed::new(1));
    let mut n_rejections = 0;
    for with in for_graphs(&[]) {
        let mut node = [0.0; 6];
        let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
        if let Err(error) = with.infer(&x.view(), &mut out, &mut Scratch::new()) {
            let message = error.to_string();
            assert!(message.contains("finds a labelling, not marginals; `belief-propagation`"), "{message}");
            n_rejections += 1;
        }
    }
    assert!(n_rejections > 0);
}

#[test]
fn settings_out_of_range_are_named() {
    let cases: [(&dyn Inference, &str); 7] = [
        (
            &BeliefPropagation { damping: 1.0, ..BeliefPropagation::default() },
            "`damping` must be at least 0 and below 1, got 1",
        ),
        (
            &BeliefPropagation { tolerance: -1.0, ..BeliefPropagation::default() },
            "`tolerance` must be at least 0, got -1",
        ),
        (&TreeReweighted { forests: 0, ..TreeReweighted::default() }, "`forests` must be at least 1, got 0"),
        (&MeanField { max_sweeps: 0, ..MeanField::default() }, "`max_sweeps` must be at least 1, got 0"),
        (&Gibbs { thin: 0, ..Gibbs::default() }, "`thin` must be at least 1, got 0"),
        (&JunctionTree { memory: 0.0 }, "`memory` must be above 0, got 0"),
        (&Enumeration { max_labellings: 0 }, "`max_labellings` must be at least 1, got 0"),
    ];
    for (with, message) in cases {
        assert_eq!(with.check().unwrap_err().to_string(), message);
    }
}

#[test]
fn every_algorithm_names_a_bad_potential() {
    let all = for_graphs(&[]);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut x = OwnedPotentials::random(4, 3, 1.0, &Seed::new(1));
        x.node[7] = bad;
        for with in &all {
            let mut labels = vec![0; 4];
            let error = with.decode(&x.view(), &mut labels, &mut Scratch::new()).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("not a finite number: potential {bad} of position 3; scale the features"),
                "{with:?}"
            );
        }
    }
}
