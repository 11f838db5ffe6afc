use std::path::Path;

use clap::Args;
use crf_core::{Constraints, Decode};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::cli::options::format::{inline, read_option};
use crate::config::{ConfigFault, ConfigRoot};
use crate::error::{Error, Result};
use crate::model::file::ModelFile;

/// Constraints on the labels that a model predicts.
#[derive(Debug, Args)]
pub(crate) struct ConstraintsArgs {
    /// Constraints on neighbouring labels: `bio`, `bioes`, or a table with `scheme`, `forbid`,
    /// `never_first` and `never_last`. Those that the model was trained with hold in any case.
    /// Implies `--decode viterbi` if --decode is omitted, since labels that are best one by one may
    /// break them.
    #[arg(long, value_name = "RULES")]
    constraints: Option<String>,
}

impl ConstraintsArgs {
    /// The model of a file under these constraints and its own.
    pub(crate) fn load(&self, model: &Path) -> Result<ModelFile> {
        let Some(text) = &self.constraints else { return ModelFile::load(model) };
        let (rules, _) = read_option::<Rules>("constraints", "--constraints", text, constraints(text)?)?;
        let mut file = ModelFile::load(model)?;
        file.settings.decode = Decode::Viterbi;
        let forbidden = rules.constraints.resolve(file.contents.features.schema());
        let option = format!("--constraints {text}");
        Ok(file.constrained(forbidden.map_err(|error| Error::config(option, error))?))
    }
}

/// The value of the option: the name of a scheme, or a table.
pub(crate) fn constraints(text: &str) -> Result<Value> {
    Ok(inline("--constraints", text)?.unwrap_or_else(|| text.trim().into()))
}

/// A config that holds only constraints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    constraints: Constraints,
}

impl ConfigRoot for Rules {
    fn check(&self, _: &Value) -> Result<(), ConfigFault> {
        Ok(())
    }
}
