use crf_core::simd::{Kernel, dispatch};
use crf_core::{Label, Potentials, Result, TableVersion, Tables};

use crate::errors::finite_score;
use crate::log_domain::lower;
use crate::shifted::ShiftMemory;

/// Memory of a worker.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    best: Vec<f64>,   // [T × L] score of the best path to each label; −∞ outside of the beam
    sorted: Vec<f64>, // [L] partially sorted scores of one position
    table_sizes: TableSizes,
    shift: ShiftMemory,
}

/// Answer, for one version of the tables, to whether a potential of theirs is larger than
/// [`LARGE`].
#[derive(Debug, Default)]
struct TableSizes {
    version: TableVersion,
    any_large: bool,
}

impl TableSizes {
    /// True if a potential of the tables is large; they are read once for each version.
    fn any_large(&mut self, tables: &Tables<'_>) -> bool {
        if self.version != tables.version {
            *self = TableSizes { version: tables.version, any_large: dispatch(AnyLarge(tables.values)) };
        }
        self.any_large
    }
}

/// Largest absolute potential whose sums keep all digits that matter: those of a thousand positions
/// are rounded by less than 10⁻⁷.
const LARGE: f64 = 1e6;

/// Viterbi with a beam: the most likely labelling and its score, or `None` if no labelling is
/// possible within the beam.
///
/// ```text
/// δ_t(j) = ψ_t(j) + max_i (δ_{t−1}(i) + A_t(i, j))
/// ```
///
/// Each position keeps the `beam` labels with the best scores so far. Among labellings with equal
/// scores the one with the smallest labels wins, compared from the end. The forward pass stores
/// scores only, so that it vectorises; the way back recomputes which label gave each.
///
/// Where a potential is large, potentials are shifted and each row of δ is lowered to the maximum
/// 0, so that no position costs another one digits.
pub(super) fn decode(
    p: &Potentials<'_>,
    len: usize,
    n_labels: usize,
    beam: usize,
    labels: &mut [Label],
    workspace: &mut Workspace,
) -> Result<Option<f64>> {
    if len == 0 {
        return Ok(Some(0.0));
    }
    let Workspace { best, sorted, table_sizes, shift } = workspace;
    best.resize(len * n_labels, 0.0);
    // A table that the sequence does not use costs no more than time.
    let has_large_table = len > 1 && table_sizes.any_large(p.tables());
    if !has_large_table && !dispatch(AnyLarge(p.node())) {
        dispatch(Forward { p, len, l: n_labels, beam, best, sorted, lowered: false });
        return Ok(trace_back(p, len, n_labels, best, labels).then(|| p.score(labels)));
    }
    let shifted = shift.shift(p)?;
    dispatch(Forward { p: &shifted.p, len, l: n_labels, beam, best, sorted, lowered: true });
    match trace_back(&shifted.p, len, n_labels, best, labels) {
        true => finite_score(p, labels).map(Some),
        false => Ok(None),
    }
}

/// Labels all positions from the last to the first; false if no labelling is possible.
fn trace_back(p: &Potentials<'_>, len: usize, l: usize, best: &[f64], labels: &mut [Label]) -> bool {
    let argmax = |score: &dyn Fn(usize) -> f64| {
        (1..l).fold(0, |best, y| if score(y) > score(best) { y } else { best })
    };
    let mut y = argmax(&|y| best[(len - 1) * l + y]);
    if best[(len - 1) * l + y] == f64::NEG_INFINITY {
        return false;
    }
    labels[len - 1] = y as Label;
    for t in (1..len).rev() {
        let table = p.tables().of(t - 1);
        y = argmax(&|i| best[(t - 1) * l + i] + table[i * l + y]);
        labels[t - 1] = y as Label;
    }
    true
}

/// True if a potential is larger than [`LARGE`], NaN or +∞.
struct AnyLarge<'a>(&'a [f64]);

impl Kernel for AnyLarge<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let mut is_large = 0;
        for &x in self.0 {
            // Neither holds for NaN.
            is_large |= u64::from(!((x.abs() <= LARGE) | (x == f64::NEG_INFINITY)));
        }
        is_large != 0
    }
}

/// Sets all but the `beam` best scores to −∞; of equal scores the first are kept.
fn narrow(scores: &mut [f64], beam: usize, sorted: &mut Vec<f64>) {
    if beam >= scores.len() {
        return;
    }
    sorted.clear();
    sorted.extend_from_slice(scores);
    let (above, &mut threshold, _) = sorted.select_nth_unstable_by(beam - 1, |a, b| b.total_cmp(a));
    let mut n_equal = beam - above.iter().filter(|&&score| score > threshold).count();
    for score in scores {
        let is_kept = *score > threshold || (*score == threshold && n_equal > 0);
        n_equal -= usize::from(is_kept && *score == threshold);
        *score = if is_kept { *score } else { f64::NEG_INFINITY };
    }
}

/// The forward pass.
struct Forward<'a, 'p> {
    p: &'a Potentials<'p>,
    len: usize,
    l: usize,
    beam: usize,
    best: &'a mut [f64],
    sorted: &'a mut Vec<f64>,
    lowered: bool, // to the maximum 0 in each row
}

impl Kernel for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Forward { p, len, l, beam, best, sorted, lowered } = self;
        let psi = p.node();
        best[..l].copy_from_slice(&psi[..l]);
        narrow(&mut best[..l], beam, sorted);
        for t in 1..len {
            let table = p.tables().of(t - 1);
            let (past, now) = best.split_at_mut(t * l);
            let previous = &past[(t - 1) * l..];
            let now = &mut now[..l];
            now.fill(f64::NEG_INFINITY);
            for (previous, row) in previous.iter().zip(table.chunks_exact(l)) {
                if *previous == f64::NEG_INFINITY {
                    continue;
                }
                for (now, a) in now.iter_mut().zip(row) {
                    let score = previous + a;
                    *now = if score > *now { score } else { *now };
                }
            }
            now.iter_mut().zip(&psi[t * l..]).for_each(|(now, psi)| *now += psi);
            if lowered {
                lower(now);
            }
            narrow(now, beam, sorted);
        }
    }
}
