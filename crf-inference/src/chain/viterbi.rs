use crf_core::simd::{Kernel, dispatch};
use crf_core::{Label, Potentials, Result};

use crate::refusal::impossible;

/// Best scores up to each position and label. `[T × L]`
#[derive(Debug, Default)]
pub(super) struct Workspace {
    best: Vec<f64>,
}

/// The most likely labelling and its score; of several equal ones, that with the smallest labels from the end.
///
/// The forward pass keeps scores only, so that it vectorises; the way back looks up again which label gave each.
pub(super) fn decode(
    p: &Potentials<'_>,
    len: usize,
    l: usize,
    labels: &mut [Label],
    workspace: &mut Workspace,
) -> Result<f64> {
    if len == 0 {
        return Ok(0.0);
    }
    let best = &mut workspace.best;
    best.resize(len * l, 0.0);
    dispatch(Forward { p, len, l, best });
    let argmax = |score: &dyn Fn(usize) -> f64| {
        (1..l).fold(0, |best, y| if score(y) > score(best) { y } else { best })
    };
    let mut y = argmax(&|y| best[(len - 1) * l + y]);
    let score = best[(len - 1) * l + y];
    if !score.is_finite() {
        return Err(impossible(p));
    }
    labels[len - 1] = y as Label;
    for t in (1..len).rev() {
        let table = p.tables().of(t - 1);
        y = argmax(&|i| best[(t - 1) * l + i] + table[i * l + y]);
        labels[t - 1] = y as Label;
    }
    Ok(score)
}

struct Forward<'a, 'p> {
    p: &'a Potentials<'p>,
    len: usize,
    l: usize,
    best: &'a mut [f64],
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Forward { p, len, l, best } = self;
        let psi = p.node();
        best[..l].copy_from_slice(&psi[..l]);
        for t in 1..len {
            let table = p.tables().of(t - 1);
            let (past, now) = best.split_at_mut(t * l);
            let (before, now) = (&past[(t - 1) * l..], &mut now[..l]);
            now.fill(f64::NEG_INFINITY);
            for (before, row) in before.iter().zip(table.chunks_exact(l)) {
                for (now, a) in now.iter_mut().zip(row) {
                    let score = before + a;
                    *now = if score > *now { score } else { *now };
                }
            }
            now.iter_mut().zip(&psi[t * l..]).for_each(|(now, psi)| *now += psi);
        }
    }
}
