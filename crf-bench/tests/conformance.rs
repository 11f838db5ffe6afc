//! Every plugin has an example config that works, and every registered plugin is on the list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crf_bench::Claim;
use crf_bench::config::{experiment_files, load};
use crf_core::{Inference, Learner, Metric, Plugin, Prototype, Selector, Source};
use crf_datasets::Format;
use crf_learn::Optimizer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

/// What each kind of plugin is read as.
type Kind = (&'static str, fn(&str) -> Result<String, String>);

const KINDS: [Kind; 9] = [
    ("claim", read::<dyn Claim>),
    ("format", read::<dyn Format>),
    ("inference", read::<dyn Inference>),
    ("learner", read::<dyn Learner>),
    ("metric", read::<dyn Metric>),
    ("optimizer", read::<dyn Optimizer>),
    ("prototype", read::<dyn Prototype>),
    ("selector", read::<dyn Selector>),
    ("source", read::<dyn Source>),
];

/// Asks a plugin of a kind whether its settings can work; some kinds have nothing to say before a run.
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

/// Reads a plugin, checks it, and gives it back as TOML with all defaults.
fn read<T: ?Sized + Checked>(text: &str) -> Result<String, String>
where
    Box<T>: Serialize + DeserializeOwned,
{
    let plugin: Box<T> = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    plugin.accept().map_err(|error| error.to_string())?;
    toml::to_string(&plugin).map_err(|error| error.to_string())
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn every_plugin_has_an_example_that_survives_a_round_trip() {
    for plugin in Plugin::all() {
        let path = here("plugins").join(plugin.kind).join(format!("{}.toml", plugin.tag));
        let kind = KINDS.iter().find(|(kind, _)| *kind == plugin.kind);
        let (_, read) = kind.unwrap_or_else(|| panic!("add the kind `{}` to this test", plugin.kind));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let once = read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(read(&once).as_ref(), Ok(&once), "{}", path.display());
        let table: Table = once.parse().expect("TOML");
        let tag = table.get("type").and_then(|tag| tag.as_str()).or(table.keys().next().map(String::as_str));
        assert_eq!(tag, Some(plugin.tag), "{}", path.display());
    }
}

#[test]
fn every_registered_plugin_is_on_the_list_and_documented() {
    for (kind, read) in KINDS {
        let nobody = if kind == "claim" { "[nobody]" } else { "type = \"nobody\"" };
        let message = read(nobody).expect_err("nobody is no plugin");
        let registered: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        let listed = Plugin::all().into_iter().filter(|plugin| plugin.kind == kind);
        assert_eq!(registered, listed.map(|plugin| plugin.tag).collect(), "{kind}: {message}");
    }
    let silent = Plugin::all().into_iter().find(|plugin| plugin.summary().is_empty());
    assert!(silent.is_none(), "{silent:?} has no documentation");
}

#[test]
fn every_example_belongs_to_a_plugin() {
    let known: BTreeSet<PathBuf> = Plugin::all()
        .into_iter()
        .map(|plugin| here("plugins").join(plugin.kind).join(format!("{}.toml", plugin.tag)))
        .collect();
    let found: BTreeSet<PathBuf> = experiment_files(&here("plugins")).into_iter().collect();
    assert_eq!(found.difference(&known).next(), None);
}

#[test]
fn all_experiment_files_are_right() {
    let files = experiment_files(&here("../experiments"));
    assert!(!files.is_empty());
    for file in files {
        for quick in [false, true] {
            load(&file, quick, &[]).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
