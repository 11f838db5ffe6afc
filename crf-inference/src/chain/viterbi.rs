use crf_core::simd::{Kernel, dispatch};
use crf_core::{Label, Potentials};

/// Best scores up to each position and label; −∞ of labels that are not gone on with.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    best: Vec<f64>,  // [T × L]
    order: Vec<f64>, // [L] of one position
}

/// The most likely labelling and its score, or `None` if there is none; of several equal ones, that with the smallest labels from
/// the end. Each position goes on with the `beam` labels that score best so far.
///
/// The forward pass keeps scores only, so that it vectorises; the way back looks up again which label gave each.
pub(super) fn decode(
    p: &Potentials<'_>,
    len: usize,
    l: usize,
    beam: usize,
    labels: &mut [Label],
    workspace: &mut Workspace,
) -> Option<f64> {
    if len == 0 {
        return Some(0.0);
    }
    let Workspace { best, order } = workspace;
    best.resize(len * l, 0.0);
    dispatch(Forward { p, len, l, beam, best, order });
    let argmax = |score: &dyn Fn(usize) -> f64| {
        (1..l).fold(0, |best, y| if score(y) > score(best) { y } else { best })
    };
    let mut y = argmax(&|y| best[(len - 1) * l + y]);
    let score = best[(len - 1) * l + y];
    if !score.is_finite() {
        return None;
    }
    labels[len - 1] = y as Label;
    for t in (1..len).rev() {
        let table = p.tables().of(t - 1);
        y = argmax(&|i| best[(t - 1) * l + i] + table[i * l + y]);
        labels[t - 1] = y as Label;
    }
    Some(score)
}

/// Keeps the `beam` best scores, of equal ones the first, and makes the others −∞.
fn narrow(scores: &mut [f64], beam: usize, order: &mut Vec<f64>) {
    if beam >= scores.len() {
        return;
    }
    order.clear();
    order.extend_from_slice(scores);
    let (above, &mut last, _) = order.select_nth_unstable_by(beam - 1, |a, b| b.total_cmp(a));
    let mut equal = beam - above.iter().filter(|&&score| score > last).count();
    for score in scores {
        let keeps = *score > last || (*score == last && equal > 0);
        equal -= usize::from(keeps && *score == last);
        *score = if keeps { *score } else { f64::NEG_INFINITY };
    }
}

struct Forward<'a, 'p> {
    p: &'a Potentials<'p>,
    len: usize,
    l: usize,
    beam: usize,
    best: &'a mut [f64],
    order: &'a mut Vec<f64>,
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Forward { p, len, l, beam, best, order } = self;
        let psi = p.node();
        best[..l].copy_from_slice(&psi[..l]);
        narrow(&mut best[..l], beam, order);
        for t in 1..len {
            let table = p.tables().of(t - 1);
            let (past, now) = best.split_at_mut(t * l);
            let (before, now) = (&past[(t - 1) * l..], &mut now[..l]);
            now.fill(f64::NEG_INFINITY);
            for (before, row) in before.iter().zip(table.chunks_exact(l)) {
                if *before == f64::NEG_INFINITY {
                    continue;
                }
                for (now, a) in now.iter_mut().zip(row) {
                    let score = before + a;
                    *now = if score > *now { score } else { *now };
                }
            }
            now.iter_mut().zip(&psi[t * l..]).for_each(|(now, psi)| *now += psi);
            narrow(now, beam, order);
        }
    }
}
