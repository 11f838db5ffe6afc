//! Forward-backward in the probability domain for chains of at most four labels, as activities often have.
//!
//! What `scaled.rs` says of safety holds here too. A row is one vector that stays in registers from step to step, and edges
//! that follow each other and share a table are summed up before their sum is put where it belongs.

use crf_core::simd::{Kernel, fma};
use crf_core::{Beliefs, EdgeBeliefs, EdgeTables};

use crate::chain::padded_rows::halved;
use crate::chain::scaled::{Pass, SMALLEST, SMALLEST_PRODUCT, exponentiate, is_safe};

/// Labels, and zeros behind them.
pub(crate) const ROOM: usize = 4;
type Row = [f64; ROOM];

/// The whole of it for chains of `N` labels; log Z.
pub(crate) struct Few<'k, 'a, 'p, 'o, const N: usize>(
    pub(crate) &'k mut Pass<'a, 'p>,
    pub(crate) &'k mut Beliefs<'o>,
);

impl<const N: usize> Kernel for Few<'_, '_, '_, '_, N> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<f64> {
        let Few(pass, out) = self;
        pass.width = ROOM; // known when compiling
        pass.labels = N;
        let shift = exponentiate::<ROOM, FMA>(pass)?;
        let log_z = recursions::<N, FMA>(pass)?;
        node_beliefs::<N, FMA>(pass, out.node)?;
        edge_beliefs::<N, FMA>(pass, &mut out.edge);
        Some(shift + log_z)
    }
}

/// Both recursions at a time, neither of which waits for the other; log Z but for the shifts of the nodes.
#[inline(always)]
fn recursions<const N: usize, const FMA: bool>(pass: &mut Pass<'_, '_>) -> Option<f64> {
    let (len, of_edge) = (pass.len, pass.p.tables().of_edge);
    let psi = &pass.psi.as_chunks::<ROOM>().0[..len];
    let exp = pass.tables.exp.as_chunks::<ROOM>().0.as_chunks::<N>().0;
    let transposed = pass.tables.transposed.as_chunks::<ROOM>().0.as_chunks::<N>().0;
    let alphas = &mut pass.alpha.as_chunks_mut::<ROOM>().0[..len];
    let betas = &mut pass.beta.as_chunks_mut::<ROOM>().0[..len];
    let afters = &mut pass.after.as_chunks_mut::<ROOM>().0[..len];
    let factors = &mut pass.factors[..len];
    let (mut log_z, mut product) = (0.0, 1.0);
    let mut smallest = [[1.0; ROOM]; 2];
    // Forward: α_t = ψ_t ∘ (α_{t−1} · exp A_t) / Σ α_{t−1}. Backward: β_t = exp A_{t+1} · (ψ_{t+1} ∘ β_{t+1}) / Σ β_{t+1}.
    let mut alpha = psi[0];
    let mut beta = [0.0; ROOM];
    beta[..N].fill(1.0);
    let mut after = psi[len - 1];
    let mut forward = 1.0 / total(&alpha);
    let mut backward = 1.0 / total(&beta);
    watch(&alpha, &mut smallest[0]);
    product *= total(&alpha);
    (alphas[0], betas[len - 1], afters[len - 1], factors[len - 1]) = (alpha, beta, after, 1.0);
    for t in 1..len {
        let k = of_edge.table(t - 1);
        log_z += pass.tables.shift[k];
        alpha = times::<N, FMA>(&alpha, &exp[k]);
        for j in 0..ROOM {
            alpha[j] *= psi[t][j] * forward;
        }
        alphas[t] = alpha;
        watch(&alpha, &mut smallest[0]);
        let sum = total(&alpha);
        forward = 1.0 / sum;
        product *= sum;
        if !(1e-100..1e100).contains(&product) {
            // Also where a row is all zeros, or not a number.
            if sum.is_nan() || sum < SMALLEST {
                return None;
            }
            log_z += product.ln();
            product = 1.0;
        }
        let s = len - 1 - t;
        beta = times::<N, FMA>(&after, &transposed[of_edge.table(s)]);
        for j in 0..ROOM {
            beta[j] *= backward;
            after[j] = beta[j] * psi[s][j];
        }
        watch(&beta, &mut smallest[1]);
        (betas[s], afters[s], factors[s]) = (beta, after, backward);
        backward = 1.0 / total(&beta);
    }
    smallest.iter().all(is_safe).then(|| log_z + product.ln())
}

