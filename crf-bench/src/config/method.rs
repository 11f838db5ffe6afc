use std::fmt;

use crf_core::plugin::named;
use crf_core::{Decode, Features, Inference, Learner, Selector};
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize as DeriveSerialize};
use toml::Value;

use super::json_schema::{AnyFeature, AnyInference, AnyLearner, AnySelector};

/// One way to learn and predict, compared with others on the same data.
#[derive(Debug, DeriveSerialize, DeriveDeserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The features of the model.
    #[schemars(with = "Vec<AnyFeature>")]
    pub features: Features,
    /// What trains it.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "AnyLearner")]
    pub learner: Box<dyn Learner>,
    /// What computes expectations and decodings, in training and in testing.
    #[serde(default = "forward_backward", deserialize_with = "named")]
    #[schemars(with = "AnyInference")]
    pub inference: Box<dyn Inference>,
    /// Which labelling is the answer.
    #[serde(default)]
    pub decode: Decode,
    /// What chooses among the features before training.
    #[serde(default = "no_selection", deserialize_with = "named")]
    #[schemars(with = "AnySelector")]
    pub selector: Box<dyn Selector>,
}

pub(super) fn forward_backward() -> Box<dyn Inference> {
    by_tag("forward-backward").expect("crf-inference is linked and has `forward-backward`")
}

fn no_selection() -> Box<dyn Selector> {
    by_tag("none").expect("crf-select is linked and has `none`")
}

pub(super) fn by_tag<T: for<'de> Deserialize<'de>>(tag: &str) -> Result<T, toml::de::Error> {
    named(Value::from(tag))
}

/// Reads methods in the order of the file.
pub(crate) fn in_order<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, Method)>, D::Error> {
    struct InOrder;
    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, Method)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table of methods")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut methods = Vec::new();
            while let Some(entry) = map.next_entry()? {
                methods.push(entry);
            }
            Ok(methods)
        }
    }
    deserializer.deserialize_map(InOrder)
}

/// Writes methods as the table they were read from.
pub(crate) fn as_table<S: Serializer>(
    methods: &[(String, Method)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(methods.len()))?;
    for (name, method) in methods {
        map.serialize_entry(name, method)?;
    }
    map.end()
}
