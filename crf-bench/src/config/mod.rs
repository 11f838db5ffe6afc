//! Experiment files: what they say, where they are wrong, and which cells they ask for.

mod culprit;
mod document;
mod experiment;
mod fault;
mod key_path;
mod load;
mod method;
mod overlay;
mod plan;
mod settings;
mod verify;

pub use experiment::{Experiment, Figure};
pub use fault::{Fault, Side};
pub use key_path::KeyPath;
pub use load::{experiment_files, load, parse};
pub use method::Method;
pub use overlay::Setting;
pub use plan::{Plan, Point};
pub use settings::Settings;
pub(crate) use settings::{number, same, show};
