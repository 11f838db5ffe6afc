//! Trains a model on CoNLL data, saves it, loads it again and labels other data:
//! `cargo run -p crf-bench --example train_and_tag -- train.txt test.txt model.crf`.
//!
//! A line of the data is a word, its part of speech and its label; a blank line ends a sentence.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "the labels are its output")]

use crf_bench::{Error, ModelFile, Result, Trainer};
use crf_core::{Features, prototypes::Equals};
use crf_datasets::Conll;
use crf_learn::{Minimisation, Mle};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [train, test, model] = &arguments[..] else {
        return Err(Error::config("arguments", "expected TRAIN TEST MODEL"));
    };
    let format = Conll { columns: vec!["word".into(), "pos".into()], ..Conll::default() };
    Trainer::new(format)
        .features(Features::new().intercept().transition().state(Equals::default()))
        .learner(Mle(Minimisation { l2: 1.0, ..Minimisation::default() }))
        .train_file(train)?
        .save(model.as_ref())?;
    for labels in ModelFile::load(model.as_ref())?.tag_file(test)? {
        println!("{}\n", labels.join("\n"));
    }
    Ok(())
}
