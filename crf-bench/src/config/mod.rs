//! Experiment and training files: read, checked and expanded.
//!
//! `load.rs` reads an experiment file: defaults are shared out, every point of the sweep is read as an
//! `Experiment`, and `plan.rs` keeps what is to be run. `training.rs` does the same for `crf train`.
//! May use the catalogue of plugins, claims and `located_toml`; runs nothing.

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
