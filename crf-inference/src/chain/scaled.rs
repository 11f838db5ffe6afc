//! Forward-backward in the probability domain.
//!
//! Potentials are shifted by their maximum per step and exponentiated once; the recursions then only multiply and
//! add, and every step is scaled to sum to one (Rabiner 1989, §V.A). Labels are padded to whole vectors with zeros.
//!
//! When this is safe: let every finite potential lie at most [`RANGE`] below the maximum of its node or table, so that no
//! factor of a step is below e^−150. If the positive entries of a forward (or backward) row are at least [`SMALLEST`],
//! the products of the next step are at least 10^−150 · e^−300 > 10^−281, and none is lost to underflow. Tables without −∞
//! keep to that bound by themselves, because every label is reached from the likeliest one; with −∞ a label may be
//! reached only from unlikely ones, so the smallest entry of all rows is watched. What fails goes to the log domain.
//!
//! A row is divided by the sum of the row before it, not by its own: that sum is known while the next row is being
//! multiplied out, and no step waits for a division.

use crf_core::simd::{Kernel, dispatch, exp_nonpositive, fma};
use crf_core::{Beliefs, EdgeBeliefs, EdgeTables, Potentials, Tables};

const RANGE: f64 = 150.0;
const SMALLEST: f64 = 1e-150;
/// Products of forward and backward rows below this are too near to underflow.
const SMALLEST_PRODUCT: f64 = 1e-250;

/// What a worker keeps between sequences.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    tables: ExpTables,
    psi: Vec<f64>, // [T × P] exp(ψ_t(j) − max), zeros behind the labels; ψ_t ∘ β_t once β_t is known
    alpha: Vec<f64>, // [T × P] forward
    beta: Vec<f64>, // [T × P] backward
    scale: Vec<Scale>, // [T]
    sums: Vec<f64>, // [L × P] Σ_t α_{t−1} ⊗ (ψ_t ∘ β_t) of the shared table
}

/// What makes probabilities of the products of forward and backward rows.
#[derive(Debug, Clone, Copy, Default)]
struct Scale {
    node: f64, // 1 / Σ_j α_t(j) β_t(j)
    edge: f64, // 1 / Σ_ij α_t(i) exp A_{t+1}(i, j) ψ_{t+1}(j) β_{t+1}(j)
}

/// exp(table − max) of every table, and its transpose, for one version of the tables.
#[derive(Debug, Default)]
struct ExpTables {
    version: u64,
    safe: bool,
    exp: Vec<f64>,        // [tables × L × P]
    transposed: Vec<f64>, // [tables × L × P]
    shift: Vec<f64>,      // [tables]
}

/// Labels rounded up to whole vectors.
fn padded(labels: usize) -> usize {
    if labels <= 4 { 4 } else { labels.next_multiple_of(8) }
}

/// Fills the beliefs and returns log Z, or `None` when only the log domain is safe.
pub(super) fn infer(
    p: &Potentials<'_>,
    len: usize,
    labels: usize,
    out: &mut Beliefs<'_>,
    workspace: &mut Workspace,
) -> Option<f64> {
    if len == 0 {
        return Some(0.0);
    }
    let Workspace { tables, psi, alpha, beta, scale, sums } = workspace;
    let width = padded(labels);
    if len > 1 && tables.version != p.tables().version {
        tables.version = p.tables().version;
        tables.safe = dispatch(FillTables { of: p.tables(), labels, width, tables });
    }
    if len > 1 && !tables.safe {
        return None;
    }
    psi.resize(len * width, 0.0);
    alpha.resize(len * width, 0.0);
    beta.resize(len * width, 0.0);
    scale.resize(len, Scale::default());
    sums.resize(labels * width, 0.0);
    let mut pass = Pass { p, len, labels, width, tables, psi, alpha, beta, scale, sums };
    // Nothing is added to the caller's sums before every step has been found safe.
    if width == 4 { dispatch(Run::<4>(&mut pass, out)) } else { dispatch(Run::<8>(&mut pass, out)) }
}

/// exp(x − max) of one row into a padded one; the maximum, or `None` when an entry is out of range.
#[inline(always)]
fn exp_row<const B: usize, const FMA: bool>(scores: &[f64], out: &mut [f64]) -> Option<f64> {
    let max = scores.iter().fold(f64::NEG_INFINITY, |max, &score| if score > max { score } else { max });
    exp_shifted::<B, FMA>(scores, max, out).then_some(max)
}

