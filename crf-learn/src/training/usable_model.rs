use crf_core::{Error, Model, Problem, Result, Scratch, TableVersion};

/// Maximum size of a score that still leaves something of the differences that probabilities are
/// made of, when scores of a sequence are added.
const MAX_SCORE: f64 = 1e100;

/// Refuses a model that cannot label the data that it was trained on: its scores are no numbers, so
/// large that sums and products of them overflow, or −∞ for every label of a position.
///
/// For learners that do not compute likelihoods themselves, which would have found out.
pub(crate) fn require_usable(model: &dyn Model, problem: &Problem<'_>) -> Result<()> {
    let bound = model.bind(problem.train)?;
    let mut scratch = Scratch::new();
    let mut checked = TableVersion::default();
    // −∞ forbids.
    let is_bad = |score: &&f64| score.is_nan() || (score.abs() > MAX_SCORE && **score != f64::NEG_INFINITY);
    for i in 0..problem.train.len() {
        let p = bound.fill(i, &mut scratch)?;
        let tables = p.tables();
        // Tables of one version are read once, however many sequences share them.
        let new = if tables.version == checked { &[][..] } else { tables.values };
        checked = tables.version;
        if let Some(score) = p.node().iter().chain(new).find(is_bad) {
            let message = format!("the model gives a label the score {score:e}; scale the features");
            return Err(Error::NotFinite(message).at(format!("sequence {}", i + 1)));
        }
        let shape = p.shape();
        let is_lost = |n: &usize| {
            let scores = &p.node()[shape.node_offset(*n)..shape.node_offset(n + 1)];
            scores.iter().all(|&score| score == f64::NEG_INFINITY)
        };
        if let Some(n) = (0..shape.n_nodes()).find(is_lost) {
            let message = "the model gives every label the score −∞; scale the features".to_owned();
            return Err(Error::NotFinite(message).at(format!("sequence {}, position {}", i + 1, n + 1)));
        }
    }
    Ok(())
}
