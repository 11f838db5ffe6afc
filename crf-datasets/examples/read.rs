//! Reads a file and says how long it took: `read FORMAT FILE`, where FORMAT is a tag.
use std::path::Path;
use std::time::Instant;

use crf_datasets::Format;

#[allow(clippy::print_stdout, reason = "its only purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [format, file] = args.as_slice() else { return Err("usage: read FORMAT FILE".into()) };
    let format: Box<dyn Format> = toml::from_str(&format!("type = {format:?}"))?;
    for _ in 0..3 {
        let began = Instant::now();
        let data = format.read_file(Path::new(file), None)?;
        let seconds = began.elapsed().as_secs_f64();
        let symbols = data.schema().channels().iter().filter_map(|channel| channel.kind.alphabet());
        let symbols: usize = symbols.map(|alphabet| alphabet.len()).sum();
        let (sequences, positions, labels) = (data.len(), data.n_positions(), data.schema().n_labels(0));
        println!(
            "{seconds:.3} s: {sequences} sequences, {positions} positions, {labels} labels, {symbols} symbols"
        );
    }
    Ok(())
}
