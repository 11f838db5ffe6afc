use crf_core::{Error, Label, Potentials, Result};

use crate::errors::impossible;

/// Labels tried before a search gives up.
const BUDGET: usize = 1_000_000;

/// Finds a labelling that is not impossible: node by node the best label given the nodes before, with steps back.
///
/// Where nothing is forbidden this is one pass. Where no labelling is possible, and the search comes to its end, it
/// is infeasible; `Ok(false)` means that the search gave up.
pub(crate) fn labelling(p: &Potentials<'_>, labels: &mut [Label]) -> Result<bool> {
    let shape = p.shape();
    let mut tried: Vec<Vec<(f64, Label)>> = Vec::new(); // [nodes so far] labels left to try, best last
    for _ in 0..BUDGET.max(2 * labels.len()) {
        if tried.len() == labels.len() {
            return Ok(true);
        }
        let n = tried.len();
        let mut ways: Vec<(f64, Label)> = (0..shape.card(n) as Label)
            .map(|y| (local_score(p, n, y, |other| (other < n).then(|| labels[other])), y))
            .filter(|(score, _)| *score > f64::NEG_INFINITY)
            .collect();
        // Of equal scores the smallest label comes first.
        ways.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        tried.push(ways);
        while let Some(ways) = tried.last_mut() {
            if let Some((_, y)) = ways.pop() {
                labels[tried.len() - 1] = y;
                break;
            }
            tried.pop();
        }
        if tried.is_empty() {
            return Err(impossible(p));
        }
    }
    Ok(tried.len() == labels.len())
}

/// [`labelling`], where a search that gave up is an error as well.
pub(crate) fn required(p: &Potentials<'_>, labels: &mut [Label]) -> Result<()> {
    if labelling(p, labels)? { Ok(()) } else { Err(not_found()) }
}

/// The error of an algorithm that found no possible labelling, although there may be one.
pub(crate) fn not_found() -> Error {
    Error::Infeasible(format!(
        "no possible labelling was found in {BUDGET} steps; `junction-tree` can tell whether there is one"
    ))
}

/// Moves to the best label of one node after the other until no move helps; the number of sweeps.
pub(crate) fn climb(p: &Potentials<'_>, labels: &mut [Label], max_sweeps: u32) -> (u32, bool) {
    for sweep in 1..=max_sweeps {
        let mut moved = false;
        for n in 0..labels.len() {
            let score = |y: Label| local_score(p, n, y, |other| Some(labels[other]));
            let (mut best, mut best_score) = (labels[n], score(labels[n]));
            for y in 0..p.shape().card(n) as Label {
                let now = score(y);
                if now > best_score {
                    (best, best_score) = (y, now);
                }
            }
            moved |= best != labels[n];
            labels[n] = best;
        }
        if !moved {
            return (sweep, true);
        }
    }
    (max_sweeps, false)
}

/// What label `y` of node `n` adds to the score, given the labels that `known` tells of its neighbours.
pub(crate) fn local_score(
    p: &Potentials<'_>,
    n: usize,
    y: Label,
    known: impl Fn(usize) -> Option<Label>,
) -> f64 {
    let shape = p.shape();
    let mut score = p.node()[shape.node_offset(n) + y as usize];
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        let other = end.other as usize;
        if let Some(at_other) = known(other) {
            let table = p.tables().of(end.edge as usize);
            score += match end.is_head {
                true => table[at_other as usize * shape.card(n) + y as usize],
                false => table[y as usize * shape.card(other) + at_other as usize],
            };
        }
    }
    score
}
