use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;
use crate::learning::learner::Iteration;

/// Quantity of training, from the last iteration of its trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingCourse {
    /// Quantity to report.
    pub of: Quantity,
}

/// Quantity of a training trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Objective that the learner minimises, with its penalty; NaN for learners that do not
    /// iterate.
    #[default]
    Objective,
    /// Relative duality gap: upper bound on the distance of the objective from its minimum, as a
    /// fraction of the objective; NaN for learners without a dual problem.
    Gap,
    /// Number of evaluations of the objective; of margin learners, the number of times all
    /// sequences were decoded.
    Evaluations,
    /// Number of iterations.
    Iterations,
}

crate::plugin!("metric", TrainingCourse, "training", example = r#"of = "iterations""#);

#[typetag::serde(name = "training")]
impl Metric for TrainingCourse {
    fn name(&self) -> String {
        let quantity = match self.of {
            Quantity::Objective => "objective",
            Quantity::Gap => "gap",
            Quantity::Evaluations => "evaluations",
            Quantity::Iterations => "iterations",
        };
        format!("training({quantity})")
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn is_of_training(&self) -> bool {
        true
    }

    /// NaN for an objective or a gap that the learner does not report.
    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64> {
        let last = context.trace()?.iterations.last();
        let count = |quantity: fn(&Iteration) -> u32| last.map_or(0.0, |last| f64::from(quantity(last)));
        Ok(match self.of {
            Quantity::Objective => last.map_or(f64::NAN, |last| last.objective),
            Quantity::Gap => last.and_then(|last| Some(last.gap()? / last.objective)).unwrap_or(f64::NAN),
            Quantity::Evaluations => count(|last| last.evaluations),
            Quantity::Iterations => count(|last| last.iteration),
        })
    }
}
