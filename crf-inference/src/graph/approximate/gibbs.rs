use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Inference, Label, LogZ, Marginals, Potentials, Result,
    Rng, Scratch, Seed, Shape, Stop, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::check_finite;
use crate::graph::feasible::{self, local_score};
use crate::log_domain::{draw, log_add, log_sum_exp};

/// Gibbs sampling: marginals on any graph as averages over draws, with their standard error.
///
/// Geman and Geman (1984): one sweep draws each node in turn given all others. The averages are
/// taken over the conditional distributions, not over the draws themselves (Gelfand and Smith
/// 1990), so that a label which was never drawn has a probability and an error too. The residual of
/// the answer is the largest standard error of a node marginal, by batch means.
///
/// log Z is estimated from the probability that a sweep leads to the best labelling found (Chib
/// 1995; Ritter and Tanner 1992). The estimate is good on small graphs and rough on large ones. If
/// no draw can lead there, the score of that labelling is returned as a lower bound. Where much is
/// forbidden or couplings are strong, draws may stay in a part of all labellings, which no error
/// estimate can show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gibbs {
    /// Seed of the random numbers; every instance uses the same stream.
    pub seed: u64,
    /// Burn-in: number of sweeps before the first sample.
    pub burn_in: u32,
    /// Number of samples, rounded up to a multiple of 32.
    pub samples: u32,
    /// Thinning: number of sweeps per sample.
    pub thin: u32,
}

impl Default for Gibbs {
    fn default() -> Self {
        Gibbs { seed: 0, burn_in: 100, samples: 3200, thin: 1 }
    }
}

/// Number of batches, whose means give the standard error.
const N_BATCHES: u32 = 32;

crf_core::plugin!("inference", Gibbs, "gibbs");

/// Memory of a worker.
#[derive(Debug, Default)]
struct Workspace {
    labels: Vec<Label>,     // [nodes] the present sample
    best: Vec<Label>,       // [nodes] the best labelling found
    conditionals: Vec<f64>, // [nodes × labels] conditional distributions of the last sweep
    batch: Vec<f64>,        // [nodes × labels] their mean over the present batch
    squares: Vec<f64>,      // [nodes × labels] mean over batches of the squared means
    edge_sums: Vec<f64>,    // [edges × pairs] sums of pair distributions
    pairs: Vec<f64>,        // [pairs] of one edge
}

