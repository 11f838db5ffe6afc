use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Label, Problem, Result};

use crate::objectives::fixed_scores::FixedScores;
use crate::objectives::objective::{Objective, PartialSum, WorkerMemory, weighted_positions};
use crate::objectives::patches::{Patches, SequencePatches};

/// Negative log pseudo-likelihood −Σ_t log p(y_t | y of its neighbours, X) of Besag (1975), on any
/// graph.
///
/// A position costs O(non-zeros · labels + neighbours · labels); only tables that no two edges
/// share are computed in full.
#[derive(Debug)]
pub struct PseudoLikelihoodObjective<'a> {
    patches: Patches<'a>,
    n_positions: f64,
}

impl<'a> PseudoLikelihoodObjective<'a> {
    /// The objective over the training data of a problem.
    pub fn new(problem: &Problem<'a>) -> Result<Self> {
        let patches = Patches::new(problem, "pseudo-likelihood")?;
        Ok(PseudoLikelihoodObjective { patches, n_positions: weighted_positions(problem.train.data()) })
    }

    /// Adds fixed scores of labels.
    pub(crate) fn with(self, fixed: FixedScores) -> Self {
        PseudoLikelihoodObjective { patches: self.patches.with(fixed), ..self }
    }
}

impl Objective for PseudoLikelihoodObjective<'_> {
    fn dim(&self) -> usize {
        self.patches.dim()
    }

    fn n_items(&self) -> usize {
        self.patches.n_items()
    }

    fn n_positions(&self) -> f64 {
        self.n_positions
    }

    fn cost(&self, item: usize) -> usize {
        self.patches.cost(item)
    }

    fn part_len(&self) -> usize {
        self.patches.part_len()
    }

    fn begin(&mut self, w: &[f64], _some: Option<&[usize]>) {
        self.patches.update(w);
    }

    fn add(&self, _w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        self.patches.add(item, part, worker, |sequence, scores| dispatch(PatchLoss { sequence, scores }))
    }

    fn finish(
        &mut self,
        _w: &[f64],
        _some: Option<&[usize]>,
        total: &PartialSum,
        gradient: &mut [f64],
    ) -> f64 {
        self.patches.unpack(total, gradient);
        total.value
    }

    fn is_separated(&self, value: f64) -> bool {
        value < 1e-4 * self.n_positions
    }
}

/// Loss Σ_t log Σ_k exp(s_t(k)) − s_t(y_t) of the patches of a sequence. Its derivative with
/// respect to s_t(k), p_t(k) − (k = y_t), replaces the scores.
struct PatchLoss<'k> {
    sequence: SequencePatches<'k>,
    scores: &'k mut [f64],
}

impl Kernel for PatchLoss<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let PatchLoss { sequence: SequencePatches { shape, truth }, scores } = self;
        let mut value = 0.0;
        for (n, &label) in truth.iter().enumerate() {
            let scores = &mut scores[shape.node_offset(n)..shape.node_offset(n + 1)];
            value += node_loss::<FMA>(scores, label);
        }
        value
    }
}

/// Loss log Σ_k exp(s(k)) − s(y) of one node. Its derivative with respect to s(k), p(k) − (k = y),
/// replaces the scores.
#[inline(always)]
fn node_loss<const FMA: bool>(scores: &mut [f64], label: Label) -> f64 {
    let right = scores[label as usize];
    let value = softmax::<FMA>(scores) - right;
    scores[label as usize] -= 1.0;
    value
}

/// Loss −log p(y) of one node with the given scores. Its derivatives replace the scores.
pub(crate) fn log_loss(scores: &mut [f64], label: Label) -> f64 {
    struct One<'k>(&'k mut [f64], Label);
    impl Kernel for One<'_> {
        type Output = f64;

        #[inline(always)]
        fn run<const FMA: bool>(self) -> f64 {
            node_loss::<FMA>(self.0, self.1)
        }
    }
    dispatch(One(scores, label))
}

/// Replaces scores by probabilities, and returns log Σ_k exp(s(k)).
#[inline(always)]
pub(crate) fn softmax<const FMA: bool>(scores: &mut [f64]) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for &score in &*scores {
        best = best.max(score);
    }
    for score in &mut *scores {
        *score = exp_nonpositive::<FMA>(*score - best);
    }
    let mut sum = 0.0;
    for score in &*scores {
        sum += score;
    }
    let scale = sum.recip();
    for score in &mut *scores {
        *score *= scale;
    }
    best + sum.ln()
}
