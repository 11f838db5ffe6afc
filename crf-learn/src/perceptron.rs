use crf_core::{Fit, Learner, Problem, Result, Run, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::averaged::Averaged;
use crate::decoder::Decoder;
use crate::margin::Margin;
use crate::order::Order;
use crate::rounds::{Limits, Progress, Rounds, learn};

/// The averaged structured perceptron (Collins 2002).
///
/// Sequences are decoded one by one, in an order drawn anew for each epoch; where the answer is wrong, the weights of
/// the true labelling's features grow and those of the answer's shrink. The model has the average of all weights there
/// ever were. The objective of its trace is the number of wrong positions of the epoch, and the gradient norm the length
/// of the way that the model's weights went in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Perceptron {
    /// How often to go over the data; at least 1. An epoch without a mistake is the last.
    pub epochs: u32,
    /// Whether the model has the average of the weights, or the last ones.
    pub average: bool,
    /// With validation data: stop after so many epochs in a row that did not lower the number of wrong positions there,
    /// and keep the weights that were best; 0 does not look at them.
    pub patience: u32,
}

impl Default for Perceptron {
    fn default() -> Self {
        Perceptron { epochs: 20, average: true, patience: 0 }
    }
}

crf_core::plugin!("learner", Perceptron, "perceptron");

#[typetag::serde(name = "perceptron")]
impl Learner for Perceptron {
    fn check(&self) -> Result<()> {
        require(self.epochs > 0, "epochs", "at least 1", self.epochs)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let mut decoder = Decoder::new(problem, &Margin::default(), "perceptron")?;
        let model = problem.start_weights()?;
        decoder.take(&model);
        let order = Order::new(decoder.len(), run);
        let weights = Averaged::new(model.clone());
        let epochs = Epochs { decoder, order, weights, average: self.average, model, done: 0 };
        let limits = Limits { tag: "perceptron", rounds: self.epochs, patience: self.patience };
        learn(epochs, limits, problem, run)
    }
}

struct Epochs<'a> {
    decoder: Decoder<'a>,
    order: Order,
    weights: Averaged,
    average: bool,
    model: Vec<f64>,
    done: u32,
}

impl Rounds for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        let Epochs { decoder, order, weights, .. } = self;
        let mut wrong = 0;
        for &i in order.next() {
            let mistakes = decoder.mistakes(i)?;
            if mistakes > 0 {
                wrong += mistakes;
                decoder.shift(i, None, None, decoder.weight(i), |k, change| weights.add(k, change));
            }
            weights.end_turn(1.0, 1.0);
        }
        if self.average {
            weights.average(&mut self.model);
        } else {
            self.model.clone_from(&weights.now);
        }
        self.done += 1;
        Ok(Progress { objective: wrong as f64, dual: None, evaluations: self.done, done: wrong == 0 })
    }

    fn weights(&self) -> &[f64] {
        &self.model
    }
}
