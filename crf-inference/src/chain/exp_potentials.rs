//! Potentials of a chain as padded rows of exponentials: the input of the scaled recursions.
//!
//! Potentials are shifted by the maximum of their node or table and exponentiated once; the
//! recursions then only multiply and add, and every step is scaled to sum to one (Rabiner 1989,
//! §V.A). Labels are padded with zeros to whole vectors.
//!
//! This is safe under two conditions. First, every finite potential lies at most [`RANGE`] below
//! the maximum of its node or table, so that no factor of a step is below e^−150. Second, the
//! positive entries of a forward (or backward) row are at least [`SMALLEST`]; then the products of
//! the next step are at least 10^−150 · e^−300 > 10^−281, and none is lost to underflow. Tables
//! without −∞ fulfil the second condition by themselves, because every label is reached from the
//! likeliest one. With −∞ a label may be reached from unlikely ones only, so the smallest entry of
//! all rows is watched. Sequences that violate a condition are left to the log domain.

use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Aligned, CompensatedSum, Potentials, TableVersion, Tables};

use crate::chain::padded_rows::reduce;

/// Largest distance of a finite potential from the maximum of its node or table.
pub(super) const RANGE: f64 = 150.0;
/// Smallest positive entry of a forward or backward row.
pub(super) const SMALLEST: f64 = 1e-150;
/// Smallest Σ_j α_t(j) β_t(j); smaller ones are too near to underflow.
pub(super) const SMALLEST_PRODUCT: f64 = 1e-250;
/// Padded width of at most this many labels.
pub(super) const SMALL_WIDTH: usize = 4;

/// Padded width of a row: the number of labels rounded up to whole vectors.
pub(super) fn padded_width(n_labels: usize) -> usize {
    if n_labels <= SMALL_WIDTH { SMALL_WIDTH } else { n_labels.next_multiple_of(8) }
}

/// True if the smallest positive entries of all rows are in the safe range.
pub(super) fn is_safe<const B: usize>(smallest: &[f64; B]) -> bool {
    smallest.iter().all(|&x| x >= SMALLEST)
}

/// exp(table − max) of every table, and its transpose, for one version of the tables.
#[derive(Debug, Default)]
pub(super) struct ExpTables {
    version: TableVersion,
    is_safe: Vec<bool>, // [tables] all entries are in range
    all_safe: bool,
    pub(super) exp: Aligned,        // [tables × L × P]
    pub(super) transposed: Aligned, // [tables × L × P]
    pub(super) shift: Vec<f64>,     // [tables] the maxima
}

impl ExpTables {
    /// Exponentiates the tables unless that was done for their version.
    pub(super) fn update(&mut self, tables: &Tables<'_>, n_labels: usize, width: usize) {
        if self.version != tables.version {
            self.version = tables.version;
            dispatch(FillTables { tables, n_labels, width, out: self });
            self.all_safe = self.is_safe.iter().all(|&is_safe| is_safe);
        }
    }

    /// True if all entries of the tables of the first `n_edges` edges are in range.
    pub(super) fn are_safe(&self, tables: &Tables<'_>, n_edges: usize) -> bool {
        self.all_safe || (0..n_edges).all(|e| self.is_safe[tables.of_edge.table(e)])
    }
}

/// The kernel of [`ExpTables::update`].
struct FillTables<'a, 'p> {
    tables: &'a Tables<'p>,
    n_labels: usize,
    width: usize,
    out: &'a mut ExpTables,
}

impl Kernel for FillTables<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let FillTables { tables, n_labels, width, out } = self;
        let n_tables = tables.starts.len() - 1;
        let size = n_labels * width;
        let exp = out.exp.room(n_tables * size);
        let transposed = out.transposed.room(n_tables * size);
        out.shift.resize(n_tables, 0.0);
        out.is_safe.resize(n_tables, false);
        for k in 0..n_tables {
            let table = &tables.values[tables.starts[k]..tables.starts[k + 1]];
            let max = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.shift[k] = max;
            out.is_safe[k] = max.is_finite();
            let exp = &mut exp[k * size..(k + 1) * size];
            let transposed = &mut transposed[k * size..(k + 1) * size];
            for i in 0..n_labels {
                let row = &mut exp[i * width..(i + 1) * width];
                pad::<4>(&table[i * n_labels..], n_labels, row);
                out.is_safe[k] &= exp_shifted::<4, FMA>(max, row);
                for j in 0..n_labels {
                    transposed[j * width + i] = row[j];
                }
            }
            for j in 0..n_labels {
                transposed[j * width + n_labels..(j + 1) * width].fill(0.0);
            }
        }
    }
}

