use clap::Args;
use crf_core::plugin::named;
use crf_datasets::Format;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::config::{ConfigFault, ConfigRoot, KeyPath, Override, set};
use crate::error::{Error, Result};
use crate::model::file::ModelFile;

/// The format of the data, if it differs from that of the training data.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The format of the data: its name, or a table such as '{type = "crfsuite", labelled =
    /// false}'; that of the training data if omitted.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Sets a setting of the format; may be repeated.
    #[arg(long, value_name = "format.KEY=VALUE")]
    set: Vec<String>,
}

impl FormatArgs {
    /// The requested format, or that of the model, with the requested settings.
    pub(crate) fn or_model_format(&self, model: &ModelFile) -> Result<Box<dyn Format>> {
        let mut config = match &self.format {
            Some(text) => format_config("--format", text)?,
            None => config_of(&*model.settings.format)?,
        };
        for text in &self.set {
            config = set::<OneFormat>(&config, &Override::parse(text)?)?;
        }
        OneFormat::read(&config).map(|one| one.format).map_err(|message| Error::config("--format", message))
    }
}

/// A format by name or as a table; `option` names it in messages.
pub(crate) fn format(option: &str, text: &str) -> Result<Box<dyn Format>> {
    let config = format_config(option, text)?;
    OneFormat::read(&config).map(|one| one.format).map_err(|message| Error::config(option, message))
}

fn config_of(format: &dyn Format) -> Result<Value> {
    let format = Value::try_from(format).map_err(Error::format("format"))?;
    Ok(Value::Table(Table::from_iter([("format".to_owned(), format)])))
}

fn format_config(option: &str, text: &str) -> Result<Value> {
    read_option::<OneFormat>("format", option, text, plugin(option, text)?).map(|(_, resolved)| resolved)
}

/// Reads a config with a single key from the value of an option; returns it also with all defaults.
pub(crate) fn read_option<C: ConfigRoot>(
    key: &str,
    option: &str,
    text: &str,
    value: Value,
) -> Result<(C, Value)> {
    let config = Table::from_iter([(key.to_owned(), value)]);
    let refused = |fault: ConfigFault| Error::config(format!("{option} {text}"), fault.message);
    let (read, resolved) = C::read_located(&Value::Table(config)).map_err(refused)?;
    read.check(&resolved).map_err(refused)?;
    Ok((read, resolved))
}

/// The value of an option that takes a plugin or a list of plugins: a name, or a piece of TOML or
/// JSON.
pub(crate) fn plugin(option: &str, text: &str) -> Result<Value> {
    let by_name = || Value::Table(Table::from_iter([("type".to_owned(), text.trim().into())]));
    Ok(inline(option, text)?.unwrap_or_else(by_name))
}

/// A table or a list in TOML or JSON; `None` if the text of an option is only a name.
pub(crate) fn inline(option: &str, text: &str) -> Result<Option<Value>> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return Ok(None);
    }
    let inline = toml::from_str::<Table>(&format!("value = {text}")).map(|mut table| table.remove("value"));
    match (inline, serde_json::from_str(text)) {
        (Ok(Some(value)), _) | (_, Ok(value)) => Ok(Some(value)),
        (_, Err(error)) => {
            Err(Error::config(format!("{option} {text}"), format!("neither TOML nor JSON: {error}")))
        }
    }
}

/// A config that holds only a format.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneFormat {
    #[serde(deserialize_with = "named")]
    format: Box<dyn Format>,
}

impl ConfigRoot for OneFormat {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        let path = KeyPath::new(["format"]);
        self.format.check().map_err(|error| ConfigFault::plugin(path, &error, config))
    }
}
