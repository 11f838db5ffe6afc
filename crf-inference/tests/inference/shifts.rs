//! Large potentials: what is added to a node or a table adds to log Z and changes nothing else, and
//! an absurd number matters where it stands only.

use crf_core::{
    Beliefs, Bound, EdgeBeliefs, EdgeTables, Error, Graph, Inference, Label, OwnedPotentials, Potentials,
    Scratch, Seed, Shape, TableVersion, Tables,
};
use crf_inference::{Domain, Enumeration, ForwardBackward, JunctionTree};
use crf_testing::graphs::{Answers, any_form, ask, distance, for_graphs, graphs};
use crf_testing::{cases, close};
use proptest::prelude::*;

const NO: f64 = f64::NEG_INFINITY;

/// Heights at which potentials are moved, with the spacing of doubles there.
const HEIGHTS: [(f64, f64); 6] =
    [(1e9, 0.125), (-1e9, 0.125), (1e15, 0.125), (-1e15, 0.125), (1e17, 16.0), (-1e17, 16.0)];

/// Every inference on graphs, with few sweeps.
fn on_graphs() -> Vec<Box<dyn Inference>> {
    for_graphs(&[("max_sweeps", 50), ("samples", 32), ("burn_in", 2)])
}

/// Every kind of inference on chains.
fn on_chains() -> Vec<Box<dyn Inference>> {
    let mut all = on_graphs();
    for (domain, beam) in [(Domain::Auto, None), (Domain::Log, None), (Domain::Auto, Some(2))] {
        all.push(Box::new(ForwardBackward { domain, beam }));
    }
    all
}

/// A chain whose edges have one of two tables each.
fn chains(len: impl Strategy<Value = usize>) -> impl Strategy<Value = OwnedPotentials> {
    (len, 1..=5_usize, any::<u64>(), any::<bool>()).prop_map(|(len, labels, seed, holes)| {
        let node = OwnedPotentials::random(len, labels, 3.0, &Seed::new(seed)).node;
        let mut tables = OwnedPotentials::random(2, 2 * labels, 3.0, &Seed::new(seed).child("tables")).tables;
        tables.truncate(2 * labels * labels);
        if holes && labels > 1 {
            tables[1] = NO;
        }
        let of_edge = (1..len).map(|e| (seed >> (e % 60)) as u32 & 1).collect();
        OwnedPotentials::chain(len, labels, node, tables, of_edge)
    })
}

/// Rounds potentials to multiples of `unit`, spread by it.
fn round(x: &mut OwnedPotentials, unit: f64) {
    let round = |x: &mut f64| *x = (*x / 0.125).round() * unit;
    x.node.iter_mut().for_each(round);
    x.tables.iter_mut().for_each(round);
}

/// Adds `height` to all potentials of every third node, and to those of table 0; returns what log Z
/// gains.
fn raise(x: &mut OwnedPotentials, height: f64) -> f64 {
    let (n_nodes, n_edges) = (x.shape().n_nodes(), x.shape().n_edges());
    let mut n_raised = 0.0;
    for n in (0..n_nodes).step_by(3) {
        let range = x.shape().node_offset(n)..x.shape().node_offset(n + 1);
        x.node[range].iter_mut().for_each(|x| *x += height);
        n_raised += 1.0;
    }
    if n_edges > 0 {
        let p = x.view();
        let (tables, end) = (*p.tables(), p.tables().starts[1]);
        n_raised += (0..n_edges).filter(|&e| tables.of_edge.table(e) == 0).count() as f64;
        x.tables[..end].iter_mut().for_each(|x| *x += height);
    }
    n_raised * height
}

/// Labels of the best labelling, if there is one.
fn decode(with: &dyn Inference, x: &mut OwnedPotentials) -> Option<Vec<Label>> {
    let p = x.view();
    let mut labels = vec![0; p.shape().n_nodes()];
    match with.decode(&p, &mut labels, &mut Scratch::new()) {
        Ok(_) => Some(labels),
        Err(Error::Infeasible(_)) => None,
        Err(other) => panic!("{with:?}: {other}"),
    }
}

