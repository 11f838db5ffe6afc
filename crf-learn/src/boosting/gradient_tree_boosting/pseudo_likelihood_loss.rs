use crf_core::{Label, Problem, Result};
use rayon::prelude::*;

use crate::boosting::gradient_tree_boosting::loss::{BoostingLoss, Leaf, TreeView};
use crate::boosting::trees::{Attributes, Cells, Place, Row, Tree};
use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::objectives::pseudo_likelihood::log_loss;

/// Loss −Σ_t log p(y_t | y_{t−1}, y_{t+1}, X), or −Σ_t log p(y_t | y_{t−1}, X), of chains with
/// scores F_t(y′, y) of their own at every position.
///
/// Only scores with a true label on at least one side matter: 2·L of L² at each position. With
/// P_t(k) = p(y_t = k | y_{t−1}, y_{t+1}, X), the slope of F_t(y′, k) is 1[y′ = y_{t−1}] (P_t(k) −
/// 1[k = y_t]), and where k = y_t also P_{t−1}(y′) − 1[y′ = y_{t−1}], since F_t(y_{t−1}, y_t) is
/// also part of the patch of t − 1, if patches look ahead.
pub(crate) struct PseudoLikelihoodLoss<'a> {
    view: TreeView<'a>,
    asks: bool,
    ahead: Ahead,
    truth: Vec<Label>,
    chains: Vec<Chain>, // [sequences]
}

/// Use of the next label in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Known, as the previous one is.
    Known,
    /// Known, with slopes of the first part alone, as on the poster of Dietterich and Ashenfelter.
    Poster,
    /// Unknown.
    Unknown,
}

/// Scores and probabilities of one sequence.
struct Chain {
    into: Vec<f64>, // [T × L] F_t(y_{t−1}, k)
    from: Vec<f64>, // [T × L] F_t(l, y_t); zeros for the first
    p: Vec<f32>,    // [T × L] P_t(k)
    loss: f64,
}

impl<'a> PseudoLikelihoodLoss<'a> {
    /// The training data of a problem, with all scores 0.
    pub(crate) fn new(
        problem: &Problem<'a>,
        attributes: &'a Attributes,
        asks: bool,
        ahead: Ahead,
        tag: &str,
    ) -> Result<Self> {
        let (x, n_labels) = (problem.train, problem.map.schema().n_labels(0));
        let truth = all_labels(x.data(), tag)?;
        refuse_foreign(x.data())?;
        let chain = |i| {
            let len = x.data().range(i).len() * n_labels;
            Chain { into: vec![0.0; len], from: vec![0.0; len], p: vec![0.0; len], loss: 0.0 }
        };
        let chains = (0..x.len()).map(chain).collect();
        Ok(PseudoLikelihoodLoss { view: TreeView { attributes, x, n_labels }, asks, ahead, truth, chains })
    }

    #[cfg(test)]
    pub(crate) fn shift(&mut self, i: usize, t: usize, before: u16, now: usize, by: f64) {
        let (n, truth) = (self.view.n_labels, &self.truth[self.view.x.data().range(i)]);
        let chain = &mut self.chains[i];
        let first = usize::from(before) == n;
        if first || u32::from(before) == truth[t - 1] {
            chain.into[t * n + now] += by;
        }
        if !first && now == truth[t] as usize {
            chain.from[t * n + usize::from(before)] += by;
        }
    }
}

impl BoostingLoss for PseudoLikelihoodLoss<'_> {
    fn add(&mut self, trees: &[Tree]) {
        let PseudoLikelihoodLoss { view, asks, truth, chains, .. } = self;
        let n = view.n_labels;
        let start = || (Row::new(view.attributes), (0..view.none()).collect::<Vec<u16>>());
        chains.par_iter_mut().enumerate().for_each_init(start, |(row, labels), (i, chain)| {
            let truth = &truth[view.x.data().range(i)];
            for (t, position) in view.x.data().range(i).enumerate() {
                view.read(position, row);
                let before = t.checked_sub(1).filter(|_| *asks).map(|e| truth[e] as u16);
                let (into, from) = (&mut chain.into[t * n..(t + 1) * n], &mut chain.from[t * n..(t + 1) * n]);
                for (k, tree) in trees.iter().enumerate() {
                    let n_attributes = view.attributes.len() as u32;
                    match before {
                        Some(before) if truth[t] as usize == k => {
                            tree.walk(row, n_attributes, labels, &mut |labels, value| {
                                labels.iter().for_each(|&label| from[usize::from(label)] += value);
                            });
                            into[k] = from[usize::from(before)];
                        }
                        before => {
                            let mut one = [before.unwrap_or(view.none())];
                            tree.walk(row, n_attributes, &mut one, &mut |_, value| into[k] += value);
                        }
                    }
                }
            }
        });
    }

    fn evaluate(&mut self) -> Result<f64> {
        let PseudoLikelihoodLoss { view, truth, chains, ahead, .. } = self;
        let (n, data) = (view.n_labels, view.x.data());
        chains.par_iter_mut().enumerate().for_each_init(Vec::new, |scores, (i, chain)| {
            let truth = &truth[data.range(i)];
            chain.loss = 0.0;
            for t in 0..truth.len() {
                scores.clear();
                scores.extend_from_slice(&chain.into[t * n..(t + 1) * n]);
                if t + 1 < truth.len() && *ahead != Ahead::Unknown {
                    let next = &chain.from[(t + 1) * n..(t + 2) * n];
                    scores.iter_mut().zip(next).for_each(|(score, next)| *score += next);
                }
                chain.loss += data.weight(i) * log_loss(scores, truth[t]);
                // The scores are now slopes: probabilities, minus 1 for the truth.
                scores[truth[t] as usize] += 1.0;
                chain.p[t * n..(t + 1) * n]
                    .iter_mut()
                    .zip(&*scores)
                    .for_each(|(p, &slope)| *p = slope as f32);
            }
        });
        Ok(chains.iter().map(|chain| chain.loss).sum())
    }

    fn cells(&self, k: usize, sampled: &[bool], leaf: Leaf, out: &mut Cells) {
        let (data, n) = (self.view.x.data(), self.view.n_labels);
        out.fill(data, &self.truth, sampled, |out, Place { sequence, t, weight, truth }| {
            let chain = &self.chains[sequence];
            let (is_k, p) = (truth[t] as usize == k, f64::from(chain.p[t * n + k]));
            let g = f64::from(u8::from(is_k)) - p;
            let h = leaf.weight(g, p);
            match t.checked_sub(1).filter(|_| self.asks) {
                None => out.push(self.view.none(), weight * g, weight * h),
                Some(e) if is_k && self.ahead == Ahead::Known => {
                    for (before, &p) in (0..).zip(&chain.p[e * n..(e + 1) * n]) {
                        let (p, right) = (f64::from(p), u32::from(before) == truth[e]);
                        let own = if right { (g, h) } else { (0.0, 0.0) };
                        let slope = f64::from(u8::from(right)) - p;
                        out.push(before, weight * (own.0 + slope), weight * (own.1 + leaf.weight(slope, p)));
                    }
                }
                Some(e) => out.push(truth[e] as u16, weight * g, weight * h),
            }
        });
    }
}
