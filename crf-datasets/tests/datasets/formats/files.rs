//! Source `file`, and the real data of the CoNLL-2000 shared task.
use std::path::PathBuf;

use crf_core::{Dataset, Plugin, Seed, Source};
use crf_datasets::Format;

fn source(text: &str) -> Box<dyn Source> {
    let source: Box<dyn Source> = toml::from_str(text).unwrap();
    source.check().unwrap();
    source
}

/// Writes a file that only this test uses.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("crf-datasets-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn all_parts_have_the_schema_of_the_training_file() {
    let train = file("train", "a\tx\nb\ty\n");
    let test = file("test", "c\tx\tz\n");
    let config = format!(
        "type = \"file\"\nformat = \"crfsuite\"\ntrain = {train:?}\nholdout = {test:?}\ntest = {test:?}"
    );
    let splits = source(&config).load(&Seed::new(1)).unwrap();
    let schema = splits.train.schema();
    assert_eq!(schema.labels().names().iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((splits.test.schema(), splits.test.n_foreign()), (schema, 1));
    assert_eq!(splits.holdout.as_ref(), Some(&splits.test));
    std::fs::remove_file(train).unwrap();
    std::fs::remove_file(test).unwrap();
}

#[test]
fn a_missing_file_says_what_to_do() {
    let config = "type = \"file\"\nformat = \"jsonl\"\ntrain = \"/nowhere/f\"\ntest = \"/nowhere/f\"";
    let error = source(config).load(&Seed::new(1)).unwrap_err().to_string();
    let want = "cannot read `/nowhere/f`: No such file or directory (os error 2); set CRF_DATA to the \
                directory that holds the file";
    assert_eq!(error, want);
    let empty: Box<dyn Source> = toml::from_str(&config.replacen("/nowhere/f", "", 1)).unwrap();
    assert_eq!(empty.check().unwrap_err().to_string(), "`train` must be the path of a file, got nothing");
}

#[test]
#[ignore = "needs CRF_DATA"]
fn conll_2000_has_its_known_size() {
    let config = "type = \"file\"\ntrain = \"conll2000/train.txt.gz\"\ntest = \"conll2000/test.txt.gz\"\n\
                  [format]\ntype = \"conll\"\ncolumns = [\"word\", \"pos\"]";
    let splits = source(config).load(&Seed::new(1)).unwrap();
    let size = |data: &Dataset| (data.len(), data.n_positions(), data.n_foreign());
    assert_eq!(size(&splits.train), (8_936, 211_727, 0));
    assert_eq!(splits.train.schema().n_labels(0), 22);
    assert_eq!((splits.test.len(), splits.test.n_positions()), (2_012, 47_377));
}

#[test]
fn formats_survive_a_round_trip_through_toml() {
    let configs = [
        "type = \"crfsuite\"\nlabelled = false\n",
        "type = \"conll\"\ncolumns = [\"a\"]\nlabel = false\nunknown = \"_\"\nseparator = \"tab\"\n\
         skip = []\n",
        "type = \"csv\"\nseparator = \"\\t\"\nsequence = \"s\"\nlabel = \"\"\nsymbolic = [\"b\"]\n\
         ignore = []\n",
        "type = \"jsonl\"\n",
    ];
    for config in configs {
        let format: Box<dyn Format> = toml::from_str(config).unwrap();
        format.check().unwrap();
        assert_eq!(toml::to_string(&format).unwrap(), config);
    }
    let listed = Plugin::all().into_iter().filter(|plugin| plugin.kind == "format");
    let listed: Vec<(&str, bool)> = listed.map(|plugin| (plugin.tag, plugin.summary().len() < 110)).collect();
    assert_eq!(listed, [("conll", true), ("crfsuite", true), ("csv", true), ("jsonl", true)]);
    let error = toml::from_str::<Box<dyn Format>>("type = \"csv\"\nlable = \"x\"").unwrap_err().to_string();
    assert!(error.contains("unknown field `lable`"), "{error}");
}
