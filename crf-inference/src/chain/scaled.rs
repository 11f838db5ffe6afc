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
use crf_core::{Aligned, Beliefs, EdgeBeliefs, EdgeTables, Potentials, Tables};

use crate::chain::padded_rows::{halved, multiply, product, scale, sum, times};
use crate::chain::scaled_small::{Few, ROOM};

const RANGE: f64 = 150.0;
pub(super) const SMALLEST: f64 = 1e-150;
/// Products of forward and backward rows below this are too near to underflow.
pub(super) const SMALLEST_PRODUCT: f64 = 1e-250;

/// What a worker keeps between sequences.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    tables: ExpTables,
    psi: Aligned,      // [T × P] exp(ψ_t(j) − max), zeros behind the labels
    alpha: Aligned,    // [T × P] forward
    beta: Aligned,     // [T × P] backward
    after: Aligned,    // [T × P] ψ_t ∘ β_t
    factors: Vec<f64>, // [T] by which the sum of β_t was multiplied, 1 / Σ β_{t+1}
    sums: Aligned,     // [L × P] Σ_t α_{t−1} ⊗ (ψ_t ∘ β_t) of the shared table
}

/// exp(table − max) of every table, and its transpose, for one version of the tables.
#[derive(Debug, Default)]
pub(super) struct ExpTables {
    version: u64,
    safe: bool,
    pub(super) exp: Aligned,        // [tables × L × P]
    pub(super) transposed: Aligned, // [tables × L × P]
    pub(super) shift: Vec<f64>,     // [tables]
}

/// Labels rounded up to whole vectors.
fn padded(labels: usize) -> usize {
    if labels <= ROOM { ROOM } else { labels.next_multiple_of(8) }
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
    let Workspace { tables, psi, alpha, beta, after, factors, sums } = workspace;
    let width = padded(labels);
    if len > 1 && tables.version != p.tables().version {
        tables.version = p.tables().version;
        tables.safe = dispatch(FillTables { of: p.tables(), labels, width, tables });
    }
    if len > 1 && !tables.safe {
        return None;
    }
    let [psi, alpha, beta, after] = [psi, alpha, beta, after].map(|rows| rows.room(len * width));
    factors.resize(len, 0.0);
    let sums = sums.room(labels * width);
    let mut pass = Pass { p, len, labels, width, tables, psi, alpha, beta, after, factors, sums };
    // Nothing is added to the caller's sums before every step has been found safe.
    match labels {
        1 => dispatch(Few::<1>(&mut pass, out)),
        2 => dispatch(Few::<2>(&mut pass, out)),
        3 => dispatch(Few::<3>(&mut pass, out)),
        4 => dispatch(Few::<4>(&mut pass, out)),
        _ => dispatch(Many(&mut pass, out)),
    }
}

/// exp(x − max) of the first `n` scores into a padded row; the maximum, or `None` when an entry is out of range.
#[inline(always)]
fn exp_row<const B: usize, const FMA: bool>(scores: &[f64], n: usize, out: &mut [f64]) -> Option<f64> {
    let max = pad::<B>(scores, n, out);
    exp_shifted::<B, FMA>(max, out).then_some(max)
}

/// Copies the first `n` scores to a padded row, whose padding is exponentiated too: whole vectors are faster than a
/// remainder. Returns their maximum.
///
/// What follows the scores is read, if something does, and thrown away: a vector that is put together from smaller pieces
/// cannot be loaded before all of them have reached the cache.
#[inline(always)]
fn pad<const B: usize>(scores: &[f64], n: usize, out: &mut [f64]) -> f64 {
    let mut largest = [f64::NEG_INFINITY; B];
    for (b, out) in out.as_chunks_mut::<B>().0.iter_mut().enumerate() {
        let from = &scores[(b * B).min(scores.len())..];
        let mut part = from.first_chunk::<B>().copied().unwrap_or_else(|| {
            let mut part = [f64::NEG_INFINITY; B];
            part[..from.len()].copy_from_slice(from);
            part
        });
        for j in 0..B {
            part[j] = if b * B + j < n { part[j] } else { f64::NEG_INFINITY };
            largest[j] = if part[j] > largest[j] { part[j] } else { largest[j] };
        }
        *out = part;
    }
    halved(largest, |a, b| if b > a { b } else { a })
}

