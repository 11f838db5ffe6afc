use crf_core::{Label, Labelling, Potentials, Result, require_memory};

use crate::errors::{finite_log_z, impossible};
use crate::shifted::ShiftMemory;

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
/// the sorted lists of all previous labels i, each shifted by A_t(i, j) + ψ_t(j). As in Viterbi,
/// the scores of a position are lowered to the maximum 0.
pub(super) fn k_best(
    p: &Potentials<'_>,
    len: usize,
    n_labels: usize,
    k: usize,
    shift: &mut ShiftMemory,
) -> Result<Vec<Labelling>> {
    if len == 0 {
        return Ok(vec![Labelling { labels: Vec::new(), score: 0.0 }; k.min(1)]);
    }
    require_memory(
        n_bytes(len, n_labels, k),
        &format!("a list of the {k} best labellings"),
        "ask for fewer",
    )?;
    let shifted = shift.shift(p)?;
    let (psi, tables, mut height) = (shifted.p.node(), shifted.p.tables(), shifted.height);
    let start = |j: usize| vec![PartialPath { score: psi[j], previous: 0, rank: 0 }];
    let mut paths: Vec<Vec<Vec<PartialPath>>> = vec![(0..n_labels).map(start).map(possible).collect()]; // [T][L][≤ k], best first
    for t in 1..len {
        let table = tables.of(t - 1);
        let past = &paths[t - 1];
        let now = (0..n_labels).map(|j| {
            let extended =
                |i: usize, path: &PartialPath| path.score + table[i * n_labels + j] + psi[t * n_labels + j];
            possible(merge(past, k, extended))
        });
        let mut now: Vec<_> = now.collect();
        let best = now.iter().filter_map(|paths| paths.first()).map(|path| path.score).reduce(f64::max);
        let best = best.unwrap_or(0.0);
        now.iter_mut().flatten().for_each(|path| path.score -= best);
        height.add(best);
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
        Ok(Labelling { labels, score: finite_log_z(height.plus(end.score).value())? })
    };
    complete.iter().map(trace).collect()
}

/// Estimate of the memory of [`k_best`]: no label has more paths than there are labellings so far.
fn n_bytes(len: usize, n_labels: usize, k: usize) -> f64 {
    let (l, k) = (n_labels as f64, k as f64);
    let mut n_paths = 0.0;
    let mut n_labellings = 1.0;
    for _ in 0..len {
        n_paths += l * f64::min(n_labellings, k);
        // Infinity is as good as any number above k.
        n_labellings *= l;
    }
    let labels_of_one = (len * size_of::<Label>() + size_of::<Labelling>()) as f64;
    n_paths * size_of::<PartialPath>() as f64 + f64::min(n_labellings, k) * labels_of_one
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
