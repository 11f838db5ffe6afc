use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::error::{Error, Result, fits};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::{FeatureMap, FeatureSet};
use crate::features::prototype::{Encoder, Prototype};
use crate::features::prototypes::{First, One};
use crate::plugin::{NameOr, Named, name_or, named_option};

/// The features of a model as a config lists them.
///
/// ```
/// use crf_core::{Features, Link};
///
/// let features: Features =
///     serde_json::from_str(r#"["intercept", {"state": "value"}, {"transition": {"type": "lag", "of": "equals"}}]"#)?;
/// assert_eq!(features.0[2].link, Link::Transition(None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Features(pub Vec<FeatureSpec>);

/// A prototype and what ties its observation functions to labels.
///
/// Three common ones have names of their own: `"intercept"` is `{ state = "one" }`, `"transition"` is
/// `{ transition = "one" }`, and `"start"` is `{ state = "first" }`.
#[derive(Debug)]
pub struct FeatureSpec {
    /// State or transition.
    pub link: Link,
    /// The observation functions.
    pub of: Box<dyn Prototype>,
    /// Which labels they are tied to.
    pub pairs: Pairs,
}

/// Which labels, or pairs of labels, an observation function is tied to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairs {
    /// All of them.
    #[default]
    All,
    /// Those that occur together with it in the training data: smaller, and blind to what never occurred.
    Observed,
}

/// What ties an observation function g to labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Link {
    /// (y_t = y)·g for every label y of the named kind of node, or of every kind.
    State(Option<String>),
    /// (y_u = y')(y_v = y)·g(v) on the edges of the named relation, or of every relation.
    Transition(Option<String>),
}

/// A feature as the config's table has it.
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

    /// Fits every prototype on the training data.
    pub fn fit(&self, train: &Dataset) -> Result<FittedFeatures> {
        let schema = train.schema();
        if schema.labels().is_empty() {
            return Err(Error::data("the training data have no label at any position"));
        }
        let mut fitted = FittedFeatures { schema: schema.clone(), state: Vec::new(), transition: Vec::new() };
        for spec in &self.0 {
            let (parts, owners) = match &spec.link {
                Link::State(None) => (&mut fitted.state, 0..schema.kinds().len() as u16),
                Link::State(Some(kind)) => (&mut fitted.state, one(schema.kind(kind)?)),
                Link::Transition(None) => (&mut fitted.transition, 0..schema.relations().len() as u16),
                Link::Transition(Some(relation)) => (&mut fitted.transition, one(schema.relation(relation)?)),
            };
            for owner in owners {
                parts.push(FittedEntry { owner, encoder: spec.of.fit(train)?.into(), pairs: spec.pairs });
            }
        }
        Ok(fitted)
    }
}

/// What is told of each function that is not zero somewhere: its number, the owner, and the target there.
type FunctionVisitor<'a> = &'a mut dyn FnMut(u32, u16, u32);

fn one(number: u16) -> std::ops::Range<u16> {
    number..number + 1
}

/// Features fitted on training data, ready to encode any data of the same schema; part of a saved model.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct FittedFeatures {
    schema: Arc<Schema>,
    state: Vec<FittedEntry>,
    transition: Vec<FittedEntry>,
}

/// Fitted features as a file has them.
#[derive(Deserialize)]
struct Stored {
    schema: Arc<Schema>,
    state: Vec<FittedEntry>,
    transition: Vec<FittedEntry>,
}

impl TryFrom<Stored> for FittedFeatures {
    type Error = Error;

    fn try_from(Stored { schema, state, transition }: Stored) -> Result<Self> {
        for (parts, n_owners) in [(&state, schema.kinds().len()), (&transition, schema.relations().len())] {
            fits(parts.iter().all(|part| usize::from(part.owner) < n_owners))?;
            parts.iter().try_for_each(|part| part.encoder.check(&schema))?;
        }
        Ok(FittedFeatures { schema, state, transition })
    }
}

/// The fitted functions of one entry of the feature list, for one kind of node or one relation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FittedEntry {
    pub(crate) owner: u16,
    pub(crate) encoder: Arc<dyn Encoder>,
    pub(crate) pairs: Pairs,
}

impl FittedFeatures {
    /// The fitted functions of state and of transition features.
    pub(crate) fn parts(&self) -> [&[FittedEntry]; 2] {
        [&self.state, &self.transition]
    }

    /// What the data must carry.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// How many observation functions there are.
    pub fn n_functions(&self) -> usize {
        let n = |part: &FittedEntry| part.encoder.constants(&self.schema).0;
        self.parts().into_iter().flatten().map(n).sum()
    }

    /// The features: each observation function with all its labels or pairs of labels, or with those that occur
    /// together with it in the encoded training data.
    pub fn map(&self, train: &EncodedDataset) -> Result<FeatureMap> {
        self.map_of(Some(train))
    }

    /// The features that there can be, before any data are encoded: all labels also where those that occur are asked for.
    pub fn candidates(&self) -> Result<FeatureMap> {
        self.map_of(None)
    }

    fn map_of(&self, train: Option<&EncodedDataset>) -> Result<FeatureMap> {
        let n_pairs = |relation| {
            let (rows, columns) = self.schema.table_shape(relation);
            rows * columns
        };
        let state = FeatureSet::new(
            &self.schema,
            &self.state,
            |kind| self.schema.n_labels(kind),
            |pattern, kind| pattern.states(&self.schema, kind),
            train.map(|train| |see: FunctionVisitor<'_>| train.see_states(see)),
        )?;
        let transition = FeatureSet::new(
            &self.schema,
            &self.transition,
            n_pairs,
            |pattern, relation| pattern.pairs(&self.schema, relation),
            train.map(|train| |see: FunctionVisitor<'_>| train.see_transitions(see)),
        )?;
        Ok(FeatureMap::new(self.schema.clone(), state, transition))
    }

    /// Evaluates all observation functions on a dataset, once and for all.
    pub fn encode(&self, data: Arc<Dataset>) -> Result<EncodedDataset> {
        self.encode_watched(data, &mut |_| {})
    }

    /// [`FittedFeatures::encode`], which tells `progress` how many positions are done.
    pub fn encode_watched(
        &self,
        data: Arc<Dataset>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<EncodedDataset> {
        if data.schema() != &self.schema {
            return Err(Error::data(
                "the data have other channels or labels than those the features were fitted on",
            ));
        }
        EncodedDataset::encode(data, &self.state, &self.transition, progress)
    }
}
