//! Messages that callers keep between calls, and the same bits at any number of threads.

use crf_core::{
    Beliefs, EdgeBeliefs, Error, Graph, Inference, MessagePassing as _, Messages, OwnedPotentials,
    Potentials, Scratch, Seed, Stop,
};
use crf_inference::{BeliefPropagation, ForwardBackward, MessageSchedule, TreeReweighted};
use crf_testing::cases;
use crf_testing::graphs::{GraphForm, HOLES, MODERATE, STRONG, ask, distance, graphs, grid};
use proptest::prelude::*;

const BP: BeliefPropagation = BeliefPropagation {
    schedule: MessageSchedule::Sequential,
    damping: 0.0,
    tolerance: 1e-9,
    max_sweeps: 1000,
};

/// Posterior of node `n`: exp(node) Π μ, normalised (Liao et al. 2007, equation 8).
fn posterior(p: &Potentials<'_>, messages: &Messages, n: usize) -> Vec<f64> {
    let shape = p.shape();
    let mut row: Vec<f64> =
        p.node()[shape.node_offset(n)..shape.node_offset(n + 1)].iter().map(|x| x.exp()).collect();
    for mu in messages.mu[shape.message_offset(n)..shape.message_offset(n + 1)].chunks(shape.card(n)) {
        row.iter_mut().zip(mu).for_each(|(row, mu)| *row *= mu);
    }
    normalised(row)
}

