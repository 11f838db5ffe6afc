//! The rules of the house, checked in the sources and documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crf_bench::{Error, Result};

/// The largest number of files in a folder of sources, unless all of them are plugins.
const MAX_FILES: usize = 16;
/// The widest line of a comment, in characters.
const MAX_COLUMNS: usize = 100;
/// The largest number of words in documents that are to be read in one go.
const MAX_WORDS: [(&str, usize); 2] = [("README.md", 900), ("ARCHITECTURE.md", 1500)];
/// The page of promises, whose table names the tests that hold them.
const PROMISES: &str = "docs/src/promises.md";
/// First words of doc comments that paraphrase their item as a question.
const QUESTIONS: [&str; 6] = ["What", "How", "Whether", "Which", "Who", "By"];

/// Offences against the rules of the house, each with its location.
pub(crate) fn offences(root: &Path) -> Result<Vec<String>> {
    let mut sources = Vec::new();
    for entry in read_dir(root)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("crf-") || name == "xtask" {
            collect(&entry, &mut sources)?;
        }
    }
    sources.sort();
    let texts = sources.iter().map(|file| Ok((file.as_path(), read(file)?))).collect::<Result<Vec<_>>>()?;
    let mut offences = folders(&texts);
    offences.extend(introductions(&texts));
    offences.extend(wide_comments(&texts));
    offences.extend(shared_names(&texts));
    offences.extend(questions(&texts));
    offences.extend(documents(root, &sources)?);
    offences.extend(promises(&read(&root.join(PROMISES))?, &texts));
    let prefix = format!("{}/", root.display());
    Ok(offences.into_iter().map(|offence| offence.replace(&prefix, "")).collect())
}

/// All Rust files below a directory.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for path in read_dir(directory)? {
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn read_dir(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory).map_err(Error::io(directory))?;
    entries.map(|entry| Ok(entry.map_err(Error::io(directory))?.path())).collect()
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(Error::io(file))
}

fn is_source(file: &Path) -> bool {
    file.components().any(|step| step.as_os_str() == "src")
}

/// Folders of sources with too many files.
fn folders(texts: &[(&Path, String)]) -> Vec<String> {
    let mut folders: BTreeMap<&Path, Vec<(&Path, &str)>> = BTreeMap::new();
    for (file, text) in texts.iter().filter(|(file, _)| is_source(file)) {
        folders.entry(file.parent().unwrap_or(file)).or_default().push((file, text));
    }
    let crowded = folders.iter().filter(|(_, files)| {
        let is_helper = |(file, text): &&(&Path, &str)| !text.contains("plugin!(") && !is_contents(file);
        files.len() > MAX_FILES && files.iter().any(|file| is_helper(&file))
    });
    crowded
        .map(|(folder, files)| format!("{}: {} files in one folder", folder.display(), files.len()))
        .collect()
}

/// True for a table of contents.
fn is_contents(file: &Path) -> bool {
    file.ends_with("mod.rs") || file.ends_with("lib.rs")
}

/// Tables of contents without an introduction.
fn introductions(texts: &[(&Path, String)]) -> Vec<String> {
    let silent =
        texts.iter().filter(|(file, text)| is_source(file) && is_contents(file) && !text.starts_with("//!"));
    silent.map(|(file, _)| format!("{}: begins without `//!`", file.display())).collect()
}

/// Comments that are wider than a page.
fn wide_comments(texts: &[(&Path, String)]) -> Vec<String> {
    let mut wide = Vec::new();
    for (file, text) in texts {
        for (n, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("//") && line.chars().count() > MAX_COLUMNS {
                wide.push(format!("{}:{n}: a comment of over {MAX_COLUMNS} columns", file.display()));
            }
        }
    }
    wide
}

