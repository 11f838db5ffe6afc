use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Incidence, Inference, Label, LogZ, Marginals,
    Potentials, Result, Rng, Scratch, Seed, Shape, Stop, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::finite_score;
use crate::graph::feasible::{LabellingSearch, add_edge, local_scores};
use crate::log_domain::{draw, log_add, log_sum_exp, normalise};
use crate::shifted::{ShiftMemory, Shifted};

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
struct Memory {
    shift: ShiftMemory,
    search: LabellingSearch,
    workspace: Workspace,
}

/// Arrays of the sampler.
#[derive(Debug, Default)]
struct Workspace {
    labels: Vec<Label>,     // [nodes] the present sample
    best: Vec<Label>,       // [nodes] the best labelling found
    conditionals: Vec<f64>, // [nodes × labels] conditional distributions of the last sweep
    batch: Vec<f64>,        // [nodes × labels] their mean over the present batch
    squares: Vec<f64>,      // [nodes × labels] mean over batches of the squared means
    edge_sums: Vec<f64>,    // [edges × pairs] sums of pair distributions
    neighbours: Neighbours,
    scores: Vec<f64>, // [labels] of one node
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
        let Memory { shift, search, workspace } = scratch.get();
        let shifted = shift.shift(p)?;
        let mut rng = self.start_chain(&shifted, search, workspace)?;
        let Workspace { labels: sample, best, conditionals, scores, .. } = workspace;
        let mut best_score = shifted.p.score(best);
        for _ in 0..self.samples {
            sweep(&shifted.p, sample, conditionals, scores, &mut rng);
            let score = shifted.p.score(sample);
            if score > best_score {
                best_score = score;
                best.copy_from_slice(sample);
            }
        }
        labels.copy_from_slice(best);
        search.improve(&shifted.p, labels, self.samples);
        let convergence = Convergence {
            stop: Stop::Budget,
            sweeps: self.burn_in.saturating_add(self.samples),
            residual: 0.0,
        };
        Ok(Decoded { score: finite_score(p, labels)?, upper: None, convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for Gibbs {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        assert_eq!(out.node.len(), p.node().len(), "one belief per node and label");
        let Memory { shift, search, workspace } = scratch.get();
        let shifted = shift.shift(p)?;
        let mut rng = self.start_chain(&shifted, search, workspace)?;
        let p = &shifted.p;
        let Workspace { labels, best, conditionals, batch, squares, edge_sums, neighbours, scores } =
            workspace;
        let shape = p.shape();
        let n_edges = if matches!(out.edge, EdgeBeliefs::None) { 0 } else { shape.n_edges() };
        if n_edges > 0 {
            neighbours.group(&shape);
        }
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
                (0..self.thin).for_each(|_| sweep(p, labels, conditionals, scores, &mut rng));
                batch
                    .iter_mut()
                    .zip(conditionals.iter())
                    .for_each(|(sum, row)| *sum += row / f64::from(samples_per_batch));
                if n_edges > 0 {
                    neighbours.add_pair_distributions(p, labels, edge_sums);
                }
                log_transition_sum = log_add(log_transition_sum, log_transition(p, labels, best, scores));
            }
            for ((mean, square), batch) in out.node.iter_mut().zip(squares.iter_mut()).zip(batch.iter()) {
                *mean += batch / f64::from(N_BATCHES);
                *square += batch * batch / f64::from(N_BATCHES);
            }
        }
        let n_samples = f64::from(N_BATCHES) * f64::from(samples_per_batch);
        for e in 0..n_edges {
            let sums = &edge_sums[shape.edge_offset(e)..shape.edge_offset(e + 1)];
            let total: f64 = sums.iter().sum();
            out.edge.put(p, e, sums.iter().map(|sum| sum / total));
        }
        let variances = out.node.iter().zip(squares.iter()).map(|(mean, square)| square - mean * mean);
        let residual = (variances.fold(0.0, f64::max) / f64::from(N_BATCHES - 1)).sqrt();
        for n in 0..shape.n_nodes() {
            // Means of distributions sum to one but for rounding.
            let means = &mut out.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            let total: f64 = means.iter().sum();
            means.iter_mut().for_each(|mean| *mean /= total);
        }
        let sweeps = N_BATCHES
            .saturating_mul(samples_per_batch)
            .saturating_mul(self.thin)
            .saturating_add(self.burn_in);
        let convergence = Convergence { stop: Stop::Budget, sweeps, residual };
        let score = p.score(best);
        let (value, bound) = match log_transition_sum == f64::NEG_INFINITY {
            true => (score, Bound::Lower),
            false => (score - (log_transition_sum - n_samples.ln()), Bound::Estimate),
        };
        Ok(LogZ { value: shifted.log_z(value)?, bound, convergence })
    }
}

