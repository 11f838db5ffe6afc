use crf_core::{Dataset, Label, Potentials};

/// Scores of the labels of all positions that do not depend on the weights to be learnt; none unless they are given.
///
/// They are for data whose positions are all of one kind.
#[derive(Debug, Default)]
pub(crate) struct FixedScores(pub(crate) Vec<f64>); // [positions × labels]

impl FixedScores {
    /// The scores of sequence `i`, or nothing.
    pub(crate) fn of(&self, data: &Dataset, i: usize) -> &[f64] {
        let per_position = self.0.len() / data.n_positions().max(1);
        let range = data.range(i);
        &self.0[range.start * per_position..range.end * per_position]
    }
}

/// Adds given scores to the potentials of their sequence.
pub(crate) fn add_scores(p: &mut Potentials<'_>, given: &[f64]) {
    p.node_mut().iter_mut().zip(given).for_each(|(potential, score)| *potential += score);
}

/// What a labelling is given.
pub(crate) fn score(given: &[f64], labels: &[Label]) -> f64 {
    let per_position = given.len() / labels.len().max(1);
    if per_position == 0 {
        return 0.0;
    }
    given.chunks(per_position).zip(labels).map(|(scores, &label)| scores[label as usize]).sum()
}
