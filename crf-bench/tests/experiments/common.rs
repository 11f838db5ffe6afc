//! Plugins for tests: data that are quick to draw, and a learner whose settings can be wrong.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Candidate, Channel, ChannelKind, DatasetBuilder, Decoded, Fit, FitContext, Inference, Label,
    Learner, LogLinear, Potentials, Problem, Result, Schema, Scratch, Seed, Selector, Shape, Source, Splits,
    Stop, Trace, Value, require,
};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

/// Random labels with a noisy copy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NoisyCopies {
    pub(crate) noise: f64,
    pub(crate) length: usize,
    pub(crate) holdout: bool,
    pub(crate) fail: bool,
}

impl Default for NoisyCopies {
    fn default() -> Self {
        NoisyCopies { noise: 0.2, length: 20, holdout: false, fail: false }
    }
}

#[typetag::serde(name = "noisy-copies")]
impl Source for NoisyCopies {
    fn check(&self) -> Result<()> {
        require((0.0..=1.0).contains(&self.noise), "noise", "between 0 and 1", self.noise)
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        if self.fail {
            return Err(crf_core::Error::data("no data today"));
        }
        let channels = vec![Channel { name: "copy".into(), kind: ChannelKind::Real }];
        let schema = Arc::new(Schema::chain(channels, Alphabet::new(["a", "b"]))?);
        let draw = |name: &str| {
            let (mut rng, mut data) = (seed.child(name).rng(), DatasetBuilder::new(schema.clone()));
            for _ in 0..self.length {
                let label = rng.random_range(0..2_u32);
                let copy = if rng.random_bool(self.noise) { 1 - label } else { label };
                data.push(&[Value::Real(f64::from(copy))], Some(label))?;
            }
            data.end_chain()?;
            Ok(data.finish())
        };
        let holdout = self.holdout.then(|| draw("holdout")).transpose()?;
        Ok(Splits { train: draw("train")?, holdout, test: draw("test")? })
    }
}

/// A model with random weights.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Guess {
    pub(crate) spread: f64,
    pub(crate) panic: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Guess { spread: 1.0, panic: false }
    }
}

#[typetag::serde(name = "guess")]
impl Learner for Guess {
    fn check(&self) -> Result<()> {
        require(self.spread >= 0.0, "spread", "at least 0", self.spread)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        assert!(!self.panic, "the learner was told to panic");
        let mut rng = run.seed.rng();
        let weights = (0..problem.map.len()).map(|_| self.spread * (rng.random::<f64>() - 0.5)).collect();
        let model = Box::new(LogLinear::new(problem.map.clone(), weights)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}

/// Proposes the first feature, the first two, and so on, and counts a smaller objective for fewer
/// of them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FirstFeatures {
    pub(crate) objective: bool,
}

#[typetag::serde(name = "first-features")]
impl Selector for FirstFeatures {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        let features: Vec<usize> = (0..problem.map.len()).collect();
        for n in 1..=features.len() {
            let objective = self.objective.then_some(n as f64);
            let _ = emit(Candidate {
                features: &features[..n],
                weights: None,
                objective,
                seconds: run.seconds(),
            })?;
        }
        Ok(Stop::Direct)
    }
}

/// The best label of each node by itself; it has no probabilities.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LabelsOnly {}

#[typetag::serde(name = "labels-only")]
impl Inference for LabelsOnly {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], _scratch: &mut Scratch) -> Result<Decoded> {
        let mut rest = p.node();
        for (n, label) in labels.iter_mut().enumerate() {
            let (row, behind) = rest.split_at(p.shape().card(n));
            let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a)));
            (*label, rest) = (best.unwrap_or(0) as Label, behind);
        }
        Ok(Decoded::exact(p.score(labels)))
    }
}

/// An experiment with two methods, a sweep, a claim and a quick table.
pub(crate) const EXPERIMENT: &str = r#"title = "Test <&> \"quoted\""
paper = "Nobody 2000"
trials = 3
seed = 7

[dataset]
type = "noisy-copies"
noise = 0.1

[sweep]
"dataset.noise" = [0.0, 0.5]
"methods.Two.learner.spread" = [0.5, 2]

[methods.One]
features = ["intercept", { state = "value" }]
learner = "guess"

[methods.Two]
features = ["intercept", "transition", { state = { type = "power", degrees = [2], of = "value" } }]
learner = { type = "guess", spread = 2.0 }

[figure]
x = "dataset.noise"
y = "error"

[[claims]]
text = "guesses do not improve"
flat = { method = "One", metric = "error", along = "dataset.noise", within = 1.0 }

[[claims]]
text = "only where there is much noise"
at-most = { method = "Two", metric = "error", value = 1.0, at = { "dataset.noise" = 0.5 } }

[quick]
trials = 2

[quick.dataset]
length = 5

[quick.sweep]
"dataset.noise" = [0.0]
"#;