/// exp(x − shift) into a padded row; whether every entry is −∞ or in range (a NaN is neither).
#[inline(always)]
fn exp_shifted<const B: usize, const FMA: bool>(scores: &[f64], shift: f64, out: &mut [f64]) -> bool {
    if !shift.is_finite() {
        return false;
    }
    // The padding is exponentiated too: whole vectors are faster than a remainder.
    out[..scores.len()].copy_from_slice(scores);
    out[scores.len()..].fill(f64::NEG_INFINITY);
    let mut bad = [0; B];
    for part in out.as_chunks_mut::<B>().0 {
        for j in 0..B {
            let below = part[j] - shift;
            bad[j] |= u64::from(!((below >= -RANGE) | (below == f64::NEG_INFINITY)));
            part[j] = exp_nonpositive::<FMA>(below);
        }
    }
    bad == [0; B]
}

struct FillTables<'a, 'p> {
    of: &'a Tables<'p>,
    labels: usize,
    width: usize,
    tables: &'a mut ExpTables,
}

impl Kernel for FillTables<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let FillTables { of, labels, width, tables } = self;
        let n_tables = of.starts.len() - 1;
        let size = labels * width;
        tables.exp.resize(n_tables * size, 0.0);
        tables.transposed.resize(n_tables * size, 0.0);
        tables.shift.resize(n_tables, 0.0);
        for k in 0..n_tables {
            let table = &of.values[of.starts[k]..of.starts[k + 1]];
            let max = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if !max.is_finite() {
                return false;
            }
            tables.shift[k] = max;
            let exp = &mut tables.exp[k * size..(k + 1) * size];
            let transposed = &mut tables.transposed[k * size..(k + 1) * size];
            for i in 0..labels {
                let row = &mut exp[i * width..(i + 1) * width];
                if !exp_shifted::<4, FMA>(&table[i * labels..(i + 1) * labels], max, row) {
                    return false;
                }
                for j in 0..labels {
                    transposed[j * width + i] = row[j];
                }
            }
            for j in 0..labels {
                transposed[j * width + labels..(j + 1) * width].fill(0.0);
            }
        }
        true
    }
}

struct Pass<'a, 'p> {
    p: &'a Potentials<'p>,
    len: usize,
    labels: usize,
    width: usize,
    tables: &'a ExpTables,
    psi: &'a mut [f64],
    alpha: &'a mut [f64],
    beta: &'a mut [f64],
    scale: &'a mut [Scale],
    sums: &'a mut [f64],
}

/// The whole of it, `B` labels at a time; log Z.
struct Run<'k, 'a, 'p, 'o, const B: usize>(&'k mut Pass<'a, 'p>, &'k mut Beliefs<'o>);

impl<const B: usize> Kernel for Run<'_, '_, '_, '_, B> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<f64> {
        let Run(pass, out) = self;
        if B == 4 {
            pass.width = 4; // known when compiling
        }
        let log_z = exponentiate::<B, FMA>(pass)? + forward::<B, FMA>(pass)?;
        backward::<B, FMA>(pass)?;
        believe::<B, FMA>(pass, out);
        Some(log_z)
    }
}

/// Exponentiates all node potentials; the sum of their shifts.
#[inline(always)]
fn exponentiate<const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<f64> {
    let (n, width) = (pass.labels, pass.width);
    let mut shift = 0.0;
    for t in 0..pass.len {
        let scores = &pass.p.node()[t * n..(t + 1) * n];
        shift += exp_row::<B, FMA>(scores, &mut pass.psi[t * width..(t + 1) * width])?;
    }
    Some(shift)
}

/// `row · table`: four blocks of `B` columns at a time in registers, then two, then one.
#[inline(always)]
fn times<const B: usize, const FMA: bool>(row: &[f64], table: &[f64], width: usize, out: &mut [f64]) {
    let (table, out) = (table.as_chunks::<B>().0, out.as_chunks_mut::<B>().0);
    let n_blocks = width / B;
    let mut at = 0;
    while at + 4 <= n_blocks {
        blocks::<4, B, FMA>(row, table, n_blocks, at, out);
        at += 4;
    }
    if at + 2 <= n_blocks {
        blocks::<2, B, FMA>(row, table, n_blocks, at, out);
        at += 2;
    }
    if at < n_blocks {
        blocks::<1, B, FMA>(row, table, n_blocks, at, out);
    }
}

