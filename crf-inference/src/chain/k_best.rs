use crf_core::{Label, Labelling, Potentials, Result};

use crate::errors::impossible;

/// One of the best ways to reach a label: its score, and which way to which label it prolongs.
#[derive(Debug, Clone, Copy)]
struct Way {
    score: f64,
    before: u32, // label at the position before
    rank: u32,   // which of that label's ways
}

/// The `k` labellings with the highest scores, best first, in O(T·L²·k).
pub(super) fn k_best(p: &Potentials<'_>, len: usize, l: usize, k: usize) -> Result<Vec<Labelling>> {
    if len == 0 {
        return Ok(vec![Labelling { labels: Vec::new(), score: 0.0 }; k.min(1)]);
    }
    let psi = p.node();
    let start = |j: usize| vec![Way { score: psi[j], before: 0, rank: 0 }];
    let mut ways: Vec<Vec<Vec<Way>>> = vec![(0..l).map(start).map(possible).collect()]; // [T][L][≤ k], best first
    for t in 1..len {
        let table = p.tables().of(t - 1);
        let past = &ways[t - 1];
        let now = (0..l).map(|j| {
            let longer = |i: usize, way: &Way| way.score + table[i * l + j] + psi[t * l + j];
            possible(merge(past, k, longer))
        });
        let now = now.collect();
        ways.push(now);
    }
    let ends = merge(&ways[len - 1], k, |_, way| way.score);
    if ends.is_empty() && k > 0 {
        return Err(impossible(p));
    }
    let trace = |end: &Way| {
        let mut labels = vec![0; len];
        let (mut y, mut rank) = (end.before as usize, end.rank as usize);
        for t in (0..len).rev() {
            labels[t] = y as Label;
            let way = ways[t][y][rank];
            (y, rank) = (way.before as usize, way.rank as usize);
        }
        Labelling { labels, score: end.score }
    };
    Ok(ends.iter().map(trace).collect())
}

fn possible(mut ways: Vec<Way>) -> Vec<Way> {
    ways.retain(|way| way.score > f64::NEG_INFINITY);
    ways
}

/// The best `k` over all labels' sorted ways, by repeatedly taking the best head.
fn merge(past: &[Vec<Way>], k: usize, score: impl Fn(usize, &Way) -> f64) -> Vec<Way> {
    let mut heads = vec![0; past.len()];
    let mut best = Vec::new();
    while best.len() < k {
        let next = (0..past.len()).filter_map(|i| Some((i, score(i, past[i].get(heads[i])?))));
        let Some((i, score)) = next.reduce(|a, b| if b.1 > a.1 { b } else { a }) else { break };
        best.push(Way { score, before: i as u32, rank: heads[i] as u32 });
        heads[i] += 1;
    }
    best
}
