//! Exact answers by enumeration of all labellings: too slow to use, too plain to be wrong.

use crate::Label;
use crate::inference::algorithm::Labelling;
use crate::inference::potentials::Potentials;

/// Calls `see` with every labelling and its score, in lexicographic order.
pub fn for_each_labelling(p: &Potentials<'_>, mut see: impl FnMut(&[Label], f64)) {
    let shape = p.shape();
    let mut labels: Vec<Label> = vec![0; shape.n_nodes()];
    loop {
        see(&labels, p.score(&labels));
        let Some(n) = (0..labels.len()).rfind(|&n| (labels[n] as usize) + 1 < shape.card(n)) else {
            return;
        };
        labels[n] += 1;
        labels[n + 1..].fill(0);
    }
}

/// Lists every labelling of a small instance with its score, in lexicographic order.
pub fn all_labellings(p: &Potentials<'_>) -> Vec<Labelling> {
    let mut all = Vec::new();
    for_each_labelling(p, |labels, score| all.push(Labelling { labels: labels.to_vec(), score }));
    all
}

/// Log normaliser log Σ_y exp(score(y)).
pub fn log_z(p: &Potentials<'_>) -> f64 {
    let mut max = f64::NEG_INFINITY;
    for_each_labelling(p, |_, score| max = max.max(score));
    if max == f64::NEG_INFINITY {
        return max;
    }
    let mut sum = 0.0;
    for_each_labelling(p, |_, score| sum += (score - max).exp());
    max + sum.ln()
}

/// Probability that a labelling passes `test`.
pub fn probability(p: &Potentials<'_>, test: impl Fn(&[Label]) -> bool) -> f64 {
    let log_z = log_z(p);
    let mut sum = 0.0;
    for_each_labelling(p, |labels, score| {
        if test(labels) {
            sum += (score - log_z).exp();
        }
    });
    sum
}
