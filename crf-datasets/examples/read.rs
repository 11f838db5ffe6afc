//! Reads a file of any format and prints how often each label occurs.
//!
//! `cargo run -p crf-datasets --example read -- FORMAT FILE`, where FORMAT is the tag of a format,
//! or a table with its settings: `crfsuite`, `'{type = "csv", symbolic = ["word"]}'`. FILE may be
//! compressed with gzip; `-` is the standard input.
use std::collections::BTreeMap;
use std::path::Path;

use crf_datasets::Format;

#[allow(clippy::print_stdout, reason = "its only purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [format, file] = args.as_slice() else { return Err("usage: read FORMAT FILE".into()) };
    // A format is a plugin: the tag in `type` chooses it, the other keys are its settings.
    let table = if format.starts_with('{') { format.clone() } else { format!("{{ type = {format:?} }}") };
    let mut config: BTreeMap<String, Box<dyn Format>> =
        toml::from_str(&format!("format = {table}")).map_err(|error| error.to_string())?;
    let format = config.remove("format").ok_or("no format")?;
    format.check()?;

    // Without a schema, labels and symbols are numbered in the order in which the file has them.
    let data = format.read_file(Path::new(file), None)?;
    println!("{} sequences, {} positions", data.len(), data.n_positions());

    // Labels are indices into the alphabet of the schema; `None` is an unknown label.
    let mut counts = vec![0_usize; data.schema().n_labels(0)];
    data.labels().iter().flatten().for_each(|&label| counts[label as usize] += 1);
    for (name, count) in data.schema().labels().names().iter().zip(&counts) {
        println!("{count:>8} {name}");
    }
    println!("{:>8} unknown", data.labels().iter().filter(|label| label.is_none()).count());
    Ok(())
}
