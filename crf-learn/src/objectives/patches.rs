use crf_core::simd::{Kernel, dispatch};
use crf_core::{EdgeBeliefs, Forbidden, Incidence, Label, Potentials, Problem, Result, Shape, Tables};

use crate::objectives::fixed_scores::{FixedScores, add_scores};
use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::objectives::objective::{PartialSum, WorkerMemory};
use crate::scoring::scorer::Scorer;

/// Patches of a dataset: for each node all cliques that touch it, its neighbours having their true
/// labels.
///
/// A patch gives each label of its node a score, s_t(k) = w·F_t(k). An objective over patches turns
/// these scores into a loss, and into its derivative with respect to each of them.
#[derive(Debug)]
pub(crate) struct Patches<'a> {
    scorer: Scorer<'a>,
    forbidden: Option<&'a Forbidden>,
    truth: Vec<Label>, // [positions]
    fixed: FixedScores,
}

/// Patches of one sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequencePatches<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) truth: &'a [Label],
}

impl<'a> Patches<'a> {
    /// Patches of the training data for the learner `tag`.
    pub(crate) fn new(problem: &Problem<'a>, tag: &str) -> Result<Self> {
        let data = problem.train.data();
        let truth = all_labels(data, tag)?;
        refuse_foreign(data)?;
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(data))?;
        let (scorer, forbidden) = (Scorer::new(problem.map, problem.train)?, problem.forbidden);
        Ok(Patches { scorer, forbidden, truth, fixed: FixedScores::default() })
    }

    /// Adds fixed scores of labels.
    pub(crate) fn with(self, fixed: FixedScores) -> Self {
        Patches { fixed, ..self }
    }

    /// Number of weights.
    pub(crate) fn dim(&self) -> usize {
        self.scorer.map().len()
    }

    /// Number of sequences.
    pub(crate) fn n_items(&self) -> usize {
        self.scorer.encoded().len()
    }

    /// Work of a sequence.
    pub(crate) fn cost(&self, item: usize) -> usize {
        let shape = self.scorer.encoded().data().shape(item);
        shape.node_offset(shape.n_nodes()) * 4
    }

    /// Length of the sums over sequences.
    pub(crate) fn part_len(&self) -> usize {
        self.scorer.n_packed() + self.scorer.n_sums()
    }

    /// Sets the weights.
    pub(crate) fn update(&mut self, w: &[f64]) {
        self.scorer.update(w);
    }

    /// Adds the loss of the patches of a sequence. `loss` is given their scores, node by node,
    /// replaces each by its derivative, and returns the value.
    pub(crate) fn add(
        &self,
        item: usize,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
        loss: impl FnOnce(SequencePatches<'_>, &mut [f64]) -> f64,
    ) -> Result<()> {
        let WorkerMemory { potentials, constrained, node, edge, .. } = worker;
        let data = self.scorer.encoded().data();
        let (truth, weight) = (&self.truth[data.range(item)], data.weight(item));
        let mut p = self.scorer.fill(item, potentials)?;
        add_scores(&mut p, self.fixed.sequence(data, item));
        if let Some(forbidden) = self.forbidden {
            p = forbidden.apply(p, constrained)?;
        }
        node.clear();
        node.extend_from_slice(p.node());
        dispatch(Gather { p: &p, truth, scores: node });
        let value = loss(SequencePatches { shape: p.shape(), truth }, node);
        part.value += weight * value;
        let (packed, sums) = part.vector.split_at_mut(self.scorer.n_packed());
        if let EdgeBeliefs::PerTable { sums, weight } = self.scorer.edge_beliefs(item, weight, sums, edge) {
            dispatch(Scatter { shape: p.shape(), tables: p.tables(), truth, slopes: node, weight, sums });
        }
        self.scorer.add_expected(item, node, edge, weight, packed, potentials);
        Ok(())
    }

    /// Writes the gradient of the total.
    pub(crate) fn unpack(&self, total: &PartialSum, gradient: &mut [f64]) {
        let (packed, sums) = total.vector.split_at(self.scorer.n_packed());
        self.scorer.unpack(packed, sums, gradient);
    }
}

/// Adds the scores of the edges of a node to those of its labels; the other ends have their true
/// labels.
struct Gather<'k, 'p> {
    p: &'k Potentials<'p>,
    truth: &'k [Label],
    scores: &'k mut [f64],
}

impl Kernel for Gather<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Gather { p, truth, scores } = self;
        let shape = p.shape();
        for n in 0..shape.n_nodes() {
            let scores = &mut scores[shape.node_offset(n)..shape.node_offset(n + 1)];
            for k in 0..shape.degree(n) {
                let Incidence { edge, other, is_head, .. } = shape.incidence(n, k);
                let (table, label) = (p.tables().of(edge as usize), truth[other as usize] as usize);
                if is_head {
                    let row = &table[label * scores.len()..(label + 1) * scores.len()];
                    for (score, entry) in scores.iter_mut().zip(row) {
                        *score += entry;
                    }
                } else {
                    let column = table[label..].iter().step_by(shape.card(other as usize));
                    for (score, entry) in scores.iter_mut().zip(column) {
                        *score += entry;
                    }
                }
            }
        }
    }
}

/// Adds the derivative with respect to the score of each label to the table entries that the score
/// is made of.
struct Scatter<'k, 'p> {
    shape: Shape<'k>,
    tables: &'k Tables<'p>,
    truth: &'k [Label],
    slopes: &'k [f64],
    weight: f64,
    sums: &'k mut [f64], // in the layout of the tables
}

impl Kernel for Scatter<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Scatter { shape, tables, truth, slopes, weight, sums } = self;
        for e in 0..shape.n_edges() {
            let ((u, v), table) = (shape.ends(e), tables.of_edge.table(e));
            let sums = &mut sums[tables.starts[table]..tables.starts[table + 1]];
            let (of_u, of_v) = (
                &slopes[shape.node_offset(u)..shape.node_offset(u + 1)],
                &slopes[shape.node_offset(v)..shape.node_offset(v + 1)],
            );
            let (y_u, y_v) = (truth[u] as usize, truth[v] as usize);
            for (sum, slope) in sums[y_u * of_v.len()..].iter_mut().zip(of_v) {
                *sum += weight * slope;
            }
            for (sum, slope) in sums[y_v..].iter_mut().step_by(of_v.len()).zip(of_u) {
                *sum += weight * slope;
            }
        }
    }
}
