use crf_core::{Error, Label, Potentials, Result, Rng, Shape};

use crate::errors::impossible;
use crate::log_domain::{draw, log_sum_exp};

/// Forward and backward scores of a chain in the log domain.
///
/// The reference of the scaled recursions, and the source of draws and of probabilities of spans.
/// Vail (2008), equations 2.23 to 2.41 with §2.5.1, t from 0:
///
/// ```text
/// α_t(j) = ψ_t(j) + log Σ_i exp(α_{t−1}(i) + A_t(i, j))
/// β_t(i) = log Σ_j exp(A_{t+1}(i, j) + ψ_{t+1}(j) + β_{t+1}(j))
/// log Z  = log Σ_j exp(α_{T−1}(j))
/// ```
#[derive(Debug, Default)]
pub struct Lattice {
    n_labels: usize,
    alpha: Vec<f64>, // [T × L]
    beta: Vec<f64>,  // [T × L]
    row: Vec<f64>,   // [L] log scores of one position, for draws
    log_z: f64,
}

impl Lattice {
    /// Computes the lattice of a chain; other graphs are rejected.
    pub fn new(p: &Potentials<'_>) -> Result<Self> {
        let mut lattice = Lattice::default();
        lattice.fill(p)?;
        Ok(lattice)
    }

    /// Recomputes the lattice for another chain in the same memory.
    pub(super) fn fill(&mut self, p: &Potentials<'_>) -> Result<()> {
        let (len, l) = chain_size(&p.shape())?;
        self.n_labels = l;
        for scores in [&mut self.alpha, &mut self.beta] {
            scores.clear();
            scores.resize(len * l, 0.0);
        }
        self.row.resize(l, 0.0);
        self.log_z = 0.0;
        if len == 0 {
            return Ok(());
        }
        let psi = p.node();
        self.alpha[..l].copy_from_slice(&psi[..l]);
        for t in 1..len {
            let table = p.tables().of(t - 1);
            let (past, now) = self.alpha.split_at_mut(t * l);
            let previous = &past[(t - 1) * l..];
            for j in 0..l {
                now[j] = psi[t * l + j] + log_sum_exp((0..l).map(|i| previous[i] + table[i * l + j]));
            }
        }
        for t in (0..len - 1).rev() {
            let table = p.tables().of(t);
            let (now, next) = self.beta.split_at_mut((t + 1) * l);
            for i in 0..l {
                let score = |j: usize| table[i * l + j] + psi[(t + 1) * l + j] + next[j];
                now[t * l + i] = log_sum_exp((0..l).map(score));
            }
        }
        self.log_z = log_sum_exp(self.alpha[(len - 1) * l..].iter().copied());
        if self.log_z.is_finite() { Ok(()) } else { Err(impossible(p)) }
    }

    /// log Σ_y exp(score(y)).
    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    /// Writes p(y_t = j) for all t and j. `[T × L]`
    pub fn node_marginals(&self, out: &mut [f64]) {
        for ((out, alpha), beta) in out.iter_mut().zip(&self.alpha).zip(&self.beta) {
            *out = (alpha + beta - self.log_z).exp();
        }
    }

    /// p(y_e = i, y_{e+1} = j) for all pairs of labels of edge `e`, row by row. `[L × L]`
    pub fn edge_marginals<'a>(&'a self, p: &'a Potentials<'_>, e: usize) -> impl Iterator<Item = f64> + 'a {
        let l = self.n_labels;
        let table = p.tables().of(e);
        (0..l * l).map(move |pair| {
            let head = (e + 1) * l + pair % l;
            let score = self.alpha[e * l + pair / l] + table[pair] + p.node()[head] + self.beta[head];
            (score - self.log_z).exp()
        })
    }

    /// Probability that positions `start`, `start + 1`, … have exactly the given labels.
    ///
    /// # Panics
    /// If the span is empty or exceeds the chain.
    pub fn span(&self, p: &Potentials<'_>, start: usize, labels: &[Label]) -> f64 {
        let l = self.n_labels;
        let y = |k: usize| labels[k] as usize;
        let mut score = self.alpha[start * l + y(0)];
        for k in 1..labels.len() {
            let t = start + k;
            score += p.tables().of(t - 1)[y(k - 1) * l + y(k)] + p.node()[t * l + y(k)];
        }
        let end = start + labels.len() - 1;
        (score + self.beta[end * l + y(labels.len() - 1)] - self.log_z).exp()
    }

    /// Draws a labelling: the last label from α, then each earlier label given its successor.
    pub(super) fn sample(&mut self, p: &Potentials<'_>, rng: &mut Rng, labels: &mut Vec<Label>) {
        let (l, len) = (self.n_labels, p.shape().n_nodes());
        labels.clear();
        labels.resize(len, 0);
        for t in (0..len).rev() {
            self.row.copy_from_slice(&self.alpha[t * l..(t + 1) * l]);
            if t + 1 < len {
                let table = p.tables().of(t);
                let next = labels[t + 1] as usize;
                self.row.iter_mut().enumerate().for_each(|(i, score)| *score += table[i * l + next]);
            }
            let total = log_sum_exp(self.row.iter().copied());
            labels[t] = draw(&self.row, total, rng);
        }
    }
}

/// Length and number of labels of a chain; other graphs are rejected.
pub(super) fn chain_size(shape: &Shape<'_>) -> Result<(usize, usize)> {
    match *shape {
        Shape::Chain { len, labels } => Ok((len, labels)),
        Shape::Graph(_) => Err(Error::Unsupported {
            tag: "forward-backward",
            what: "answers chains only; graphs need an inference for graphs".into(),
        }),
    }
}