impl Gibbs {
    /// Starts at a possible labelling and runs the burn-in; `best` is that labelling, improved.
    fn start_chain(
        &self,
        shifted: &Shifted<'_>,
        search: &mut LabellingSearch,
        workspace: &mut Workspace,
    ) -> Result<Rng> {
        let p = &shifted.p;
        let Workspace { labels, best, conditionals, scores, .. } = workspace;
        labels.clear();
        labels.resize(p.shape().n_nodes(), 0);
        conditionals.clear();
        conditionals.resize(p.node().len(), 0.0);
        search.find(shifted, labels)?;
        let mut rng = Seed::new(self.seed).child("gibbs").rng();
        best.clone_from(labels);
        search.improve(p, best, self.samples);
        (0..self.burn_in).for_each(|_| sweep(p, labels, conditionals, scores, &mut rng));
        Ok(rng)
    }
}

/// Draws every label in turn given all others; `conditionals` receives the distributions they are
/// drawn from.
fn sweep(
    p: &Potentials<'_>,
    labels: &mut [Label],
    conditionals: &mut [f64],
    scores: &mut Vec<f64>,
    rng: &mut Rng,
) {
    let shape = p.shape();
    for n in 0..labels.len() {
        local_scores(p, n, |other| Some(labels[other]), scores);
        normalise(scores);
        labels[n] = draw(scores, rng);
        conditionals[shape.node_offset(n)..shape.node_offset(n + 1)].copy_from_slice(scores);
    }
}

/// Log probability that a sweep leads from one labelling to another.
fn log_transition(p: &Potentials<'_>, from: &[Label], to: &[Label], scores: &mut Vec<f64>) -> f64 {
    let nodes = (0..to.len()).map(|n| {
        local_scores(p, n, |other| Some(if other < n { to[other] } else { from[other] }), scores);
        let total = log_sum_exp(scores.iter().copied());
        // Nothing is possible: the new labels before n exclude the old ones behind it.
        if total == f64::NEG_INFINITY { total } else { scores[to[n] as usize] - total }
    });
    nodes.sum()
}

/// The neighbours of each node, for the distributions of both ends of an edge given all other
/// labels.
///
/// These need the scores of a node without one of its neighbours, which are those from the
/// neighbours before it plus those from the neighbours behind it. So all together take time linear
/// in the edges, and nothing is subtracted from −∞. Parallel edges lead to one neighbour.
#[derive(Debug, Default)]
struct Neighbours {
    ends: Vec<Incidence>,     // of all nodes, sorted by neighbour within a node
    groups: Vec<Group>,       // ends of one node towards one neighbour
    group_starts: Vec<usize>, // [nodes + 1] first group of each node
    without: Vec<f64>,        // [groups × labels of the node] its scores without the neighbour
    sums: Vec<f64>,           // [labels] of one node, from some of its neighbours
    pairs: Vec<f64>,          // [pairs] of two neighbours
}

/// The edges between a node and one neighbour, seen from the node.
#[derive(Debug, Clone, Copy)]
struct Group {
    first: usize,    // first end
    end: usize,      // behind the last end
    opposite: usize, // group of the same edges, seen from the neighbour
    offset: usize,   // in `without`
}

impl Neighbours {
    /// Groups the edges of a graph by their ends.
    fn group(&mut self, shape: &Shape<'_>) {
        let Neighbours { ends, groups, group_starts, without, .. } = self;
        ends.clear();
        groups.clear();
        group_starts.clear();
        let mut offset = 0;
        for n in 0..shape.n_nodes() {
            group_starts.push(groups.len());
            let first = ends.len();
            ends.extend((0..shape.degree(n)).map(|k| shape.incidence(n, k)));
            ends[first..].sort_by_key(|end| end.other);
            let mut start = first;
            for same in ends[first..].chunk_by(|a, b| a.other == b.other) {
                groups.push(Group { first: start, end: start + same.len(), opposite: 0, offset });
                start += same.len();
                offset += shape.card(n);
            }
        }
        group_starts.push(groups.len());
        without.resize(offset, 0.0);
        // Groups of all nodes are visited in the order of these nodes, and so are the groups that
        // lead to one node in the order of its neighbours.
        let mut next: Vec<usize> = group_starts.clone();
        for n in 0..shape.n_nodes() {
            for g in group_starts[n]..group_starts[n + 1] {
                let other = ends[groups[g].first].other as usize;
                groups[g].opposite = next[other];
                next[other] += 1;
            }
        }
    }

