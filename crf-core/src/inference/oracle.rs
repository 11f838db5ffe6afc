//! Exact answers by enumeration of all labellings: too slow to use, too plain to be wrong.
//!
//! Scores are summed after the maximum of each node and table was subtracted, so that the answers
//! are as exact for large potentials as for small ones.

use crate::Label;
use crate::inference::algorithm::Labelling;
use crate::inference::potentials::Potentials;

/// Calls `see` with every labelling, in lexicographic order.
fn for_each(p: &Potentials<'_>, mut see: impl FnMut(&[Label])) {
    let shape = p.shape();
    let mut labels: Vec<Label> = vec![0; shape.n_nodes()];
    loop {
        see(&labels);
        let Some(n) = (0..labels.len()).rfind(|&n| (labels[n] as usize) + 1 < shape.card(n)) else {
            return;
        };
        labels[n] += 1;
        labels[n + 1..].fill(0);
    }
}

/// Calls `see` with every labelling and its score, in lexicographic order.
pub fn for_each_labelling(p: &Potentials<'_>, mut see: impl FnMut(&[Label], f64)) {
    for_each(p, |labels| see(labels, p.score(labels)));
}

/// Lists every labelling of a small instance with its score, in lexicographic order.
pub fn all_labellings(p: &Potentials<'_>) -> Vec<Labelling> {
    let mut all = Vec::new();
    for_each_labelling(p, |labels, score| all.push(Labelling { labels: labels.to_vec(), score }));
    all
}

/// Log normaliser log Σ_y exp(score(y)).
pub fn log_z(p: &Potentials<'_>) -> f64 {
    let shifted = Shifted::new(p);
    match shifted.all.iter().copied().fold(f64::NEG_INFINITY, f64::max) {
        f64::NEG_INFINITY => f64::NEG_INFINITY,
        max => shifted.shift + (max + shifted.sum(max, |_| true).ln()),
    }
}

/// Probability that a labelling passes `test`; NaN if no labelling is possible.
pub fn probability(p: &Potentials<'_>, test: impl Fn(&[Label]) -> bool) -> f64 {
    let shifted = Shifted::new(p);
    let max = shifted.all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut passes = Vec::new();
    for_each(p, |labels| passes.push(test(labels)));
    shifted.sum(max, |k| passes[k]) / shifted.sum(max, |_| true)
}

/// Scores of all labellings after the maximum of each node and table was subtracted.
struct Shifted {
    all: Vec<f64>,
    shift: f64, // sum of the maxima
}

impl Shifted {
    fn new(p: &Potentials<'_>) -> Self {
        let shape = p.shape();
        // A maximum of −∞ forbids everything, whatever is subtracted.
        let max = |values: &[f64]| match values.iter().copied().fold(f64::NEG_INFINITY, f64::max) {
            f64::NEG_INFINITY => 0.0,
            max => max,
        };
        let node = |n: usize| &p.node()[shape.node_offset(n)..shape.node_offset(n + 1)];
        let nodes: Vec<f64> = (0..shape.n_nodes()).map(|n| max(node(n))).collect();
        let edges: Vec<f64> = (0..shape.n_edges()).map(|e| max(p.tables().of(e))).collect();
        let mut all = Vec::new();
        for_each(p, |labels| {
            let of_nodes = labels.iter().enumerate().map(|(n, &y)| node(n)[y as usize] - nodes[n]);
            let of_edges = (0..shape.n_edges()).map(|e| {
                let (u, v) = shape.ends(e);
                p.tables().of(e)[labels[u] as usize * shape.card(v) + labels[v] as usize] - edges[e]
            });
            all.push(of_nodes.sum::<f64>() + of_edges.sum::<f64>());
        });
        Shifted { all, shift: nodes.iter().sum::<f64>() + edges.iter().sum::<f64>() }
    }

    /// Σ exp(score − max) over the labellings, by number, that pass `test`.
    fn sum(&self, max: f64, test: impl Fn(usize) -> bool) -> f64 {
        let passing = self.all.iter().enumerate().filter(|(k, _)| test(*k));
        passing.map(|(_, score)| (score - max).exp()).sum()
    }
}
