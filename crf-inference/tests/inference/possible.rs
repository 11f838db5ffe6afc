//! What the junction tree can answer, every inference answers: labels that are forbidden, far from
//! where they matter, in graphs of dozens of nodes.

use crf_core::{Error, Graph, Inference, Label, OwnedPotentials, Rng, Scratch, Seed};
use crf_inference::{ForwardBackward, JunctionTree};
use crf_testing::cases;
use crf_testing::graphs::{ask, for_graphs};
use proptest::prelude::*;

const NO: f64 = f64::NEG_INFINITY;

/// Every inference on graphs, with few sweeps.
fn on_graphs() -> Vec<Box<dyn Inference>> {
    for_graphs(&[("max_sweeps", 20), ("samples", 32), ("burn_in", 1)])
}

/// Checks that all inferences that accept the graph answer it if the junction tree does, and find
/// nothing if nothing is possible.
fn all_answer(x: &mut OwnedPotentials) -> Result<bool, TestCaseError> {
    let n_nodes = x.shape().n_nodes();
    let tree = JunctionTree::default();
    prop_assume!(tree.supports(&x.shape()).is_ok());
    let feasible = tree.decode(&x.view(), &mut vec![0; n_nodes], &mut Scratch::new()).is_ok();
    for with in on_graphs() {
        if with.supports(&x.shape()).is_err() {
            continue;
        }
        let mut labels: Vec<Label> = vec![0; n_nodes];
        let p = x.view();
        match with.decode(&p, &mut labels, &mut Scratch::new()) {
            Ok(_) => prop_assert!(feasible && p.score(&labels) > NO, "{with:?}"),
            Err(Error::Infeasible(message)) => prop_assert!(!feasible, "{with:?}: {message}"),
            Err(other) => prop_assert!(false, "{with:?}: {other}"),
        }
        if with.as_marginals().is_some() {
            prop_assert_eq!(ask(&*with, x).is_some(), feasible, "{:?}", with);
        }
    }
    Ok(feasible)
}

/// A graph whose nodes are in random order: `edges` of it, and a share of pairs that is forbidden.
fn shuffled(cards: Vec<u32>, edges: &[(u32, u32)], share: f64, rng: &mut Rng) -> OwnedPotentials {
    let mut place: Vec<u32> = (0..cards.len() as u32).collect();
    for i in (1..place.len()).rev() {
        place.swap(i, rng.random_range(0..=i));
    }
    let mut placed = cards.clone();
    place.iter().zip(&cards).for_each(|(&to, &card)| placed[to as usize] = card);
    let edges: Vec<(u32, u32)> = edges.iter().map(|&(u, v)| (place[u as usize], place[v as usize])).collect();
    let mut number = |n: u32, share: f64| -> Vec<f64> {
        (0..n).map(|_| if rng.random::<f64>() < share { NO } else { rng.random::<f64>() - 0.5 }).collect()
    };
    let node = number(placed.iter().sum(), 0.1 * share);
    let tables: Vec<Vec<f64>> =
        edges.iter().map(|&(u, v)| number(placed[u as usize] * placed[v as usize], share)).collect();
    let of_edge = (0..edges.len() as u32).collect();
    OwnedPotentials::graph(Graph::bare(placed, edges).unwrap(), node, &tables, of_edge).unwrap()
}

