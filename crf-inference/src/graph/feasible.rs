//! Search for possible labellings, and their improvement label by label.

use crf_core::{Error, Label, Potentials, Result};

use crate::errors::impossible;

/// Steps of the search before it gives up.
const MAX_STEPS: usize = 1_000_000;

/// Finds a labelling of finite score by depth-first search with backtracking.
///
/// Each node in turn gets the best label given the nodes before it. Where nothing is forbidden this
/// is one pass. If the search proves that no labelling is possible, the error is `Infeasible`;
/// `Ok(false)` means that it gave up.
pub(crate) fn find_labelling(p: &Potentials<'_>, labels: &mut [Label]) -> Result<bool> {
    let shape = p.shape();
    let mut untried: Vec<Vec<(f64, Label)>> = Vec::new(); // [nodes so far] labels not yet tried, best last
    for _ in 0..MAX_STEPS.max(2 * labels.len()) {
        if untried.len() == labels.len() {
            return Ok(true);
        }
        let n = untried.len();
        let mut candidates: Vec<(f64, Label)> = (0..shape.card(n) as Label)
            .map(|y| (local_score(p, n, y, |other| (other < n).then(|| labels[other])), y))
            .filter(|(score, _)| *score > f64::NEG_INFINITY)
            .collect();
        // Of equal scores the smallest label comes first.
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        untried.push(candidates);
        while let Some(candidates) = untried.last_mut() {
            if let Some((_, y)) = candidates.pop() {
                labels[untried.len() - 1] = y;
                break;
            }
            untried.pop();
        }
        if untried.is_empty() {
            return Err(impossible(p));
        }
    }
    Ok(untried.len() == labels.len())
}

/// [`find_labelling`], where giving up is an error as well.
pub(crate) fn require_labelling(p: &Potentials<'_>, labels: &mut [Label]) -> Result<()> {
    if find_labelling(p, labels)? { Ok(()) } else { Err(not_found()) }
}

/// Error of a search that gave up; a possible labelling may exist.
fn not_found() -> Error {
    Error::Infeasible(format!(
        "no possible labelling was found in {MAX_STEPS} steps; `junction-tree` can tell whether there is one"
    ))
}

/// Iterated conditional modes (Besag 1986): sets one node after another to its best label until
/// nothing changes.
///
/// Returns the number of sweeps, and true if the last one changed nothing.
pub(crate) fn improve(p: &Potentials<'_>, labels: &mut [Label], max_sweeps: u32) -> (u32, bool) {
    for sweep in 1..=max_sweeps {
        let mut has_changed = false;
        for n in 0..labels.len() {
            let score = |y: Label| local_score(p, n, y, |other| Some(labels[other]));
            let (mut best, mut best_score) = (labels[n], score(labels[n]));
            for y in 0..p.shape().card(n) as Label {
                let candidate_score = score(y);
                if candidate_score > best_score {
                    (best, best_score) = (y, candidate_score);
                }
            }
            has_changed |= best != labels[n];
            labels[n] = best;
        }
        if !has_changed {
            return (sweep, true);
        }
    }
    (max_sweeps, false)
}

/// Score of label `y` at node `n`: its node potential and the edge potentials towards neighbours of
/// known label.
pub(crate) fn local_score(
    p: &Potentials<'_>,
    n: usize,
    y: Label,
    known_label: impl Fn(usize) -> Option<Label>,
) -> f64 {
    let shape = p.shape();
    let mut score = p.node()[shape.node_offset(n) + y as usize];
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        let other = end.other as usize;
        if let Some(other_label) = known_label(other) {
            let table = p.tables().of(end.edge as usize);
            score += match end.is_head {
                true => table[other_label as usize * shape.card(n) + y as usize],
                false => table[y as usize * shape.card(other) + other_label as usize],
            };
        }
    }
    score
}
