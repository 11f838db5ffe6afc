//! Forward-backward in the probability domain, for chains of at most four labels.
//!
//! The recursions of `scaled.rs`, under the same conditions (`exp_potentials.rs`). A row is one
//! vector that stays in registers from step to step, and consecutive edges that share a table are
//! summed before their sum is stored.

use crf_core::simd::{Kernel, fma};
use crf_core::{Beliefs, CompensatedSum, EdgeBeliefs, EdgeTables};

use crate::chain::exp_potentials::{
    Pass, SMALL_WIDTH as WIDTH, SMALLEST, SMALLEST_PRODUCT, exponentiate, is_safe,
};
use crate::chain::padded_rows::reduce;

/// The numbers of all labels, and zeros behind them.
type Row = [f64; WIDTH];

/// The whole pass for chains of `N` labels; returns log Z without the maxima of the tables.
pub(crate) struct SmallKernel<'k, 'a, 'p, 'o, const N: usize>(
    pub(crate) &'k mut Pass<'a, 'p>,
    pub(crate) &'k mut Beliefs<'o>,
);

impl<const N: usize> Kernel for SmallKernel<'_, '_, '_, '_, N> {
    type Output = Option<CompensatedSum>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<CompensatedSum> {
        let SmallKernel(pass, out) = self;
        // Known at compile time.
        pass.width = WIDTH;
        pass.n_labels = N;
        let shift = exponentiate::<WIDTH, FMA>(pass)?;
        let log_z = recursions::<N, FMA>(pass)?;
        node_beliefs::<N, FMA>(pass, out.node)?;
        edge_beliefs::<N, FMA>(pass, &mut out.edge);
        Some(shift.plus(log_z))
    }
}

/// Both recursions at a time, since they are independent; returns log Z without the maxima of nodes
/// and tables.
#[inline(always)]
fn recursions<const N: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<f64> {
    let len = pass.len;
    let of_edge = pass.p.tables().of_edge;
    let psi = &pass.psi.as_chunks::<WIDTH>().0[..len];
    let exp = pass.tables.exp.as_chunks::<WIDTH>().0.as_chunks::<N>().0;
    let transposed = pass.tables.transposed.as_chunks::<WIDTH>().0.as_chunks::<N>().0;
    let alphas = &mut pass.alpha.as_chunks_mut::<WIDTH>().0[..len];
    let betas = &mut pass.beta.as_chunks_mut::<WIDTH>().0[..len];
    let psi_betas = &mut pass.psi_beta.as_chunks_mut::<WIDTH>().0[..len];
    let beta_factors = &mut pass.beta_factors[..len];
    let mut log_z = 0.0;
    let mut product = 1.0;
    let mut smallest = [[1.0; WIDTH]; 2];
    let mut alpha = psi[0];
    let mut beta = [0.0; WIDTH];
    beta[..N].fill(1.0);
    let mut psi_beta = psi[len - 1];
    let mut alpha_factor = 1.0 / total(&alpha);
    let mut beta_factor = 1.0 / total(&beta);
    update_smallest(&alpha, &mut smallest[0]);
    product *= total(&alpha);
    alphas[0] = alpha;
    (betas[len - 1], psi_betas[len - 1], beta_factors[len - 1]) = (beta, psi_beta, 1.0);
    for t in 1..len {
        // α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}
        let k = of_edge.table(t - 1);
        alpha = times::<N, FMA>(&alpha, &exp[k]);
        for j in 0..WIDTH {
            alpha[j] *= psi[t][j] * alpha_factor;
        }
        alphas[t] = alpha;
        update_smallest(&alpha, &mut smallest[0]);
        let sum = total(&alpha);
        alpha_factor = 1.0 / sum;
        product *= sum;
        if !(1e-100..1e100).contains(&product) {
            // This includes rows of zeros and rows with a NaN.
            if sum.is_nan() || sum < SMALLEST {
                return None;
            }
            log_z += product.ln();
            product = 1.0;
        }
        // β_s = exp A_{s+1} · (ψ_{s+1} ∘ β_{s+1}) / Σ β_{s+1}
        let s = len - 1 - t;
        beta = times::<N, FMA>(&psi_beta, &transposed[of_edge.table(s)]);
        for j in 0..WIDTH {
            beta[j] *= beta_factor;
            psi_beta[j] = beta[j] * psi[s][j];
        }
        update_smallest(&beta, &mut smallest[1]);
        (betas[s], psi_betas[s], beta_factors[s]) = (beta, psi_beta, beta_factor);
        beta_factor = 1.0 / total(&beta);
    }
    smallest.iter().all(is_safe).then(|| log_z + product.ln())
}

