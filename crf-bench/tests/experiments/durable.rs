//! A run that ends early, or whose file changes, goes on with what is finished; parts of it join to
//! the same bytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::command::crf;
use crate::common::EXPERIMENT;

/// A place with an experiment in it, whose cells are 2 methods × 4 points × 3 trials.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("durable-{name}"));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("a directory");
        fs::write(place.join("exp.toml"), EXPERIMENT).expect("a file");
        Place(place)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Runs the experiment into a directory of this place.
    fn run(&self, out: &str, options: &[&str]) -> Result<String, String> {
        let (file, out) = (self.path("exp.toml"), self.path(out));
        crf(&[&["experiment", file.as_str(), "--out", out.as_str()], options].concat())
    }

    /// The files that must be the same however a run came about.
    fn bytes(&self, run: &str) -> [Vec<u8>; 4] {
        let read =
            |name| fs::read(self.0.join(run).join(name)).unwrap_or_else(|e| panic!("{run}/{name}: {e}"));
        ["results.jsonl", "results.csv", "figure.svg", "config.toml"].map(read)
    }
}

#[test]
fn a_run_goes_on_where_its_journal_ends() {
    let place = Place::new("resume");
    assert!(!place.run("whole", &[]).expect("a run").contains("reuses"));
    let journal = fs::read(place.0.join("whole/journal")).expect("a journal");
    for (part, length) in [0, 20, journal.len() / 3, journal.len() * 4 / 5].into_iter().enumerate() {
        let run = format!("part-{part}");
        fs::create_dir(place.0.join(&run)).expect("a directory");
        fs::write(place.0.join(&run).join("journal"), &journal[..length]).expect("a journal");
        fs::write(place.0.join(&run).join(".results.jsonl.77"), "half a fi").expect("a draft");
        let said = place.run(&run, &["--threads", "2"]).expect("a run");
        assert_eq!(said.contains("reuses"), length > 20, "{said}");
        assert_eq!(place.bytes(&run), place.bytes("whole"));
        assert!(!place.0.join(&run).join(".results.jsonl.77").exists(), "drafts are swept away");
    }
    let said = place.run("whole", &[]).expect("a run");
    assert!(said.starts_with(&format!("reuses 24 of 24 cells in {}\n", place.path("whole"))), "{said}");
    assert!(!place.run("whole", &["--fresh"]).expect("a run").contains("reuses"));
}

#[test]
fn a_change_reruns_only_the_cells_it_concerns() {
    let place = Place::new("change");
    place.run("run", &[]).expect("a run");
    for (change, reused) in [
        ("title=\"Another\"", "24 of 24"),
        ("trials=5", "24 of 40"),
        ("methods.One.learner.spread=3", "12 of 24"),
        ("sweep.\"dataset.noise\"=[0.0, 0.25]", "12 of 24"),
        ("sweep.\"dataset.noise\"=[0.5]", "12 of 12"),
    ] {
        let said = place.run("run", &["--set", change]).expect("a run");
        assert!(said.starts_with(&format!("reuses {reused} cells")), "{change}: {said}");
        let fresh = change.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        place.run(&fresh, &["--set", change]).expect("a run");
        assert_eq!(place.bytes("run"), place.bytes(&fresh), "{change}");
    }
    for change in ["seed=8", "metrics=[\"accuracy\"]", "dataset.length=21"] {
        let other = ["--set", change, "--set", "claims=[]", "--set", "figure={}"];
        let said = place.run("run", &other).expect("a run");
        assert!(!said.contains("reuses"), "{change}: {said}");
    }
}

#[test]
fn parts_join_to_the_bytes_of_one_run() {
    let place = Place::new("parts");
    place.run("whole", &[]).expect("a run");
    let parts = ["1/3", "2/3", "3/3"].map(|shard| {
        let out = format!("part-{}", &shard[..1]);
        let said = place.run(&out, &["--shard", shard]).expect("a part");
        assert!(said.contains(" of 24 cells are in "), "{said}");
        assert!(!place.0.join(&out).join("results.jsonl").exists(), "a part has no report");
        place.path(&out)
    });
    let file = place.path("exp.toml");
    let merge = |parts: &[String], out: &str| {
        let out = place.path(out);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        crf(&[&["merge", file.as_str()], &parts[..], &["--out", out.as_str()]].concat())
    };
    let error = merge(&parts[1..], "merged").expect_err("a part is missing");
    let missing = "method One, dataset.noise = 0.0, methods.Two.learner.spread = 0.5, trial 1";
    assert!(
        error.ends_with(&format!("the parts have 16 of 24 cells; the first missing one is {missing}")),
        "{error}"
    );
    let said = merge(&parts, "merged").expect("all parts");
    assert!(said.contains("guesses do not improve"), "{said}");
    assert_eq!(place.bytes("merged"), place.bytes("whole"));

    let journal = place.0.join("part-2/journal");
    let mut bytes = fs::read(&journal).expect("a journal");
    bytes[10] ^= 1;
    fs::write(&journal, bytes).expect("a journal");
    let error = merge(&parts, "mixed").expect_err("two programs");
    assert!(error.ends_with(&format!("made by another build of the program than {}", parts[0])), "{error}");
}

