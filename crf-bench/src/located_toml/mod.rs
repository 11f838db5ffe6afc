//! TOML values with their places in the file, from which error messages take line and column.
//!
//! Start with `config_root.rs`, which reads a value as a config; an error of serde becomes a `ConfigFault` at a key path
//! (`locate.rs` finds the path), and a `Document` knows where in the file that path is. Nothing here knows what a
//! config is about.

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
