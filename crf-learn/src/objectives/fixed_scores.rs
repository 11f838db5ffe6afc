use crf_core::{Dataset, Label, Potentials};

/// Label scores of all positions that do not depend on the weights being learnt; empty if there are
/// none.
///
/// All positions must be of one kind.
#[derive(Debug, Default)]
pub(crate) struct FixedScores(pub(crate) Vec<f64>); // [positions × labels]

impl FixedScores {
    /// Scores of sequence `i`; empty if there are none.
    pub(crate) fn sequence(&self, data: &Dataset, i: usize) -> &[f64] {
        let per_position = self.0.len() / data.n_positions().max(1);
        let range = data.range(i);
        &self.0[range.start * per_position..range.end * per_position]
    }
}

/// Adds fixed scores to the potentials of their sequence.
pub(crate) fn add_scores(p: &mut Potentials<'_>, fixed: &[f64]) {
    p.node_mut().iter_mut().zip(fixed).for_each(|(potential, score)| *potential += score);
}

/// Sum of the fixed scores of a labelling.
pub(crate) fn score(fixed: &[f64], labels: &[Label]) -> f64 {
    let per_position = fixed.len() / labels.len().max(1);
    if per_position == 0 {
        return 0.0;
    }
    fixed.chunks(per_position).zip(labels).map(|(scores, &label)| scores[label as usize]).sum()
}
