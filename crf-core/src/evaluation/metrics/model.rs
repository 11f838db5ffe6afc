use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;

/// Parameter of the model, by the name that `crf inspect` shows: `y=rain ∧ x`, `deviation of x
/// given y=rain`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
}

crate::plugin!("metric", Parameter, "parameter", example = r#"name = "y=rain""#);

#[typetag::serde(name = "parameter")]
impl Metric for Parameter {
    fn name(&self) -> String {
        self.name.replace('-', "_")
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64> {
        let found = context.parameters()?.iter().find(|(name, _)| *name == self.name);
        let names = context.parameters()?.iter().map(|(name, _)| name.as_str());
        found.map(|(_, value)| *value).ok_or_else(|| Error::unknown("parameter", &self.name, names))
    }
}

/// Number of features of the model. `with` and `without` restrict the count to features by parts of
/// their names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureCount {
    /// Parts that a name must contain, such as `speed`, or `y'` for transition features.
    pub with: Vec<String>,
    /// Parts that a name must not contain.
    pub without: Vec<String>,
}

crate::plugin!(
    "metric",
    FeatureCount,
    "features",
    example = r#"
with = ["y'"]
without = ["speed"]
"#
);

#[typetag::serde(name = "features")]
impl Metric for FeatureCount {
    fn name(&self) -> String {
        let without = self.without.iter().map(|part| format!("not {part}"));
        let parts: Vec<String> = self.with.iter().cloned().chain(without).collect();
        if parts.is_empty() { "features".into() } else { format!("features({})", parts.join(", ")) }
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64> {
        let none = || Error::data("the model is not log-linear, so it has no features to be counted");
        let map = context.map.as_ref().ok_or_else(none)?;
        let has = |name: &str, part: &String| name.contains(part.as_str());
        let names = (0..map.len()).map(|k| map.name(k));
        let counted = names.filter(|name| {
            self.with.iter().all(|part| has(name, part)) && !self.without.iter().any(|part| has(name, part))
        });
        Ok(counted.count() as f64)
    }
}
