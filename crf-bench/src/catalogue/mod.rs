//! The catalogue: all linked plugins, by kind, with their manuals and examples.
//!
//! `kind.rs` lists the kinds and reads a plugin of each, `manual.rs` derives the settings of a
//! plugin from its schema, its defaults and its own check, and `example.rs` makes an experiment of
//! the example in its `plugin!` line. `crf list`, `crf explain` and the JSON Schema come from here,
//! so that a new plugin documents itself.

pub(crate) mod example;
pub(crate) mod kind;
pub(crate) mod manual;
