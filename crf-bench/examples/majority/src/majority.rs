use crf_core::{Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predicts every label by its frequency, whatever is observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Majority {
    /// Added to every count.
    pub smoothing: f64,
}

impl Default for Majority {
    fn default() -> Self {
        Majority { smoothing: 1.0 }
    }
}

crf_core::plugin!("learner", Majority, "majority");

#[typetag::serde(name = "majority")]
impl Learner for Majority {
    fn check(&self) -> Result<()> {
        require(self.smoothing > 0.0, "smoothing", "above 0", self.smoothing)
    }

    fn fit(&self, problem: &Problem<'_>, _: &mut FitContext<'_>) -> Result<Fit> {
        let data = problem.train.data();
        let mut counts = vec![self.smoothing; data.schema().n_labels(0)];
        for sequence in 0..data.len() {
            let labels = data.sequence(sequence).labels().iter().flatten();
            labels.for_each(|&label| counts[label as usize] += 1.0);
        }
        let all: f64 = counts.iter().sum();
        // The weight of (y = label) is its log frequency; all others stay 0.
        let mut weights = vec![0.0; problem.map.len()];
        let intercepts = (0..weights.len()).filter(|&feature| problem.map.is_intercept(feature));
        for (feature, count) in intercepts.zip(&counts) {
            weights[feature] = (count / all).ln();
        }
        let model = Box::new(LogLinear::new(problem.map.clone(), weights)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}