    /// Adds the distribution of both ends of each edge to its sums. `[edges × pairs]`
    fn add_pair_distributions(&mut self, p: &Potentials<'_>, labels: &[Label], edge_sums: &mut [f64]) {
        let Neighbours { ends, groups, group_starts, without, sums, pairs } = self;
        let shape = p.shape();
        for n in 0..shape.n_nodes() {
            let n_labels = shape.card(n);
            let groups = &groups[group_starts[n]..group_starts[n + 1]];
            sums.clear();
            sums.extend_from_slice(&p.node()[shape.node_offset(n)..shape.node_offset(n + 1)]);
            for group in groups {
                without[group.offset..group.offset + n_labels].copy_from_slice(sums);
                add_group(p, &ends[group.first..group.end], labels, sums);
            }
            sums.fill(0.0);
            for group in groups.iter().rev() {
                let row = &mut without[group.offset..group.offset + n_labels];
                row.iter_mut().zip(sums.iter()).for_each(|(row, behind)| *row += behind);
                add_group(p, &ends[group.first..group.end], labels, sums);
            }
        }
        for n in 0..shape.n_nodes() {
            for group in &groups[group_starts[n]..group_starts[n + 1]] {
                let edges = &ends[group.first..group.end];
                let other = edges[0].other as usize;
                if other < n {
                    continue;
                }
                let (n_labels, n_other_labels) = (shape.card(n), shape.card(other));
                let own = &without[group.offset..][..n_labels];
                let others = &without[groups[group.opposite].offset..][..n_other_labels];
                pairs.clear();
                pairs.extend(own.iter().flat_map(|x| others.iter().map(move |y| x + y)));
                for end in edges {
                    let table = p.tables().of(end.edge as usize);
                    for_each_pair(end.is_head, n_labels, n_other_labels, |pair, entry| {
                        pairs[pair] += table[entry]
                    });
                }
                normalise(pairs);
                for end in edges {
                    let sums = &mut edge_sums[shape.edge_offset(end.edge as usize)..];
                    for_each_pair(end.is_head, n_labels, n_other_labels, |pair, entry| {
                        sums[entry] += pairs[pair]
                    });
                }
            }
        }
    }
}

/// Adds the potentials of the edges towards one neighbour to the scores of a node.
fn add_group(p: &Potentials<'_>, edges: &[Incidence], labels: &[Label], scores: &mut [f64]) {
    edges.iter().for_each(|end| add_edge(p, *end, labels[end.other as usize], scores));
}

/// Calls `visit` with each pair of labels of a node and its neighbour, and its place in a table of
/// which the node is the tail, or the head.
fn for_each_pair(is_head: bool, n_labels: usize, n_other_labels: usize, mut visit: impl FnMut(usize, usize)) {
    for x in 0..n_labels {
        for y in 0..n_other_labels {
            let pair = x * n_other_labels + y;
            visit(pair, if is_head { y * n_labels + x } else { pair });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::{Graph, oracle};
    use crf_testing::cases;
    use crf_testing::graphs::{HOLES, any_form, graphs};
    use proptest::prelude::*;

    #[test]
    fn a_star_has_a_score_for_each_end_of_an_edge_and_not_for_each_pair_of_edges() {
        let star = Graph::bare(vec![2; 2001], (1..2001).map(|leaf| (leaf, 0))).unwrap();
        let mut neighbours = Neighbours::default();
        neighbours.group(&Shape::Graph(&star));
        assert_eq!((neighbours.groups.len(), neighbours.without.len()), (4000, 8000));
        // Parallel edges lead to one neighbour.
        let parallel = Graph::bare(vec![2; 3], [(0, 1), (1, 0), (1, 2), (0, 1)]).unwrap();
        neighbours.group(&Shape::Graph(&parallel));
        assert_eq!((neighbours.groups.len(), neighbours.without.len()), (4, 8));
    }

    proptest! {
        #![proptest_config(cases(100))]

        #[test]
        fn pairs_have_the_distribution_given_all_other_labels(mut x in graphs(any_form(), HOLES)) {
            let p = x.view();
            let shape = p.shape();
            let possible = oracle::all_labellings(&p).into_iter().find(|y| y.score > f64::NEG_INFINITY);
            let Some(labels) = possible.map(|y| y.labels) else { return Ok(()) };
            let mut neighbours = Neighbours::default();
            neighbours.group(&shape);
            let mut sums = vec![0.0; shape.edge_offset(shape.n_edges())];
            neighbours.add_pair_distributions(&p, &labels, &mut sums);
            for e in 0..shape.n_edges() {
                let (u, v) = shape.ends(e);
                let mut want = Vec::new();
                for x in 0..shape.card(u) as Label {
                    for y in 0..shape.card(v) as Label {
                        let mut changed = labels.clone();
                        (changed[u], changed[v]) = (x, y);
                        want.push(p.score(&changed));
                    }
                }
                normalise(&mut want);
                let got = &sums[shape.edge_offset(e)..shape.edge_offset(e + 1)];
                prop_assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} {want:?}");
            }
        }
    }
}
