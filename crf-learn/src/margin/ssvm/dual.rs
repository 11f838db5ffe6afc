use crf_core::{Label, Problem, Result};

use crate::margin::decoder::{Decoder, in_sequence};
use crate::margin::ssvm::{Ssvm, half_square};

/// Dual problem of the structured SVM over the labellings that were found so far.
///
/// Each sequence has shares α_i(y) ≥ 0 of some labellings, which sum to 1, and the weights are w =
/// Σ_i C_i Σ_y α_i(y) (F(x_i, y_i) − F(x_i, y)) with C_i = C · weight_i. The value is Σ_i C_i Σ_y
/// α_i(y) Δ(y, y_i) − ½‖w‖² (the dual of Lacoste-Julien et al. 2013 over λ = 1/(Cn)).
///
/// A step moves a share from one labelling of a sequence to another. Along this line the value is a
/// parabola; its slope is a difference of two scores, and the weights change only in the features
/// in which the two labellings differ.
pub(crate) struct SsvmDual<'a> {
    ssvm: &'a Ssvm,
    decoder: Decoder<'a>,
    w: Vec<f64>,
    active: Vec<ActiveLabellings>, // [sequences]
    loss: f64,                     // Σ_i C_i Σ_y α_i(y) Δ(y, y_i)
    excess: Vec<f64>,              // of each active labelling of one sequence
}

/// Active labellings of one sequence, the truth first.
struct ActiveLabellings {
    labels: Vec<Label>, // [labellings × positions]
    shares: Vec<f64>,   // [labellings]
    costs: Vec<f64>,    // [labellings] Δ(y, y_i)
}

/// Labellings that a step may move a share to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepTarget {
    /// The labelling that violates the margin most of all; labellings that lose all their share are
    /// forgotten.
    All,
    /// The known labelling that violates the margin most.
    Known,
}

impl<'a> SsvmDual<'a> {
    /// Starts with all shares on the truth, so the weights are zero.
    pub(crate) fn new(problem: &Problem<'a>, ssvm: &'a Ssvm, tag: &str) -> Result<Self> {
        let mut decoder = Decoder::new(problem, &ssvm.margin, tag)?;
        let w = vec![0.0; problem.map.len()];
        decoder.set_weights(&w);
        let truth =
            |i| ActiveLabellings { labels: decoder.truth(i).to_vec(), shares: vec![1.0], costs: vec![0.0] };
        let active = (0..decoder.len()).map(truth).collect();
        Ok(SsvmDual { ssvm, w, active, loss: 0.0, excess: Vec::new(), decoder })
    }

    /// Weights of the current shares.
    pub(crate) fn w(&self) -> &[f64] {
        &self.w
    }

    /// Number of sequences.
    pub(crate) fn len(&self) -> usize {
        self.active.len()
    }

    /// Value of the dual problem.
    pub(crate) fn value(&self) -> f64 {
        self.loss - half_square(&self.w)
    }

    /// Objective at `w`, or at the weights of the shares.
    pub(crate) fn primal(&mut self, w: Option<&[f64]>) -> Result<f64> {
        self.ssvm.objective(&mut self.decoder, w.unwrap_or(&self.w))
    }

    /// Adds the labellings that the last [`SsvmDual::primal`] found to the known ones.
    pub(crate) fn add_violations(&mut self) {
        self.decoder.set_weights(&self.w);
        for (i, violation, found) in self.decoder.violations() {
            if violation.excess > 0.0 {
                self.active[i].index_of(found, violation.cost);
            }
        }
    }

    /// Moves a share of sequence `i` to the labelling with the largest excess, from the labelling
    /// with the smallest excess that has any share, as far as that raises the value. Returns an
    /// upper bound on the gain of redistributing the shares of the sequence over all labellings in
    /// question.
    pub(crate) fn step(&mut self, i: usize, target: StepTarget) -> Result<f64> {
        let SsvmDual { ssvm, decoder, w, active, loss, excess } = self;
        let (c, active) = (ssvm.c * decoder.weight(i), &mut active[i]);
        if target == StepTarget::Known && active.shares.len() == 1 {
            return Ok(0.0);
        }
        let mut view = decoder.view(i, 1.0)?;
        excess.clear();
        excess.extend((0..active.shares.len()).map(|k| view.excess(active.labels(k))));
        if target == StepTarget::All {
            let violation = view.most_violating().map_err(in_sequence(i))?;
            let k = active.index_of(decoder.found(), violation.cost);
            if k == excess.len() {
                excess.push(violation.excess);
            }
        }
        let best = (1..excess.len()).fold(0, |best, k| if excess[k] > excess[best] { k } else { best });
        let held = (0..excess.len()).filter(|&k| active.shares[k] > 0.0);
        let Some(worst) = held.min_by(|&a, &b| excess[a].total_cmp(&excess[b])) else { return Ok(0.0) };
        let mean: f64 = active.shares.iter().zip(&*excess).map(|(share, excess)| share * excess).sum();
        let slope = excess[best] - excess[worst];
        if slope > 0.0 {
            let (from, to) = (active.labels(best), active.labels(worst));
            let curvature = c * decoder.square(i, Some(from), Some(to));
            let share = (slope / curvature).min(active.shares[worst]);
            decoder.shift(i, Some(from), Some(to), |_| c * share, |k, change| w[k] += change);
            *loss += c * share * (active.costs[best] - active.costs[worst]);
            active.shares[best] += share;
            active.shares[worst] -= share;
        }
        if target == StepTarget::All {
            active.forget();
        }
        Ok(c * (excess[best] - mean))
    }
}

impl ActiveLabellings {
    fn len(&self) -> usize {
        self.labels.len() / self.shares.len()
    }

    fn labels(&self, k: usize) -> &[Label] {
        &self.labels[k * self.len()..(k + 1) * self.len()]
    }

    /// Index of a labelling, which is added if it was not known.
    fn index_of(&mut self, labels: &[Label], cost: f64) -> usize {
        let known = (0..self.shares.len()).find(|&k| self.labels(k) == labels);
        known.unwrap_or_else(|| {
            self.labels.extend_from_slice(labels);
            self.shares.push(0.0);
            self.costs.push(cost);
            self.shares.len() - 1
        })
    }

    /// Removes labellings without any share, except the truth.
    fn forget(&mut self) {
        let len = self.len();
        for k in (1..self.shares.len()).rev() {
            if self.shares[k] == 0.0 {
                let last = self.shares.len() - 1;
                self.labels.copy_within(last * len.., k * len);
                self.labels.truncate(last * len);
                self.shares.swap_remove(k);
                self.costs.swap_remove(k);
            }
        }
    }
}
