//! The kinds of plugins, and the reading of a plugin of each kind.

use std::fmt;

use crf_core::{Inference, Learner, Metric, Plugin, Prototype, Selector, Source, hint};
use crf_datasets::Format;
use crf_learn::Optimizer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::claims::claim::Claim;

/// A kind of plugin.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of its trait, in lower case.
    pub name: &'static str,
    read: fn(&Table) -> Result<Table, Refused>,
}

/// The reason why a config is not that of a plugin.
#[derive(Debug)]
pub enum Refused {
    /// It cannot be read.
    Unreadable(String),
    /// The plugin rejects these settings.
    Settings(crf_core::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unreadable(message) => f.write_str(message),
            Refused::Settings(error) => error.fmt(f),
        }
    }
}

impl Kind {
    /// All kinds, by name.
    pub const ALL: [Kind; 9] = [
        Kind { name: "claim", read: read::<dyn Claim> },
        Kind { name: "format", read: read::<dyn Format> },
        Kind { name: "inference", read: read::<dyn Inference> },
        Kind { name: "learner", read: read::<dyn Learner> },
        Kind { name: "metric", read: read::<dyn Metric> },
        Kind { name: "optimizer", read: read::<dyn Optimizer> },
        Kind { name: "prototype", read: read::<dyn Prototype> },
        Kind { name: "selector", read: read::<dyn Selector> },
        Kind { name: "source", read: read::<dyn Source> },
    ];

    /// The kind of this name, in the singular or plural; the error has the nearest name.
    pub fn named(name: &str) -> Result<Self, String> {
        let is_meant =
            |kind: &Kind| name.strip_prefix(kind.name).is_some_and(|rest| matches!(rest, "" | "s"));
        let names = Kind::ALL.map(|kind| kind.name);
        let found = Kind::ALL.into_iter().find(is_meant);
        found.ok_or_else(|| format!("unknown kind `{name}`{}", hint(name, &names)))
    }

    /// Reads a plugin of this kind, checks its settings, and returns them with all defaults.
    pub fn read(&self, config: &Table) -> Result<Table, Refused> {
        (self.read)(config)
    }

    /// All plugins of this kind.
    pub fn plugins(&self) -> impl Iterator<Item = &'static Plugin> + use<> {
        let name = self.name;
        Plugin::all().into_iter().filter(move |plugin| plugin.kind == name)
    }

    /// The plugin of this kind with this tag; the error has the nearest tag.
    pub fn plugin(&self, tag: &str) -> Result<&'static Plugin, String> {
        let tags: Vec<&str> = self.plugins().map(|plugin| plugin.tag).collect();
        let found = self.plugins().find(|plugin| plugin.tag == tag);
        found.ok_or_else(|| format!("unknown {} `{tag}`{}", self.name, hint(tag, &tags)))
    }

    /// The config that names a plugin without any settings.
    ///
    /// A claim is a table below its name; all others have a `type`.
    pub fn bare(&self, tag: &str) -> Table {
        match self.name {
            "claim" => Table::from_iter([(tag.to_owned(), Value::Table(Table::new()))]),
            _ => Table::from_iter([("type".to_owned(), Value::from(tag))]),
        }
    }

    /// The table with the settings in a plugin's config.
    pub fn settings<'c>(&self, config: &'c mut Table, tag: &str) -> Option<&'c mut Table> {
        match self.name {
            "claim" => config.get_mut(tag)?.as_table_mut(),
            _ => Some(config),
        }
    }
}

/// The check of a plugin's settings; kinds without one accept all.
trait Checked {
    fn accept(&self) -> crf_core::Result<()> {
        Ok(())
    }
}

macro_rules! checked {
    ($($kind:ident),*) => {$(
        impl Checked for dyn $kind {
            fn accept(&self) -> crf_core::Result<()> {
                self.check()
            }
        }
    )*};
}

checked!(Format, Inference, Learner, Optimizer, Prototype, Selector, Source);
impl Checked for dyn Claim {}
impl Checked for dyn Metric {}

fn read<T: ?Sized + Checked>(config: &Table) -> Result<Table, Refused>
where
    Box<T>: Serialize + DeserializeOwned,
{
    let plugin = config.clone().try_into::<Box<T>>();
    let plugin = plugin.map_err(|error| Refused::Unreadable(error.message().to_owned()))?;
    plugin.accept().map_err(Refused::Settings)?;
    Table::try_from(&plugin).map_err(|error| Refused::Unreadable(error.to_string()))
}