/// Public types that share a name. Every crate may have its `Error`, and plugins of one tag have
/// one name.
fn shared_names(texts: &[(&Path, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<(String, bool)>> = BTreeMap::new();
    for (file, text) in texts.iter().filter(|(file, _)| is_source(file)) {
        for line in text.lines() {
            let types = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
            let Some(rest) = types.iter().find_map(|start| line.strip_prefix(start)) else { continue };
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let is_plugin = text.contains("plugin!(") && text.contains(&format!(" for {name} "));
            places.entry(name).or_default().push((file.display().to_string(), is_plugin));
        }
    }
    let shared = places.iter().filter(|(name, places)| {
        !matches!(**name, "Error" | "Result") && places.len() > 1 && !places.iter().all(|(_, plugin)| *plugin)
    });
    let messages = shared.map(|(name, places)| {
        let files: Vec<&str> = places.iter().map(|(file, _)| file.as_str()).collect();
        format!("the public type `{name}` stands in {}", files.join(" and "))
    });
    messages.collect()
}

/// Doc comments that begin as questions, if they are more than one in a hundred.
fn questions(texts: &[(&Path, String)]) -> Vec<String> {
    let mut n_comments = 0;
    let mut asking = Vec::new();
    for (file, text) in texts {
        let mut inside = false;
        for (n, line) in (1..).zip(text.lines()) {
            let doc = ["///", "//!"].iter().find_map(|start| line.trim_start().strip_prefix(start));
            if let Some(doc) = doc.filter(|_| !inside) {
                n_comments += 1;
                let first = doc.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                if QUESTIONS.contains(&first) {
                    asking.push(format!("{}:{n}: begins with `{first}`: name the thing", file.display()));
                }
            }
            inside = doc.is_some();
        }
    }
    if asking.len() * 100 > n_comments { asking } else { Vec::new() }
}

/// Documents that are too long, and paths in them that lead nowhere.
fn documents(root: &Path, sources: &[PathBuf]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for (name, most) in MAX_WORDS {
        let n_words = read(&root.join(name))?.split_whitespace().count();
        if n_words > most {
            offences.push(format!("{name}: {n_words} words, {most} are the most"));
        }
    }
    let text = read(&root.join("ARCHITECTURE.md"))?;
    let named: BTreeSet<&str> = text.split('`').skip(1).step_by(2).filter(|code| is_path(code)).collect();
    let leads = |path: &&str| {
        let path = path.trim_end_matches('/');
        root.join(path).exists()
            || sources.iter().any(|file| file.ends_with(path))
            || sources
                .iter()
                .any(|file| file.ancestors().any(|folder| folder != root && folder.ends_with(path)))
    };
    let lost = named.into_iter().filter(|path| !leads(path));
    offences.extend(lost.map(|path| format!("ARCHITECTURE.md: there is no `{path}`")));
    Ok(offences)
}

/// Promises that name no test, or one that is not there.
fn promises(page: &str, texts: &[(&Path, String)]) -> Vec<String> {
    let mut offences = Vec::new();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| promise");
    for row in page.lines().filter(is_row) {
        let (promise, tests) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap_or((row, ""));
        let mut named = tests.split('`').skip(1).step_by(2).peekable();
        if named.peek().is_none() {
            offences.push(format!("{PROMISES}: no test holds `{promise}`"));
        }
        // Tests are functions, or entries of a macro that makes one of each.
        let is_lost = |test: &&str| {
            let (function, entry) = (format!("fn {test}("), format!("    {test}:"));
            !texts.iter().any(|(_, text)| text.contains(&function) || text.contains(&entry))
        };
        offences.extend(named.filter(is_lost).map(|test| format!("{PROMISES}: there is no test `{test}`")));
    }
    offences
}

/// True for a piece of code that names a file or a folder.
fn is_path(code: &str) -> bool {
    let letters = code.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let ends = [".rs", ".toml", ".md", ".jsonl", "/"].iter().any(|end| code.ends_with(end));
    letters && ends && !code.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(file: &str, text: &str, check: fn(&[(&Path, String)]) -> Vec<String>) -> usize {
        check(&[(Path::new(file), text.to_owned())]).len()
    }

    #[test]
    fn each_rule_finds_its_offence() {
        assert_eq!(checked("a/src/mod.rs", "mod b;", introductions), 1);
        assert_eq!(checked("a/src/mod.rs", "//! Has b.\nmod b;", introductions), 0);
        assert_eq!(checked("a/src/b.rs", &format!("// {}", "x".repeat(98)), wide_comments), 1);
        assert_eq!(checked("a/src/b.rs", &format!("// {}", "x".repeat(97)), wide_comments), 0);
        assert_eq!(checked("a/src/b.rs", "/// Whether it works.\nfn works() {}", questions), 1);
        assert_eq!(checked("a/src/b.rs", "/// True if it works.\n/// Which is good.", questions), 0);
    }

    #[test]
    fn a_promise_names_tests_that_are_there() {
        let texts = [(Path::new("a.rs"), "fn it_holds() {}\n    it_stays: 1;".to_owned())];
        let found = |row: &str| promises(&format!("| promise | tests |\n|---|---|\n{row}\n"), &texts).len();
        assert_eq!(found("| It holds. | `it_holds`, `it_stays` |"), 0);
        assert_eq!(found("| It holds. | `it_holds`, `it_breaks` |"), 1);
        assert_eq!(found("| It holds. |  |"), 1);
    }

    #[test]
    fn two_types_may_not_share_a_name() {
        let both = |a: &str, b: &str| {
            shared_names(&[(Path::new("a/src/a.rs"), a.to_owned()), (Path::new("b/src/b.rs"), b.to_owned())])
                .len()
        };
        assert_eq!(both("pub struct Part;", "pub enum Part {}"), 1);
        assert_eq!(both("pub struct Error;", "pub enum Error {}"), 0);
        let plugin = |kind: &str| {
            format!("pub struct Same {{}}\nplugin!(\"{kind}\", Same, \"same\");\nimpl {kind} for Same {{}}")
        };
        assert_eq!(both(&plugin("Learner"), &plugin("Selector")), 0);
    }

    #[test]
    fn a_crowded_folder_is_found() {
        let names: Vec<PathBuf> = (0..17).map(|i| PathBuf::from(format!("a/src/f{i}.rs"))).collect();
        let helpers: Vec<(&Path, String)> =
            names.iter().map(|name| (name.as_path(), String::new())).collect();
        assert_eq!((folders(&helpers).len(), folders(&helpers[1..]).len()), (1, 0));
        let plugins: Vec<(&Path, String)> =
            names.iter().map(|name| (name.as_path(), "plugin!(\"learner\"".to_owned())).collect();
        assert_eq!(folders(&plugins).len(), 0);
    }
}
