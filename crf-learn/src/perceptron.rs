use crf_core::{
    ConstrainedTables, Corpus, Error, Fit, Forbidden, Inference, Iteration, Label, Learner, LogLinear, Next,
    Problem, Result, Run, Scorer, Scratch, Stop, Trace, require,
};
use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::watch::Watch;

/// The averaged structured perceptron (Collins 2002).
///
/// Sequences are decoded one by one, in an order drawn anew for each epoch; where the answer is wrong, the weights of
/// the true labelling's features grow and those of the answer's shrink. The model has the average of all weights there
/// ever were. The objective of its trace is the number of wrong positions of the epoch, and the gradient norm the length
/// of the way that the weights went in it.
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
        let truth = whole_labels(problem.train)?;
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(problem.train.data()))?;
        let mut weights = Averaged::new(problem.start_weights()?);
        let mut decoder = Decoder::new(problem, problem.train)?;
        decoder.scorer.update(&weights.now);
        let mut watch = match problem.valid.filter(|_| self.patience > 0) {
            None => None,
            Some(valid) => {
                let (mut decoder, truth) = (Decoder::new(problem, valid)?, whole_labels(valid)?);
                Some(Watch::new(self.patience, move |w: &[f64]| {
                    decoder.scorer.update(w);
                    let wrong = (0..truth.len()).map(|i| Ok(differences(decoder.decode(i)?, &truth[i])));
                    wrong.sum::<Result<usize>>().map(|wrong| wrong as f64)
                }))
            }
        };
        let mut rng = run.seed.child("order").rng();
        let mut order: Vec<usize> = (0..truth.len()).collect();
        let (mut before, mut model) = (Vec::new(), Vec::new());
        let mut iterations = Vec::new();
        let stop = loop {
            before.clone_from(&weights.now);
            order.shuffle(&mut rng);
            let mut wrong = 0;
            for &i in &order {
                let found = decoder.decode(i).map_err(|error| error.at(format!("sequence {}", i + 1)))?;
                let mistakes = differences(found, &truth[i]);
                if mistakes > 0 {
                    wrong += mistakes;
                    let step = problem.train.data().weight(i);
                    decoder.learn(i, &truth[i], step, |k, change| weights.add(k, change));
                }
                weights.end_turn();
            }
            model.clone_from(&weights.now);
            if self.average {
                weights.average(&mut model);
            }
            let changes = weights.now.iter().zip(&before).map(|(now, before)| (now - before).powi(2));
            let epoch = iterations.len() as u32 + 1;
            let record = Iteration {
                iteration: epoch,
                objective: wrong as f64,
                gradient_norm: changes.sum::<f64>().sqrt(),
                non_zeros: model.iter().filter(|w| **w != 0.0).count(),
                evaluations: epoch,
                holdout: watch.as_mut().map(|watch| watch.see(&model)).transpose()?,
                seconds: run.seconds(),
            };
            let next = run.observe(&record);
            iterations.push(record);
            if next == Next::Stop {
                break Stop::Observer;
            }
            if wrong == 0 {
                break Stop::Converged;
            }
            if watch.as_ref().is_some_and(Watch::is_tired) {
                break Stop::Holdout;
            }
            if epoch == self.epochs {
                break Stop::Budget;
            }
        };
        let w = watch.and_then(Watch::best).unwrap_or(model);
        let model = LogLinear::new(problem.map.clone(), w)?;
        Ok(Fit { model: Box::new(model), trace: Trace { iterations, stop } })
    }
}

/// The labels of every sequence, all of which must be known.
fn whole_labels(x: &Corpus) -> Result<Vec<Vec<Label>>> {
    let data = x.data();
    if data.n_positions() == 0 {
        return Err(Error::data("the data have no position"));
    }
    let labels = |i: usize| {
        let labels: Option<Vec<Label>> = data.labels()[data.range(i)].iter().copied().collect();
        labels.ok_or_else(|| {
            let message = "a position has no label, and `perceptron` needs all of them; `mle` does not";
            Error::data(message).at(format!("sequence {}", i + 1))
        })
    };
    (0..data.len()).map(labels).collect()
}

fn differences(a: &[Label], b: &[Label]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

/// Finds the best labelling under weights that change from one sequence to the next.
struct Decoder<'a> {
    scorer: Scorer<'a>,
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    potentials: Scratch,
    constrained: ConstrainedTables,
    scratch: Scratch,
    labels: Vec<Label>,
}

impl<'a> Decoder<'a> {
    fn new(problem: &Problem<'a>, x: &'a Corpus) -> Result<Self> {
        (0..x.len()).try_for_each(|i| problem.inference.supports(&x.data().shape(i)))?;
        Ok(Decoder {
            scorer: Scorer::new(problem.map, x)?,
            inference: problem.inference,
            forbidden: problem.forbidden,
            potentials: Scratch::new(),
            constrained: ConstrainedTables::default(),
            scratch: Scratch::new(),
            labels: Vec::new(),
        })
    }

    /// The best labelling of sequence `i`.
    fn decode(&mut self, i: usize) -> Result<&[Label]> {
        let mut p = self.scorer.fill(i, &mut self.potentials)?;
        if let Some(forbidden) = self.forbidden {
            p = forbidden.apply(p, &mut self.constrained)?;
        }
        self.labels.clear();
        self.labels.resize(p.shape().n_nodes(), 0);
        self.inference.decode(&p, &mut self.labels, &mut self.scratch)?;
        Ok(&self.labels)
    }

    /// Moves the weights from the labelling that was decoded last towards the true one of the same sequence.
    fn learn(&mut self, i: usize, truth: &[Label], step: f64, changed: impl FnMut(usize, f64)) {
        self.scorer.shift(i, &self.labels, truth, step, changed);
    }
}

/// Weights, and what is needed to know their average at any time without touching all of them at each turn.
struct Averaged {
    now: Vec<f64>,
    late: Vec<f64>, // the sum of all changes, each times the number of turns before it
    turns: f64,
}

impl Averaged {
    fn new(now: Vec<f64>) -> Self {
        let late = vec![0.0; now.len()];
        Averaged { now, late, turns: 0.0 }
    }

    fn add(&mut self, k: usize, change: f64) {
        self.now[k] += change;
        self.late[k] += self.turns * change;
    }

    fn end_turn(&mut self) {
        self.turns += 1.0;
    }

    /// Turns the weights as they are now into the average over all turns.
    fn average(&self, w: &mut [f64]) {
        w.iter_mut().zip(&self.late).for_each(|(w, late)| *w -= late / self.turns);
    }
}