/// `row · table`.
#[inline(always)]
fn times<const N: usize, const FMA: bool>(row: &Row, table: &[Row; N]) -> Row {
    // Even and odd rows apart, so that one sum need not wait for the other.
    let mut sums = [[0.0; ROOM]; 2];
    for i in 0..N {
        for j in 0..ROOM {
            sums[i % 2][j] = fma::<FMA>(row[i], table[i][j], sums[i % 2][j]);
        }
    }
    let mut out = sums[0];
    for j in 0..ROOM {
        out[j] += sums[1][j];
    }
    out
}

#[inline(always)]
fn total(row: &Row) -> f64 {
    halved(*row, |a, b| a + b)
}

/// Takes note of the smallest entries, zeros aside.
#[inline(always)]
fn watch(row: &Row, smallest: &mut Row) {
    for j in 0..ROOM {
        let x = if row[j] == 0.0 { 1.0 } else { row[j] };
        smallest[j] = if x < smallest[j] { x } else { smallest[j] };
    }
}

/// Turns forward and backward rows into beliefs; forward rows are left scaled for [`edge_beliefs`].
#[inline(always)]
fn node_beliefs<const N: usize, const FMA: bool>(pass: &mut Pass<'_, '_>, node: &mut [f64]) -> Option<()> {
    let alphas = pass.alpha.as_chunks_mut::<ROOM>().0;
    let rows = alphas.iter_mut().zip(pass.beta.as_chunks::<ROOM>().0).zip(&*pass.factors);
    let mut safe = true;
    for (((alpha, beta), factor), node) in rows.zip(node.as_chunks_mut::<N>().0) {
        let mut products = *alpha;
        for j in 0..ROOM {
            products[j] *= beta[j];
        }
        let total = total(&products);
        let of_node = 1.0 / total;
        let of_edge = factor * of_node;
        // Neither holds for what is not a number.
        safe &= total >= SMALLEST_PRODUCT && of_edge.is_finite();
        let mut scaled = *alpha;
        for j in 0..ROOM {
            products[j] *= of_node;
            scaled[j] *= of_edge;
        }
        *alpha = scaled;
        node.copy_from_slice(&products[..N]);
    }
    safe.then_some(())
}

/// Puts the beliefs in edges where they were asked for; nothing can fail any more.
#[inline(always)]
fn edge_beliefs<const N: usize, const FMA: bool>(pass: &Pass<'_, '_>, edge: &mut EdgeBeliefs<'_>) {
    let alphas = pass.alpha.as_chunks::<ROOM>().0;
    let afters = pass.after.as_chunks::<ROOM>().0;
    let exp = pass.tables.exp.as_chunks::<ROOM>().0.as_chunks::<N>().0;
    let (len, of_edge) = (pass.len, pass.p.tables().of_edge);
    match edge {
        EdgeBeliefs::None => {}
        EdgeBeliefs::PerTable { sums, weight } => {
            let mut start = 1;
            while start < len {
                let k = of_edge.table(start - 1);
                let end = match of_edge {
                    EdgeTables::Shared => len,
                    EdgeTables::Each(rows) => {
                        let alike = rows[start..len - 1].iter().take_while(|&&row| row as usize == k);
                        start + 1 + alike.count()
                    }
                };
                let mut products = [[0.0; ROOM]; N];
                for (before, after) in alphas[start - 1..end - 1].iter().zip(&afters[start..end]) {
                    for i in 0..N {
                        for j in 0..ROOM {
                            products[i][j] = fma::<FMA>(before[i], after[j], products[i][j]);
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
                        each[j] = alphas[t - 1][i] * exp[i][j] * afters[t][j];
                    }
                }
            }
        }
    }
}
