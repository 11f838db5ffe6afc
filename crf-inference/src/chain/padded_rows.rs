//! Arithmetic on padded rows of probabilities, in whole vectors of `B` numbers.
//!
//! Vectors are copied out, worked on and copied back: done in place, the compiler would have to
//! assume that two rows may overlap, and would work on one number at a time.

use crf_core::simd::fma;

/// `row · table`: up to four blocks of `B` columns at a time in registers.
#[inline(always)]
pub(crate) fn times<const B: usize, const FMA: bool>(
    row: &[f64],
    table: &[f64],
    width: usize,
    out: &mut [f64],
) {
    let (table, out) = (table.as_chunks::<B>().0, out.as_chunks_mut::<B>().0);
    let n_blocks = width / B;
    let mut first = 0;
    while first + 4 <= n_blocks {
        times_blocks::<4, B, FMA>(row, table, n_blocks, first, out);
        first += 4;
    }
    match n_blocks - first {
        3 => times_blocks::<3, B, FMA>(row, table, n_blocks, first, out),
        2 => times_blocks::<2, B, FMA>(row, table, n_blocks, first, out),
        1 => times_blocks::<1, B, FMA>(row, table, n_blocks, first, out),
        _ => {}
    }
}

/// Blocks `first` to `first + M` of `row · table`. Even and odd rows are summed separately, so that
/// one sum need not wait for the other.
#[inline(always)]
fn times_blocks<const M: usize, const B: usize, const FMA: bool>(
    row: &[f64],
    table: &[[f64; B]],
    n_blocks: usize,
    first: usize,
    out: &mut [[f64; B]],
) {
    let mut sums = [[[0.0; B]; M]; 2];
    let (pairs, last) = row.as_chunks::<2>();
    let (pair_rows, last_row) = table.split_at(pairs.len() * 2 * n_blocks);
    for (pair, rows) in pairs.iter().zip(pair_rows.chunks_exact(2 * n_blocks)) {
        for odd in 0..2 {
            let part: &[[f64; B]] = &rows[odd * n_blocks + first..][..M];
            for m in 0..M {
                for j in 0..B {
                    sums[odd][m][j] = fma::<FMA>(pair[odd], part[m][j], sums[odd][m][j]);
                }
            }
        }
    }
    if let &[a] = last {
        let part: &[[f64; B]] = &last_row[first..][..M];
        for m in 0..M {
            for j in 0..B {
                sums[0][m][j] = fma::<FMA>(a, part[m][j], sums[0][m][j]);
            }
        }
    }
    for (m, out) in out[first..][..M].iter_mut().enumerate() {
        for j in 0..B {
            out[j] = sums[0][m][j] + sums[1][m][j];
        }
    }
}

/// Multiplies a row by `factor` times another row, entry by entry.
#[inline(always)]
pub(crate) fn multiply<const B: usize>(row: &mut [f64], other: &[f64], factor: f64) {
    for (row, other) in row.as_chunks_mut::<B>().0.iter_mut().zip(other.as_chunks::<B>().0) {
        let (mut product, other) = (*row, *other);
        for j in 0..B {
            product[j] *= other[j] * factor;
        }
        *row = product;
    }
}

/// Multiplies a row by `factor`.
#[inline(always)]
pub(crate) fn scale<const B: usize>(row: &mut [f64], factor: f64) {
    for row in row.as_chunks_mut::<B>().0 {
        let mut product = *row;
        for j in 0..B {
            product[j] *= factor;
        }
        *row = product;
    }
}

/// Sum of a row; `smallest` is updated with its smallest positive entries.
#[inline(always)]
pub(crate) fn sum<const B: usize>(row: &[f64], smallest: &mut [f64; B]) -> f64 {
    let mut sums = [0.0; B];
    for part in row.as_chunks::<B>().0 {
        for j in 0..B {
            sums[j] += part[j];
            let x = if part[j] == 0.0 { 1.0 } else { part[j] };
            smallest[j] = if x < smallest[j] { x } else { smallest[j] };
        }
    }
    total(sums)
}

/// Dot product Σ a_k b_k of two rows.
#[inline(always)]
pub(crate) fn dot<const B: usize, const FMA: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; B];
    for (a, b) in a.as_chunks::<B>().0.iter().zip(b.as_chunks::<B>().0) {
        for j in 0..B {
            sums[j] = fma::<FMA>(a[j], b[j], sums[j]);
        }
    }
    total(sums)
}

/// Sum of a vector.
#[inline(always)]
fn total<const B: usize>(sums: [f64; B]) -> f64 {
    reduce(sums, |a, b| a + b)
}

/// Combines all numbers of a vector, half by half: fewer steps depend on each other than number by
/// number.
#[inline(always)]
pub(crate) fn reduce<const B: usize>(mut numbers: [f64; B], combine: impl Fn(f64, f64) -> f64) -> f64 {
    let mut half = B / 2;
    while half > 0 {
        for j in 0..half {
            numbers[j] = combine(numbers[j], numbers[j + half]);
        }
        half /= 2;
    }
    numbers[0]
}