#[test]
fn a_refused_merge_leaves_the_run_in_its_place_whole() {
    let place = Place::new("refused-merge");
    place.run("whole", &[]).expect("a run");
    place.run("part", &["--shard", "1/2"]).expect("a part");
    // Both as if another build had made the part.
    let journal = place.0.join("part/journal");
    let mut bytes = fs::read(&journal).expect("a journal");
    bytes[10] ^= 1;
    fs::write(&journal, bytes).expect("a journal");
    let before = fs::read(place.0.join("whole/journal")).expect("a journal");
    let (file, part, out) = (place.path("exp.toml"), place.path("part"), place.path("whole"));
    let error = crf(&["merge", &file, &part, "--out", &out]).expect_err("half of the cells");
    assert!(error.contains("the parts have 12 of 24 cells"), "{error}");
    assert_eq!(fs::read(place.0.join("whole/journal")).expect("a journal"), before);
    assert!(place.run("whole", &[]).expect("a run").starts_with("reuses 24 of 24 cells"));
}

#[test]
fn a_run_leaves_alone_what_is_not_its_own() {
    let place = Place::new("foreign");
    place.run("run", &[]).expect("a run");
    let run = place.0.join("run");
    let own = [".gitignore", ".env", ".results.jsonl.backup", ".notes.12", "notes.txt"];
    own.iter().for_each(|name| fs::write(run.join(name), "mine").expect("a file"));
    fs::create_dir(run.join(".ipynb_checkpoints")).expect("a directory");
    fs::create_dir(run.join(".results.csv.7")).expect("a directory");
    fs::write(run.join(".results.csv.8"), "half a fi").expect("a draft");
    place.run("run", &[]).expect("a run");
    for name in own {
        assert_eq!(fs::read(run.join(name)).expect(name), b"mine", "{name}");
    }
    assert!(run.join(".ipynb_checkpoints").is_dir() && run.join(".results.csv.7").is_dir());
    assert!(!run.join(".results.csv.8").exists());
}

#[test]
fn a_directory_with_a_file_called_journal_is_no_run() {
    let place = Place::new("diary");
    for (name, file) in [("diary", "journal"), ("other", "results.jsonl")] {
        let directory = place.0.join(name);
        fs::create_dir(&directory).expect("a directory");
        fs::write(directory.join(file), "my diary").expect("a file");
        let error = place.run(name, &[]).expect_err("no run");
        assert!(error.ends_with("the directory holds something else than a run's results"), "{error}");
        assert_eq!(fs::read(directory.join(file)).expect("a file"), b"my diary");
        assert_eq!(fs::read_dir(&directory).expect("a directory").count(), 1);
    }
}

#[test]
fn two_processes_cannot_write_one_run() {
    let place = Place::new("lock");
    place.run("run", &[]).expect("a run");
    let journal = File::open(place.0.join("run/journal")).expect("a journal");
    journal.lock().expect("a lock");
    let error = place.run("run", &[]).expect_err("a locked run");
    assert!(error.contains("run/journal: another process is writing this run"), "{error}");
    drop(journal);
    place.run("run", &[]).expect("a run");
}

#[test]
fn all_experiments_of_a_directory_run_and_those_without_data_are_named() {
    let place = Place::new("reproduce");
    let directory = place.0.join("experiments");
    fs::create_dir_all(directory.join("more")).expect("a directory");
    fs::write(directory.join("small.toml"), EXPERIMENT).expect("a file");
    fs::write(
        directory.join("more/large.toml"),
        EXPERIMENT.replace("noise = 0.1", "noise = 0.1\nlength = 2000"),
    )
    .expect("a file");
    let absent = r#"type = "ocr"
file = "/nowhere/letters.tsv.gz""#;
    let absent = EXPERIMENT.replace("type = \"noisy-copies\"\nnoise = 0.1", absent);
    let absent = absent.replace("\"dataset.noise\" = [0.0, 0.5]", "\"dataset.train\" = [[0], [1]]");
    let (absent, _) = absent.split_once("[figure]").expect("a figure");
    fs::write(directory.join("absent.toml"), absent).expect("a file");
    let (experiments, out) = (place.path("experiments"), place.path("results"));
    let reproduce = || crf(&["reproduce", &experiments, "--out", &out]).expect("all runs");
    let said = reproduce();
    let order = [
        "small/index.html",
        "1 of 2 experiments are done, about",
        "more/large/index.html",
        "2 of 2 experiments",
    ];
    let places: Vec<_> = order.iter().map(|words| said.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {said}");
    assert!(said.contains("absent.toml: dataset, ") && said.contains("/nowhere/letters.tsv.gz"), "{said}");
    assert_eq!(reproduce().matches("reuses 24 of 24 cells").count(), 2);
}