/// `row · table`.
#[inline(always)]
fn times<const N: usize, const FMA: bool>(row: &Row, table: &[Row; N]) -> Row {
    // Even and odd rows are summed separately, so that one sum need not wait for the other.
    let mut sums = [[0.0; WIDTH]; 2];
    for i in 0..N {
        for j in 0..WIDTH {
            sums[i % 2][j] = fma::<FMA>(row[i], table[i][j], sums[i % 2][j]);
        }
    }
    let mut out = sums[0];
    for j in 0..WIDTH {
        out[j] += sums[1][j];
    }
    out
}

/// Sum of a row.
#[inline(always)]
fn total(row: &Row) -> f64 {
    reduce(*row, |a, b| a + b)
}

/// Updates the smallest positive entries.
#[inline(always)]
fn update_smallest(row: &Row, smallest: &mut Row) {
    for j in 0..WIDTH {
        let x = if row[j] == 0.0 { 1.0 } else { row[j] };
        smallest[j] = if x < smallest[j] { x } else { smallest[j] };
    }
}

/// Writes node beliefs; leaves forward rows scaled for [`edge_beliefs`].
#[inline(always)]
fn node_beliefs<const N: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, node: &mut [f64]) -> Option<()> {
    let alphas = pass.alpha.as_chunks_mut::<WIDTH>().0;
    let rows = alphas.iter_mut().zip(pass.beta.as_chunks::<WIDTH>().0).zip(&*pass.beta_factors);
    let mut all_safe = true;
    for (((alpha, beta), factor), node) in rows.zip(node.as_chunks_mut::<N>().0) {
        let mut products = *alpha;
        for j in 0..WIDTH {
            products[j] *= beta[j];
        }
        let total = total(&products);
        let node_scale = 1.0 / total;
        let edge_scale = factor * node_scale;
        // Neither condition holds for NaN.
        all_safe &= total >= SMALLEST_PRODUCT && edge_scale.is_finite();
        let mut scaled = *alpha;
        for j in 0..WIDTH {
            products[j] *= node_scale;
            scaled[j] *= edge_scale;
        }
        *alpha = scaled;
        node.copy_from_slice(&products[..N]);
    }
    all_safe.then_some(())
}

/// Writes edge beliefs in the form that was asked for; nothing can fail any more.
#[inline(always)]
fn edge_beliefs<const N: usize, const FMA: bool>(pass: &Pass<'_, '_>, edge: &mut EdgeBeliefs<'_>) {
    let alphas = pass.alpha.as_chunks::<WIDTH>().0;
    let psi_betas = pass.psi_beta.as_chunks::<WIDTH>().0;
    let exp = pass.tables.exp.as_chunks::<WIDTH>().0.as_chunks::<N>().0;
    let len = pass.len;
    let of_edge = pass.p.tables().of_edge;
    match edge {
        EdgeBeliefs::None => {}
        EdgeBeliefs::PerTable { sums, weight } => {
            let mut start = 1;
            while start < len {
                let k = of_edge.table(start - 1);
                let end = match of_edge {
                    EdgeTables::Shared => len,
                    EdgeTables::Each(rows) => {
                        let equal = rows[start..len - 1].iter().take_while(|&&row| row as usize == k);
                        start + 1 + equal.count()
                    }
                };
                let mut products = [[0.0; WIDTH]; N];
                for (alpha, psi_beta) in alphas[start - 1..end - 1].iter().zip(&psi_betas[start..end]) {
                    for i in 0..N {
                        for j in 0..WIDTH {
                            products[i][j] = fma::<FMA>(alpha[i], psi_beta[j], products[i][j]);
                        }
                    }
                }
                let sums = &mut sums[pass.p.tables().starts[k]..][..N * N];
                for (i, sums) in sums.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                    for j in 0..N {
                        sums[j] = fma::<FMA>(*weight * products[i][j], exp[k][i][j], sums[j]);
                    }
                }
                start = end;
            }
        }
        EdgeBeliefs::PerEdge(each) => {
            for (t, each) in (1..len).zip(each.chunks_exact_mut(N * N)) {
                let exp = &exp[of_edge.table(t - 1)];
                for (i, each) in each.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                    for j in 0..N {
                        each[j] = alphas[t - 1][i] * exp[i][j] * psi_betas[t][j];
                    }
                }
            }
        }
    }
}