/// The arrays of one forward-backward pass.
pub(super) struct Pass<'a, 'p> {
    pub(super) p: &'a Potentials<'p>,
    pub(super) len: usize,
    pub(super) n_labels: usize,
    pub(super) width: usize, // P, the labels padded to whole vectors
    pub(super) tables: &'a ExpTables,
    pub(super) psi: &'a mut [f64], // [T × P] exp(ψ_t(j) − max), zeros behind the labels
    pub(super) alpha: &'a mut [f64], // [T × P] forward rows
    pub(super) beta: &'a mut [f64], // [T × P] backward rows
    pub(super) psi_beta: &'a mut [f64], // [T × P] ψ_t ∘ β_t
    pub(super) beta_factors: &'a mut [f64], // [T] the factor that scaled β_t, 1 / Σ β_{t+1}
    pub(super) edge_sums: &'a mut [f64], // [L × P] Σ_t α_{t−1} ⊗ (ψ_t ∘ β_t) of the shared table
}

/// Exponentiates all node potentials and returns the sum of their maxima; `None` if one is out of
/// range.
#[inline(always)]
pub(super) fn exponentiate<const B: usize, const FMA: bool>(
    pass: &mut Pass<'_, '_>,
) -> Option<CompensatedSum> {
    let (n, width) = (pass.n_labels, pass.width);
    let mut shift = CompensatedSum::default();
    for t in 0..pass.len {
        let scores = &pass.p.node()[t * n..];
        shift.add(exp_row::<B, FMA>(scores, n, &mut pass.psi[t * width..(t + 1) * width])?);
    }
    Some(shift)
}

/// Writes exp(x − max) of the first `n` scores to a padded row and returns the maximum; `None` if
/// an entry is out of range.
#[inline(always)]
fn exp_row<const B: usize, const FMA: bool>(scores: &[f64], n: usize, out: &mut [f64]) -> Option<f64> {
    let max = pad::<B>(scores, n, out);
    exp_shifted::<B, FMA>(max, out).then_some(max)
}

/// Copies the first `n` scores to a padded row and returns their maximum.
///
/// The padding is −∞ and is exponentiated too, because whole vectors are faster than a remainder.
/// Scores behind the `n`-th are read, if there are any, and discarded: a vector that is put
/// together from smaller parts cannot be loaded before all of them have reached the cache.
#[inline(always)]
fn pad<const B: usize>(scores: &[f64], n: usize, out: &mut [f64]) -> f64 {
    let mut largest = [f64::NEG_INFINITY; B];
    for (b, out) in out.as_chunks_mut::<B>().0.iter_mut().enumerate() {
        let source = &scores[(b * B).min(scores.len())..];
        let mut part = source.first_chunk::<B>().copied().unwrap_or_else(|| {
            let mut part = [f64::NEG_INFINITY; B];
            part[..source.len()].copy_from_slice(source);
            part
        });
        for j in 0..B {
            part[j] = if b * B + j < n { part[j] } else { f64::NEG_INFINITY };
            largest[j] = if part[j] > largest[j] { part[j] } else { largest[j] };
        }
        *out = part;
    }
    reduce(largest, |a, b| if b > a { b } else { a })
}

/// Replaces a padded row by exp(x − shift); true if every entry is −∞ or in range, which a NaN is
/// not.
#[inline(always)]
fn exp_shifted<const B: usize, const FMA: bool>(shift: f64, row: &mut [f64]) -> bool {
    if !shift.is_finite() {
        return false;
    }
    let mut is_bad = [0; B];
    for part in row.as_chunks_mut::<B>().0 {
        for j in 0..B {
            let below = part[j] - shift;
            is_bad[j] |= u64::from(!((below >= -RANGE) | (below == f64::NEG_INFINITY)));
            part[j] = exp_nonpositive::<FMA>(below);
        }
    }
    is_bad == [0; B]
}
