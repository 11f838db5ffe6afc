//! The config of `crf train`: a method and the format of the data, from a file and options.

use std::path::Path;

use crf_core::plugin::named;
use crf_core::{Error as CoreError, Plugin};
use crf_datasets::Format;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use super::load::{located, set};
use super::template_file::relocate;
use super::{Candidates, ConfigFault, KeyPath, Method, Override, TemplateFile, Templates, Tune};
use crate::error::{Error, Result};
use crate::located_toml::ConfigRoot;
use crate::located_toml::Document;
use crate::located_toml::merge;

/// The training of a model, as a file or the options of `crf train` describe it: a method, and the
/// data it is for.
#[derive(Debug, Serialize)]
pub struct Training {
    /// The format of the data.
    pub format: Box<dyn Format>,
    /// A template file, which replaces the method's `features`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateFile>,
    /// The method.
    #[serde(flatten)]
    pub method: Method,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The settings that cross-validation chooses before training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tune>,
}

/// The keys of a training that are not those of its method.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    #[serde(deserialize_with = "named")]
    format: Box<dyn Format>,
    template: Option<TemplateFile>,
    #[serde(default)]
    seed: u64,
    tune: Option<Tune>,
}

impl<'de> Deserialize<'de> for Training {
    /// Reads both halves separately: serde's `flatten` cannot refuse unknown keys.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const KEYS: [&str; 4] = ["format", "template", "seed", "tune"];
        const ALL: &[&str] = &concat(KEYS, Method::KEYS);
        let (mut frame, mut method) = (Table::new(), Table::new());
        for (key, value) in Table::deserialize(deserializer)? {
            let Some(known) = ALL.iter().find(|known| **known == key) else {
                return Err(serde::de::Error::unknown_field(&key, ALL));
            };
            if KEYS.contains(known) { &mut frame } else { &mut method }.insert(key, value);
        }
        // The method first: all its keys are optional, so that its errors are reported whatever
        // else is missing.
        let method = method.try_into().map_err(without_location)?;
        let Frame { format, template, seed, tune } = frame.try_into().map_err(without_location)?;
        Ok(Training { format, template, method, seed, tune })
    }
}

/// The message of an error without its location, which is right only for the whole file.
fn without_location<E: serde::de::Error>(error: toml::de::Error) -> E {
    E::custom(error.message())
}

const fn concat(some: [&'static str; 4], others: [&'static str; 6]) -> [&'static str; 10] {
    let mut all = [""; 10];
    let mut i = 0;
    while i < 10 {
        all[i] = if i < 4 { some[i] } else { others[i - 4] };
        i += 1;
    }
    all
}

/// A training as a file and options request it.
#[derive(Debug)]
pub struct Request {
    /// The training.
    pub training: Training,
    /// The trainings among which cross-validation chooses first, if there is a `tune`.
    pub candidates: Option<Candidates>,
    /// The template file of the features, if there is one.
    pub templates: Option<Templates>,
}

impl Request {
    /// True if the training, or one of its candidates, watches validation data.
    pub(crate) fn watches_validation(&self) -> Result<bool> {
        let mut watches = self.training.method.learner.watches_validation();
        for (_, config) in self.candidates.iter().flat_map(|candidates| &candidates.points) {
            let training = Training::read(config).map_err(Error::format("config"))?;
            watches |= training.method.learner.watches_validation();
        }
        Ok(watches)
    }
}

impl ConfigRoot for Training {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        let root = KeyPath::default();
        let fault = |path: KeyPath| move |error: CoreError| ConfigFault::plugin(path, &error, config);
        self.format.check().map_err(fault(root.child("format")))?;
        if let Some(template) = &self.template {
            template.check().map_err(fault(root.child("template")))?;
            if self.method.features.is_some() {
                let message = "the features come from a template file or from `features`, not from both";
                return Err(ConfigFault::key(root.child("template"), message));
            }
        }
        self.method.check(&root, config)?;
        match &self.tune {
            None => Ok(()),
            Some(tune) => {
                let needed = tune.by.check(&*self.method.inference, None);
                needed.map_err(fault(root.child("tune").child("by")))
            }
        }
    }
}

impl Training {
    /// Reads a file if there is one, and overrides it by `flags` and then by `settings`.
    ///
    /// A flag that names a plugin keeps the file's settings of the same plugin. A template file is
    /// read and becomes the training's features. The key `tune` becomes the candidates.
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
            // Features have one origin, and constraints are replaced as a whole.
            let instead_of = match flag.path.steps()[0].as_str() {
                "features" => Some("template"),
                "template" => Some("features"),
                "constraints" => Some("constraints"),
                _ => None,
            };
            instead_of.and_then(|key| KeyPath::new([key]).remove(&mut config));
            let within = |value, step: &String| Value::Table(Table::from_iter([(step.clone(), value)]));
            let over = flag.path.steps().iter().rev().fold(flag.value.clone(), within);
            if let (Value::Table(config), Value::Table(over)) = (&mut config, &over) {
                merge(config, over);
            }
        }
        if config.get("format").is_none() {
            let location = if file.is_some() { name.as_str() } else { "--format" };
            return Err(Error::config(location, format!("the data need a `format`: {}", formats())));
        }
        let whole = |config: &Value, options: &[Override]| {
            let (training, resolved) = Training::read_located(config)
                .and_then(|read| read.0.check(&read.1).map(|()| read))
                .map_err(|fault| located(&document, fault, false, options))?;
            Ok::<_, Error>((training, resolved))
        };
        let (mut training, mut config) = whole(&config, flags)?;
        for setting in settings {
            config = set::<Training>(&config, setting)?;
            training = whole(&config, settings)?.0;
        }
        let templates = training.template.take().map(|template| template.read()).transpose()?;
        if let Some(Templates { features, .. }) = &templates {
            KeyPath::new(["template"]).remove(&mut config);
            let features = Value::try_from(features).map_err(Error::format("features"))?;
            KeyPath::new(["features"]).set(&mut config, features);
            training = whole(&config, &[])?.0;
        }
        KeyPath::new(["tune"]).remove(&mut config);
        let candidates = training.tune.take().map(|tune| tune.candidates(&config)).transpose();
        let candidates =
            candidates.map_err(|fault| located(&document, fault, false, &[flags, settings].concat()))?;
        Ok(Request { training, candidates, templates })
    }

    /// This training as a warm start after another: the features of the latter stay, and its
    /// constraints unless this one has its own.
    pub(crate) fn after(mut self, before: Training) -> Self {
        self.method.features = before.method.features;
        self.method.constraints = self.method.constraints.or(before.method.constraints);
        self
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
