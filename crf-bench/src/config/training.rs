use std::path::Path;

use crf_core::plugin::named;
use crf_core::{
    ChannelKind, Constraints, Decode, Error as CoreError, Features, Forbidden, Inference, Learner, Plugin,
    Schema,
};
use crf_datasets::Format;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toml::{Table, Value};

use super::load::{placed, set};
use super::method::{by_tag, forward_backward};
use super::template_file::relocate;
use super::{Candidates, ConfigFault, KeyPath, Override, TemplateFile, Templates, Tune};
use crate::error::{Error, Result};
use crate::located_toml::ConfigRoot;
use crate::located_toml::Document;
use crate::located_toml::merge;

/// How a model is trained, as a file or the options of `train` say it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The format of the data.
    #[serde(deserialize_with = "named")]
    pub format: Box<dyn Format>,
    /// The features of the model; what suits the channels of the data when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// A file with templates of features, which takes the place of `features`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateFile>,
    /// Which labels may not follow each other, begin a sequence or end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    /// What trains it.
    #[serde(default = "mle", deserialize_with = "named")]
    pub learner: Box<dyn Learner>,
    /// What computes expectations and decodings.
    #[serde(default = "forward_backward", deserialize_with = "named")]
    pub inference: Box<dyn Inference>,
    /// Which labelling is the answer; under constraints `viterbi` when left out, since labels that are best one by one
    /// may break rules about neighbours, and `posterior` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
    /// Where all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// What is chosen by cross-validation before; nothing when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tune>,
}

/// What a file and options ask for.
#[derive(Debug)]
pub struct Request {
    /// The training.
    pub training: Training,
    /// The trainings to choose from before, if any are to be compared.
    pub candidates: Option<Candidates>,
    /// Where the features come from, if that is a template file.
    pub templates: Option<Templates>,
}

impl Request {
    /// True if the training, or one that it is chosen from, watches validation data.
    pub(crate) fn watches_validation(&self) -> Result<bool> {
        let mut watches = self.training.learner.watches_validation();
        for (_, config) in self.candidates.iter().flat_map(|candidates| &candidates.points) {
            let training = Training::read(config).map_err(Error::format("config"))?;
            watches |= training.learner.watches_validation();
        }
        Ok(watches)
    }
}

fn mle() -> Box<dyn Learner> {
    by_tag("mle").expect("crf-learn is linked and has `mle`")
}

impl ConfigRoot for Training {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        let root = KeyPath::default();
        let fault = |path: KeyPath| move |error: CoreError| ConfigFault::plugin(path, &error, config);
        self.format.check().map_err(fault(root.child("format")))?;
        if let Some(template) = &self.template {
            template.check().map_err(fault(root.child("template")))?;
            if self.features.is_some() {
                let message = "the features come from a template file or from `features`, not from both";
                return Err(ConfigFault::key(root.child("template"), message));
            }
        }
        for (i, feature) in self.features.iter().flat_map(|features| features.0.iter().enumerate()) {
            feature.of.check().map_err(fault(root.child("features").child(i)))?;
        }
        self.learner.check().map_err(fault(root.child("learner")))?;
        self.inference.check().map_err(fault(root.child("inference")))?;
        self.decode().check(&*self.inference).map_err(fault(root.child("decode")))?;
        match &self.tune {
            None => Ok(()),
            Some(tune) => {
                let needed = tune.by.check(&*self.inference, None);
                needed.map_err(fault(root.child("tune").child("by")))
            }
        }
    }
}

