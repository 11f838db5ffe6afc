use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;
use crate::learning::learner::Iteration;

/// How training went, by the last iteration of its trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// What is told.
    pub of: Quantity,
}

/// A number of a training trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// What the learner minimises, with its penalty; nothing is told of learners that do not iterate.
    #[default]
    Objective,
    /// How far the objective may be above its minimum, as a fraction of it; nothing is told of learners without a dual
    /// problem.
    Gap,
    /// How often the objective was evaluated; of margin learners, how often all sequences were decoded.
    Evaluations,
    /// How many iterations there were.
    Iterations,
}

crate::plugin!("metric", Training, "training", example = r#"of = "iterations""#);

#[typetag::serde(name = "training")]
impl Metric for Training {
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

    /// NaN where nothing is told.
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
