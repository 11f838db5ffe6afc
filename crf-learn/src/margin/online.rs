use crf_core::{Fit, FitContext, Problem, Result};

use crate::margin::averaged_weights::AveragedWeights;
use crate::margin::decoder::Decoder;
use crate::margin::loss::Margin;
use crate::margin::training_loop::{IterativeLearner, Progress, RoundLimits, run_rounds};
use crate::training::shuffled_order::ShuffledOrder;

/// Update rule of an online learner, which changes the weights after each sequence.
///
/// A rule keeps what it remembers between sequences, such as the variances of AROW. Order of the
/// sequences, average, trace and early stopping are those of [`learn_online`].
pub(crate) trait OnlineRule {
    /// Decodes sequence `i`, moves the weights if that was a mistake, and returns the loss before
    /// the move.
    fn update(&mut self, weights: &mut OnlineWeights<'_>, i: usize) -> Result<f64>;
}

/// The weights of an online learner, with the decoder that uses them and their average over all
/// updates.
pub(crate) struct OnlineWeights<'a> {
    pub(crate) decoder: Decoder<'a>,
    averaged: AveragedWeights,
}

impl OnlineWeights<'_> {
    /// The weights under which the next sequence is decoded.
    pub(crate) fn now(&self) -> &[f64] {
        &self.averaged.now
    }

    /// Adds `step(k)` times F_k(x_i, y_i) − F_k(x_i, y) to each weight `k`, where y is the
    /// labelling that was found last.
    pub(crate) fn move_towards_truth(&mut self, i: usize, step: impl Fn(usize) -> f64) {
        let OnlineWeights { decoder, averaged } = self;
        decoder.shift(i, None, None, step, |k, change| averaged.add(k, change));
    }
}

/// Trains by `rule`, sequence by sequence, in an order drawn anew for each epoch; `margin` is that
/// of the decoder.
pub(crate) fn learn_online(
    rule: impl OnlineRule,
    margin: &Margin,
    average: bool,
    limits: RoundLimits<'_>,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<Fit> {
    let mut decoder = Decoder::new(problem, margin, limits.tag)?;
    let model = problem.start_weights()?;
    decoder.set_weights(&model);
    let order = ShuffledOrder::new(decoder.len(), &run.seed);
    let weights = OnlineWeights { decoder, averaged: AveragedWeights::new(model.clone()) };
    run_rounds(Epochs { rule, weights, order, average, model, done: 0 }, limits, problem, run)
}

struct Epochs<'a, R> {
    rule: R,
    weights: OnlineWeights<'a>,
    order: ShuffledOrder,
    average: bool,
    model: Vec<f64>,
    done: u32,
}

impl<R: OnlineRule> IterativeLearner for Epochs<'_, R> {
    fn round(&mut self) -> Result<Progress> {
        let mut loss = 0.0;
        for &i in self.order.next() {
            loss += self.rule.update(&mut self.weights, i)?;
            self.weights.averaged.end_turn(1.0, 1.0);
        }
        if self.average {
            self.weights.averaged.average(&mut self.model);
        } else {
            self.model.copy_from_slice(self.weights.now());
        }
        self.done += 1;
        Ok(Progress { objective: loss, dual: None, evaluations: self.done, done: loss == 0.0 })
    }

    fn weights(&self) -> &[f64] {
        &self.model
    }
}
