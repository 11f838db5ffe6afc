use crf_core::{Label, Labelling, Potentials, Result};

use crate::errors::impossible;

/// A labelling of the positions so far, stored as its score and a pointer to the path that it
/// extends.
#[derive(Debug, Clone, Copy)]
struct PartialPath {
    score: f64,
    previous: u32, // previous label
    rank: u32,     // rank of the extended path among those of the previous label
}

/// The `k` labellings with the highest scores, best first, in O(T·L²·k).
///
/// Viterbi with the `k` best paths per label: those of label j at position t are the `k` best of
/// the sorted lists of all previous labels i, each shifted by A_t(i, j) + ψ_t(j).
pub(super) fn k_best(p: &Potentials<'_>, len: usize, n_labels: usize, k: usize) -> Result<Vec<Labelling>> {
    if len == 0 {
        return Ok(vec![Labelling { labels: Vec::new(), score: 0.0 }; k.min(1)]);
    }
    let psi = p.node();
    let start = |j: usize| vec![PartialPath { score: psi[j], previous: 0, rank: 0 }];
    let mut paths: Vec<Vec<Vec<PartialPath>>> = vec![(0..n_labels).map(start).map(possible).collect()]; // [T][L][≤ k], best first
    for t in 1..len {
        let table = p.tables().of(t - 1);
        let past = &paths[t - 1];
        let now = (0..n_labels).map(|j| {
            let extended =
                |i: usize, path: &PartialPath| path.score + table[i * n_labels + j] + psi[t * n_labels + j];
            possible(merge(past, k, extended))
        });
        let now = now.collect();
        paths.push(now);
    }
    let complete = merge(&paths[len - 1], k, |_, path| path.score);
    if complete.is_empty() && k > 0 {
        return Err(impossible(p));
    }
    let trace = |end: &PartialPath| {
        let mut labels = vec![0; len];
        let (mut y, mut rank) = (end.previous as usize, end.rank as usize);
        for t in (0..len).rev() {
            labels[t] = y as Label;
            let path = paths[t][y][rank];
            (y, rank) = (path.previous as usize, path.rank as usize);
        }
        Labelling { labels, score: end.score }
    };
    Ok(complete.iter().map(trace).collect())
}

/// Removes the paths that are forbidden.
fn possible(mut paths: Vec<PartialPath>) -> Vec<PartialPath> {
    paths.retain(|path| path.score > f64::NEG_INFINITY);
    paths
}

/// The best `k` extensions over the sorted paths of all previous labels: the best head is taken `k`
/// times.
fn merge(
    past: &[Vec<PartialPath>],
    k: usize,
    score: impl Fn(usize, &PartialPath) -> f64,
) -> Vec<PartialPath> {
    let mut heads = vec![0; past.len()];
    let mut best = Vec::new();
    while best.len() < k {
        let candidates = (0..past.len()).filter_map(|i| Some((i, score(i, past[i].get(heads[i])?))));
        let Some((i, score)) = candidates.reduce(|a, b| if b.1 > a.1 { b } else { a }) else { break };
        best.push(PartialPath { score, previous: i as u32, rank: heads[i] as u32 });
        heads[i] += 1;
    }
    best
}
