use crf_core::metrics::ErrorRate;
use crf_core::plugin::{Named, named_list};
use crf_core::{Decode, Error, Fit, FitContext, Learner, Metric as _, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::log_linear::mle::Mle;

/// The learner among several whose model has the lowest error rate on the validation data, as Vail
/// (2008), §3.4, chooses penalties; without validation data, on the training data.
///
/// The first of equals wins. Of the iterations only its trace is kept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BestOf {
    /// Learners to choose from; at least one.
    #[serde(deserialize_with = "named_list")]
    #[schemars(with = "Vec<Named>")]
    pub learners: Vec<Box<dyn Learner>>,
    /// Decoding of the validation data that the error rate is computed from.
    pub decode: Decode,
}

impl Default for BestOf {
    fn default() -> Self {
        BestOf { learners: vec![Box::new(Mle::default())], decode: Decode::default() }
    }
}

crf_core::plugin!(
    "learner",
    BestOf,
    "best-of",
    example = r#"learners = [{ type = "mle", l2 = 0.1 }, { type = "mle", l2 = 10.0 }]"#
);

#[typetag::serde(name = "best-of")]
impl Learner for BestOf {
    fn check(&self) -> Result<()> {
        require(!self.learners.is_empty(), "learners", "at least one learner", self.learners.len())?;
        self.learners.iter().try_for_each(|learner| learner.check())
    }

    fn fits_probabilities(&self) -> bool {
        self.learners.iter().all(|learner| learner.fits_probabilities())
    }

    fn watches_validation(&self) -> bool {
        self.learners.iter().any(|learner| learner.watches_validation())
    }

    fn heeds_sizes(&self) -> bool {
        self.learners.iter().any(|learner| learner.heeds_sizes())
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let judge = problem.valid.unwrap_or(problem.train);
        let mut best: Option<(f64, Fit)> = None;
        for learner in &self.learners {
            // An observer would see the iterations of learners that are not chosen.
            let fit =
                learner.fit(problem, &mut FitContext::new(run.seed, &mut |_| ControlFlow::Continue(())))?;
            let error = ErrorRate {}.measure(&problem.evaluate(&*fit.model, judge, self.decode)?.into())?;
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, fit));
            }
        }
        best.map(|(_, fit)| fit).ok_or_else(|| Error::data("there is no learner to choose from"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Features, Schema, Seed, Value};
    use crf_inference::ForwardBackward;
    use std::sync::Arc;

    /// A chain whose label is whether x is above zero, but for one position in so many.
    fn chain(schema: &Arc<Schema>, wrong: usize) -> Dataset {
        let mut data = DatasetBuilder::new(schema.clone());
        for t in 0..40 {
            let x = f64::from(t % 9) - 4.2;
            let label = u32::from((x > 0.0) != (t as usize % wrong == wrong - 1));
            data.push(&[Value::Real(x)], Some(label)).unwrap();
        }
        data.end_chain().unwrap();
        data.finish()
    }

    #[test]
    fn the_penalty_that_does_best_on_validation_data_is_taken() {
        let channel = Channel { name: "x".into(), kind: ChannelKind::Real };
        let schema = Arc::new(Schema::chain(vec![channel], Alphabet::new(["a", "b"])).unwrap());
        let train = chain(&schema, 7);
        let features: Features = serde_json::from_str(r#"["intercept", {"state": "value"}]"#).unwrap();
        let fitted = features.fit(&train).unwrap();
        let encode = |data: Dataset| fitted.encode(Arc::new(data)).unwrap();
        let (train, valid) = (encode(train), encode(chain(&schema, 1000)));
        let (map, inference) = (Arc::new(fitted.map(&train).unwrap()), ForwardBackward::default());
        let problem = Problem { valid: Some(&valid), ..Problem::new(&train, &map, &inference) };
        let fit = |text: &str| {
            let learner: Box<dyn Learner> = serde_json::from_str(text).unwrap();
            let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
            let fit = learner.fit(&problem, &mut FitContext::new(Seed::new(1), &mut go_on)).unwrap();
            fit.model.log_linear().unwrap().weights().to_vec()
        };
        // Under the first penalty no weight is left to tell labels apart, under the second one
        // there is.
        let (all, good) = (
            fit(
                r#"{"type": "best-of", "learners": [{"type": "mle", "l1": 1e6}, {"type": "mle", "l2": 0.1}]}"#,
            ),
            fit(r#"{"type": "mle", "l2": 0.1}"#),
        );
        assert_eq!(all, good);
    }

    #[test]
    fn a_choice_among_none_is_refused() {
        let none = BestOf { learners: Vec::new(), ..BestOf::default() };
        assert!(none.check().unwrap_err().to_string().contains("learners"));
    }
}