/// Divides numbers by their sum.
fn normalised(mut row: Vec<f64>) -> Vec<f64> {
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= total);
    row
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_mu_comes_from_its_lambda(mut x in graphs(Just(GraphForm::Any), HOLES), sweeps in 1..4_u32) {
        let p = x.view();
        let shape = p.shape();
        let mut messages = Messages::default();
        match BP.pass(&p, sweeps, &mut messages, &mut Scratch::new()) {
            Err(Error::Infeasible(_)) => return Ok(()),
            other => prop_assert_eq!(other.unwrap().sweeps, sweeps),
        }
        for n in 0..shape.n_nodes() {
            for k in 0..shape.degree(n) {
                let (end, labels) = (shape.incidence(n, k), shape.card(n));
                let table = p.tables().of(end.edge as usize);
                let evidence = messages.evidence(&shape, n, k);
                let entry = |x: usize, y: usize| table[if end.is_head { x * labels + y } else { y * evidence.len() + x }];
                let want = (0..labels).map(|y| (0..evidence.len()).map(|x| evidence[x] * entry(x, y).exp()).sum());
                let got = &messages.mu[shape.message_offset(n) + k * labels..][..labels];
                prop_assert!(distance(got, &normalised(want.collect())) < 1e-12);
            }
        }
    }

    #[test]
    fn messages_kept_between_calls_continue_the_sweeps(
        mut x in prop_oneof![graphs(Just(GraphForm::Grid), MODERATE), graphs(Just(GraphForm::Grid), STRONG)],
        damping in prop_oneof![Just(0.0), 0.0..0.9],
    ) {
        let with = BeliefPropagation { damping, ..BP };
        let p = x.view();
        let (mut kept, mut at_once, mut scratch) = (Messages::default(), Messages::default(), Scratch::new());
        for _ in 0..5 {
            with.pass(&p, 1, &mut kept, &mut scratch).unwrap();
        }
        with.pass(&p, 5, &mut at_once, &mut scratch).unwrap();
        prop_assert!(distance(&kept.mu, &at_once.mu) < 1e-12 && distance(&kept.lambda, &at_once.lambda) < 1e-12);
        let convergence = with.pass(&p, 2000, &mut kept, &mut scratch).unwrap();
        let posteriors: Vec<f64> = (0..p.shape().n_nodes()).flat_map(|n| posterior(&p, &kept, n)).collect();
        // The parallel schedule computes the same sweeps.
        let want = ask(&BeliefPropagation { schedule: MessageSchedule::Parallel, ..with }, &mut x).unwrap();
        if convergence.stop == Stop::Converged && want.log_z.convergence.stop != Stop::Budget {
            prop_assert!(distance(&posteriors, &want.node) < 1e-6);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// λ to the right are the forward vectors, μ from the right the backward vectors.
    #[test]
    fn messages_of_forward_backward_are_its_vectors(
        len in 1..20_usize, labels in 1..6_usize, scale in 0.1..30.0, seed in any::<u64>(), hole in any::<bool>(),
    ) {
        let mut x = OwnedPotentials::random(len, labels, scale, &Seed::new(seed));
        if hole && labels > 1 {
            x.tables[1] = f64::NEG_INFINITY;
        }
        let p = x.view();
        let with = ForwardBackward::default();
        let passing = with.as_message_passing().unwrap();
        let (mut messages, mut scratch) = (Messages::default(), Scratch::new());
        passing.pass(&p, len as u32, &mut messages, &mut scratch).unwrap();
        let shape = p.shape();
        let (entry, node) = (|x: usize, y: usize| p.tables().of(0)[x * labels + y], |t: usize, y: usize| p.node()[t * labels + y]);
        // Labels are summed in the domain of numbers, which these potentials stay within.
        let mut alpha = normalised((0..labels).map(|y| node(0, y).exp()).collect());
        for t in 0..len - 1 {
            let lambda = &messages.lambda[shape.message_offset(t + 1) - labels..shape.message_offset(t + 1)];
            prop_assert!(distance(lambda, &alpha) < 1e-9, "{t}: {lambda:?} {alpha:?}");
            let next = (0..labels).map(|y| {
                let sum: f64 = (0..labels).map(|x| alpha[x] * entry(x, y).exp()).sum();
                sum * node(t + 1, y).exp()
            });
            alpha = normalised(next.collect());
        }
        let mut beta = vec![1.0 / labels as f64; labels];
        for t in (0..len - 1).rev() {
            let now = (0..labels).map(|x| (0..labels).map(|y| (entry(x, y) + node(t + 1, y)).exp() * beta[y]).sum());
            beta = normalised(now.collect());
            let mu = &messages.mu[shape.message_offset(t + 1) - labels..shape.message_offset(t + 1)];
            prop_assert!(distance(mu, &beta) < 1e-9, "{t}: {mu:?} {beta:?}");
        }
        let marginals = ask(&with, &mut x).unwrap().node;
        let p = x.view();
        for t in 0..len {
            let own = &marginals[t * labels..(t + 1) * labels];
            prop_assert!(distance(&posterior(&p, &messages, t), own) < 1e-9);
        }
    }
}

#[test]
fn forward_backward_passes_no_messages_on_graphs() {
    let mut x = OwnedPotentials::graph(grid(3, 2), vec![0.0; 18], &[[0.0; 4]], vec![]).unwrap();
    let with = ForwardBackward::default();
    let passing = with.as_message_passing().unwrap();
    let error = passing.pass(&x.view(), 1, &mut Messages::default(), &mut Scratch::new()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn messages_of_another_graph_are_rejected() {
    let mut messages = Messages { lambda: vec![], mu: vec![0.5; 6] };
    let mut x = OwnedPotentials::random(5, 2, 1.0, &Seed::new(1));
    let error = BP.pass(&x.view(), 1, &mut messages, &mut Scratch::new()).unwrap_err();
    assert_eq!(error.to_string(), "expected messages of 16 numbers, got 6");
}

#[test]
fn bits_do_not_depend_on_threads() {
    let side = 150;
    let edges: Vec<(u32, u32)> = grid(side, 1).edges().iter().map(|edge| (edge.u, edge.v)).collect();
    let cards = (0..side * side).map(|n| 2 + n % 2).collect::<Vec<_>>();
    let mut rng = Seed::new(4).rng();
    let mut draw = |n: usize| (0..n).map(|_| rng.random::<f64>() - 0.5).collect::<Vec<f64>>();
    let node = draw(cards.iter().sum::<u32>() as usize);
    let tables: Vec<Vec<f64>> =
        edges.iter().map(|&(u, v)| draw((cards[u as usize] * cards[v as usize]) as usize)).collect();
    let of_edge = (0..edges.len() as u32).collect();
    let mut x = OwnedPotentials::graph(Graph::bare(cards, edges).unwrap(), node, &tables, of_edge).unwrap();
    let p = x.view();
    let parallel = BeliefPropagation { schedule: MessageSchedule::Parallel, max_sweeps: 10, ..BP };
    let reweighted =
        TreeReweighted { schedule: MessageSchedule::Parallel, max_sweeps: 3, ..TreeReweighted::default() };
    for with in [&parallel as &dyn Inference, &reweighted] {
        let answer = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut node = vec![0.0; p.node().len()];
            let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
            let log_z = pool.install(|| with.infer(&p, &mut out, &mut Scratch::new())).unwrap();
            (log_z, node)
        };
        let (one, several) = (answer(1), answer(3));
        assert_eq!(one.0, several.0);
        assert!(one.1.iter().zip(&several.1).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
