use crf_core::{Label, Problem, Result};

use crate::margin::decoder::{Decoder, at};
use crate::margin::ssvm::{Ssvm, half_square};

/// The dual problem of the structural SVM over the labellings that were found so far.
///
/// Each sequence has shares α_i(y) ≥ 0 of some labellings, which sum to 1, and the weights are
/// w = Σ_i C_i Σ_y α_i(y) (F(x_i, y_i) − F(x_i, y)) with C_i = C · weight_i. The value is
/// Σ_i C_i Σ_y α_i(y) Δ(y, y_i) − ½‖w‖² (the dual of Lacoste-Julien et al. 2013 over λ = 1/(Cn)).
///
/// A step moves a share from one labelling of a sequence to another: along this line the value is a parabola whose slope
/// two scores tell, and the weights change only by those features in which the two labellings differ.
pub(crate) struct SsvmDual<'a> {
    ssvm: &'a Ssvm,
    decoder: Decoder<'a>,
    w: Vec<f64>,
    corners: Vec<ActiveLabellings>, // [sequences]
    loss: f64,                      // Σ_i C_i Σ_y α_i(y) Δ(y, y_i)
    excess: Vec<f64>,               // of each corner of one sequence
}

/// Labellings of one sequence, the truth first.
struct ActiveLabellings {
    labels: Vec<Label>, // [corners × positions]
    shares: Vec<f64>,   // [corners]
    costs: Vec<f64>,    // [corners] Δ(y, y_i)
}

/// Whether a step looks for another labelling than those that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepTarget {
    /// The labelling that violates the margin most of all; labellings that lose all their share are forgotten.
    All,
    /// The one among those that are known.
    Known,
}

impl<'a> SsvmDual<'a> {
    /// The truth has all of every sequence, so the weights are zero.
    pub(crate) fn new(problem: &Problem<'a>, ssvm: &'a Ssvm, tag: &str) -> Result<Self> {
        let mut decoder = Decoder::new(problem, &ssvm.margin, tag)?;
        let w = vec![0.0; problem.map.len()];
        decoder.take(&w);
        let truth =
            |i| ActiveLabellings { labels: decoder.truth(i).to_vec(), shares: vec![1.0], costs: vec![0.0] };
        let corners = (0..decoder.len()).map(truth).collect();
        Ok(SsvmDual { ssvm, w, corners, loss: 0.0, excess: Vec::new(), decoder })
    }

    /// The weights.
    pub(crate) fn w(&self) -> &[f64] {
        &self.w
    }

    /// How many sequences there are.
    pub(crate) fn len(&self) -> usize {
        self.corners.len()
    }

    /// The value of the dual problem.
    pub(crate) fn value(&self) -> f64 {
        self.loss - half_square(&self.w)
    }

    /// The objective at `w`, or at the weights of the shares.
    pub(crate) fn primal(&mut self, w: Option<&[f64]>) -> Result<f64> {
        self.ssvm.objective(&mut self.decoder, w.unwrap_or(&self.w))
    }

    /// Adds the labellings that the last [`SsvmDual::primal`] found to those that are known.
    pub(crate) fn take_answers(&mut self) {
        self.decoder.take(&self.w);
        for (i, answer, found) in self.decoder.answers() {
            if answer.excess > 0.0 {
                self.corners[i].place(found, answer.cost);
            }
        }
    }

    /// Moves a share of sequence `i` to the labelling with the largest excess, from the one with the smallest that has any
    /// share, as far as that raises the value; how much a better distribution of shares over all labellings in question
    /// could have raised it at most.
    pub(crate) fn step(&mut self, i: usize, toward: StepTarget) -> Result<f64> {
        let SsvmDual { ssvm, decoder, w, corners, loss, excess } = self;
        let (c, corners) = (ssvm.c * decoder.weight(i), &mut corners[i]);
        if toward == StepTarget::Known && corners.shares.len() == 1 {
            return Ok(0.0);
        }
        let mut view = decoder.view(i, 1.0)?;
        excess.clear();
        excess.extend((0..corners.shares.len()).map(|k| view.excess(corners.labels(k))));
        if toward == StepTarget::All {
            let answer = view.most_violating().map_err(at(i))?;
            let k = corners.place(decoder.found(), answer.cost);
            if k == excess.len() {
                excess.push(answer.excess);
            }
        }
        let best = (1..excess.len()).fold(0, |best, k| if excess[k] > excess[best] { k } else { best });
        let held = (0..excess.len()).filter(|&k| corners.shares[k] > 0.0);
        let Some(worst) = held.min_by(|&a, &b| excess[a].total_cmp(&excess[b])) else { return Ok(0.0) };
        let mean: f64 = corners.shares.iter().zip(&*excess).map(|(share, excess)| share * excess).sum();
        let slope = excess[best] - excess[worst];
        if slope > 0.0 {
            let (from, to) = (corners.labels(best), corners.labels(worst));
            let curvature = c * decoder.square(i, Some(from), Some(to));
            let share = (slope / curvature).min(corners.shares[worst]);
            decoder.shift(i, Some(from), Some(to), |_| c * share, |k, change| w[k] += change);
            *loss += c * share * (corners.costs[best] - corners.costs[worst]);
            corners.shares[best] += share;
            corners.shares[worst] -= share;
        }
        if toward == StepTarget::All {
            corners.forget();
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

    /// The number of a labelling, which is new if it was not known.
    fn place(&mut self, labels: &[Label], cost: f64) -> usize {
        let known = (0..self.shares.len()).find(|&k| self.labels(k) == labels);
        known.unwrap_or_else(|| {
            self.labels.extend_from_slice(labels);
            self.shares.push(0.0);
            self.costs.push(cost);
            self.shares.len() - 1
        })
    }

    /// Forgets labellings without any share, but not the truth.
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
