//! The files below a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files below a directory.
#[derive(Debug, Default)]
pub(crate) struct FilesBelow {
    /// Their paths below it, in order.
    pub(crate) paths: Vec<PathBuf>,
    /// The directories that could not be read.
    pub(crate) unread: Vec<(PathBuf, io::Error)>,
    /// The directories on the way and those that were read, without links.
    seen: Vec<PathBuf>,
}

impl FilesBelow {
    /// All files below `root`, which need not exist. Links are followed, but not those that lead
    /// up or to what was seen, so that every file is there once.
    pub(crate) fn new(root: &Path) -> Self {
        let mut found = FilesBelow::default();
        if root.exists() {
            found.add(root, Path::new(""));
        }
        found.paths.sort();
        found
    }

    fn add(&mut self, root: &Path, below: &Path) {
        let directory = root.join(below);
        let entries = fs::canonicalize(&directory).and_then(|whole| {
            self.seen.push(whole);
            let entries = fs::read_dir(&directory)?.map(|entry| Ok(entry?.file_name()));
            entries.collect::<io::Result<Vec<_>>>()
        });
        let mut names = match entries {
            Ok(names) => names,
            Err(error) => return self.unread.push((directory, error)),
        };
        names.sort();
        for name in names {
            let path = directory.join(&name);
            if !path.is_dir() {
                self.paths.push(below.join(name));
                continue;
            }
            let leads_back = |whole: PathBuf| self.seen.iter().any(|seen| seen.starts_with(&whole));
            if !fs::canonicalize(&path).is_ok_and(leads_back) {
                self.add(root, &below.join(name));
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_file_is_there_once_whatever_links_there_are() {
        let root = std::env::temp_dir().join(format!("crf-folders-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("in/a/b")).expect("a directory");
        fs::create_dir_all(root.join("out")).expect("a directory");
        for file in ["in/a/x", "in/a/b/y", "out/z"] {
            fs::write(root.join(file), "").expect("a file");
        }
        for (to, link) in
            [("..", "in/a/up"), ("../..", "in/a/far"), ("a", "in/c"), ("../out", "in/d"), ("/", "in/e")]
        {
            symlink(to, root.join(link)).expect("a link");
        }
        let found = FilesBelow::new(&root.join("in"));
        assert_eq!(found.paths, ["a/b/y", "a/x", "d/z"].map(PathBuf::from));
        assert!(found.unread.is_empty());
        assert!(FilesBelow::new(&root.join("nowhere")).paths.is_empty());
        fs::remove_dir_all(&root).expect("a directory");
    }
}
