//! Files that say what to run: experiments and trainings, where they are wrong, and what they ask for.

mod culprit;
mod document;
mod experiment;
mod fault;
mod grid;
mod key_path;
mod load;
mod method;
mod overlay;
mod plan;
mod readable;
mod schema;
mod settings;
mod template_file;
mod training;
mod tune;
mod verify;

pub use experiment::{Experiment, Figure, Published};
pub use fault::{Fault, Side};
pub use key_path::KeyPath;
pub(crate) use load::set;
pub use load::{experiment_files, load, parse};
pub use method::Method;
pub use overlay::Setting;
pub use plan::{Plan, Point};
pub(crate) use readable::Readable;
pub use schema::schema;
pub use settings::Settings;
pub(crate) use settings::{number, same, show};
pub use template_file::{TemplateFile, Templates};
pub(crate) use training::usual_features;
pub use training::{Request, Training};
pub use tune::{Candidates, Tune};