/// Compares all answers before and after raising.
fn only_log_z_moves(with: &dyn Inference, x: &OwnedPotentials) -> Result<(), TestCaseError> {
    for (height, unit) in HEIGHTS {
        let mut low = x.clone();
        round(&mut low, unit);
        let mut high = low.clone();
        let gain = raise(&mut high, height);
        prop_assert_eq!(decode(with, &mut low), decode(with, &mut high), "{:?} at {}", with, height);
        if with.as_marginals().is_some() {
            let (low, high) = (ask(with, &mut low), ask(with, &mut high));
            prop_assert_eq!(low.is_some(), high.is_some());
            if let (Some(low), Some(high)) = (low, high) {
                prop_assert!(close(high.log_z.value, low.log_z.value + gain), "{with:?} {low:?} {high:?}");
                prop_assert_eq!(low.log_z.bound, high.log_z.bound);
                prop_assert_eq!((&low.node, &low.each), (&high.node, &high.each), "{:?} at {}", with, height);
            }
        }
        let (low, high) = (low.view(), high.view());
        if let Some(with) = with.as_k_best() {
            let [low, high] = [low, high].map(|p| with.k_best(&p, 5, &mut Scratch::new()).ok());
            let labels = |all: Option<Vec<crf_core::Labelling>>| {
                all.map(|all| all.into_iter().map(|one| one.labels).collect::<Vec<_>>())
            };
            prop_assert_eq!(labels(low), labels(high), "at {}", height);
        } else if let Some(with) = with.as_sampler() {
            let [low, high] = [low, high].map(|p| {
                let mut draws = vec![Vec::new(); 5];
                with.sample(&p, &mut Seed::new(1).rng(), &mut draws, &mut Scratch::new()).ok().map(|()| draws)
            });
            prop_assert_eq!(low, high, "at {}", height);
        }
    }
    Ok(())
}

/// Checks that every answer is finite and sums to one, or that the numbers are refused as such.
fn is_finite_or_refused(with: &dyn Inference, x: &mut OwnedPotentials) -> Result<(), TestCaseError> {
    let p = x.view();
    let shape = p.shape();
    let mut scratch = Scratch::new();
    let mut labels = vec![0; shape.n_nodes()];
    match with.decode(&p, &mut labels, &mut scratch) {
        Ok(decoded) => {
            prop_assert!(decoded.score.is_finite(), "{with:?} {decoded:?}");
            prop_assert!(decoded.upper.is_none_or(f64::is_finite), "{with:?} {decoded:?}");
        }
        Err(error) => prop_assert!(matches!(error, Error::NotFinite(_)), "{with:?} {error}"),
    }
    let Some(with_marginals) = with.as_marginals() else { return Ok(()) };
    let (mut node, mut each) = (vec![7.0; p.node().len()], vec![7.0; shape.edge_offset(shape.n_edges())]);
    let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::PerEdge(&mut each) };
    match with_marginals.marginals(&p, &mut out, &mut scratch) {
        Ok(log_z) => {
            prop_assert!(log_z.value.is_finite(), "{with:?} {log_z:?}");
            for n in 0..shape.n_nodes() {
                let total: f64 = node[shape.node_offset(n)..shape.node_offset(n + 1)].iter().sum();
                prop_assert!((total - 1.0).abs() < 1e-12, "{with:?}: node {n} sums to {total}");
            }
            for e in 0..shape.n_edges() {
                let total: f64 = each[shape.edge_offset(e)..shape.edge_offset(e + 1)].iter().sum();
                prop_assert!((total - 1.0).abs() < 1e-12, "{with:?}: edge {e} sums to {total}");
            }
        }
        Err(error) => prop_assert!(matches!(error, Error::NotFinite(_)), "{with:?} {error}"),
    }
    Ok(())
}

