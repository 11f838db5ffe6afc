//! Rows of labels that are padded to whole vectors, and their sums.

use crf_core::simd::fma;

/// Labels are padded to whole vectors of this many numbers, or to half a vector when there are few.
pub(crate) const LANES: usize = 8;
pub(crate) const FEW: usize = LANES / 2;

/// Where the padded row of so many labels ends.
pub(crate) fn padded(n_labels: usize) -> usize {
    if n_labels <= FEW { FEW } else { n_labels.next_multiple_of(LANES) }
}

/// Adds wide rows of `M` vectors, and narrow ones of one, to scores that stay in registers meanwhile.
#[inline(always)]
pub(crate) fn add_rows<const M: usize, const B: usize>(
    weights: &[f64],
    wide: &[u32],
    narrow: &[u32],
    scores: &mut [f64],
) {
    let Some(scores) = scores.as_chunks_mut::<B>().0.first_chunk_mut::<M>() else { return };
    let mut sums = *scores;
    for &at in wide {
        let Some(row) = weights[at as usize..].as_chunks::<B>().0.first_chunk::<M>() else { return };
        for m in 0..M {
            for j in 0..B {
                sums[m][j] += row[m][j];
            }
        }
    }
    for &at in narrow {
        let Some(row) = weights[at as usize..].first_chunk::<B>() else { return };
        for j in 0..B {
            sums[0][j] += row[j];
        }
    }
    *scores = sums;
}

/// `to += factor · from` over the whole of `to`, which is half a vector or whole vectors.
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

/// `to += factor · from`, on copies: in place the compiler has to think that they may overlap.
#[inline(always)]
fn add_vector<const B: usize, const FMA: bool>(to: &mut [f64; B], factor: f64, from: &[f64; B]) {
    let (mut sums, from) = (*to, *from);
    for j in 0..B {
        sums[j] = fma::<FMA>(factor, from[j], sums[j]);
    }
    *to = sums;
}
