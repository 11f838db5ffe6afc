//! Registry of all linked plugins with their documentation, and the deserialisers by which a config
//! names one.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};

#[doc(hidden)]
pub use {inventory, schemars};

/// Entry of a linked plugin in the registry, made by `crf_core::plugin!`.
#[derive(Debug)]
pub struct Plugin {
    /// Trait that the plugin implements, in lower case: `learner`, `inference`,  `learner`,
    /// `inference`, …
    pub kind: &'static str,
    /// Permanent name in configs.
    pub tag: &'static str,
    /// JSON schema of the settings, with the documentation of each.
    pub schema: fn() -> schemars::Schema,
    /// Settings of an example in TOML; empty if the defaults make one.
    pub example: &'static str,
}

inventory::collect!(Plugin);

impl Plugin {
    /// All linked plugins, sorted by kind and tag.
    pub fn all() -> Vec<&'static Plugin> {
        let mut all: Vec<_> = inventory::iter::<Plugin>().collect();
        all.sort_by_key(|plugin| (plugin.kind, plugin.tag));
        all
    }

    /// First paragraph of the plugin's documentation, on one line.
    pub fn summary(&self) -> String {
        let schema = (self.schema)();
        let doc = schema.get("description").and_then(|doc| doc.as_str()).unwrap_or_default();
        doc.split("\n\n").next().unwrap_or_default().replace('\n', " ")
    }
}

/// Registers a plugin for `crf list` and `crf explain`: `plugin!("learner", Mle, "mle", example =
/// "l2 = 0.1");`.
///
/// The example holds settings in TOML, without the tag; `crf explain` shows it and the conformance
/// tests run it. It can be omitted if the defaults make a good example.
#[macro_export]
macro_rules! plugin {
    ($kind:literal, $type:ty, $tag:literal) => {
        $crate::plugin!($kind, $type, $tag, example = "");
    };
    ($kind:literal, $type:ty, $tag:literal, example = $example:literal) => {
        $crate::plugin::inventory::submit! {
            $crate::Plugin {
                kind: $kind,
                tag: $tag,
                schema: || $crate::plugin::schemars::schema_for!($type),
                example: $example,
            }
        }
    };
}

/// Placeholder in a schema for a plugin within a plugin: its name, or a table with `type` and
/// settings.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub enum Named {
    /// Plugin with all its defaults.
    Name(String),
    /// `type` and settings of the plugin.
    Table(std::collections::BTreeMap<String, serde_json::Value>),
}

/// Setting that a config may write as a bare name or as a table.
///
/// A struct that reads its own fields from the table derives `Deserialize` with `#[serde(remote =
/// "Self")]`, which makes `Struct::deserialize` the reader of the table, and implements the trait
/// `Deserialize` by [`name_or`].
pub trait NameOr<'de>: Sized {
    /// Accepted forms in words, for error messages.
    const EXPECTING: &'static str;
    /// Converts a bare name to the setting.
    fn from_name<E: serde::de::Error>(name: &str) -> Result<Self, E>;
    /// Reads the setting from a table.
    fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error>;
}

/// Reads a setting that is written as a bare name or as a table.
pub fn name_or<'de, D: Deserializer<'de>, T: NameOr<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Either<T>(PhantomData<T>);
    impl<'de, T: NameOr<'de>> Visitor<'de> for Either<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTING)
        }
        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<T, E> {
            T::from_name(name)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::from_table(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Either(PhantomData))
}

/// Upper limit of the plugins within each other.
///
/// Every level of reading and fitting takes some stack: a thread of 2 MB holds about 50 of them in
/// a binary format. What can be trained can then be stored and read again.
const MAX_DEPTH: u32 = 16;

thread_local! {
    /// Number of plugins within each other that this thread reads or fits at the moment.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Level of nesting, left when it is dropped.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Calls `f` for a plugin within another one, or returns an error if too many are within each
/// other.
pub(crate) fn one_deeper<R>(f: impl FnOnce() -> R) -> Result<R> {
    if DEPTH.get() >= MAX_DEPTH {
        return Err(Error::data(format!("more than {MAX_DEPTH} plugins within each other")));
    }
    DEPTH.set(DEPTH.get() + 1);
    let level = Level;
    let result = f();
    drop(level);
    Ok(result)
}

/// Reads the stored form of something that may be within another of its kind, such as a model
/// within a model; too many within each other are an error.
pub fn nested<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    one_deeper(|| T::deserialize(deserializer)).map_err(D::Error::custom)?
}

/// Reads a plugin that is written as a table with a `type`, or as its bare name if the defaults are
/// meant; too many within each other are an error.
pub fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Tagged<T>(T);
    impl<'de, T: Deserialize<'de>> NameOr<'de> for Tagged<T> {
        const EXPECTING: &'static str = "a plugin: its name, or a table with a `type`";
        fn from_name<E: serde::de::Error>(name: &str) -> Result<Self, E> {
            T::deserialize(MapDeserializer::new(std::iter::once(("type", name)))).map(Tagged)
        }
        fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
            T::deserialize(table).map(Tagged)
        }
    }
    let plugin = one_deeper(|| name_or(deserializer)).map_err(D::Error::custom)?;
    plugin.map(|Tagged(plugin)| plugin)
}

/// [`named`] for a setting that may be omitted.
pub fn named_option<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Maybe<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Maybe<T> {
        type Value = Option<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a plugin, or nothing")
        }
        fn visit_none<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
            named(d).map(Some)
        }
    }
    deserializer.deserialize_option(Maybe(PhantomData))
}

/// [`named`] for a list of plugins.
pub fn named_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct One<T>(T);
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for One<T> {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            named(d).map(One)
        }
    }
    struct List<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of plugins")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(One(plugin)) = seq.next_element()? {
                list.push(plugin);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(List(PhantomData))
}
