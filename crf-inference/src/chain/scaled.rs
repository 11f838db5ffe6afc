//! Forward-backward in the probability domain, for chains of more than four labels.
//!
//! Rabiner (1989), §V.A, t from 0, with ψ and A exponentiated (`exp_potentials.rs`, which also
//! states when this is safe):
//!
//! ```text
//! α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}
//! β_t = exp A_{t+1} · (ψ_{t+1} ∘ β_{t+1}) / Σ β_{t+1}
//! p(y_t = j) ∝ α_t(j) β_t(j)
//! p(y_{t−1} = i, y_t = j) ∝ α_{t−1}(i) exp A_t(i, j) ψ_t(j) β_t(j)
//! ```
//!
//! A deviation: a row is divided by the sum of the row computed before it, not by its own. That sum
//! is known while the row is being multiplied out, so no step waits for a division.

use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{Aligned, Beliefs, CompensatedSum, EdgeBeliefs, EdgeTables, Potentials};

use crate::chain::exp_potentials::{
    ExpTables, Pass, RANGE, SMALLEST, SMALLEST_PRODUCT, exponentiate, is_safe, padded_width,
};
use crate::chain::padded_rows::{dot, multiply, scale, sum, times};
use crate::chain::scaled_small::SmallKernel;
use crate::log_domain::maximum;
use crate::shifted::AllTableFacts;

/// Numbers per vector.
const B: usize = 8;

/// Memory of a worker; [`Pass`] describes the arrays.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    tables: ExpTables,
    psi: Aligned,           // [T × P]
    alpha: Aligned,         // [T × P]
    beta: Aligned,          // [T × P]
    psi_beta: Aligned,      // [T × P]
    beta_factors: Vec<f64>, // [T]
    edge_sums: Aligned,     // [L × P]
    facts: AllTableFacts,
    node: Vec<f64>, // [T × L] node potentials without outliers
}

/// A label this far below the best one of its node, and below what two tables can win back, has a
/// probability under 10⁻⁴³.
const NEGLIGIBLE: f64 = 100.0;

/// Fills the beliefs and returns log Z, or `None` if only the log domain is safe.
pub(super) fn infer(
    p: &Potentials<'_>,
    len: usize,
    n_labels: usize,
    out: &mut Beliefs<'_>,
    workspace: &mut Workspace,
) -> Option<f64> {
    if len == 0 {
        return Some(0.0);
    }
    let width = padded_width(n_labels);
    if len > 1 {
        workspace.tables.update(p.tables(), n_labels, width);
        if !workspace.tables.are_safe(p.tables(), len - 1) {
            return None;
        }
    }
    let log_z = pass(p, len, n_labels, out, workspace).or_else(|| {
        let mut node = std::mem::take(&mut workspace.node);
        let rest = drop_outliers(p, len, n_labels, &mut node, &mut workspace.facts)
            .then(|| Potentials::new(p.shape(), &mut node, *p.tables()).ok());
        let log_z = rest.flatten().and_then(|p| pass(&p, len, n_labels, out, workspace));
        workspace.node = node;
        log_z
    });
    let mut height = log_z?;
    match p.tables().of_edge {
        EdgeTables::Shared if len > 1 => height.add((len - 1) as f64 * workspace.tables.shift[0]),
        EdgeTables::Shared => {}
        EdgeTables::Each(rows) => rows.iter().for_each(|&k| height.add(workspace.tables.shift[k as usize])),
    }
    Some(height.value())
}

/// Copies the node potentials without labels of negligible probability; true if there are any.
///
/// In a labelling with such a label, the best label of the node instead wins at least the distance
/// between the two less twice the spread of a table, if tables forbid nothing. So all these
/// labellings together have a probability of less than T·L·10⁻⁴³.
fn drop_outliers(
    p: &Potentials<'_>,
    len: usize,
    n_labels: usize,
    node: &mut Vec<f64>,
    facts: &mut AllTableFacts,
) -> bool {
    let mut spread = 0.0;
    if len > 1 {
        facts.update(p.tables());
    }
    for e in 0..len - 1 {
        let table = facts.of(p.tables(), e);
        if table.forbids {
            return false;
        }
        spread = f64::max(spread, table.spread);
    }
    let reach = RANGE.max(2.0 * spread + NEGLIGIBLE);
    node.clear();
    node.extend_from_slice(p.node());
    let mut has_outliers = false;
    for row in node.chunks_exact_mut(n_labels) {
        let max = maximum(row.iter().copied());
        for x in row.iter_mut().filter(|x| max - **x > reach) {
            has_outliers |= *x > f64::NEG_INFINITY;
            *x = f64::NEG_INFINITY;
        }
    }
    has_outliers
}

