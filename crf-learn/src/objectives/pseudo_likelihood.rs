use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Label, Problem, Result};

use crate::objectives::fixed_scores::FixedScores;
use crate::objectives::objective::{Objective, PartialSum, WorkerMemory};
use crate::objectives::patches::{Patches, Scored};

/// −Σ_t log p(y_t | y of its neighbours, X): the pseudo-likelihood of Besag (1975), on any graph.
///
/// A position costs O(non-zeros · labels + neighbours · labels); only tables that no two edges share are made whole.
#[derive(Debug)]
pub struct PseudoLikelihoodObjective<'a> {
    patches: Patches<'a>,
    n_positions: usize,
}

impl<'a> PseudoLikelihoodObjective<'a> {
    /// The pseudo-likelihood of a problem's training data.
    pub fn new(problem: &Problem<'a>) -> Result<Self> {
        let patches = Patches::new(problem, "pseudo-likelihood")?;
        Ok(PseudoLikelihoodObjective { patches, n_positions: problem.train.data().n_positions() })
    }

    /// The same with scores of labels that do not depend on the weights.
    pub(crate) fn with(self, given: FixedScores) -> Self {
        PseudoLikelihoodObjective { patches: self.patches.with(given), ..self }
    }
}

impl Objective for PseudoLikelihoodObjective<'_> {
    fn dim(&self) -> usize {
        self.patches.dim()
    }

    fn n_items(&self) -> usize {
        self.patches.n_items()
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
        self.patches.add(item, part, worker, |of, scores, _| dispatch(Surprise { of, scores }))
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
        value < 1e-4 * self.n_positions as f64
    }
}

/// Σ_t log Σ_k exp(s_t(k)) − s_t(y_t); its derivative with respect to s_t(k), p_t(k) − (k = y_t), replaces the scores.
struct Surprise<'k> {
    of: Scored<'k>,
    scores: &'k mut [f64],
}

impl Kernel for Surprise<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let Surprise { of: Scored { shape, truth }, scores } = self;
        let mut value = 0.0;
        for (n, &label) in truth.iter().enumerate() {
            let scores = &mut scores[shape.node_offset(n)..shape.node_offset(n + 1)];
            value += surprise::<FMA>(scores, label);
        }
        value
    }
}

/// log Σ_k exp(s(k)) − s(y); its derivative with respect to s(k), p(k) − (k = y), replaces the scores.
#[inline(always)]
fn surprise<const FMA: bool>(scores: &mut [f64], label: Label) -> f64 {
    let right = scores[label as usize];
    let value = softmax::<FMA>(scores) - right;
    scores[label as usize] -= 1.0;
    value
}

/// −log p(y) of a single node with the given scores, which become the slopes.
pub(crate) fn log_loss(scores: &mut [f64], label: Label) -> f64 {
    struct One<'k>(&'k mut [f64], Label);
    impl Kernel for One<'_> {
        type Output = f64;

        #[inline(always)]
        fn run<const FMA: bool>(self) -> f64 {
            surprise::<FMA>(self.0, self.1)
        }
    }
    dispatch(One(scores, label))
}

/// Turns scores into probabilities, and returns the logarithm of what they were divided by.
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
