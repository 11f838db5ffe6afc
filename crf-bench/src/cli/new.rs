use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::terminal;
use crate::catalogue::kind::Kind;
use crate::error::{Error, Result};

/// Begins a new plugin: its file, its `mod` line, its example config, and a failing test that says what to fill in.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask new learner coin-toss && cargo fmt && cargo test -p crf-learn coin_toss")]
pub struct NewArgs {
    /// What it is to be.
    kind: New,
    /// Its permanent name in configs, in lower case with hyphens.
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
    /// Its kind, the crate of its kind, and what its file begins as.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            New::Learner => ("learner", "crf-learn", include_str!("../../templates/learner.rs")),
            New::Selector => ("selector", "crf-select", include_str!("../../templates/selector.rs")),
            New::Inference => ("inference", "crf-inference", include_str!("../../templates/inference.rs")),
            New::Source => ("source", "crf-datasets", include_str!("../../templates/source.rs")),
        }
    }
}

/// Ends the file of every new plugin.
const TEST: &str = r#"
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_what_its_documentation_says() {
        let plugin = NewPlugin::default();
        panic!(
            "write here what {plugin:?} must do, on a case worked out by hand or against `crf_core::oracle`; then write its \
             documentation and its settings, and fill in what the template does in their place"
        );
    }
}
"#;

/// Writes the files.
pub(crate) fn run(args: &NewArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (kind, library, template) = args.kind.parts();
    let wrong = |message: String| Error::config(format!("new {kind} {}", args.name), message);
    let is_word = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|c| c.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if !args.name.split('-').all(is_word) {
        return Err(wrong(format!("expected a name in lower case such as `coin-toss`, got `{}`", args.name)));
    }
    if Kind::named(kind).is_ok_and(|kind| kind.plugin(&args.name).is_ok()) {
        return Err(wrong(format!("there is a {kind} `{}` already", args.name)));
    }
    let module = args.name.replace('-', "_");
    let words = args.name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    let type_name: String = words.collect();
    let source = args.root.join(library).join("src");
    let files = [
        (
            source.join(format!("{module}.rs")),
            [template, TEST].concat().replace("NewPlugin", &type_name).replace("new-plugin", &args.name),
        ),
        (
            args.root.join(format!("crf-bench/plugins/{kind}/{}.toml", args.name)),
            format!("type = \"{}\"\n", args.name),
        ),
    ];
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(wrong(format!("{} is there already", path.display())));
    }
    let root = source.join("lib.rs");
    let contents = fs::read_to_string(&root).map_err(Error::io(&root))?;
    let contents = with_module(&contents, &module, &type_name)
        .ok_or_else(|| wrong(format!("{} has no modules to stand beside", root.display())))?;
    for (path, text) in files.iter().chain([&(root, contents)]) {
        let done = if path.exists() { "changed" } else { "wrote" };
        fs::write(path, text).map_err(Error::io(path))?;
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

/// The root of a crate with one more module and its type; `cargo fmt` puts them in order.
fn with_module(root: &str, module: &str, type_name: &str) -> Option<String> {
    let mut lines: Vec<String> = root.lines().map(str::to_owned).collect();
    let used = lines.iter().position(|line| line.starts_with("pub use crate::"))?;
    lines.insert(used, format!("pub use crate::{module}::{type_name};"));
    let last = lines.iter().rposition(|line| line.starts_with("mod ") && line.ends_with(';'))?;
    lines.insert(last + 1, format!("mod {module};"));
    Some(lines.join("\n") + "\n")
}
