//! Harness of the attacks: it holds each run of the program to the promises of all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds of processor time that a run may take.
const SECONDS: u32 = 30;
/// Kilobytes of addresses that a run may reserve.
const KILOBYTES: u64 = 6_000_000;

/// Directory in which the program is attacked.
pub(crate) struct Place {
    directory: PathBuf,
}

/// Output of a run, and its exit code.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// Right outcome of an attack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Right {
    /// An error with these words, and exit code 1 or 2.
    Refused(&'static str),
    /// Success, and exactly this on standard output.
    Prints(&'static str),
}

/// Entry of the directory: its type, and its bytes if it is a file.
type Entry = (String, Vec<u8>);

impl Place {
    /// An empty directory of this name.
    pub(crate) fn new(name: &str) -> Place {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacks").join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory");
        Place { directory }
    }

    /// Path of a file in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file into the directory.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a file");
    }

    /// Runs the program, which may change the files in `made` and no other if it succeeds, and none
    /// if it fails.
    pub(crate) fn run(&self, args: &[&str], made: &[&str]) -> Outcome {
        self.run_within(args, made, KILOBYTES, b"")
    }

    /// Like [`Place::run`], with so many kilobytes of addresses, and with standard input.
    pub(crate) fn run_within(&self, args: &[&str], made: &[&str], kilobytes: u64, input: &[u8]) -> Outcome {
        self.shell("exec \"$CRF\" \"$@\"", args, made, kilobytes, input)
    }

    /// Runs a script in which `$CRF` is the program.
    pub(crate) fn script(&self, script: &str, made: &[&str]) -> Outcome {
        self.shell(script, &[], made, KILOBYTES, b"")
    }

    fn shell(&self, script: &str, args: &[&str], made: &[&str], kilobytes: u64, input: &[u8]) -> Outcome {
        let before = self.entries();
        let limits = format!("ulimit -c 0; ulimit -t {SECONDS}; ulimit -v {kilobytes}; {script}");
        let mut child = Command::new("bash")
            .args(["-c", &limits, "bash"])
            .args(args)
            .env("CRF", env!("CARGO_BIN_EXE_crf"))
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A program that ends early need not read its input.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        let output = child.wait_with_output().expect("the program ends");
        let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("what is printed is UTF-8");
        let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
        let shown = || format!("{script} {}\n{stderr}", shorten(args));
        assert_eq!(output.status.signal(), None, "ended by a signal: {}", shown());
        let code = output.status.code().expect("an exit code");
        assert!((0..=2).contains(&code), "exit code {code}: {}", shown());
        for word in ["panicked", "overflowed", "RUST_BACKTRACE", "memory allocation"] {
            assert!(!stderr.contains(word), "{word}: {}", shown());
        }
        let raw = stderr.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
        assert_eq!(raw, None, "a control character reaches the terminal: {}", shown());
        let errors = stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, usize::from(code != 0), "number of errors: {}", shown());
        let made = if code == 0 { made } else { &[] };
        assert_eq!(difference(&before, &self.entries(), made), "", "{}", shown());
        Outcome { stdout, stderr, code }
    }

    /// Everything in the directory, by path.
    fn entries(&self) -> BTreeMap<PathBuf, Entry> {
        let mut all = BTreeMap::new();
        let mut open = vec![self.directory.clone()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(&path).expect("a directory") {
                let entry = entry.expect("an entry");
                let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
                let bytes = if kind.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                all.insert(path.clone(), (format!("{kind:?}"), bytes));
                if kind.is_dir() {
                    open.push(path);
                }
            }
        }
        all
    }
}

impl Outcome {
    /// Holds the run to what is right.
    pub(crate) fn is(&self, right: Right, attack: &str) {
        match right {
            Right::Refused(words) => {
                assert!(self.code != 0, "{attack}: taken, and printed {:?}", self.stdout);
                assert!(self.stderr.contains(words), "{attack}: {}", self.stderr);
            }
            Right::Prints(text) => {
                assert_eq!((self.code, self.stdout.as_str()), (0, text), "{attack}: {}", self.stderr);
            }
        }
    }
}

/// Runs all attacks, and fails afterwards if any of them succeeded.
pub(crate) fn each<T: RefUnwindSafe>(
    attacks: impl IntoIterator<Item = T>,
    attack: impl Fn(&T) + RefUnwindSafe,
) {
    let (mut n, mut lost) = (0, 0);
    for one in attacks {
        n += 1;
        lost += usize::from(catch_unwind(|| attack(&one)).is_err());
    }
    assert_eq!(lost, 0, "of {n} attacks, so many broke a promise: see above");
}

/// Changes of the directory at paths that are not in `made`.
fn difference(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>, made: &[&str]) -> String {
    let mut changes = String::new();
    for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
        let allowed = made.iter().any(|name| path.ends_with(name));
        if before.get(path) != after.get(path) && !allowed {
            writeln!(changes, "changed: {}", path.display()).expect("a string");
        }
    }
    changes
}

/// A command as it is shown, without the middle of long arguments.
fn shorten(args: &[&str]) -> String {
    let short = |arg: &&str| match arg.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &arg[..at]),
        None => (*arg).to_owned(),
    };
    args.iter().map(short).collect::<Vec<_>>().join(" ")
}
