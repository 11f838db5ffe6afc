//! Template files of CRF++ and Wapiti.

use std::path::{Path, PathBuf};

use crf_core::plugin::{NameOr, name_or};
use crf_core::prototypes::{One, Template};
use crf_core::{Dataset, Error as CoreError, FeatureSpec, Features, Link, Pairs, Prototype, require};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

use super::KeyPath;
use crate::error::{Error, Result};

/// A template file as CRF++ and Wapiti read them; a config may give just its name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct TemplateFile {
    /// The file.
    pub file: PathBuf,
    /// The labels that each attribute is paired with: `all`, as in those programs, or only those
    /// `observed` with it.
    #[serde(default)]
    pub pairs: Pairs,
    /// Attributes that occur less often than this in the training data are dropped; at least 1.
    #[serde(default = "once")]
    pub min_count: u32,
}

impl<'de> NameOr<'de> for TemplateFile {
    const EXPECTING: &'static str = "a template file: its name, or a table with a `file`";

    fn from_name<E>(file: &str) -> Result<Self, E> {
        Ok(TemplateFile { file: file.into(), pairs: Pairs::default(), min_count: once() })
    }

    fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        TemplateFile::deserialize(table)
    }
}

impl Serialize for TemplateFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TemplateFile::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for TemplateFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or(deserializer)
    }
}

fn once() -> u32 {
    1
}

/// Resolves the file that a config names relative to the directory of the config.
pub(super) fn relocate(config: &mut Value, directory: &Path) {
    for path in [KeyPath::new(["template"]), KeyPath::new(["template", "file"])] {
        if let Some(Value::String(file)) = path.get(config) {
            let file = directory.join(file).display().to_string();
            path.set(config, Value::String(file));
        }
    }
}

/// The features of a template file, and its lines for messages.
#[derive(Debug)]
pub struct Templates {
    pub(crate) file: PathBuf,
    pub(super) features: Features,
    lines: Vec<Line>,
}

/// A line with a template, and its location.
#[derive(Debug)]
struct Line {
    file: String,
    number: usize,
    indent: usize,
    text: String,
}

impl TemplateFile {
    pub(super) fn check(&self) -> crf_core::Result<()> {
        require(self.min_count > 0, "min_count", "at least 1", self.min_count)
    }

    /// Reads the file; errors have line and column.
    ///
    /// A line is a template: for states if it begins with `U`, for transitions if it begins with
    /// `B`, for both if it begins with `*`. A template without macros is constant. `#` begins a
    /// comment at the beginning of a line or after a space; elsewhere it belongs to the template.
    pub(super) fn read(&self) -> Result<Templates> {
        let file = self.file.display().to_string();
        let text = std::fs::read_to_string(&self.file).map_err(|error| Error::config(&file, error))?;
        let mut lines = Vec::new();
        let mut state = Lists::default();
        let mut transition = Lists::default();
        for (number, line) in (1..).zip(text.lines()) {
            let text = without_comment(line).trim();
            let indent = line.chars().take_while(|c| c.is_whitespace()).count();
            let line = Line { file: file.clone(), number, indent, text: text.to_owned() };
            let lists: &mut [&mut Lists] = match text.chars().next() {
                None => continue,
                Some('U' | 'u') => &mut [&mut state],
                Some('B' | 'b') => &mut [&mut transition],
                Some('*') => &mut [&mut state, &mut transition],
                Some(_) => {
                    let want = "a template, which begins with `U`, `B` or `*`, or a comment after `#`";
                    return Err(line.wrong(0, format!("expected {want}, got `{text}`")));
                }
            };
            if let (false, Some(at)) = (text.contains('%'), text.find('[')) {
                let message = format!("expected a macro such as `%x[-1,0]`, got `{text}`");
                return Err(line.wrong(at, message));
            }
            line.judge(Template::check)?;
            lists.iter_mut().for_each(|lists| lists.add(text));
            lines.push(line);
        }
        let mut features = state.features(self, || Link::State(None));
        features.extend(transition.features(self, || Link::Transition(None)));
        if features.is_empty() {
            return Err(Error::config(file, "expected at least one template such as `U01:%x[0,0]`"));
        }
        Ok(Templates { file: self.file.clone(), features: Features(features), lines })
    }
}

/// The templates for states, or those for transitions.
#[derive(Default)]
struct Lists {
    templates: Vec<String>,
    constants: usize,
}

impl Lists {
    fn add(&mut self, text: &str) {
        if text.contains('%') {
            self.templates.push(text.to_owned());
        } else {
            self.constants += 1;
        }
    }

    fn features(self, file: &TemplateFile, link: impl Fn() -> Link) -> Vec<FeatureSpec> {
        let mut prototypes: Vec<Box<dyn Prototype>> = Vec::new();
        if !self.templates.is_empty() {
            prototypes.push(Box::new(Template { templates: self.templates, min_count: file.min_count }));
        }
        prototypes.extend((0..self.constants).map(|_| Box::new(One {}) as Box<dyn Prototype>));
        prototypes.into_iter().map(|of| FeatureSpec { link: link(), of, pairs: file.pairs }).collect()
    }
}

fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..at];
        }
        before = c;
    }
    line
}

impl Templates {
    /// Fails at the first template with a column that the data do not have.
    pub(crate) fn check(&self, data: &Dataset) -> Result<()> {
        let columns = data.subset(&[]);
        self.lines.iter().try_for_each(|line| line.judge(|template| template.fit(&columns).map(drop)))
    }
}

impl Line {
    fn wrong(&self, at: usize, message: impl std::fmt::Display) -> Error {
        let column = self.indent + self.text[..at].chars().count() + 1;
        Error::config(format!("{}:{}:{column}", self.file, self.number), message)
    }

    /// Fails with the location of the first macro that `judge` rejects.
    fn judge(&self, judge: impl Fn(&Template) -> crf_core::Result<()>) -> Result<()> {
        let judge = |text: &str| judge(&Template { templates: vec![text.to_owned()], min_count: once() });
        let mut macros = self.text.match_indices('%').map(|(at, _)| at);
        let Some(first) = macros.next() else { return Ok(()) };
        judge(&self.text).map_err(|error| {
            // The text before the wrong macro passes; any longer part fails.
            let at = macros.rfind(|&at| judge(&self.text[..at]).is_ok()).unwrap_or(first);
            match error {
                CoreError::Setting { want, got, .. } => self.wrong(at, format!("expected {want}, got {got}")),
                other => self.wrong(at, other),
            }
        })
    }
}