/// One pass over the sequence; returns log Z without the maxima of the tables, or `None` if only
/// the log domain is safe.
fn pass(
    p: &Potentials<'_>,
    len: usize,
    n_labels: usize,
    out: &mut Beliefs<'_>,
    workspace: &mut Workspace,
) -> Option<CompensatedSum> {
    let Workspace { tables, psi, alpha, beta, psi_beta, beta_factors, edge_sums, .. } = workspace;
    let width = padded_width(n_labels);
    let [psi, alpha, beta, psi_beta] = [psi, alpha, beta, psi_beta].map(|rows| rows.room(len * width));
    beta_factors.resize(len, 0.0);
    let edge_sums = edge_sums.room(n_labels * width);
    let mut pass =
        Pass { p, len, n_labels, width, tables, psi, alpha, beta, psi_beta, beta_factors, edge_sums };
    // Nothing is added to the caller's sums before every step has been found safe.
    match n_labels {
        1 => dispatch(SmallKernel::<1>(&mut pass, out)),
        2 => dispatch(SmallKernel::<2>(&mut pass, out)),
        3 => dispatch(SmallKernel::<3>(&mut pass, out)),
        4 => dispatch(SmallKernel::<4>(&mut pass, out)),
        _ => dispatch(WideKernel(&mut pass, out)),
    }
}

