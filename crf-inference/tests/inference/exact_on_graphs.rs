//! Exact algorithms on any graph against enumeration, and enumeration against the oracle.

use crf_core::{
    Bound, Error, Graph, Inference, KBest as _, OwnedPotentials, Sampler as _, Scratch, Seed, Shape, oracle,
};
use crf_inference::{BeliefPropagation, Enumeration, ForwardBackward, JunctionTree, MessageSchedule};
use crf_testing::cases;
use crf_testing::close;
use crf_testing::graphs::{
    GraphForm, HOLES, HUGE, MODERATE, STRONG, STRONG_HOLES, any_form, ask, chi_square, distance, graphs,
    grid, inconsistency,
};
use proptest::prelude::*;

/// Belief propagation under every schedule.
fn schedules() -> [BeliefPropagation; 3] {
    [MessageSchedule::Sequential, MessageSchedule::Parallel, MessageSchedule::Residual]
        .map(|schedule| BeliefPropagation { schedule, damping: 0.3, ..BeliefPropagation::default() })
}

/// Graphs of the given forms with potentials of any strength.
fn any_graph(form: impl Strategy<Value = GraphForm> + Clone) -> impl Strategy<Value = OwnedPotentials> {
    prop_oneof![
        graphs(form.clone(), MODERATE),
        graphs(form.clone(), HOLES),
        graphs(form.clone(), STRONG),
        graphs(form.clone(), STRONG_HOLES),
        graphs(form, HUGE),
    ]
}

