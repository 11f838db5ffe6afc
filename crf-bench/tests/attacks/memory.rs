//! Little memory, and inputs that ask for much: an error with a number, or an answer, never an
//! abort.

use std::fmt::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

use crate::harness::{Place, each};

/// Kilobytes that most attacks may reserve: the program itself needs a part of them.
const KILOBYTES: u64 = 1_000_000;

/// Commands that need more than there is, and words of the error. An empty word is for a command
/// that has to answer.
const COMMANDS: &[(&str, &str)] = &[
    ("train --format crfsuite --data labels-20000 --model new.crf", "memory"),
    ("train --format crfsuite --data labels-70000 --model new.crf", "labels"),
    (
        "train --format crfsuite --data labels-70000 --model new.crf --features [{state=\"attributes\",pairs=\"observed\"}]",
        "labels",
    ),
    ("train --format crfsuite --data labels-20000 --model new.crf --learner perceptron", "memory"),
    ("train --format crfsuite --data labels-20000 --model new.crf --learner hmm", "memory"),
    (
        "train --format crfsuite --data d --model new.crf --learner {type=\"neural-chain\",hidden=[65536,65536]}",
        "memory",
    ),
    (
        "train --format crfsuite --data d --model new.crf --learner {type=\"mle\",optimizer={type=\"lbfgs\",memory=4000000000}}",
        "memory",
    ),
    (
        "train --format crfsuite --data d --model new.crf --learner {type=\"mle\",optimizer={type=\"owl-qn\",memory=4000000000}}",
        "memory",
    ),
    (
        "train --format csv --data wide.csv --model new.crf --features [{state={type=\"conjunction\",of=[\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\",\"value\"]}}]",
        "",
    ),
    ("train --format csv --data wide.csv --model new.crf --features LAGS", ""),
    (
        "train --format csv --data wide.csv --model new.crf --features NESTED",
        "more than 16 plugins within each other",
    ),
    ("train --format crfsuite --data d --model new.crf --threads 1000000000", "threads"),
    ("infer --with junction-tree complete.jsonl", "memory"),
    ("infer --with enumeration complete.jsonl", "labellings"),
    ("infer huge-cards.jsonl", "cards"),
    ("tag --model m.crf --nbest 100000000 long", "memory"),
    ("tag --model m.crf zeros.gz", "line"),
    ("train --format csv --data zeros.gz --model new.crf", "line"),
    ("train --format jsonl --data zeros.gz --model new.crf", "line"),
    ("train --format conll --data zeros.gz --model new.crf", "line"),
    ("experiment big.toml --out o", "at most"),
];

#[test]
fn memory_that_is_not_there_is_said_and_not_taken() {
    let place = Place::new("memory");
    place.write("d", "A\ta:1\tb:2\nB\tb:0.5\n\nA\tc\n");
    let train = "train --format crfsuite --data d --model m.crf --set learner.l2=1";
    assert_eq!(place.run(&train.split(' ').collect::<Vec<_>>(), &["m.crf"]).code, 0);
    for n in [20_000, 70_000] {
        let mut text = String::new();
        (0..n).for_each(|i| write!(text, "L{i}\ta{}\n\n", i % 10).expect("a string"));
        place.write(&format!("labels-{n}"), text);
    }
    place.write("long", "A\ta\nB\tb\n".repeat(1000));
    place.write("wide.csv", "x,y,label\n1,2,a\n2,1,b\n3,1,a\n1,3,b\n2,2,a\n");
    place.write("complete.jsonl", complete(40, 10));
    place.write("huge-cards.jsonl", "{\"cards\":[4294967296],\"node\":[[0]]}\n");
    let experiment = include_str!("../copies.toml")
        .replace("\"dataset.copies\" = [1, 2]", "\"dataset.copies\" = [4000000000]");
    place.write(
        "big.toml",
        experiment.replace("at = { \"dataset.copies\" = 1 }", "at = { \"dataset.copies\" = 4000000000 }"),
    );
    let mut zeros = GzEncoder::new(Vec::new(), Compression::best());
    (0..2000).for_each(|_| zeros.write_all(&[b'0'; 1 << 20]).expect("a buffer"));
    place.write("zeros.gz", zeros.finish().expect("a buffer"));
    // Doubles the functions twenty times, and nests sixty times.
    let lag = |by: &str, depth| {
        (0..depth).fold("\"value\"".to_owned(), |of, _| format!("{{type=\"lag\",by={by},of={of}}}"))
    };
    let (lags, nested) =
        (format!("[{{state={}}}]", lag("[1,2]", 20)), format!("[{{state={}}}]", lag("[1]", 60)));
    each(COMMANDS, |(line, word)| {
        let words = line.split(' ').map(|word| match word {
            "LAGS" => lags.as_str(),
            "NESTED" => nested.as_str(),
            word => word,
        });
        let outcome = place.run_within(&words.collect::<Vec<_>>(), &[], KILOBYTES, b"");
        assert!(outcome.code != 0 && outcome.stderr.contains(word), "{line}: {outcome:?}");
    });
}

/// A graph in which every node is tied to every other.
fn complete(n: usize, n_labels: usize) -> String {
    let row = |x: &str, n: usize| format!("[{}]", vec![x; n].join(","));
    let table = row(&row("0", n_labels), n_labels);
    let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let edges: Vec<String> =
        pairs.map(|(u, v)| format!("{{\"u\":{u},\"v\":{v},\"table\":{table}}}")).collect();
    let (cards, node) = (row(&n_labels.to_string(), n), row(&row("0", n_labels), n));
    format!("{{\"cards\":{cards},\"node\":{node},\"edges\":[{}]}}\n", edges.join(","))
}
