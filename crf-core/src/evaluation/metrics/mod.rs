//! Metrics: plugins, grouped by what they measure. A ratio of nothing to nothing is 0 everywhere,
//! as in conlleval.
//!
//! `labels.rs` counts labels, `chunks.rs` whole chunks; `probabilities.rs` uses marginals and log
//! Z, `model.rs` the model, `training.rs` the course of training. `confusion.rs` is the confusion
//! matrix behind the scores of labels. Start with `labels.rs`.

/// Defines a metric without settings.
macro_rules! metric {
    ($(#[$doc:meta])* $type:ident, $tag:literal, $name:literal, higher = $higher:literal, $(check = $check:expr,)? $(labels = $labels:expr,)? |$context:ident| $measure:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $type {}

        crate::plugin!("metric", $type, $tag);

        #[typetag::serde(name = $tag)]
        impl Metric for $type {
            fn name(&self) -> String {
                $name.into()
            }
            fn higher_is_better(&self) -> bool {
                $higher
            }
            $(fn check(&self, inference: &dyn Inference, reference: Option<&dyn Inference>) -> Result<()> {
                $check(inference, reference)
            })?
            $(fn check_labels(&self, schema: &Schema) -> Result<()> {
                $labels(schema)
            })?
            fn measure(&self, $context: &EvaluationContext<'_>) -> Result<f64> {
                $measure
            }
        }
    };
}

mod chunks;
mod confusion;
mod labels;
mod model;
mod probabilities;
mod training;

pub use chunks::{Chunk, ChunkF1, chunks};
pub use confusion::Confusion;
pub use labels::{
    Accuracy, ErrorInPart, ErrorRate, MacroF1, MeanAccuracy, OfLabel, Quality, SequenceAccuracy,
    ViterbiAccuracy,
};
pub use model::{FeatureCount, Parameter};
pub use probabilities::{BrokenBounds, LogLikelihood, LogZError, MarginalError};
pub use training::{Quantity, TrainingCourse};

/// Ratio `part / whole`, and 0 if there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