/// `M` blocks of `row · table`. Even and odd rows are summed apart, so that one sum need not wait for the other.
#[inline(always)]
fn blocks<const M: usize, const B: usize, const FMA: bool>(
    row: &[f64],
    table: &[[f64; B]],
    n_blocks: usize,
    at: usize,
    out: &mut [[f64; B]],
) {
    let mut sums = [[[0.0; B]; M]; 2];
    let (pairs, last) = row.as_chunks::<2>();
    let (pair_rows, last_row) = table.split_at(pairs.len() * 2 * n_blocks);
    for (pair, rows) in pairs.iter().zip(pair_rows.chunks_exact(2 * n_blocks)) {
        for odd in 0..2 {
            let part: &[[f64; B]] = &rows[odd * n_blocks + at..][..M];
            for m in 0..M {
                for j in 0..B {
                    sums[odd][m][j] = fma::<FMA>(pair[odd], part[m][j], sums[odd][m][j]);
                }
            }
        }
    }
    if let &[a] = last {
        let part: &[[f64; B]] = &last_row[at..][..M];
        for m in 0..M {
            for j in 0..B {
                sums[0][m][j] = fma::<FMA>(a, part[m][j], sums[0][m][j]);
            }
        }
    }
    for (m, out) in out[at..][..M].iter_mut().enumerate() {
        for j in 0..B {
            out[j] = sums[0][m][j] + sums[1][m][j];
        }
    }
}

/// The sum of a row; `smallest` takes note of its smallest entries, zeros aside.
#[inline(always)]
fn sum<const B: usize>(row: &[f64], smallest: &mut [f64; B]) -> f64 {
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

/// Σ a_k b_k of two rows.
#[inline(always)]
fn product<const B: usize, const FMA: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; B];
    for (a, b) in a.as_chunks::<B>().0.iter().zip(b.as_chunks::<B>().0) {
        for j in 0..B {
            sums[j] = fma::<FMA>(a[j], b[j], sums[j]);
        }
    }
    total(sums)
}

/// The sum of a vector, halves first: shorter to wait for than one number after the other.
#[inline(always)]
fn total<const B: usize>(mut sums: [f64; B]) -> f64 {
    let mut half = B / 2;
    while half > 0 {
        for j in 0..half {
            sums[j] += sums[j + half];
        }
        half /= 2;
    }
    sums[0]
}

fn is_safe<const B: usize>(smallest: &[f64; B]) -> bool {
    smallest.iter().all(|&x| x >= SMALLEST)
}

/// α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}; log Z but for the shifts of the nodes.
#[inline(always)]
fn forward<const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<f64> {
    let (n, width) = (pass.labels, pass.width);
    let size = n * width;
    // Logarithms are slow: sums are multiplied up until the product comes near the end of its range.
    let (mut log_z, mut product, mut factor, mut smallest) = (0.0, 1.0, 1.0, [1.0; B]);
    for t in 0..pass.len {
        let psi = &pass.psi[t * width..(t + 1) * width];
        let (past, now) = pass.alpha.split_at_mut(t * width);
        let now = &mut now[..width];
        if t == 0 {
            now.copy_from_slice(psi);
        } else {
            let k = pass.p.tables().of_edge.table(t - 1);
            log_z += pass.tables.shift[k];
            let exp = &pass.tables.exp[k * size..(k + 1) * size];
            times::<B, FMA>(&past[(t - 1) * width..(t - 1) * width + n], exp, width, now);
            for (now, psi) in now.as_chunks_mut::<B>().0.iter_mut().zip(psi.as_chunks::<B>().0) {
                for j in 0..B {
                    now[j] *= psi[j] * factor;
                }
            }
        }
        let sum = sum::<B>(now, &mut smallest);
        factor = 1.0 / sum;
        product *= sum;
        if !(1e-100..1e100).contains(&product) {
            // Also where a row is all zeros, or not a number.
            if sum.is_nan() || sum < SMALLEST {
                return None;
            }
            log_z += product.ln();
            product = 1.0;
        }
    }
    is_safe(&smallest).then_some(log_z + product.ln())
}

/// β_t = exp A_{t+1} · (ψ_{t+1} ∘ β_{t+1}) / Σ β_{t+1}, and the scales of all beliefs.
#[inline(always)]
fn backward<const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<()> {
    let (n, width) = (pass.labels, pass.width);
    let size = n * width;
    let (mut factor, mut smallest) = (1.0, [1.0; B]);
    for t in (0..pass.len).rev() {
        let now = &mut pass.beta[t * width..(t + 1) * width];
        if t + 1 == pass.len {
            now[..n].fill(1.0);
            now[n..].fill(0.0);
        } else {
            let k = pass.p.tables().of_edge.table(t);
            let after = &pass.psi[(t + 1) * width..(t + 1) * width + n];
            times::<B, FMA>(after, &pass.tables.transposed[k * size..(k + 1) * size], width, now);
            for now in now.iter_mut() {
                *now *= factor;
            }
        }
        let total = product::<B, FMA>(&pass.alpha[t * width..(t + 1) * width], now);
        // Also when it is not a number.
        if total.is_nan() || total < SMALLEST_PRODUCT {
            return None;
        }
        pass.scale[t] = Scale { node: 1.0 / total, edge: factor / total };
        factor = 1.0 / sum::<B>(now, &mut smallest);
        let psi = &mut pass.psi[t * width..(t + 1) * width];
        for (psi, now) in psi.as_chunks_mut::<B>().0.iter_mut().zip(now.as_chunks::<B>().0) {
            for j in 0..B {
                psi[j] *= now[j];
            }
        }
    }
    let finite = pass.scale.iter().all(|scale| scale.edge.is_finite());
    (finite && is_safe(&smallest)).then_some(())
}