#[typetag::serde(name = "gibbs")]
impl Inference for Gibbs {
    fn check(&self) -> Result<()> {
        require(self.samples > 0, "samples", "at least 1", self.samples)?;
        require(self.thin > 0, "thin", "at least 1", self.thin)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let workspace: &mut Workspace = scratch.get();
        let mut rng = self.start_chain(p, workspace)?;
        let Workspace { labels: sample, best, conditionals, .. } = workspace;
        let mut best_score = p.score(best);
        for _ in 0..self.samples {
            sweep(p, sample, conditionals, &mut rng);
            let score = p.score(sample);
            if score > best_score {
                best_score = score;
                best.copy_from_slice(sample);
            }
        }
        labels.copy_from_slice(best);
        feasible::improve(p, labels, self.samples);
        let convergence = Convergence {
            stop: Stop::Budget,
            sweeps: self.burn_in.saturating_add(self.samples),
            residual: 0.0,
        };
        Ok(Decoded { score: p.score(labels), upper: None, convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for Gibbs {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        assert_eq!(out.node.len(), p.node().len(), "one belief per node and label");
        let workspace: &mut Workspace = scratch.get();
        let mut rng = self.start_chain(p, workspace)?;
        let Workspace { labels, best, conditionals, batch, squares, edge_sums, pairs } = workspace;
        let shape = p.shape();
        let n_edges = if matches!(out.edge, EdgeBeliefs::None) { 0 } else { shape.n_edges() };
        edge_sums.clear();
        edge_sums.resize(shape.edge_offset(n_edges), 0.0);
        squares.clear();
        squares.resize(out.node.len(), 0.0);
        out.node.fill(0.0);
        let samples_per_batch = self.samples.div_ceil(N_BATCHES);
        let mut log_transition_sum = f64::NEG_INFINITY;
        for _ in 0..N_BATCHES {
            batch.clear();
            batch.resize(out.node.len(), 0.0);
            for _ in 0..samples_per_batch {
                (0..self.thin).for_each(|_| sweep(p, labels, conditionals, &mut rng));
                batch
                    .iter_mut()
                    .zip(conditionals.iter())
                    .for_each(|(sum, row)| *sum += row / f64::from(samples_per_batch));
                for e in 0..n_edges {
                    pair_distribution(p, e, labels, pairs);
                    let sums = &mut edge_sums[shape.edge_offset(e)..shape.edge_offset(e + 1)];
                    sums.iter_mut().zip(pairs.iter()).for_each(|(sum, pair)| *sum += pair);
                }
                log_transition_sum = log_add(log_transition_sum, log_transition(p, labels, best));
            }
            for ((mean, square), batch) in out.node.iter_mut().zip(squares.iter_mut()).zip(batch.iter()) {
                *mean += batch / f64::from(N_BATCHES);
                *square += batch * batch / f64::from(N_BATCHES);
            }
        }
        let n_samples = f64::from(N_BATCHES) * f64::from(samples_per_batch);
        for e in 0..n_edges {
            let sums = &edge_sums[shape.edge_offset(e)..shape.edge_offset(e + 1)];
            out.edge.put(p, e, sums.iter().map(|sum| sum / n_samples));
        }
        let variances = out.node.iter().zip(squares.iter()).map(|(mean, square)| square - mean * mean);
        let residual = (variances.fold(0.0, f64::max) / f64::from(N_BATCHES - 1)).sqrt();
        let sweeps = N_BATCHES
            .saturating_mul(samples_per_batch)
            .saturating_mul(self.thin)
            .saturating_add(self.burn_in);
        let convergence = Convergence { stop: Stop::Budget, sweeps, residual };
        let score = p.score(best);
        Ok(match log_transition_sum == f64::NEG_INFINITY {
            true => LogZ { value: score, bound: Bound::Lower, convergence },
            false => LogZ {
                value: score - (log_transition_sum - n_samples.ln()),
                bound: Bound::Estimate,
                convergence,
            },
        })
    }
}

impl Gibbs {
    /// Starts at a possible labelling and runs the burn-in; `best` is that labelling, improved.
    fn start_chain(&self, p: &Potentials<'_>, workspace: &mut Workspace) -> Result<Rng> {
        check_finite(p)?;
        let Workspace { labels, best, conditionals, .. } = workspace;
        labels.clear();
        labels.resize(p.shape().n_nodes(), 0);
        conditionals.clear();
        conditionals.resize(p.node().len(), 0.0);
        feasible::require_labelling(p, labels)?;
        let mut rng = Seed::new(self.seed).child("gibbs").rng();
        best.clone_from(labels);
        feasible::improve(p, best, self.samples);
        (0..self.burn_in).for_each(|_| sweep(p, labels, conditionals, &mut rng));
        Ok(rng)
    }
}

/// Draws every label in turn given all others; `conditionals` receives the distributions they are
/// drawn from.
fn sweep(p: &Potentials<'_>, labels: &mut [Label], conditionals: &mut [f64], rng: &mut Rng) {
    let shape = p.shape();
    for n in 0..labels.len() {
        let row = &mut conditionals[shape.node_offset(n)..shape.node_offset(n + 1)];
        for (y, score) in row.iter_mut().enumerate() {
            *score = local_score(p, n, y as Label, |other| Some(labels[other]));
        }
        let total = log_sum_exp(row.iter().copied());
        labels[n] = draw(row, total, rng);
        row.iter_mut().for_each(|score| *score = (*score - total).exp());
    }
}

/// Distribution of both ends of an edge given all other labels.
fn pair_distribution(p: &Potentials<'_>, e: usize, labels: &[Label], pairs: &mut Vec<f64>) {
    let shape = p.shape();
    let (u, v) = shape.ends(e);
    pairs.clear();
    for x in 0..shape.card(u) as Label {
        let tail = local_score(p, u, x, |other| (other != v).then_some(labels[other]));
        pairs.extend(
            (0..shape.card(v) as Label).map(|y| {
                tail + local_score(p, v, y, |other| Some(if other == u { x } else { labels[other] }))
            }),
        );
    }
    let total = log_sum_exp(pairs.iter().copied());
    pairs.iter_mut().for_each(|pair| *pair = (*pair - total).exp());
}

/// Log probability that a sweep leads from one labelling to another.
fn log_transition(p: &Potentials<'_>, from: &[Label], to: &[Label]) -> f64 {
    let nodes = (0..to.len()).map(|n| {
        let score = |y: usize| {
            local_score(p, n, y as Label, |other| Some(if other < n { to[other] } else { from[other] }))
        };
        let total = log_sum_exp((0..p.shape().card(n)).map(score));
        // Nothing is possible: the new labels before n exclude the old ones behind it.
        if total == f64::NEG_INFINITY { total } else { score(to[n] as usize) - total }
    });
    nodes.sum()
}