/// Makes a padded row exp(x − shift); whether every entry is −∞ or in range (a NaN is neither).
#[inline(always)]
fn exp_shifted<const B: usize, const FMA: bool>(shift: f64, row: &mut [f64]) -> bool {
    if !shift.is_finite() {
        return false;
    }
    let mut bad = [0; B];
    for part in row.as_chunks_mut::<B>().0 {
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
        let (exp, transposed) = (tables.exp.room(n_tables * size), tables.transposed.room(n_tables * size));
        tables.shift.resize(n_tables, 0.0);
        for k in 0..n_tables {
            let table = &of.values[of.starts[k]..of.starts[k + 1]];
            let max = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if !max.is_finite() {
                return false;
            }
            tables.shift[k] = max;
            let exp = &mut exp[k * size..(k + 1) * size];
            let transposed = &mut transposed[k * size..(k + 1) * size];
            for i in 0..labels {
                let row = &mut exp[i * width..(i + 1) * width];
                pad::<4>(&table[i * labels..], labels, row);
                if !exp_shifted::<4, FMA>(max, row) {
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

pub(super) struct Pass<'a, 'p> {
    pub(super) p: &'a Potentials<'p>,
    pub(super) len: usize,
    pub(super) labels: usize,
    pub(super) width: usize,
    pub(super) tables: &'a ExpTables,
    pub(super) psi: &'a mut [f64],
    pub(super) alpha: &'a mut [f64],
    pub(super) beta: &'a mut [f64],
    pub(super) after: &'a mut [f64],
    pub(super) factors: &'a mut [f64],
    sums: &'a mut [f64],
}

/// Labels to a vector where there are many.
const B: usize = 8;

/// The whole of it for many labels; log Z.
struct Many<'k, 'a, 'p, 'o>(&'k mut Pass<'a, 'p>, &'k mut Beliefs<'o>);

impl Kernel for Many<'_, '_, '_, '_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<f64> {
        let Many(pass, out) = self;
        let shift = exponentiate::<B, FMA>(pass)?;
        let (mut forward, mut backward) = (Forward::new(), Backward::new());
        // Neither waits for the other, so the processor works on both at a time.
        for t in 0..pass.len {
            forward.step::<FMA>(pass, t)?;
            backward.step::<FMA>(pass, pass.len - 1 - t);
        }
        let log_z = forward.finish()?;
        backward.finish()?;
        node_beliefs::<FMA>(pass, out.node)?;
        edge_beliefs::<FMA>(pass, &mut out.edge);
        Some(shift + log_z)
    }
}

/// Exponentiates all node potentials; the sum of their shifts.
#[inline(always)]
pub(super) fn exponentiate<const B: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<f64> {
    let (n, width) = (pass.labels, pass.width);
    let mut shift = 0.0;
    for t in 0..pass.len {
        let scores = &pass.p.node()[t * n..];
        shift += exp_row::<B, FMA>(scores, n, &mut pass.psi[t * width..(t + 1) * width])?;
    }
    Some(shift)
}

pub(super) fn is_safe<const B: usize>(smallest: &[f64; B]) -> bool {
    smallest.iter().all(|&x| x >= SMALLEST)
}

/// α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}.
struct Forward {
    log_z: f64, // but for the shifts of the nodes, and for `product`
    // Logarithms are slow: sums are multiplied up until the product comes near the end of its range.
    product: f64,
    factor: f64,
    smallest: [f64; B],
}

impl Forward {
    #[inline(always)]
    fn new() -> Self {
        Forward { log_z: 0.0, product: 1.0, factor: 1.0, smallest: [1.0; B] }
    }

    #[inline(always)]
    fn step<const FMA: bool>(&mut self, pass: &mut Pass<'_, '_>, t: usize) -> Option<()> {
        let (n, width) = (pass.labels, pass.width);
        let psi = &pass.psi[t * width..(t + 1) * width];
        let (past, now) = pass.alpha.split_at_mut(t * width);
        let now = &mut now[..width];
        if t == 0 {
            now.copy_from_slice(psi);
        } else {
            let k = pass.p.tables().of_edge.table(t - 1);
            self.log_z += pass.tables.shift[k];
            let exp = &pass.tables.exp[k * n * width..(k + 1) * n * width];
            times::<B, FMA>(&past[(t - 1) * width..(t - 1) * width + n], exp, width, now);
            multiply::<B>(now, psi, self.factor);
        }
        let sum = sum::<B>(now, &mut self.smallest);
        self.factor = 1.0 / sum;
        self.product *= sum;
        if !(1e-100..1e100).contains(&self.product) {
            // Also where a row is all zeros, or not a number.
            if sum.is_nan() || sum < SMALLEST {
                return None;
            }
            self.log_z += self.product.ln();
            self.product = 1.0;
        }
        Some(())
    }

    /// log Z but for the shifts of the nodes.
    #[inline(always)]
    fn finish(self) -> Option<f64> {
        is_safe(&self.smallest).then(|| self.log_z + self.product.ln())
    }
}

/// β_t = exp A_{t+1} · (ψ_{t+1} ∘ β_{t+1}) / Σ β_{t+1}.
struct Backward {
    factor: f64,
    smallest: [f64; B],
}

impl Backward {
    #[inline(always)]
    fn new() -> Self {
        Backward { factor: 1.0, smallest: [1.0; B] }
    }

    #[inline(always)]
    fn step<const FMA: bool>(&mut self, pass: &mut Pass<'_, '_>, t: usize) {
        let (n, width) = (pass.labels, pass.width);
        let now = &mut pass.beta[t * width..(t + 1) * width];
        let (after, later) = pass.after[t * width..].split_at_mut(width);
        if t + 1 == pass.len {
            now[..n].fill(1.0);
            now[n..].fill(0.0);
        } else {
            let k = pass.p.tables().of_edge.table(t);
            let transposed = &pass.tables.transposed[k * n * width..(k + 1) * n * width];
            times::<B, FMA>(&later[..n], transposed, width, now);
            scale::<B>(now, self.factor);
        }
        pass.factors[t] = self.factor;
        self.factor = 1.0 / sum::<B>(now, &mut self.smallest);
        let psi = &pass.psi[t * width..(t + 1) * width];
        after.copy_from_slice(now);
        multiply::<B>(after, psi, 1.0);
    }

    #[inline(always)]
    fn finish(self) -> Option<()> {
        is_safe(&self.smallest).then_some(())
    }
}

/// Turns forward and backward rows into beliefs; forward rows are left scaled for [`edge_beliefs`].
///
/// Σ_j α_t(j) β_t(j) is what the products of a node must be divided by, and those of the edge behind it by that
/// over the factor of β_t.
#[inline(always)]
fn node_beliefs<const FMA: bool>(pass: &mut Pass<'_, '_>, node: &mut [f64]) -> Option<()> {
    let (n, width) = (pass.labels, pass.width);
    let mut safe = true;
    let rows = pass.alpha.chunks_exact_mut(width).zip(pass.beta.chunks_exact_mut(width));
    for ((alpha, beta), (node, factor)) in rows.zip(node.chunks_exact_mut(n).zip(&*pass.factors)) {
        let total = product::<B, FMA>(alpha, beta);
        let (of_node, of_edge) = (1.0 / total, factor / total);
        // Neither holds for what is not a number.
        safe &= total >= SMALLEST_PRODUCT && of_edge.is_finite();
        multiply::<B>(beta, alpha, of_node);
        scale::<B>(alpha, of_edge);
        node.copy_from_slice(&beta[..n]);
    }
    safe.then_some(())
}

/// Puts the beliefs in edges where they were asked for; nothing can fail any more.
#[inline(always)]
fn edge_beliefs<const FMA: bool>(pass: &mut Pass<'_, '_>, edge: &mut EdgeBeliefs<'_>) {
    let (n, width) = (pass.labels, pass.width);
    let size = n * width;
    if pass.len < 2 || matches!(edge, EdgeBeliefs::None) {
        return;
    }
    if let (EdgeBeliefs::PerTable { sums, weight }, EdgeTables::Shared) =
        (&mut *edge, pass.p.tables().of_edge)
    {
        pass.sums.fill(0.0);
        let mut t = 1;
        while t + 8 <= pass.len {
            add_outer::<8, FMA>(pass, t);
            t += 8;
        }
        while t + 3 <= pass.len {
            add_outer::<3, FMA>(pass, t);
            t += 3;
        }
        while t < pass.len {
            add_outer::<1, FMA>(pass, t);
            t += 1;
        }
        let products = pass.sums.chunks_exact(width).zip(pass.tables.exp.chunks_exact(width));
        for (sums, (products, exp)) in sums.chunks_exact_mut(n).zip(products) {
            for ((sum, product), exp) in sums.iter_mut().zip(products).zip(exp) {
                *sum += *weight * product * exp;
            }
        }
        return;
    }
    for t in 1..pass.len {
        let before = &pass.alpha[(t - 1) * width..t * width];
        let after = &pass.after[t * width..(t + 1) * width];
        let k = pass.p.tables().of_edge.table(t - 1);
        let exp = &pass.tables.exp[k * size..(k + 1) * size];
        match edge {
            EdgeBeliefs::PerTable { sums, weight } => {
                let at = pass.p.tables().starts[k];
                add_pairs::<FMA>(&mut sums[at..at + n * n], before, exp, after, *weight, n, width);
            }
            EdgeBeliefs::PerEdge(each) => {
                let each = &mut each[(t - 1) * n * n..t * n * n];
                each.fill(0.0);
                add_pairs::<FMA>(each, before, exp, after, 1.0, n, width);
            }
            EdgeBeliefs::None => {}
        }
    }
}

/// Adds α_{t−1} ⊗ (ψ_t ∘ β_t) of `M` steps at once: a row of sums is loaded and stored once for all of them.
#[inline(always)]
fn add_outer<const M: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, t: usize) {
    let (n, width) = (pass.labels, pass.width);
    let n_blocks = width / B;
    let (mut before, mut after) = ([&[][..]; M], [&[][..]; M]);
    for m in 0..M {
        before[m] = &pass.alpha[(t - 1 + m) * width..][..n];
        after[m] = &pass.after[(t + m) * width..].as_chunks::<B>().0[..n_blocks];
    }
    let rows = pass.sums.as_chunks_mut::<B>().0.chunks_exact_mut(n_blocks);
    for (i, row) in (0..n).zip(rows) {
        for (b, row) in (0..n_blocks).zip(row) {
            let mut sums = *row;
            for m in 0..M {
                for j in 0..B {
                    sums[j] = fma::<FMA>(before[m][i], after[m][b][j], sums[j]);
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