/// Graphs without holes whose potentials are multiplied by `scale`, which may overflow.
fn scaled(scale: impl Strategy<Value = f64>) -> impl Strategy<Value = OwnedPotentials> {
    let range = crf_testing::graphs::PotentialRange { node: 1.7, edge: 1.7, holes: false };
    (graphs(any_form(), range), scale).prop_map(|(mut x, scale)| {
        x.node.iter_mut().for_each(|x| *x *= scale);
        x.tables.iter_mut().for_each(|x| *x *= scale);
        x
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_constant_on_a_node_or_a_table_of_a_graph_moves_log_z_only(
        x in prop_oneof![
            graphs(any_form(), crf_testing::graphs::MODERATE),
            graphs(any_form(), crf_testing::graphs::HOLES),
        ],
    ) {
        for with in on_graphs() {
            only_log_z_moves(&*with, &x)?;
        }
    }

    #[test]
    fn a_constant_on_a_position_or_a_table_of_a_chain_moves_log_z_only(x in chains(0..=6_usize)) {
        for with in on_chains() {
            if with.supports(&x.shape()).is_ok() {
                only_log_z_moves(&*with, &x)?;
            }
        }
    }

    /// One absurd reading: its node is certain, and the others are as if it were known.
    #[test]
    fn one_absurd_potential_leaves_the_other_positions_as_they_are(
        mut x in chains(2..=40_usize), at in any::<prop::sample::Index>(), far in prop_oneof![Just(1e17), Just(1e9), 400.0..2000.0],
    ) {
        let at = at.index(x.node.len());
        let (n_labels, labels) = (x.shape().card(0), x.shape().n_nodes());
        let mut known = x.clone();
        let own = at / n_labels * n_labels..(at / n_labels + 1) * n_labels;
        own.filter(|&i| i != at).for_each(|i| known.node[i] = NO);
        let want = ask(&ForwardBackward { domain: Domain::Log, beam: None }, &mut known).unwrap();
        let path = decode(&ForwardBackward::default(), &mut known);
        x.node[at] += far;
        let all: [&dyn Inference; 4] = [
            &ForwardBackward::default(),
            &ForwardBackward { domain: Domain::Log, beam: None },
            &JunctionTree::default(),
            &crf_inference::BeliefPropagation::default(),
        ];
        for with in all {
            let got = ask(with, &mut x).unwrap();
            prop_assert!(distance(&got.node, &want.node) < 1e-9, "{with:?} of {labels} positions");
            prop_assert!(distance(&got.each, &want.each) < 1e-9, "{with:?}");
            prop_assert!(close(got.log_z.value, want.log_z.value + far));
            prop_assert_eq!(decode(with, &mut x), path.clone(), "{:?}", with);
        }
        let best = ForwardBackward::default();
        let best = best.as_k_best().unwrap().k_best(&x.view(), 2, &mut Scratch::new()).unwrap();
        prop_assert_eq!(Some(best[0].labels.clone()), path);
    }

    #[test]
    fn bounds_are_bounds_however_large_the_potentials(mut x in scaled((0..16).prop_map(|e| 10_f64.powi(e)))) {
        let want = ask(&Enumeration::default(), &mut x).unwrap().log_z.value;
        let slack = 1e-9 * (1.0 + want.abs());
        for with in on_graphs() {
            is_finite_or_refused(&*with, &mut x)?;
            if with.as_marginals().is_none() {
                continue;
            }
            let Answers { log_z, .. } = ask(&*with, &mut x).unwrap();
            match log_z.bound {
                Bound::Exact => prop_assert!((log_z.value - want).abs() <= slack, "{with:?} {log_z:?} {want}"),
                Bound::Lower => prop_assert!(log_z.value <= want + slack, "{with:?} {log_z:?} {want}"),
                Bound::Upper => prop_assert!(log_z.value >= want - slack, "{with:?} {log_z:?} {want}"),
                Bound::Estimate => {}
            }
        }
    }

    #[test]
    fn finite_potentials_give_finite_answers_or_are_refused(mut x in scaled((285..=308).prop_map(|e| 10_f64.powi(e)))) {
        for with in on_graphs() {
            is_finite_or_refused(&*with, &mut x)?;
        }
    }

    #[test]
    fn finite_potentials_of_a_chain_give_finite_answers_or_are_refused(
        len in 0..6_usize, labels in 1..6_usize, seed in any::<u64>(), e in 285..=308,
    ) {
        let mut x = OwnedPotentials::random(len, labels, 1.7 * 10_f64.powi(e), &Seed::new(seed));
        for with in on_chains() {
            if with.supports(&x.shape()).is_ok() {
                is_finite_or_refused(&*with, &mut x)?;
            }
        }
    }
}

#[test]
fn a_sum_that_overflows_is_not_called_exact_or_infeasible() {
    let graph = Graph::bare(vec![2, 2], [(0, 1)]).unwrap();
    for sign in [1.0, -1.0] {
        let large: f64 = sign * 1e308;
        let table = [[large, if sign < 0.0 { large } else { 0.0 }, large.min(0.0), large.min(0.0)]];
        let node = vec![large, large.min(0.0), large, large.min(0.0)];
        let mut x = OwnedPotentials::graph(graph.clone(), node.clone(), &table, vec![]).unwrap();
        let mut chain = OwnedPotentials::chain(2, 2, node, table[0].to_vec(), vec![]);
        for with in on_chains() {
            let x = if with.supports(&x.shape()).is_ok() { &mut x } else { &mut chain };
            let p = x.view();
            let decoded = with.decode(&p, &mut [0; 2], &mut Scratch::new());
            assert!(matches!(decoded, Err(Error::NotFinite(_))), "{with:?}: {decoded:?}");
            if with.as_marginals().is_some() {
                let mut node = [0.0; 4];
                let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
                let answer = with.infer(&p, &mut out, &mut Scratch::new());
                assert!(matches!(answer, Err(Error::NotFinite(_))), "{with:?}: {answer:?}");
            }
        }
    }
}

/// Two sets of tables of one version should be equal. Here they are not, where no edge uses them:
/// an inference that reads the tables of other sequences would find numbers that it cannot take.
#[test]
fn no_inference_reads_the_tables_of_other_sequences() {
    let (starts, of_edge) = ([0, 4, 8, 12, 16], [0, 2, 0]);
    let table = |seed| OwnedPotentials::random(2, 2, 1.0, &Seed::new(seed)).tables;
    let clean: Vec<f64> = (0..4).flat_map(table).collect();
    let mut foul = clean.clone();
    foul[4..8].copy_from_slice(&[f64::NAN, f64::INFINITY, NO, 1e308]);
    foul[12..].copy_from_slice(&[1e300, -1e300, NO, NO]);
    let version = TableVersion::of(&clean);
    let graph = Graph::bare(vec![2; 4], [(0, 1), (1, 2), (2, 3)]).unwrap();
    let shapes = [Shape::Graph(&graph), Shape::Chain { len: 4, labels: 2 }];
    for with in on_chains() {
        let Some(&shape) = shapes.iter().find(|shape| with.supports(shape).is_ok()) else { continue };
        let mut scratch = Scratch::new();
        let answers = [&clean, &foul].map(|values| {
            let mut node = [0.5, 0.0, 0.0, 1.0, 0.25, 0.0, 0.0, 0.75];
            let of_edge = EdgeTables::Each(&of_edge);
            let tables = Tables { values, starts: &starts, of_edge, relations: &[], version };
            let p = Potentials::new(shape, &mut node, tables).unwrap();
            let mut labels = [0; 4];
            let decoded = with.decode(&p, &mut labels, &mut scratch).unwrap();
            let mut beliefs = [0.0; 8];
            let log_z = with.as_marginals().map(|with| {
                let mut out = Beliefs { node: &mut beliefs, edge: EdgeBeliefs::None };
                with.marginals(&p, &mut out, &mut scratch).unwrap()
            });
            (decoded, labels, log_z, beliefs)
        });
        assert_eq!(answers[0], answers[1], "{with:?}");
    }
}

#[test]
fn mean_field_at_a_billion_is_still_a_lower_bound() {
    let node = vec![1e9, 999_999_997.7];
    let mut x = OwnedPotentials::graph(Graph::bare(vec![2], []).unwrap(), node, &[[0.0; 4]], vec![]).unwrap();
    let want = 1e9 + (-2.3_f64).exp().ln_1p();
    for with in on_graphs().iter().filter(|with| with.as_marginals().is_some()) {
        let got = ask(&**with, &mut x).unwrap().log_z;
        assert!((got.value - want).abs() < 1e-6, "{with:?} {got:?} {want}");
    }
}

#[test]
fn the_score_of_an_empty_graph_is_zero_and_not_minus_zero() {
    let mut x =
        OwnedPotentials::graph(Graph::bare(vec![], []).unwrap(), vec![], &[[0.0; 4]], vec![]).unwrap();
    for with in on_graphs() {
        let decoded = with.decode(&x.view(), &mut [], &mut Scratch::new()).unwrap();
        assert_eq!(decoded.score.to_bits(), 0.0_f64.to_bits(), "{with:?}");
    }
}

#[test]
fn a_forest_with_hard_rules_keeps_the_digits_of_what_they_leave() {
    // Label 0 of the second node is best by far, and impossible beside the only label of the first.
    let node = vec![0.0, NO, 1e17, 0.0, 0.0, 0.5, 1.0];
    let graph = Graph::bare(vec![2, 2, 3], [(0, 1), (1, 2)]).unwrap();
    let tables = [vec![NO, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 0.0, 0.25, 0.5]];
    let mut x = OwnedPotentials::graph(graph, node, &tables, vec![0, 1]).unwrap();
    let weights = [1.0, 0.75_f64.exp(), 1.5_f64.exp()];
    let sum: f64 = weights.iter().sum();
    for with in [
        &JunctionTree::default() as &dyn Inference,
        &Enumeration::default(),
        &crf_inference::BeliefPropagation::default(),
    ] {
        let got = ask(with, &mut x).unwrap();
        assert!(distance(&got.node[4..], &weights.map(|weight| weight / sum)) < 1e-12, "{with:?} {got:?}");
        assert!(close(got.log_z.value, sum.ln()), "{with:?} {got:?}");
    }
}
