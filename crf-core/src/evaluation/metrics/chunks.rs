use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;
use crate::evaluation::metrics::ratio;

metric!(
    /// F1 score of whole chunks in BIO, IOB1 and BIOES labels, as conlleval counts them.
    ///
    /// Positions without a true label are outside of every chunk, true or predicted. Labels of
    /// which none begins with `B-`, `I-`, `E-` or `S-` make no chunks and are refused.
    ChunkF1, "chunk-f1", "chunk_f1", higher = true, labels = check_labels, |context| {
        check_labels(context.data.schema())?;
        let mut right = 0;
        let mut found = 0;
        let mut wanted = 0;
        for i in 0..context.data.len() {
            let (range, shape) = (context.data.range(i), context.data.shape(i));
            let known = &context.data.labels()[range.clone()];
            let name = |n: usize, label: Label| context.data.label_name(shape.kind(n), label);
            let truth = chunks(known.iter().enumerate().map(|(n, y)| y.map_or("O", |y| name(n, y))));
            let guess = context.predicted[range].iter().enumerate();
            let guess = chunks(guess.map(|(n, &y)| if known[n].is_some() { name(n, y) } else { "O" }));
            right += n_common(&truth, &guess);
            found += guess.len();
            wanted += truth.len();
        }
        Ok(ratio(2.0 * right as f64, (found + wanted) as f64))
    }
);

/// Returns an error if no label is a part of a chunk.
fn check_labels(schema: &Schema) -> Result<()> {
    let labels = || schema.kinds().iter().flat_map(|kind| kind.labels.names().iter());
    // Single letters may mean anything else, such as points of the compass, unless all of them fit.
    let is_bare = labels().all(|label| label == "O" || split(label) != OUTSIDE);
    if labels().any(|label| split(label) != OUTSIDE && (is_bare || label.contains('-'))) {
        return Ok(());
    }
    let example = labels().next().unwrap_or_default();
    Err(Error::data(format!(
        "`chunk-f1` needs labels of chunks such as `B-x`, `I-x` and `O`, got labels such as `{example}`; \
         `macro-f1` counts positions"
    )))
}

/// Number of chunks that two lists have in common; both are in the order of positions.
fn n_common(some: &[Chunk<'_>], others: &[Chunk<'_>]) -> usize {
    let mut others = others.iter().peekable();
    let mut n = 0;
    for chunk in some {
        while others.next_if(|other| other.1 < chunk.1).is_some() {}
        n += usize::from(others.next_if_eq(&chunk).is_some());
    }
    n
}

/// Chunk of a sequence: type, first position, last position.
pub type Chunk<'a> = (&'a str, usize, usize);

/// Parts of a label that is outside of every chunk.
const OUTSIDE: (&str, &str) = ("O", "");

/// Prefix and type of a label; a label with another prefix than B, I, E and S is outside of chunks.
fn split(label: &str) -> (&str, &str) {
    let parts = label.split_once('-').unwrap_or((label, ""));
    if matches!(parts.0, "B" | "I" | "E" | "S") { parts } else { OUTSIDE }
}

/// Chunks of one sequence in the order of positions.
///
/// The rules are those of conlleval (Tjong Kim Sang 2000): a chunk ends before B, O or another type
/// and after E; it starts at B, and at I or E after O, after E, or after another type. Deviations,
/// as in its ports: S is a chunk of a single position, and B starts a chunk after E of its type.
/// Other labels are outside of chunks.
pub fn chunks<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<Chunk<'a>> {
    let mut chunks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut previous = OUTSIDE;
    let mut len = 0;
    for (t, label) in labels.into_iter().enumerate() {
        let now = split(label);
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
    use crf_testing::cases;
    use proptest::prelude::*;

    #[test]
    fn chunks_follow_conlleval() {
        let chunks_of = |text: &'static str| chunks(text.split(' '));
        assert_eq!(chunks_of("B-NP I-NP O B-VP"), [("NP", 0, 1), ("VP", 3, 3)]);
        assert_eq!(chunks_of("I-NP I-NP B-NP I-VP"), [("NP", 0, 1), ("NP", 2, 2), ("VP", 3, 3)]);
        assert_eq!(chunks_of("S-X B-X I-X E-X I-X"), [("X", 0, 0), ("X", 1, 3), ("X", 4, 4)]);
        assert_eq!(chunks_of("O O"), []);
    }

    #[test]
    fn labels_that_are_no_chunk_labels_make_no_chunks() {
        assert_eq!(chunks("a b b U-turn N-X".split(' ')), []);
        assert_eq!(chunks("B-X a I-X".split(' ')), [("X", 0, 0), ("X", 2, 2)]);
    }

    /// Chunks by the two tables of conlleval, for the start and for the end of a chunk.
    fn conlleval(labels: &[&str]) -> Vec<(String, usize, usize)> {
        let mut found = Vec::new();
        let (mut before, mut type_before) = ("O".to_owned(), String::new());
        let mut begin = None;
        for (t, label) in labels.iter().copied().chain(["O"]).enumerate() {
            let (tag, kind) = match label.find('-') {
                Some(at) => (label[..at].to_owned(), label[at + 1..].to_owned()),
                None => (label.to_owned(), String::new()),
            };
            let pair = (before.as_str(), tag.as_str());
            let end = matches!(
                pair,
                ("B", "B") | ("B", "O") | ("I", "B") | ("I", "O") | ("E", "E") | ("E", "I") | ("E", "O")
            ) || (before != "O" && before != "." && type_before != kind)
                || pair == ("E", "B");
            let start = matches!(
                pair,
                ("B", "B")
                    | ("I", "B")
                    | ("O", "B")
                    | ("O", "I")
                    | ("E", "E")
                    | ("E", "I")
                    | ("O", "E")
                    | ("E", "B")
            ) || (tag != "O" && tag != "." && type_before != kind);
            if end && let Some(begin) = begin.take() {
                found.push((type_before.clone(), begin, t - 1));
            }
            if start {
                begin = Some(t);
            }
            (before, type_before) = (tag, kind);
        }
        found
    }

    proptest! {
        #![proptest_config(cases(512))]

        #[test]
        fn chunks_equal_those_of_conlleval(labels in prop::collection::vec(prop_oneof![
            Just("O"), Just("B-X"), Just("I-X"), Just("E-X"), Just("B-Y"), Just("I-Y"), Just("E-Y"),
            Just("B"), Just("I"), Just("B-a-b"), Just("I-a-b")], 0..12)) {
            let ours = chunks(labels.iter().copied());
            let ours: Vec<_> = ours.into_iter().map(|(kind, start, end)| (kind.to_owned(), start, end)).collect();
            prop_assert_eq!(ours, conlleval(&labels));
        }

        #[test]
        fn chunks_in_common_are_those_found_by_comparing_all(
            some in prop::collection::vec(prop_oneof![Just("O"), Just("B-X"), Just("I-X"), Just("B-Y")], 0..12),
            others in prop::collection::vec(prop_oneof![Just("O"), Just("B-X"), Just("I-X"), Just("B-Y")], 0..12),
        ) {
            let (some, others) = (chunks(some), chunks(others));
            let want = some.iter().filter(|chunk| others.contains(chunk)).count();
            prop_assert_eq!(n_common(&some, &others), want);
        }
    }
}
