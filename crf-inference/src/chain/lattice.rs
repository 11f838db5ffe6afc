use crf_core::{Error, Label, Potentials, Result, Rng, Shape};

use crate::errors::{finite_log_z, impossible};
use crate::log_domain::{draw, log_sum_exp, lower, maximum, normalise};
use crate::shifted::ShiftMemory;

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
///
/// A deviation: potentials are shifted, and each row is lowered to the maximum 0, so that no
/// potential costs digits at other positions. Marginals are divided by their sums.
#[derive(Debug, Default)]
pub struct Lattice {
    n_labels: usize,
    shift: ShiftMemory,
    alpha: Vec<f64>, // [T × L] each row with the maximum 0
    beta: Vec<f64>,  // [T × L] each row with the maximum 0
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
        let shifted = self.shift.shift(p)?;
        let (psi, tables, mut height) = (shifted.p.node(), shifted.p.tables(), shifted.height);
        self.alpha[..l].copy_from_slice(&psi[..l]);
        for t in 1..len {
            let table = tables.of(t - 1);
            let (past, now) = self.alpha.split_at_mut(t * l);
            let (previous, now) = (&past[(t - 1) * l..], &mut now[..l]);
            for j in 0..l {
                now[j] = psi[t * l + j] + log_sum_exp((0..l).map(|i| previous[i] + table[i * l + j]));
            }
            height.add(lower(now));
        }
        for t in (0..len - 1).rev() {
            let table = tables.of(t);
            let (now, next) = self.beta.split_at_mut((t + 1) * l);
            let now = &mut now[t * l..];
            for i in 0..l {
                let score = |j: usize| table[i * l + j] + psi[(t + 1) * l + j] + next[j];
                now[i] = log_sum_exp((0..l).map(score));
            }
            lower(now);
        }
        let last = log_sum_exp(self.alpha[(len - 1) * l..].iter().copied());
        if last == f64::NEG_INFINITY {
            return Err(impossible(p));
        }
        self.log_z = finite_log_z(height.plus(last).value())?;
        Ok(())
    }

    /// log Σ_y exp(score(y)).
    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    /// Writes p(y_t = j) for all t and j. `[T × L]`
    pub fn node_marginals(&self, out: &mut [f64]) {
        for ((out, alpha), beta) in out.iter_mut().zip(&self.alpha).zip(&self.beta) {
            *out = alpha + beta;
        }
        out.chunks_exact_mut(self.n_labels.max(1)).for_each(|row| {
            normalise(row);
        });
    }

    /// p(y_e = i, y_{e+1} = j) for all pairs of labels of edge `e`, row by row. `[L × L]`
    pub fn edge_marginals<'a>(&'a self, p: &'a Potentials<'_>, e: usize) -> impl Iterator<Item = f64> + 'a {
        let l = self.n_labels;
        let (tail, table) = (&self.alpha[e * l..(e + 1) * l], self.shift.table(p, e));
        let score = move |pair: usize| tail[pair / l] + table[pair] + self.ahead(e + 1, pair % l);
        let max = maximum((0..l * l).map(score));
        // The logarithm of the sum would be rounded away where the maximum is large.
        let sum = (0..l * l).map(|pair| (score(pair) - max).exp()).sum::<f64>();
        (0..l * l).map(move |pair| (score(pair) - max).exp() / sum)
    }

    /// Probability that positions `start`, `start + 1`, … have exactly the given labels.
    ///
    /// p(y_start) and the probability of each further label given the one before it.
    ///
    /// # Panics
    /// If the span is empty or exceeds the chain.
    pub fn span(&self, p: &Potentials<'_>, start: usize, labels: &[Label]) -> f64 {
        let l = self.n_labels;
        let share = |y: Label, score: &dyn Fn(usize) -> f64| {
            let max = maximum((0..l).map(score));
            // A label that no labelling has is followed by none.
            let sum = (0..l).map(|j| (score(j) - max).exp()).sum::<f64>();
            if max == f64::NEG_INFINITY { 0.0 } else { (score(y as usize) - max).exp() / sum }
        };
        let first = share(labels[0], &|j| self.alpha[start * l + j] + self.beta[start * l + j]);
        labels.windows(2).zip(start..).fold(first, |product, (pair, e)| {
            let row = &self.shift.table(p, e)[pair[0] as usize * l..];
            product * share(pair[1], &|j| row[j] + self.ahead(e + 1, j))
        })
    }

    /// Log score of label `j` at position `t` and of all that follows.
    fn ahead(&self, t: usize, j: usize) -> f64 {
        self.shift.node()[t * self.n_labels + j] + self.beta[t * self.n_labels + j]
    }

    /// Draws a labelling: the last label from α, then each earlier label given its successor.
    pub(super) fn sample(&mut self, p: &Potentials<'_>, rng: &mut Rng, labels: &mut Vec<Label>) {
        let (l, len) = (self.n_labels, p.shape().n_nodes());
        labels.clear();
        labels.resize(len, 0);
        for t in (0..len).rev() {
            self.row.copy_from_slice(&self.alpha[t * l..(t + 1) * l]);
            if t + 1 < len {
                let table = self.shift.table(p, t);
                let next = labels[t + 1] as usize;
                self.row.iter_mut().enumerate().for_each(|(i, score)| *score += table[i * l + next]);
            }
            normalise(&mut self.row);
            labels[t] = draw(&self.row, rng);
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
