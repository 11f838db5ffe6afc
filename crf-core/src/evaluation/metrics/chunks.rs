use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::error::Result;
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;
use crate::evaluation::metrics::ratio;

metric!(
    /// F1 score of whole chunks in BIO, IOB1 and BIOES labels, as conlleval counts them.
    ///
    /// Positions without a true label are outside of every chunk, true or predicted.
    ChunkF1, "chunk-f1", "chunk_f1", higher = true, |context| {
        let mut right = 0.0;
        let mut found = 0.0;
        let mut wanted = 0.0;
        for i in 0..context.data.len() {
            let (range, shape) = (context.data.range(i), context.data.shape(i));
            let known = &context.data.labels()[range.clone()];
            let name = |n: usize, label: Label| context.data.label_name(shape.kind(n), label);
            let truth = chunks(known.iter().enumerate().map(|(n, y)| y.map_or("O", |y| name(n, y))));
            let guess = context.predicted[range].iter().enumerate();
            let guess = chunks(guess.map(|(n, &y)| if known[n].is_some() { name(n, y) } else { "O" }));
            right += guess.iter().filter(|chunk| truth.contains(chunk)).count() as f64;
            found += guess.len() as f64;
            wanted += truth.len() as f64;
        }
        Ok(ratio(2.0 * right, found + wanted))
    }
);

/// Chunks of one sequence: type, first position, last position.
///
/// The rules are those of conlleval (Tjong Kim Sang 2000): a chunk ends before B, S, O or another
/// type and after E or S; it starts at B or S, and at I or E after O, after E or S, or after
/// another type.
pub fn chunks<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, usize, usize)> {
    let mut chunks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut previous = ("O", "");
    let mut len = 0;
    for (t, label) in labels.into_iter().enumerate() {
        let now = label.split_once('-').unwrap_or((label, ""));
        let ends = matches!(previous.0, "E" | "S") || matches!(now.0, "B" | "S" | "O") || now.1 != previous.1;
        if ends && let Some((kind, start)) = open.take() {
            chunks.push((kind, start, t - 1));
        }
        if now.0 != "O" && open.is_none() {
            open = Some((now.1, t));
        }
        previous = now;
        len = t + 1;
    }
    chunks.extend(open.map(|(kind, start)| (kind, start, len - 1)));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_conlleval() {
        let chunks_of = |text: &'static str| chunks(text.split(' '));
        assert_eq!(chunks_of("B-NP I-NP O B-VP"), [("NP", 0, 1), ("VP", 3, 3)]);
        assert_eq!(chunks_of("I-NP I-NP B-NP I-VP"), [("NP", 0, 1), ("NP", 2, 2), ("VP", 3, 3)]);
        assert_eq!(chunks_of("S-X B-X I-X E-X I-X"), [("X", 0, 0), ("X", 1, 3), ("X", 4, 4)]);
        assert_eq!(chunks_of("O O"), []);
    }
}