/// Sparse graph: a tree of paths, and a few edges that close cycles between near nodes.
fn sparse(n: u32, n_extra: u32, rng: &mut Rng) -> Vec<(u32, u32)> {
    let mut edges: Vec<(u32, u32)> = (1..n).map(|v| (rng.random_range(v.saturating_sub(3)..v), v)).collect();
    for _ in 0..n_extra {
        let u = rng.random_range(0..n - 1);
        edges.push((u, (u + rng.random_range(1..=6)).min(n - 1)));
    }
    edges
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn what_the_junction_tree_answers_is_answered_by_all(
        n in 30..=100_u32, extra in 0..40_u32, labels in 2..=3_u32, share in prop_oneof![Just(0.1), 0.0..0.35], seed in any::<u64>(),
    ) {
        let mut rng = Seed::new(seed).rng();
        let edges = sparse(n, extra, &mut rng);
        let cards = (0..n).map(|_| labels + rng.random_range(0..=1)).collect();
        all_answer(&mut shuffled(cards, &edges, share, &mut rng))?;
    }

    /// Label 0 may only follow itself, and so may label 1; the last position decides.
    #[test]
    fn labels_that_cannot_be_left_are_no_trap(
        n in 2..=60_u32, at in any::<prop::sample::Index>(), wanted in 0..3_u32, cycles in 0..6_u32, seed in any::<u64>(),
    ) {
        let mut rng = Seed::new(seed).rng();
        let mut edges: Vec<(u32, u32)> = (1..n).map(|v| (v - 1, v)).collect();
        for _ in 0..cycles {
            let u = rng.random_range(0..n - 1);
            edges.push((u, rng.random_range(u + 1..n)));
        }
        let mut x = shuffled(vec![3; n as usize], &edges, 0.0, &mut rng);
        for table in x.tables.chunks_mut(9) {
            table.copy_from_slice(&[0.0, 0.0, NO, 0.0, 0.0, NO, 0.0, 0.0, 0.0]);
        }
        let own = 3 * at.index(n as usize);
        (0..3).filter(|&y| y != wanted).for_each(|y| x.node[own + y as usize] = NO);
        prop_assert!(all_answer(&mut x)?);
    }

    /// Three colours on a graph of near neighbours: labels that look free until the last one.
    #[test]
    fn colourings_are_found_or_refuted(n in 30..=60_u32, extra in 20..70_u32, seed in any::<u64>()) {
        let mut rng = Seed::new(seed).rng();
        let edges = sparse(n, extra, &mut rng);
        let mut x = shuffled(vec![3; n as usize], &edges, 0.0, &mut rng);
        for table in x.tables.chunks_mut(9) {
            (0..3).for_each(|y| table[4 * y] = NO);
        }
        all_answer(&mut x)?;
    }
}

#[test]
fn a_conflict_far_behind_its_cause_is_no_dead_end() {
    // Node 0 must change for the last node; 25 nodes between have nothing to do with it.
    let n = 27;
    let mut node = vec![0.0; 2 * n];
    node[0] = 1.0;
    let graph = Graph::bare(vec![2; n], [(0, n as u32 - 1)]).unwrap();
    let mut x = OwnedPotentials::graph(graph, node, &[[NO, NO, 0.0, 0.0]], vec![]).unwrap();
    assert!(all_answer(&mut x).unwrap());
    for with in on_graphs() {
        let mut labels = vec![0; n];
        if with.supports(&x.shape()).is_err() {
            continue;
        }
        with.decode(&x.view(), &mut labels, &mut Scratch::new()).unwrap();
        assert_eq!(labels[0], 1, "{with:?}");
    }
}

#[test]
fn a_chain_of_labels_that_cannot_be_left_is_answered_by_all() {
    let (len, table) = (30, [0.0, 0.0, NO, 0.0, 0.0, NO, 0.0, 0.0, 0.0]);
    let mut node: Vec<f64> = (0..len).flat_map(|_| [1.0, 1.0, 0.0]).collect();
    node[3 * len - 3..].copy_from_slice(&[NO, NO, 0.0]);
    let edges = (1..len as u32).map(|v| (v - 1, v));
    let graph = Graph::bare(vec![3; len], edges).unwrap();
    let mut x = OwnedPotentials::graph(graph, node.clone(), &[table], vec![]).unwrap();
    assert!(all_answer(&mut x).unwrap());
    let mut chain = OwnedPotentials::chain(len, 3, node, table.to_vec(), vec![]);
    assert!(ask(&ForwardBackward::default(), &mut chain).is_some());
    assert!(all_answer(&mut chain).unwrap());
}

#[test]
fn what_is_too_dense_for_the_junction_tree_and_free_is_found() {
    // Six colours on a grid of 40 × 40 nodes, whose clique tables would not fit in any memory.
    let graph = crf_testing::graphs::grid(40, 6);
    let mut table = [0.0; 36];
    (0..6).for_each(|y| table[7 * y] = NO);
    let mut x = OwnedPotentials::graph(graph, vec![0.0; 9600], &[table], vec![]).unwrap();
    assert!(JunctionTree::default().supports(&x.shape()).is_err());
    for with in on_graphs() {
        let mut labels = vec![0; 1600];
        if with.supports(&x.shape()).is_err() {
            continue;
        }
        let p = x.view();
        with.decode(&p, &mut labels, &mut Scratch::new()).unwrap();
        assert!(p.score(&labels) > NO, "{with:?}");
    }
}
