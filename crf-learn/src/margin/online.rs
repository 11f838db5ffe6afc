use crf_core::{Fit, FitContext, Problem, Result};

use crate::margin::averaged_weights::AveragedWeights;
use crate::margin::decoder::Decoder;
use crate::margin::loss::Margin;
use crate::margin::training_loop::{IterativeLearner, Progress, RoundLimits, run_rounds};
use crate::training::shuffled_order::ShuffledOrder;

/// What a learner makes of a sequence.
pub(crate) struct OnlineUpdate {
    /// What was lost on it; nothing happens unless it is above 0.
    pub(crate) loss: f64,
    /// How far to go from the labelling that was found towards the truth.
    pub(crate) step: f64,
}

/// Learns from sequence to sequence, in an order drawn anew for each epoch: `turn` decodes one and says what to do.
pub(crate) fn learn_online(
    turn: impl FnMut(&mut Decoder<'_>, usize) -> Result<OnlineUpdate>,
    margin: &Margin,
    average: bool,
    limits: RoundLimits<'_>,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<Fit> {
    let mut decoder = Decoder::new(problem, margin, limits.tag)?;
    let model = problem.start_weights()?;
    decoder.take(&model);
    let order = ShuffledOrder::new(decoder.len(), &run.seed);
    let weights = AveragedWeights::new(model.clone());
    run_rounds(Epochs { turn, decoder, order, weights, average, model, done: 0 }, limits, problem, run)
}

struct Epochs<'a, T> {
    turn: T,
    decoder: Decoder<'a>,
    order: ShuffledOrder,
    weights: AveragedWeights,
    average: bool,
    model: Vec<f64>,
    done: u32,
}

impl<T: FnMut(&mut Decoder<'_>, usize) -> Result<OnlineUpdate>> IterativeLearner for Epochs<'_, T> {
    fn round(&mut self) -> Result<Progress> {
        let Epochs { turn, decoder, order, weights, .. } = self;
        let mut lost = 0.0;
        for &i in order.next() {
            let OnlineUpdate { loss, step } = turn(decoder, i)?;
            if loss > 0.0 {
                lost += loss;
                decoder.shift(i, None, None, step, |k, change| weights.add(k, change));
            }
            weights.end_turn(1.0, 1.0);
        }
        if self.average {
            weights.average(&mut self.model);
        } else {
            self.model.copy_from_slice(&weights.now);
        }
        self.done += 1;
        Ok(Progress { objective: lost, dual: None, evaluations: self.done, done: lost == 0.0 })
    }

    fn weights(&self) -> &[f64] {
        &self.model
    }
}
