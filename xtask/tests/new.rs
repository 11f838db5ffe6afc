//! New plugins: files that compile, in the rooms of their families, with a test that fails.
#![allow(unreachable_pub, reason = "templates are public where `new` puts them")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

// What `new` writes compiles: these are the files it begins with.
#[path = "../templates/inference.rs"]
mod new_inference;
#[path = "../templates/learner.rs"]
mod new_learner;
#[path = "../templates/selector.rs"]
mod new_selector;
#[path = "../templates/source.rs"]
mod new_source;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The output of a successful `cargo xtask new`, or its error.
fn new(root: &Path, kind: &str, name: &str) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["new", kind, name, "--root"])
        .arg(root)
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn a_new_plugin_begins_in_its_room_with_a_test_that_fails_and_words_of_rust_are_refused() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
    let _ = fs::remove_dir_all(&root);
    for (kind, library, room, taken) in [
        ("learner", "crf-learn", "margin", "perceptron"),
        ("selector", "crf-select", "filters", "relief"),
        ("inference", "crf-inference", "graph/approximate", "gibbs"),
        ("source", "crf-datasets", "generators", "separable"),
    ] {
        let (from, folder) =
            (here("..").join(library).join("src"), root.join(library).join("src").join(room));
        fs::create_dir_all(&folder).expect("a directory");
        for file in ["mod.rs".to_owned(), format!("{taken}.rs")] {
            fs::copy(from.join(room).join(&file), folder.join(&file)).expect("a file");
        }
        let said = new(&root, kind, &format!("{room}/coin-toss")).expect("a new plugin");
        assert!(said.contains(&format!("cargo test -p {library} coin_toss")), "{said}");
        let read = |path: PathBuf| fs::read_to_string(path).expect("a file");
        let made = read(folder.join("coin_toss.rs"));
        let template = read(here("templates").join(format!("{kind}.rs")));
        assert!(
            made.starts_with(&template.replace("NewPlugin", "CoinToss").replace("new-plugin", "coin-toss"))
        );
        assert!(made.contains("panic!(") && !made.contains("NewPlugin"), "{made}");
        let lines = read(folder.join("mod.rs"));
        assert!(lines.contains("\npub(crate) mod coin_toss;\n"), "{lines}");
        assert!(lines.contains("\npub use coin_toss::CoinToss;\n"), "{lines}");
        let refused = |name: &str| new(&root, kind, name).expect_err("a wrong name");
        assert!(refused(&format!("{room}/coin-toss")).contains("is there already"));
        assert!(refused(&format!("{room}/CoinToss")).contains("expected a name in lower case"));
        for word in ["type", "match", "gen"] {
            assert!(refused(&format!("{room}/{word}")).contains("is a word of Rust"));
            assert!(!folder.join(format!("{word}.rs")).exists());
        }
        assert!(refused(&format!("{room}/result")).contains("uses the name `Result` for something else"));
        assert!(refused("coin-toss").contains(&format!("`{room}/coin-toss`")));
        assert!(
            refused(&format!("{room}/{taken}"))
                .trim_end()
                .ends_with(&format!("there is a {kind} `{taken}` already"))
        );
    }
}