/// Compares marginals, log Z and the best labelling with enumeration.
fn agrees_with_enumeration(with: &dyn Inference, x: &mut OwnedPotentials) -> Result<(), TestCaseError> {
    let want = ask(&Enumeration::default(), x);
    let got = ask(with, x);
    prop_assert_eq!(got.is_some(), want.is_some());
    let p = x.view();
    let mut labels = vec![0; p.shape().n_nodes()];
    let decoded = with.decode(&p, &mut labels, &mut Scratch::new());
    let Some((got, want)) = got.zip(want) else {
        prop_assert!(matches!(decoded, Err(Error::Infeasible(_))));
        return Ok(());
    };
    prop_assert_eq!(got.log_z.bound, Bound::Exact);
    prop_assert!(close(got.log_z.value, want.log_z.value), "{:?} vs {:?}", got.log_z, want.log_z);
    prop_assert!(distance(&got.node, &want.node) < 1e-9, "{:?} vs {:?}", got.node, want.node);
    prop_assert!(distance(&got.each, &want.each) < 1e-9, "{:?} vs {:?}", got.each, want.each);
    let decoded = decoded.unwrap();
    let best = Enumeration::default().decode(&p, &mut labels.clone(), &mut Scratch::new()).unwrap().score;
    prop_assert!(close(p.score(&labels), best) && close(decoded.score, best), "{decoded:?} vs {best}");
    prop_assert!(decoded.upper.is_some_and(|upper| close(upper, best)));
    prop_assert!(inconsistency(x, &got) < 1e-9);
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn enumeration_agrees_with_the_oracle(mut x in graphs(any_form(), HOLES)) {
        let log_z = oracle::log_z(&x.view());
        let Some(got) = ask(&Enumeration::default(), &mut x) else {
            prop_assert_eq!(log_z, f64::NEG_INFINITY);
            return Ok(());
        };
        prop_assert!(close(got.log_z.value, log_z));
        prop_assert!(inconsistency(&x, &got) < 1e-9);
        let p = x.view();
        let last = p.shape().n_nodes() - 1;
        let want = oracle::probability(&p, |y| y[last] == 0);
        prop_assert!((got.node[p.shape().node_offset(last)] - want).abs() < 1e-9);
        if p.shape().n_edges() > 0 {
            let (u, v) = p.shape().ends(0);
            let want = oracle::probability(&p, |y| (y[u], y[v]) == (0, 0));
            prop_assert!((got.each[0] - want).abs() < 1e-9);
        }
        let best = Enumeration::default().k_best(&p, 5, &mut Scratch::new()).unwrap();
        prop_assert!(best.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let mut labels = vec![0; last + 1];
        let decoded = Enumeration::default().decode(&p, &mut labels, &mut Scratch::new()).unwrap();
        prop_assert!(close(decoded.score, best[0].score));
        prop_assert_eq!(p.score(&labels), decoded.score);
    }

    #[test]
    fn junction_tree_is_exact_everywhere(mut x in any_graph(any_form())) {
        agrees_with_enumeration(&JunctionTree::default(), &mut x)?;
    }

    #[test]
    fn belief_propagation_is_exact_on_forests(mut x in any_graph(Just(GraphForm::Forest))) {
        for with in schedules() {
            agrees_with_enumeration(&with, &mut x)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn belief_propagation_is_forward_backward_and_viterbi_on_chains(
        len in 0..40_usize, labels in 1..20_usize, scale in 0.1..60.0, seed in any::<u64>(),
    ) {
        let mut x = OwnedPotentials::random(len, labels, scale, &Seed::new(seed));
        let with = BeliefPropagation::default();
        let (want, got) = (ask(&ForwardBackward::default(), &mut x).unwrap(), ask(&with, &mut x).unwrap());
        prop_assert!(close(got.log_z.value, want.log_z.value));
        prop_assert!(distance(&got.node, &want.node) < 1e-9 && distance(&got.each, &want.each) < 1e-9);
        let p = x.view();
        let (mut path, mut same) = (vec![0; len], vec![0; len]);
        let best = ForwardBackward::default().decode(&p, &mut path, &mut Scratch::new()).unwrap();
        let found = with.decode(&p, &mut same, &mut Scratch::new()).unwrap();
        prop_assert!(close(found.score, best.score));
        prop_assert_eq!(path, same);
    }
}

#[test]
fn too_many_labellings_are_rejected() {
    let x = OwnedPotentials::random(50, 3, 1.0, &Seed::new(1));
    let message = Enumeration::default().supports(&x.shape()).unwrap_err().to_string();
    assert!(
        message.starts_with("`enumeration` would have to list 2^79.2 labellings, more than"),
        "{message}"
    );
}

#[test]
fn dense_graphs_are_rejected_before_anything_is_computed() {
    let graph = grid(100, 2);
    let message = JunctionTree::default().supports(&Shape::Graph(&graph)).unwrap_err().to_string();
    assert!(message.starts_with("`junction-tree` needs "), "{message}");
    assert!(message.contains("`memory` allows 1024; `belief-propagation`"), "{message}");
}

#[test]
fn junction_tree_draws_with_the_right_frequencies() {
    let cycle = Graph::bare(vec![2, 3, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
    let node = vec![0.5, 0.0, 0.1, -0.4, f64::NEG_INFINITY, 0.0, 0.3, 0.0, -0.2];
    let tables = [
        vec![0.5, -0.5, 0.0, 0.2, 0.9, -0.1],
        vec![0.3; 6],
        vec![1.0, 0.0, 0.0, 1.0],
        vec![0.0, 0.7, 0.7, 0.0],
    ];
    let mut x = OwnedPotentials::graph(cycle, node, &tables, vec![0, 1, 2, 3]).unwrap();
    let (p, n) = (x.view(), 40_000);
    let mut draws = vec![Vec::new(); n];
    JunctionTree::default().sample(&p, &mut Seed::new(3).rng(), &mut draws, &mut Scratch::new()).unwrap();
    // The 99.9 % quantile of Pearson's statistic for 15 degrees of freedom is 37.7.
    let chi_square = chi_square(&p, &draws);
    assert!(chi_square < 37.7, "{chi_square}");
}

#[test]
fn clique_tables_and_lists_that_no_memory_holds_are_refused_with_their_size() {
    if !cfg!(target_os = "linux") {
        return;
    }
    // A grid of 30 columns has cliques of some forty nodes.
    let mut x = OwnedPotentials::graph(grid(30, 2), vec![0.0; 1800], &[[0.0; 4]], vec![]).unwrap();
    let with = JunctionTree { memory: 1e12 };
    let message = with.decode(&x.view(), &mut [0; 900], &mut Scratch::new()).unwrap_err().to_string();
    assert!(message.starts_with("the clique tables of `junction-tree` would need "), "{message}");
    let mut x =
        OwnedPotentials::graph(Graph::bare(vec![2; 60], []).unwrap(), vec![0.0; 120], &[[0.0; 4]], vec![])
            .unwrap();
    let with = Enumeration { max_labellings: u64::MAX };
    let message = with.k_best(&x.view(), 1, &mut Scratch::new()).unwrap_err().to_string();
    assert!(message.starts_with("a list of all labellings would need "), "{message}");
}

#[test]
fn sizes_of_cliques_do_not_overflow_under_any_limit() {
    let all_pairs = (0..60_u32).flat_map(|u| (u + 1..60).map(move |v| (u, v)));
    let graph = Graph::bare(vec![9; 60], all_pairs).unwrap();
    for memory in [1e12, 1e300] {
        let error = JunctionTree { memory }.supports(&Shape::Graph(&graph)).unwrap_err();
        assert!(error.to_string().starts_with("`junction-tree` needs "), "{error}");
    }
}
