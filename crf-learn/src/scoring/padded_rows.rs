//! Kernels on rows of labels that are padded to whole vectors.

use crf_core::simd::fma;

/// Numbers per vector. Rows of labels are padded to whole vectors, or to half a vector if there are
/// few labels.
pub(crate) const LANES: usize = 8;
/// Half a vector: the length of a row of at most this many labels.
pub(crate) const FEW: usize = LANES / 2;

/// Length of the padded row of `n_labels` labels.
pub(crate) fn padded(n_labels: usize) -> usize {
    if n_labels <= FEW { FEW } else { n_labels.next_multiple_of(LANES) }
}

/// Adds wide rows of `M` blocks and narrow rows of one block to scores, which stay in registers
/// meanwhile. `wide` and `narrow` hold the offsets of the rows in `weights`.
#[inline(always)]
pub(crate) fn add_rows<const M: usize, const B: usize>(
    weights: &[f64],
    wide: &[u32],
    narrow: &[u32],
    scores: &mut [f64],
) {
    let Some(scores) = scores.as_chunks_mut::<B>().0.first_chunk_mut::<M>() else { return };
    let mut sums = *scores;
    for &offset in wide {
        let Some(row) = weights[offset as usize..].as_chunks::<B>().0.first_chunk::<M>() else { return };
        for m in 0..M {
            for j in 0..B {
                sums[m][j] += row[m][j];
            }
        }
    }
    for &offset in narrow {
        let Some(row) = weights[offset as usize..].first_chunk::<B>() else { return };
        for j in 0..B {
            sums[0][j] += row[j];
        }
    }
    *scores = sums;
}

/// `to += factor · from` over all of `to`, which is half a vector or whole vectors.
#[inline(always)]
pub(crate) fn add<const FMA: bool>(to: &mut [f64], factor: f64, from: &[f64]) {
    if let (Ok(to), Some(from)) = (<&mut [f64; FEW]>::try_from(&mut *to), from.first_chunk::<FEW>()) {
        add_vector::<FEW, FMA>(to, factor, from);
        return;
    }
    for (to, from) in to.as_chunks_mut::<LANES>().0.iter_mut().zip(from.as_chunks::<LANES>().0) {
        add_vector::<LANES, FMA>(to, factor, from);
    }
}

/// `to += factor · from`, on copies: in place the compiler must assume that both overlap.
#[inline(always)]
fn add_vector<const B: usize, const FMA: bool>(to: &mut [f64; B], factor: f64, from: &[f64; B]) {
    let mut sums = *to;
    let from = *from;
    for j in 0..B {
        sums[j] = fma::<FMA>(factor, from[j], sums[j]);
    }
    *to = sums;
}
