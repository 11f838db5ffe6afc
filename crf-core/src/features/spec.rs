use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Result;
use crate::features::prototype::Prototype;
use crate::features::prototypes::{First, One};
use crate::plugin::{NameOr, Named, name_or, named_option};

/// Feature list of a model, as a config writes it.
///
/// ```
/// use crf_core::{Features, Link};
///
/// let features: Features = serde_json::from_str(
///     r#"["intercept", {"state": "value"}, {"transition": {"type": "lag", "of": "equals"}}]"#,
/// )?;
/// assert_eq!(features.0[2].link, Link::Transition(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Features(pub Vec<FeatureSpec>);

/// Entry of the feature list: a prototype, and the link that ties its observation functions to
/// labels.
///
/// Three common entries have names: `"intercept"` is `{ state = "one" }`, `"transition"` is `{
/// transition = "one" }`, and `"start"` is `{ state = "first" }`.
#[derive(Debug)]
pub struct FeatureSpec {
    /// Kind of feature: state or transition.
    pub link: Link,
    /// Prototype of the observation functions.
    pub of: Box<dyn Prototype>,
    /// Labels, or pairs of labels, that the functions are tied to.
    pub pairs: Pairs,
}

/// Selection of the labels, or pairs of labels, that an observation function is tied to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairs {
    /// All labels or pairs.
    #[default]
    All,
    /// Those that occur together with the function in the training data: a smaller model, blind to
    /// what never occurred.
    Observed,
}

/// Link that ties an observation function g to labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Link {
    /// (y_t = y)·g for every label y of the named kind of node, or of every kind.
    State(Option<String>),
    /// (y_u = y')(y_v = y)·g(v) on the edges of the named relation, or of every relation.
    Transition(Option<String>),
}

/// Table form of an entry in a config.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FeatureTable {
    #[serde(default, deserialize_with = "named_option")]
    state: Option<Box<dyn Prototype>>,
    #[serde(default, deserialize_with = "named_option")]
    transition: Option<Box<dyn Prototype>>,
    kind: Option<String>,
    relation: Option<String>,
    #[serde(default)]
    pairs: Pairs,
}

impl<'de> NameOr<'de> for FeatureSpec {
    const EXPECTING: &'static str =
        "a feature: `intercept`, `transition`, `start`, or a table with `state` or `transition`";

    fn from_name<E: serde::de::Error>(name: &str) -> Result<Self, E> {
        let (link, of): (_, Box<dyn Prototype>) = match name {
            "intercept" => (Link::State(None), Box::new(One {})),
            "transition" => (Link::Transition(None), Box::new(One {})),
            "start" => (Link::State(None), Box::new(First {})),
            _ => return Err(E::unknown_variant(name, &["intercept", "transition", "start"])),
        };
        Ok(FeatureSpec { link, of, pairs: Pairs::All })
    }

    fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        match FeatureTable::deserialize(table)? {
            FeatureTable { state: Some(of), transition: None, kind, relation: None, pairs } => {
                Ok(FeatureSpec { link: Link::State(kind), of, pairs })
            }
            FeatureTable { state: None, transition: Some(of), kind: None, relation, pairs } => {
                Ok(FeatureSpec { link: Link::Transition(relation), of, pairs })
            }
            _ => Err(serde::de::Error::custom(
                "a feature has either `state` (with an optional `kind`) or `transition` (with an optional `relation`)",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for FeatureSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or(deserializer)
    }
}

impl Serialize for FeatureSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (link, side, name) = match &self.link {
            Link::State(kind) => ("state", "kind", kind),
            Link::Transition(relation) => ("transition", "relation", relation),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(link, &self.of)?;
        if let Some(name) = name {
            map.serialize_entry(side, name)?;
        }
        if self.pairs != Pairs::All {
            map.serialize_entry("pairs", &self.pairs)?;
        }
        map.end()
    }
}

impl schemars::JsonSchema for FeatureSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Feature".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Named::json_schema(generator)
    }
}

impl Features {
    /// Rejects settings that can never work, before any data is read.
    pub fn check(&self) -> Result<()> {
        self.0.iter().try_for_each(|spec| spec.of.check())
    }
}