/// The whole pass for more than four labels; returns log Z without the maxima of the tables.
struct WideKernel<'k, 'a, 'p, 'o>(&'k mut Pass<'a, 'p>, &'k mut Beliefs<'o>);

impl Kernel for WideKernel<'_, '_, '_, '_> {
    type Output = Option<CompensatedSum>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<CompensatedSum> {
        let WideKernel(pass, out) = self;
        let shift = exponentiate::<B, FMA>(pass)?;
        let (mut forward, mut backward) = (Forward::new(), Backward::new());
        // The two recursions are independent, so the processor works on both at a time.
        for t in 0..pass.len {
            forward.step::<FMA>(pass, t)?;
            backward.step::<FMA>(pass, pass.len - 1 - t);
        }
        let log_z = forward.finish()?;
        backward.finish()?;
        node_beliefs::<FMA>(pass, out.node)?;
        edge_beliefs::<FMA>(pass, &mut out.edge);
        Some(shift.plus(log_z))
    }
}

/// α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}.
struct Forward {
    log_z: f64, // without the maxima of nodes and tables, and without `product`
    // Logarithms are slow: sums are multiplied until their product comes near the end of its range.
    product: f64,
    factor: f64,        // 1 / Σ α_{t−1}
    smallest: [f64; B], // smallest positive entries of all rows
}

impl Forward {
    #[inline(always)]
    fn new() -> Self {
        Forward { log_z: 0.0, product: 1.0, factor: 1.0, smallest: [1.0; B] }
    }

    #[inline(always)]
    fn step<const FMA: bool>(&mut self, pass: &mut Pass<'_, '_>, t: usize) -> Option<()> {
        let (n, width) = (pass.n_labels, pass.width);
        let psi = &pass.psi[t * width..(t + 1) * width];
        let (past, now) = pass.alpha.split_at_mut(t * width);
        let now = &mut now[..width];
        if t == 0 {
            now.copy_from_slice(psi);
        } else {
            let k = pass.p.tables().of_edge.table(t - 1);
            let exp = &pass.tables.exp[k * n * width..(k + 1) * n * width];
            times::<B, FMA>(&past[(t - 1) * width..(t - 1) * width + n], exp, width, now);
            multiply::<B>(now, psi, self.factor);
        }
        let sum = sum::<B>(now, &mut self.smallest);
        self.factor = 1.0 / sum;
        self.product *= sum;
        if !(1e-100..1e100).contains(&self.product) {
            // This includes rows of zeros and rows with a NaN.
            if sum.is_nan() || sum < SMALLEST {
                return None;
            }
            self.log_z += self.product.ln();
            self.product = 1.0;
        }
        Some(())
    }

    /// log Z without the maxima of nodes and tables; `None` if a row was out of the safe range.
    #[inline(always)]
    fn finish(self) -> Option<f64> {
        is_safe(&self.smallest).then(|| self.log_z + self.product.ln())
    }
}

/// β_t = exp A_{t+1} · (ψ_{t+1} ∘ β_{t+1}) / Σ β_{t+1}.
struct Backward {
    factor: f64,        // 1 / Σ β_{t+1}
    smallest: [f64; B], // smallest positive entries of all rows
}

impl Backward {
    #[inline(always)]
    fn new() -> Self {
        Backward { factor: 1.0, smallest: [1.0; B] }
    }

    #[inline(always)]
    fn step<const FMA: bool>(&mut self, pass: &mut Pass<'_, '_>, t: usize) {
        let (n, width) = (pass.n_labels, pass.width);
        let now = &mut pass.beta[t * width..(t + 1) * width];
        let (psi_beta, next_psi_beta) = pass.psi_beta[t * width..].split_at_mut(width);
        if t + 1 == pass.len {
            now[..n].fill(1.0);
            now[n..].fill(0.0);
        } else {
            let k = pass.p.tables().of_edge.table(t);
            let transposed = &pass.tables.transposed[k * n * width..(k + 1) * n * width];
            times::<B, FMA>(&next_psi_beta[..n], transposed, width, now);
            scale::<B>(now, self.factor);
        }
        pass.beta_factors[t] = self.factor;
        self.factor = 1.0 / sum::<B>(now, &mut self.smallest);
        let psi = &pass.psi[t * width..(t + 1) * width];
        psi_beta.copy_from_slice(now);
        multiply::<B>(psi_beta, psi, 1.0);
    }

    /// `None` if a row was out of the safe range.
    #[inline(always)]
    fn finish(self) -> Option<()> {
        is_safe(&self.smallest).then_some(())
    }
}

/// Writes node beliefs; leaves forward rows scaled for [`edge_beliefs`].
///
/// The products α_t(j) β_t(j) of a node are divided by their sum; the products of the following
/// edge are divided by that sum over the factor of β_t.
#[inline(always)]
fn node_beliefs<const FMA: bool>(pass: &mut Pass<'_, '_>, node: &mut [f64]) -> Option<()> {
    let (n, width) = (pass.n_labels, pass.width);
    let mut all_safe = true;
    let rows = pass.alpha.chunks_exact_mut(width).zip(pass.beta.chunks_exact_mut(width));
    for ((alpha, beta), (node, factor)) in rows.zip(node.chunks_exact_mut(n).zip(&*pass.beta_factors)) {
        let total = dot::<B, FMA>(alpha, beta);
        let node_scale = 1.0 / total;
        let edge_scale = factor / total;
        // Neither condition holds for NaN.
        all_safe &= total >= SMALLEST_PRODUCT && edge_scale.is_finite();
        multiply::<B>(beta, alpha, node_scale);
        scale::<B>(alpha, edge_scale);
        node.copy_from_slice(&beta[..n]);
    }
    all_safe.then_some(())
}

/// Writes edge beliefs in the form that was asked for; nothing can fail any more.
#[inline(always)]
fn edge_beliefs<const FMA: bool>(pass: &mut Pass<'_, '_>, edge: &mut EdgeBeliefs<'_>) {
    let (n, width) = (pass.n_labels, pass.width);
    let size = n * width;
    if pass.len < 2 || matches!(edge, EdgeBeliefs::None) {
        return;
    }
    if let (EdgeBeliefs::PerTable { sums, weight }, EdgeTables::Shared) =
        (&mut *edge, pass.p.tables().of_edge)
    {
        pass.edge_sums.fill(0.0);
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
        let products = pass.edge_sums.chunks_exact(width).zip(pass.tables.exp.chunks_exact(width));
        for (sums, (products, exp)) in sums.chunks_exact_mut(n).zip(products) {
            for ((sum, product), exp) in sums.iter_mut().zip(products).zip(exp) {
                *sum += *weight * product * exp;
            }
        }
        return;
    }
    for t in 1..pass.len {
        let alpha = &pass.alpha[(t - 1) * width..t * width];
        let psi_beta = &pass.psi_beta[t * width..(t + 1) * width];
        let k = pass.p.tables().of_edge.table(t - 1);
        let exp = &pass.tables.exp[k * size..(k + 1) * size];
        match edge {
            EdgeBeliefs::PerTable { sums, weight } => {
                let start = pass.p.tables().starts[k];
                add_pairs::<FMA>(&mut sums[start..start + n * n], alpha, exp, psi_beta, *weight, n, width);
            }
            EdgeBeliefs::PerEdge(each) => {
                let each = &mut each[(t - 1) * n * n..t * n * n];
                each.fill(0.0);
                add_pairs::<FMA>(each, alpha, exp, psi_beta, 1.0, n, width);
            }
            EdgeBeliefs::None => {}
        }
    }
}

/// Adds α_{t−1} ⊗ (ψ_t ∘ β_t) of `M` steps at once, so that a row of sums is loaded and stored once
/// for all of them.
#[inline(always)]
fn add_outer<const M: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, t: usize) {
    let (n, width) = (pass.n_labels, pass.width);
    let n_blocks = width / B;
    let mut alpha = [&[][..]; M];
    let mut psi_beta = [&[][..]; M];
    for m in 0..M {
        alpha[m] = &pass.alpha[(t - 1 + m) * width..][..n];
        psi_beta[m] = &pass.psi_beta[(t + m) * width..].as_chunks::<B>().0[..n_blocks];
    }
    let rows = pass.edge_sums.as_chunks_mut::<B>().0.chunks_exact_mut(n_blocks);
    for (i, row) in (0..n).zip(rows) {
        for (b, row) in (0..n_blocks).zip(row) {
            let mut sums = *row;
            for m in 0..M {
                for j in 0..B {
                    sums[j] = fma::<FMA>(alpha[m][i], psi_beta[m][b][j], sums[j]);
                }
            }
            *row = sums;
        }
    }
}