/// Turns forward and backward rows into the beliefs that were asked for; nothing can fail any more.
#[inline(always)]
fn believe<const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, out: &mut Beliefs<'_>) {
    let (n, width) = (pass.labels, pass.width);
    let size = n * width;
    for t in 0..pass.len {
        let (alpha, beta) = (&pass.alpha[t * width..t * width + n], &pass.beta[t * width..t * width + n]);
        let node = &mut out.node[t * n..(t + 1) * n];
        for ((node, alpha), beta) in node.iter_mut().zip(alpha).zip(beta) {
            *node = alpha * beta * pass.scale[t].node;
        }
    }
    if pass.len < 2 || matches!(out.edge, EdgeBeliefs::None) {
        return;
    }
    if let (EdgeBeliefs::PerTable { sums, weight }, EdgeTables::Shared) =
        (&mut out.edge, pass.p.tables().of_edge)
    {
        pass.sums.fill(0.0);
        let mut t = 1;
        while t + 4 <= pass.len {
            add_outer::<4, B, FMA>(pass, t);
            t += 4;
        }
        while t < pass.len {
            add_outer::<1, B, FMA>(pass, t);
            t += 1;
        }
        for i in 0..n {
            for j in 0..n {
                sums[i * n + j] += *weight * pass.sums[i * width + j] * pass.tables.exp[i * width + j];
            }
        }
        return;
    }
    for t in 1..pass.len {
        let before = &pass.alpha[(t - 1) * width..t * width];
        let after = &pass.psi[t * width..(t + 1) * width];
        let scale = pass.scale[t - 1].edge;
        let k = pass.p.tables().of_edge.table(t - 1);
        let exp = &pass.tables.exp[k * size..(k + 1) * size];
        match &mut out.edge {
            EdgeBeliefs::PerTable { sums, weight } => {
                let at = pass.p.tables().starts[k];
                add_pairs::<FMA>(&mut sums[at..at + n * n], before, exp, after, *weight * scale, n, width);
            }
            EdgeBeliefs::PerEdge(each) => {
                let each = &mut each[(t - 1) * n * n..t * n * n];
                each.fill(0.0);
                add_pairs::<FMA>(each, before, exp, after, scale, n, width);
            }
            EdgeBeliefs::None => {}
        }
    }
}

/// Adds α_{t−1} ⊗ (ψ_t ∘ β_t), scaled, of `M` steps at once: a row of sums is loaded and stored once for all of them.
#[inline(always)]
fn add_outer<const M: usize, const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, t: usize) {
    let width = pass.width;
    let n_blocks = width / B;
    let after = pass.psi[t * width..(t + M) * width].as_chunks::<B>().0;
    for (i, row) in pass.sums.chunks_exact_mut(width).enumerate() {
        let mut before = [0.0; M];
        for m in 0..M {
            before[m] = pass.alpha[(t - 1 + m) * width + i] * pass.scale[t - 1 + m].edge;
        }
        for (b, row) in row.as_chunks_mut::<B>().0.iter_mut().enumerate() {
            let mut sums = *row;
            for m in 0..M {
                let after = &after[m * n_blocks + b];
                for j in 0..B {
                    sums[j] = fma::<FMA>(before[m], after[j], sums[j]);
                }
            }
            *row = sums;
        }
    }
}

/// Adds `factor · before(i) · exp(i, j) · after(j)` to `out(i, j)`.
#[inline(always)]
fn add_pairs<const FMA: bool>(
    out: &mut [f64],
    before: &[f64],
    exp: &[f64],
    after: &[f64],
    factor: f64,
    n: usize,
    width: usize,
) {
    let rows = exp.chunks_exact(width).zip(out.chunks_exact_mut(n));
    for ((row, out), before) in rows.zip(before) {
        let factor = factor * before;
        for ((out, exp), after) in out.iter_mut().zip(row).zip(after) {
            *out = fma::<FMA>(factor * exp, *after, *out);
        }
    }
}
