//! TOML values with their locations in the file, so that errors have line and column.
//!
//! Start with `config_root.rs`, which reads a value as a config. An error of serde becomes a
//! `ConfigFault` at a key path (`locate.rs` finds the path, since trait objects lose it), and a
//! `Document` maps paths to lines and columns. `overrides.rs` reads `--set key=value` and merges
//! tables; `values.rs` holds the values of a sweep's keys.
//!
//! Nothing here knows what a config is about.

mod config_root;
mod document;
mod fault;
mod key_path;
mod locate;
mod overrides;
mod values;

pub(crate) use config_root::{ConfigRoot, Refused, try_value};
pub(crate) use document::Document;
pub use fault::{ConfigFault, KeyOrValue};
pub use key_path::KeyPath;
pub use overrides::Override;
pub(crate) use overrides::merge;
pub use values::SweepValues;
pub(crate) use values::{number, same, show};
