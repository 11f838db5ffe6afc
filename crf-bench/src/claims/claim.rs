use std::fmt::Debug;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use toml::{Table, Value};

use crate::config::{ConfigFault, Experiment, KeyPath, same};
use crate::results::selection_path;
use crate::results::summary::Summary;

/// Something the results should show; each kind is one key of a claim's table.
#[typetag::serde]
pub trait Claim: Debug + Send + Sync {
    /// Rejects names that the experiment does not have, before anything runs.
    fn check(&self, names: &Names<'_>) -> Result<(), ConfigFault>;
    /// Says whether the results show it, and by which numbers.
    fn judge(&self, summary: &Summary) -> Verdict;
}

/// A claim in words and in a form that can be judged.
#[derive(Debug)]
pub struct Statement {
    /// The sentence in the report.
    pub text: String,
    /// What it means in numbers.
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
        // Its kind comes first: an error there must not depend on the text.
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

/// The points of the sweep where a claim is made: those with these values; all of them when there are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, DeriveDeserialize, JsonSchema)]
#[serde(transparent)]
pub struct At(#[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")] pub Table);

impl At {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a claim came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The results show it.
    Holds,
    /// The results do not show it.
    Fails,
    /// The run leaves out the points that the claim speaks of.
    Skipped,
}

/// A judgement and the numbers behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How the claim came out.
    pub outcome: Outcome,
    /// The numbers.
    pub evidence: String,
}

impl Verdict {
    /// A claim that holds or fails.
    pub fn new(holds: bool, evidence: impl Into<String>) -> Self {
        let outcome = if holds { Outcome::Holds } else { Outcome::Fails };
        Verdict { outcome, evidence: evidence.into() }
    }

    /// A claim about points that this run does not have.
    pub fn skipped(why: impl Into<String>) -> Self {
        Verdict { outcome: Outcome::Skipped, evidence: why.into() }
    }

    /// All parts must hold; parts that were skipped do not count unless all were.
    pub fn all(parts: Vec<Verdict>) -> Self {
        let any = |outcome| parts.iter().any(|part: &Verdict| part.outcome == outcome);
        let outcome = [Outcome::Fails, Outcome::Holds].into_iter().find(|&outcome| any(outcome));
        let evidence: Vec<String> = parts.iter().map(|part| part.evidence.clone()).collect();
        let evidence =
            if parts.is_empty() { "no such point in this run".to_owned() } else { evidence.join("; ") };
        Verdict { outcome: outcome.unwrap_or(Outcome::Skipped), evidence }
    }
}

/// The names an experiment has, which claims and figures refer to.
#[derive(Debug, Clone)]
pub struct Names<'a> {
    methods: Vec<&'a str>,
    metrics: Vec<String>,
    sweep: Table,
    strict: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn of(experiment: &'a Experiment, strict: bool) -> Self {
        let methods = experiment.methods.iter().map(|(name, _)| name.as_str()).collect();
        let of_path = selection_path::columns(&experiment.path).into_iter().map(|column| column.name);
        let metrics = experiment.metrics.iter().map(|metric| metric.name()).chain(of_path).collect();
        Names { methods, metrics, sweep: experiment.sweep.clone(), strict }
    }

    /// The names that are left without a key of the sweep.
    pub(crate) fn without(&self, key: &str) -> Self {
        let mut names = self.clone();
        names.sweep.remove(key);
        names
    }

    /// `key` of a claim must name a method.
    pub fn method(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        self.known(KeyPath::of([key]), "method", name, &self.methods)
    }

    /// `key` of a claim must name a metric, as a config or as the results spell it.
    pub fn metric(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        let name = name.replace('-', "_");
        self.known(KeyPath::of([key]), "metric", &name, &self.metrics)
    }

    /// `key` of a claim must name a key of the sweep.
    pub fn along(&self, key: &str, name: &str) -> Result<(), ConfigFault> {
        let keys: Vec<&String> = self.sweep.keys().collect();
        self.known(KeyPath::of([key]), "sweep key", name, &keys)
    }

    /// `at` of a claim must give values that keys of the sweep take.
    pub fn at(&self, at: &At) -> Result<(), ConfigFault> {
        let path = KeyPath::of(["at"]);
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

    /// Values at `path` of a claim must be among those that a key of the sweep takes.
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
