//! A method: features, constraints, learner, inference, decoding and selector.

use std::fmt;

use crf_core::plugin::named;
use crf_core::{
    ChannelKind, Constraints, Dataset, Decode, Error as CoreError, Features, FittedFeatures, Forbidden,
    Inference, Learner, Schema, Selector,
};
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize as DeriveSerialize};
use serde_json::json;
use toml::Value;

use super::json_schema::{AnyFeature, AnyInference, AnyLearner, AnySelector};
use super::{ConfigFault, KeyPath};

/// A method: one way to learn and predict. Experiments compare methods, and `crf train` trains a
/// model by one.
#[derive(Debug, DeriveSerialize, DeriveDeserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The features of the model; those that suit the channels of the data if omitted, numbers
    /// normalised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<AnyFeature>>")]
    pub features: Option<Features>,
    /// The constraints: labels that may not follow each other, begin a sequence or end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    /// The learner that trains the model.
    #[serde(default = "mle", deserialize_with = "named")]
    #[schemars(with = "AnyLearner")]
    pub learner: Box<dyn Learner>,
    /// The inference that computes expectations and labellings, in training and in testing.
    #[serde(default = "forward_backward", deserialize_with = "named")]
    #[schemars(with = "AnyInference")]
    pub inference: Box<dyn Inference>,
    /// The decoding: `viterbi`, the most likely labelling, or `posterior`, the most likely label of
    /// each position. If omitted, `viterbi` under constraints, since labels that are best one by
    /// one may break them, and `posterior` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
    /// The selector that chooses among the features before training.
    #[serde(default = "no_selection", deserialize_with = "named", skip_serializing_if = "keeps_all")]
    #[schemars(with = "AnySelector")]
    pub selector: Box<dyn Selector>,
}

impl Method {
    /// The keys of a method in a file.
    pub(super) const KEYS: [&'static str; 6] =
        ["features", "constraints", "learner", "inference", "decode", "selector"];

    /// The decoding, or its default.
    pub(crate) fn decode(&self) -> Decode {
        let usual = if self.constraints.is_some() { Decode::Viterbi } else { Decode::default() };
        self.decode.unwrap_or(usual)
    }

    /// The constraints for data with the given labels.
    pub(crate) fn forbidden(&self, schema: &Schema) -> crf_core::Result<Option<Forbidden>> {
        let forbidden = self.constraints.as_ref().map(|rules| rules.resolve(schema)).transpose();
        forbidden.map_err(|error| match error {
            // The name alone would not tell its key.
            CoreError::Unknown { .. } => error.at("constraints"),
            other => other,
        })
    }

    /// Fits the features on training data.
    pub(crate) fn fit_features(&self, train: &Dataset) -> crf_core::Result<FittedFeatures> {
        match &self.features {
            Some(features) => features.fit(train),
            None => usual_features(train.schema()).fit(train),
        }
    }

    /// Fills in the default features for data of a schema, and the default decoding.
    pub(crate) fn complete(&mut self, schema: &Schema) {
        self.features.get_or_insert_with(|| usual_features(schema));
        self.decode = Some(self.decode());
    }

    /// Checks the settings of every plugin; `path` is the path of the method in `config`.
    pub(super) fn check(&self, path: &KeyPath, config: &Value) -> Result<(), ConfigFault> {
        let fault = |key: &str| {
            let path = path.child(key);
            move |error: CoreError| ConfigFault::plugin(path, &error, config)
        };
        for (i, feature) in self.features.iter().flat_map(|features| features.0.iter().enumerate()) {
            let feature_path = path.child("features").child(i);
            feature.of.check().map_err(|error| ConfigFault::plugin(feature_path, &error, config))?;
        }
        self.learner.check().map_err(fault("learner"))?;
        self.inference.check().map_err(fault("inference"))?;
        self.selector.check().map_err(fault("selector"))?;
        self.decode().check(&*self.inference).map_err(fault("decode"))
    }
}

fn mle() -> Box<dyn Learner> {
    by_tag("mle").expect("crf-learn is linked and has `mle`")
}

fn forward_backward() -> Box<dyn Inference> {
    by_tag("forward-backward").expect("crf-inference is linked and has `forward-backward`")
}

fn no_selection() -> Box<dyn Selector> {
    by_tag("none").expect("crf-select is linked and has `none`")
}

#[allow(clippy::borrowed_box, reason = "serde calls it with the field")]
fn keeps_all(selector: &Box<dyn Selector>) -> bool {
    selector.keeps_all()
}

/// The default features for the channels of a schema. Numbers are normalised: learners with a
/// penalty or a margin compare the sizes of features.
fn usual_features(schema: &Schema) -> Features {
    let has = |test: fn(&ChannelKind) -> bool| schema.channels().iter().any(|channel| test(&channel.kind));
    let mut list = Vec::new();
    if has(|kind| matches!(kind, ChannelKind::Real)) {
        list.extend([json!("intercept"), json!({ "state": "normalised" })]);
    }
    if has(|kind| matches!(kind, ChannelKind::Symbol(_))) {
        list.push(json!({ "state": "equals" }));
    }
    if has(|kind| matches!(kind, ChannelKind::Bag(_))) {
        list.push(json!({ "state": "attributes", "pairs": "observed" }));
        list.push(json!({ "transition": "one", "pairs": "observed" }));
    } else {
        list.push(json!("transition"));
    }
    serde_json::from_value(list.into()).expect("the usual features can be read")
}

fn by_tag<T: for<'de> Deserialize<'de>>(tag: &str) -> Result<T, toml::de::Error> {
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
            while let Some((name, mut method)) = map.next_entry::<String, Method>()? {
                method.decode = Some(method.decode());
                methods.push((name, method));
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

impl Default for Method {
    /// The method of `crf train` without options.
    fn default() -> Self {
        Method {
            features: None,
            constraints: None,
            learner: mle(),
            inference: forward_backward(),
            decode: None,
            selector: no_selection(),
        }
    }
}
