//! `cargo xtask new`: the files of a new plugin.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use crf_bench::cli::{terminal, write_file};
use crf_bench::{Error, Kind, Result};

/// Begins a new plugin: its file, its lines in `mod.rs`, and a failing test that says what to fill
/// in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask new learner margin/coin-toss && cargo fmt && cargo test -p crf-learn coin_toss
  cargo xtask new inference graph/approximate/survey-propagation")]
pub(crate) struct NewArgs {
    /// The kind of plugin.
    kind: New,
    /// The folder, and the plugin's permanent name in configs, in lower case with hyphens.
    #[arg(value_name = "ROOM/NAME")]
    name: String,
    /// The directory of the workspace.
    #[arg(long, hide = true, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."))]
    root: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum New {
    Learner,
    Selector,
    Inference,
    Source,
}

impl New {
    /// The kind, the crate of the kind, and the template of the file.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            New::Learner => ("learner", "crf-learn", include_str!("../templates/learner.rs")),
            New::Selector => ("selector", "crf-select", include_str!("../templates/selector.rs")),
            New::Inference => ("inference", "crf-inference", include_str!("../templates/inference.rs")),
            New::Source => ("source", "crf-datasets", include_str!("../templates/source.rs")),
        }
    }
}

/// The words of Rust, present and reserved, that cannot name a module.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// The end of the file of every new plugin.
const TEST: &str = r#"
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_what_its_documentation_says() {
        let plugin = NewPlugin::default();
        panic!(
            "test {plugin:?} here, on a case worked out by hand or against `crf_core::oracle`; then write its documentation, \
             its settings and its algorithm"
        );
    }
}
"#;

/// Writes the files.
pub(crate) fn run(args: &NewArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (kind, library, template) = args.kind.parts();
    let wrong = |message: String| Error::config(format!("new {kind} {}", args.name), message);
    let source = args.root.join(library).join("src");
    let rooms = rooms(&source, kind)?;
    let (room, name) = args.name.rsplit_once('/').unwrap_or(("", &args.name));
    if !rooms.iter().any(|known| known == room) {
        let known: Vec<String> = rooms.iter().map(|room| format!("`{room}/{name}`")).collect();
        return Err(wrong(format!("expected a room and a name: {}", known.join(", "))));
    }
    let is_word = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|c| c.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if !name.split('-').all(is_word) {
        return Err(wrong(format!("expected a name in lower case such as `coin-toss`, got `{name}`")));
    }
    if Kind::named(kind).is_ok_and(|kind| kind.plugin(name).is_ok()) {
        return Err(wrong(format!("there is a {kind} `{name}` already")));
    }
    let module = name.replace('-', "_");
    if KEYWORDS.contains(&module.as_str()) {
        return Err(wrong(format!("`{name}` is a word of Rust, which no module can be called")));
    }
    let words = name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    let type_name: String = words.collect();
    let is_in_template = |word: &str| word == type_name;
    if template.split(|c: char| !c.is_ascii_alphanumeric()).any(is_in_template) {
        return Err(wrong(format!("the file of a {kind} uses the name `{type_name}` for something else")));
    }
    let room = source.join(room);
    let file = room.join(format!("{module}.rs"));
    if file.exists() {
        return Err(wrong(format!("{} is there already", file.display())));
    }
    let contents = room.join("mod.rs");
    let lines = fs::read_to_string(&contents).map_err(Error::io(&contents))?;
    if lines.lines().any(|line| line.ends_with(&format!("mod {module};"))) {
        return Err(wrong(format!("{} has a module `{module}` already", contents.display())));
    }
    let lines = with_module(&lines, &module, &type_name);
    let plugin = [template, TEST].concat().replace("NewPlugin", &type_name).replace("new-plugin", name);
    for (done, path, text) in [("wrote", &file, plugin), ("changed", &contents, lines)] {
        write_file(path, &text)?;
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        writeln!(out, "{done} {}", path.display()).map_err(terminal)?;
    }
    writeln!(
        out,
        "next: `cargo fmt`, then `cargo test -p {library} {module}`, which fails and says what to fill in"
    )
    .map_err(terminal)?;
    Ok(ExitCode::SUCCESS)
}

/// The folders of a crate that hold plugins of a kind, in order of their names.
fn rooms(source: &Path, kind: &str) -> Result<Vec<String>> {
    let mut rooms = Vec::new();
    let mut open = vec![source.to_owned()];
    while let Some(folder) = open.pop() {
        let mut holds = false;
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let path = entry.map_err(Error::io(&folder))?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
                holds |= declares(&text, kind);
            }
        }
        if holds && folder.join("mod.rs").is_file() {
            let below = folder.strip_prefix(source).unwrap_or(&folder);
            rooms.push(below.display().to_string().replace('\\', "/"));
        }
    }
    rooms.sort();
    Ok(rooms)
}

/// True if a text declares a plugin of a kind.
fn declares(text: &str, kind: &str) -> bool {
    let quoted = format!("\"{kind}\"");
    text.split("plugin!(").skip(1).any(|rest| rest.trim_start().starts_with(&quoted))
}

/// A table of contents with one more module and its type; `cargo fmt` puts the lines in order.
fn with_module(contents: &str, module: &str, type_name: &str) -> String {
    let mut lines: Vec<String> = contents.lines().map(str::to_owned).collect();
    let mut insert = |starts: &[&str], line: String| {
        let is_alike = |known: &String| starts.iter().any(|start| known.starts_with(start));
        let last = lines.iter().rposition(is_alike).map_or(lines.len(), |last| last + 1);
        lines.insert(last, line);
    };
    insert(&["mod ", "pub(crate) mod "], format!("pub(crate) mod {module};"));
    insert(&["pub use "], format!("pub use {module}::{type_name};"));
    lines.join("\n") + "\n"
}