impl Training {
    /// Reads a file if there is one, and lays `flags` and then `settings` over it.
    ///
    /// A flag that names a plugin keeps the file's settings of the same plugin. A template file is read and becomes the
    /// training's features. What is to be tuned is taken out of the training and made into the candidates for it.
    pub fn load(file: Option<&Path>, flags: &[Override], settings: &[Override]) -> Result<Request> {
        let name = file.map_or("the options".to_owned(), |file| file.display().to_string());
        let text = match file.map(std::fs::read_to_string).transpose() {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return Err(Error::config(name, error)),
        };
        let document = Document::parse(&name, &text)?;
        let mut config = document.value.clone();
        if let Some(directory) = file.and_then(Path::parent) {
            relocate(&mut config, directory);
        }
        for flag in flags {
            // Features have one origin, and rules are not mended piece by piece.
            let instead_of = match flag.path.steps()[0].as_str() {
                "features" => Some("template"),
                "template" => Some("features"),
                "constraints" => Some("constraints"),
                _ => None,
            };
            instead_of.and_then(|key| KeyPath::of([key]).remove(&mut config));
            let within = |value, step: &String| Value::Table(Table::from_iter([(step.clone(), value)]));
            let over = flag.path.steps().iter().rev().fold(flag.value.clone(), within);
            if let (Value::Table(config), Value::Table(over)) = (&mut config, &over) {
                merge(config, over);
            }
        }
        if config.get("format").is_none() {
            let place = if file.is_some() { name.as_str() } else { "--format" };
            return Err(Error::config(place, format!("the data need a `format`: {}", formats())));
        }
        let whole = |config: &Value, options: &[Override]| {
            let (training, resolved) = Training::read_located(config)
                .and_then(|read| read.0.check(&read.1).map(|()| read))
                .map_err(|fault| placed(&document, fault, false, options))?;
            Ok::<_, Error>((training, resolved))
        };
        let (mut training, mut config) = whole(&config, flags)?;
        for setting in settings {
            config = set::<Training>(&config, setting)?;
            training = whole(&config, settings)?.0;
        }
        let templates = training.template.take().map(|template| template.read()).transpose()?;
        if let Some(Templates { features, .. }) = &templates {
            KeyPath::of(["template"]).remove(&mut config);
            let features = Value::try_from(features).map_err(Error::format("features"))?;
            KeyPath::of(["features"]).set(&mut config, features);
            training = whole(&config, &[])?.0;
        }
        KeyPath::of(["tune"]).remove(&mut config);
        let candidates = training.tune.take().map(|tune| tune.candidates(&config)).transpose();
        let candidates =
            candidates.map_err(|fault| placed(&document, fault, false, &[flags, settings].concat()))?;
        Ok(Request { training, candidates, templates })
    }

    /// The same training as another one has been, but with new settings: its features stay, and its constraints
    /// unless there are others.
    pub(crate) fn after(mut self, before: Training) -> Self {
        self.features = before.features;
        self.constraints = self.constraints.or(before.constraints);
        self
    }

    /// Which labelling is the answer.
    pub(crate) fn decode(&self) -> Decode {
        let usual = if self.constraints.is_some() { Decode::Viterbi } else { Decode::default() };
        self.decode.unwrap_or(usual)
    }

    /// The constraints for data with the given labels.
    pub(crate) fn forbidden(&self, schema: &Schema) -> crf_core::Result<Option<Forbidden>> {
        let forbidden = self.constraints.as_ref().map(|rules| rules.resolve(schema)).transpose();
        forbidden.map_err(|error| match error {
            // The name alone would not tell where it stands.
            CoreError::Unknown { .. } => error.at("constraints"),
            other => other,
        })
    }

    /// The config as TOML with all defaults spelled out.
    pub fn to_toml(&self) -> Result<String> {
        let config = self.resolved().map_err(Error::format("config"))?;
        toml::to_string(&config).map_err(Error::format("config"))
    }
}

/// The tags of all formats.
fn formats() -> String {
    let tags = Plugin::all().into_iter().filter(|plugin| plugin.kind == "format");
    tags.map(|plugin| format!("`{}`", plugin.tag)).collect::<Vec<_>>().join(", ")
}

/// The features that suit the channels of a schema.
pub(crate) fn usual_features(schema: &Schema) -> Result<Features> {
    let has = |test: fn(&ChannelKind) -> bool| schema.channels().iter().any(|channel| test(&channel.kind));
    let (real, symbols, bags) = (
        has(|kind| matches!(kind, ChannelKind::Real)),
        has(|kind| matches!(kind, ChannelKind::Symbol(_))),
        has(|kind| matches!(kind, ChannelKind::Bag(_))),
    );
    let mut list = Vec::new();
    if real {
        list.extend([json!("intercept"), json!({ "state": "value" })]);
    }
    if symbols {
        list.push(json!({ "state": "equals" }));
    }
    if bags {
        list.push(json!({ "state": "attributes", "pairs": "observed" }));
        list.push(json!({ "transition": "one", "pairs": "observed" }));
    } else {
        list.push(json!("transition"));
    }
    serde_json::from_value(list.into()).map_err(Error::format("features"))
}