/// Adds `factor · alpha(i) · exp(i, j) · psi_beta(j)` to `out(i, j)`.
#[inline(always)]
fn add_pairs<const FMA: bool>(
    out: &mut [f64],
    alpha: &[f64],
    exp: &[f64],
    psi_beta: &[f64],
    factor: f64,
    n: usize,
    width: usize,
) {
    let rows = exp.chunks_exact(width).zip(out.chunks_exact_mut(n));
    for ((row, out), alpha) in rows.zip(alpha) {
        let factor = factor * alpha;
        for ((out, exp), psi_beta) in out.iter_mut().zip(row).zip(psi_beta) {
            *out = fma::<FMA>(factor * exp, *psi_beta, *out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::{OwnedPotentials, Seed};

    /// log Z and node marginals in the probability domain, if it is safe.
    fn scaled(x: &mut OwnedPotentials, workspace: &mut Workspace) -> Option<(f64, Vec<f64>)> {
        let (len, n_labels) = (x.shape().n_nodes(), x.shape().card(0));
        let mut node = vec![0.0; len * n_labels];
        let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
        let log_z = infer(&x.view(), len, n_labels, &mut out, workspace);
        log_z.map(|log_z| (log_z, node))
    }

    #[test]
    fn one_outlier_does_not_send_its_sequence_to_the_log_domain() {
        for (n_labels, far) in [(2, 170.0), (3, 400.0), (9, 1e17)] {
            let mut x = OwnedPotentials::random(20, n_labels, 2.0, &Seed::new(1));
            let mut without = x.clone();
            x.node[5 * n_labels] -= far;
            without.node[5 * n_labels] = f64::NEG_INFINITY;
            let (mut memory, mut other) = (Workspace::default(), Workspace::default());
            assert_eq!(scaled(&mut x, &mut memory).unwrap(), scaled(&mut without, &mut other).unwrap());
        }
    }

    #[test]
    fn an_outlier_that_tables_can_win_back_is_left_to_the_log_domain() {
        let mut x = OwnedPotentials::random(20, 3, 2.0, &Seed::new(1));
        x.tables[1] -= 80.0;
        x.node[15] -= 250.0;
        assert_eq!(scaled(&mut x, &mut Workspace::default()), None);
        x.node[15] -= 50.0;
        assert!(scaled(&mut x, &mut Workspace::default()).is_some());
        // A rule may leave no other label.
        x.tables[1] = f64::NEG_INFINITY;
        assert_eq!(scaled(&mut x, &mut Workspace::default()), None);
    }

    #[test]
    fn a_table_out_of_range_matters_to_the_sequences_that_use_it_only() {
        let random = OwnedPotentials::random(4, 3, 2.0, &Seed::new(1));
        let mut tables = random.tables.repeat(2);
        tables[10] -= 200.0;
        let mut workspace = Workspace::default();
        let mut on = |of_edge: Vec<u32>, tables: &[f64]| {
            let mut x = OwnedPotentials::chain(4, 3, random.node.clone(), tables.to_vec(), of_edge);
            scaled(&mut x, &mut workspace)
        };
        let want = on(vec![0, 0, 0], &random.tables);
        assert!(want.is_some());
        assert_eq!(on(vec![0, 0, 0], &tables), want);
        assert_eq!(on(vec![0, 1, 0], &tables), None);
    }
}
