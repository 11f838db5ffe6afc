//! Experiment and training files: read, checked and expanded, before anything runs.
//!
//! Start with `experiment.rs`, the structure of an experiment file. `load.rs` reads one: presets
//! (`presets.rs`) and `defaults` are expanded, the sweep (`grid.rs`) becomes points, `verify.rs`
//! checks names and settings, and `plan.rs` keeps the result. `training.rs` does the same for
//! `crf train`, with `tune.rs` and `template_file.rs`. `json_schema.rs` describes experiment files
//! to editors.
//!
//! Every error has a location: file, line and column, or the option. A [`Plan`] cannot be wrong any
//! more. May use the catalogue of plugins, claims and `located_toml`; runs nothing and reads no
//! data.

mod experiment;
mod grid;
mod json_schema;
mod load;
mod method;
mod plan;
mod presets;
mod template_file;
mod training;
mod tune;
mod verify;

pub use crate::located_toml::{ConfigFault, KeyOrValue, KeyPath, Override, SweepValues};
pub(crate) use crate::located_toml::{ConfigRoot, number, same, show};
pub use experiment::{Experiment, Figure, Published};
pub use json_schema::schema;
pub(crate) use load::set;
pub use load::{experiment_files, load, parse};
pub use method::Method;
pub use plan::{Plan, SweepPoint};
pub use template_file::{TemplateFile, Templates};
pub use training::{Request, Training};
pub use tune::{Candidates, Tune};
