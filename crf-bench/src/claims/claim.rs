//! The trait of all claims, verdicts, and the names that claims may refer to.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use toml::{Table, Value};

use crate::config::{ConfigFault, Experiment, KeyPath, same};
use crate::results::selection_path;
use crate::results::summary::Summary;

/// A statement about results that can be judged; each kind of claim is one key of a claim's table
/// in the file.
#[typetag::serde]
pub trait Claim: Debug + Send + Sync {
    /// Rejects names that the experiment does not have, before anything runs.
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault>;
    /// Judges the claim by the results.
    fn judge(&self, summary: &Summary) -> Verdict;
}

/// A claim of an experiment file: a sentence and its formal counterpart.
#[derive(Debug)]
pub struct Statement {
    /// The sentence in the report.
    pub text: String,
    /// The claim that is judged.
    pub claim: Box<dyn Claim>,
}

impl<'de> Deserialize<'de> for Statement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut table = Table::deserialize(deserializer)?;
        let text = table.remove("text");
        let incomplete = || D::Error::custom("a claim needs a `text` and one kind such as `falls`");
        if table.len() != 1 {
            return Err(incomplete());
        }
        // The kind is read first: an error in it must not depend on the text.
        let claim = Deserialize::deserialize(table)
            .map_err(|error: toml::de::Error| D::Error::custom(error.message()))?;
        match text {
            Some(Value::String(text)) => Ok(Statement { text, claim }),
            Some(other) => Err(D::Error::custom(format!("`text` must be a string, got {other}"))),
            None => Err(incomplete()),
        }
    }
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = Table::try_from(&self.claim).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("text", &self.text)?;
        kind.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

/// The points of the sweep that a claim is about: those with these values of its keys; all points
/// if empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize, JsonSchema)]
#[serde(transparent)]
pub struct At(#[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")] pub Table);

impl At {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The results show it.
    Holds,
    /// The results do not show it.
    Fails,
    /// The run omits the points that the claim is about.
    Skipped,
}

/// The outcome of a claim and the numbers behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// The numbers.
    pub evidence: String,
}

impl Verdict {
    /// The verdict on a claim that holds or fails.
    pub fn new(holds: bool, evidence: impl Into<String>) -> Self {
        let outcome = if holds { Outcome::Holds } else { Outcome::Fails };
        Verdict { outcome, evidence: evidence.into() }
    }

    /// The verdict on a claim about points that this run omits.
    pub fn skipped(why: impl Into<String>) -> Self {
        Verdict { outcome: Outcome::Skipped, evidence: why.into() }
    }

    /// The verdict on a claim with parts, all of which must hold; skipped parts do not count unless
    /// all are.
    pub fn all(parts: Vec<Verdict>) -> Self {
        let any = |outcome| parts.iter().any(|part: &Verdict| part.outcome == outcome);
        let outcome = [Outcome::Fails, Outcome::Holds].into_iter().find(|&outcome| any(outcome));
        let evidence: Vec<String> = parts.iter().map(|part| part.evidence.clone()).collect();
        let evidence =
            if parts.is_empty() { "no such point in this run".to_owned() } else { evidence.join("; ") };
        Verdict { outcome: outcome.unwrap_or(Outcome::Skipped), evidence }
    }
}

/// The names in an experiment that claims and figures may refer to.
#[derive(Debug, Clone)]
pub struct Names<'a> {
    methods: Vec<&'a str>,
    metrics: Vec<String>,
    sweep: Table,
    strict: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(experiment: &'a Experiment, strict: bool) -> Self {
        let methods = experiment.methods.iter().map(|(name, _)| name.as_str()).collect();
        let path_columns = selection_path::columns(&experiment.path).into_iter().map(|column| column.name);
        let metrics = experiment.metrics.iter().map(|metric| metric.name()).chain(path_columns).collect();
        Names { methods, metrics, sweep: experiment.sweep.clone(), strict }
    }

    /// The names without a key of the sweep.
    pub(crate) fn without(&self, key: &str) -> Self {
        let mut names = self.clone();
        names.sweep.remove(key);
        names
    }

    /// Checks that `key` of a claim names a method.
    pub fn method(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        self.known(KeyPath::new([key]), "method", name, &self.methods)
    }

    /// Checks that `key` of a claim names a metric, spelled as in configs or as in results.
    pub fn metric(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        let name = name.replace('-', "_");
        self.known(KeyPath::new([key]), "metric", &name, &self.metrics)
    }

    /// Checks that `key` of a claim names a key of the sweep.
    pub fn along(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        let keys: Vec<&String> = self.sweep.keys().collect();
        self.known(KeyPath::new([key]), "sweep key", name, &keys)
    }

    /// Checks that `at` of a claim gives values that keys of the sweep take.
    pub fn at(&self, at: &At) -> Result<(), ConfigFault> {
        let path = KeyPath::new(["at"]);
        let keys: Vec<&String> = self.sweep.keys().collect();
        for (key, value) in &at.0 {
            if !self.sweep.contains_key(key) {
                return Err(ConfigFault {
                    side: crate::config::KeyOrValue::Key,
                    ..ConfigFault::unknown(path.child(key), "sweep key", key, &keys)
                });
            }
            self.values(path.child(key), key, [value])?;
        }
        Ok(())
    }

    /// Checks that values at `path` of a claim are among those that a key of the sweep takes.
    pub fn values<'v>(
        &self,
        path: KeyPath,
        key: &str,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<(), ConfigFault> {
        let Some(Value::Array(known)) = self.sweep.get(key).filter(|_| self.strict) else { return Ok(()) };
        for value in values {
            if !known.iter().any(|other| same(other, value)) {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                let message = format!("`{key}` is never {value} in the sweep; it is {}", known.join(", "));
                return Err(ConfigFault::value(path, message));
            }
        }
        Ok(())
    }

    fn known(
        &self,
        path: KeyPath,
        what: &str,
        name: &str,
        known: &[impl AsRef<str>],
    ) -> Result<(), ConfigFault> {
        if known.iter().any(|other| other.as_ref() == name) {
            return Ok(());
        }
        Err(ConfigFault::unknown(path, what, name, known))
    }
}
