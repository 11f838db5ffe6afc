//! Reading and writing of formats: round trips, batches, gzip, data without labels, unknown labels
//! and symbols.
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::common::{at, batches, exact, named, names, read, write};
use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Schema, Value};
use crf_datasets::{Conll, Crfsuite, Csv, Format, Jsonl, Separator, Text, open};
use crf_testing::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Position of generated data: its label, its symbols or attributes, and their values.
type Position = (Option<String>, Vec<(String, f64)>);

/// Any finite number: both zeros, the largest, the smallest and what lies between.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(1.0),
        Just(-1.0),
        Just(0.1),
        Just(0.0),
        Just(-0.0),
        Just(f64::MAX),
        Just(1e300),
        Just(5e-324),
        Just(f64::MIN_POSITIVE),
        any::<f64>().prop_filter("finite", |x| x.is_finite()),
    ]
}

/// Labels that every format can hold.
const LABELS: &str = "[a:\\\\=é日@#\"',{]{1,5}";
/// Labels that formats can hold whose fields may hold spaces.
const LABELS_WITH_SPACES: &str = "[a:\\\\=é日@#\"',;{]{1,2}([ a:\\\\]{0,3}[a\"=日])?";

fn sequences(
    names: impl Strategy<Value = String> + Clone,
    labels: impl Strategy<Value = String>,
    most: usize,
) -> impl Strategy<Value = Vec<(f64, Vec<Position>)>> {
    let position = (option::of(labels), vec((names, value()), 0..most));
    let weight = prop_oneof![Just(1.0), Just(0.0), Just(5e-324), Just(1e300), 0.0..9.0];
    vec((weight, vec(position, 1..5)), 1..5)
}

/// Any text, of which the characters that formats treat in their own way are a large part.
fn any_text(most: usize) -> impl Strategy<Value = String> + Clone {
    const SPECIAL: &[char] = &[
        'a',
        ':',
        '\\',
        ' ',
        '=',
        '@',
        '#',
        '"',
        '\'',
        ',',
        ';',
        '{',
        '[',
        '\t',
        '\n',
        '\r',
        '\0',
        '\u{b}',
        '\u{1b}',
        '\u{85}',
        '\u{a0}',
        '\u{2028}',
        '\u{3000}',
        '\u{feff}',
        '\u{10ffff}',
    ];
    let one = prop_oneof![4 => prop::sample::select(SPECIAL), 1 => any::<char>()];
    vec(one, 0..=most).prop_map(String::from_iter)
}

/// Generated data as bags.
fn bags(sequences: &[(f64, Vec<Position>)]) -> Dataset {
    let channel = Channel { name: "attributes".into(), kind: ChannelKind::Bag(Alphabet::default()) };
    let mut data = DatasetBuilder::growing(vec![channel]).unwrap();
    for (weight, positions) in sequences {
        for (label, attributes) in positions {
            let label = label.as_ref().map(|label| data.label(label));
            // Values of a repeated attribute add up, and not every sum is finite.
            let bag: BTreeMap<&str, f64> = attributes.iter().map(|(name, x)| (name.as_str(), *x)).collect();
            let bag: Vec<(u32, f64)> = bag.into_iter().map(|(name, x)| (data.symbol(0, name), x)).collect();
            data.push(&[Value::Bag(&bag)], label).unwrap();
        }
        data.end_chain().unwrap();
        data.weigh_last(*weight).unwrap();
    }
    data.finish()
}

/// Generated data as two channels of symbols and, with `numbers`, one of numbers.
fn columns(sequences: &[(f64, Vec<Position>)], numbers: bool) -> Dataset {
    let symbols = |name: &str| Channel { name: name.into(), kind: ChannelKind::Symbol(Alphabet::default()) };
    let mut channels = vec![symbols("word"), symbols("pos")];
    channels.extend(numbers.then(|| Channel { name: "size".into(), kind: ChannelKind::Real }));
    let mut data = DatasetBuilder::growing(channels).unwrap();
    for (_, positions) in sequences {
        for (label, attributes) in positions {
            let label = label.as_ref().map(|label| data.label(label));
            let (word, x) = attributes.first().map_or(("none", 1.0), |(name, x)| (name.as_str(), *x));
            let pos = attributes.last().map_or("none", |(name, _)| name.as_str());
            let mut values = vec![Value::Symbol(data.symbol(0, word)), Value::Symbol(data.symbol(1, pos))];
            values.extend(numbers.then_some(Value::Real(x)));
            data.push(&values, label).unwrap();
        }
        data.end_chain().unwrap();
    }
    data.finish()
}

/// Writes and reads twice: names, the bits of all numbers and the text must stay the same.
fn round_trip(format: &dyn Format, data: &Dataset) -> Result<(), TestCaseError> {
    held(format, data, &write(format, data).map_err(TestCaseError::fail)?)
}

/// What is written of the data is read as the same data: whole, in batches and in chunks.
fn held(format: &dyn Format, data: &Dataset, text: &str) -> Result<(), TestCaseError> {
    let again = read(format, text).map_err(TestCaseError::fail)?;
    prop_assert_eq!(exact(data), exact(&again), "{:?}", text);
    prop_assert_eq!(&write(format, &again).map_err(TestCaseError::fail)?, text);
    let crlf = read(format, text.replace('\n', "\r\n")).map_err(TestCaseError::fail)?;
    prop_assert_eq!(exact(&crlf), exact(&again));
    let (batch, schema) = (2, again.schema());
    let all = batches(format, text.as_bytes(), Some(schema), batch).map_err(TestCaseError::fail)?;
    let parts: Vec<_> = all.iter().flat_map(exact).collect();
    prop_assert_eq!(parts, exact(&again));
    prop_assert!(all.iter().all(|part| part.schema() == schema && part.n_foreign() == 0));
    let (all, message) = pieces(format, text, schema, batch);
    prop_assert_eq!((all.iter().flat_map(exact).collect::<Vec<_>>(), message), (exact(&again), None));
    Ok(())
}

/// Data are written and read back, or refused.
fn held_or_refused(format: &dyn Format, data: &Dataset) -> Result<(), TestCaseError> {
    match write(format, data) {
        Ok(text) => held(format, data, &text),
        Err(error) => {
            prop_assert!(error.contains("cannot hold"), "{}", error);
            Ok(())
        }
    }
}

/// The formats that hold bags of attributes.
fn of_bags() -> Vec<Box<dyn Format>> {
    vec![Box::new(Jsonl {}), Box::new(Crfsuite::default())]
}

/// The formats that hold two columns of symbols.
fn of_symbols() -> Vec<Box<dyn Format>> {
    let names = vec!["word".to_owned(), "pos".to_owned()];
    let conll = Conll { unknown: "_".into(), columns: names.clone(), ..Default::default() };
    vec![
        Box::new(Conll { separator: Separator::Tab, ..conll.clone() }),
        Box::new(conll),
        Box::new(Csv { sequence: Some("sentence".into()), symbolic: names, ..Default::default() }),
    ]
}

/// What one format can hold can be converted to every other one, or is refused; what was converted
/// is the same.
fn converted(formats: &[Box<dyn Format>], data: &Dataset) -> Result<(), TestCaseError> {
    for from in formats {
        let Ok(text) = write(&**from, data) else { continue };
        let data = read(&**from, text).map_err(TestCaseError::fail)?;
        for to in formats {
            held_or_refused(&**to, &data)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn crfsuite_gives_back_what_it_wrote(
        all in sequences("[a:\\\\ =é日@#\"',{]{1,5}", LABELS_WITH_SPACES, 4),
    ) {
        round_trip(&Crfsuite::default(), &bags(&all))?;
    }

    #[test]
    fn crfsuite_without_labels_gives_back_what_it_wrote(
        all in sequences("[a:\\\\ =é日@#\"',{]{1,5}", LABELS, 4),
    ) {
        let mut all = all;
        all.iter_mut().flat_map(|(_, positions)| positions).for_each(|position| position.0 = None);
        held_or_refused(&Crfsuite { labelled: false }, &bags(&all))?;
    }

    #[test]
    fn jsonl_gives_back_what_it_wrote(all in sequences(any_text(5), LABELS_WITH_SPACES, 4)) {
        round_trip(&Jsonl {}, &bags(&all))?;
    }

    #[test]
    fn conll_gives_back_what_it_wrote(all in sequences("[a:\\\\=é日@#\"',{]{1,5}", LABELS, 4)) {
        let data = columns(&all, false);
        for format in &of_symbols()[..2] {
            round_trip(&**format, &data)?;
        }
    }

    #[test]
    fn conll_with_tabs_may_hold_spaces_and_nothing(
        all in sequences("[a:\\\\ =é]{0,3}", LABELS_WITH_SPACES, 3),
    ) {
        let columns_ = vec!["word".to_owned(), "pos".to_owned()];
        let format = Conll { columns: columns_, separator: Separator::Tab, ..Default::default() };
        round_trip(&format, &columns(&all, false))?;
    }

    #[test]
    fn csv_gives_back_what_it_wrote(
        all in sequences("[a:\\\\ =é日@#\"',;{\t\n]{0,5}", LABELS_WITH_SPACES, 4),
        separator in "[,;\t]",
    ) {
        let format = Csv {
            separator: separator.chars().next().unwrap(),
            sequence: Some("sentence".into()),
            symbolic: vec!["word".into(), "pos".into()],
            ..Default::default()
        };
        round_trip(&format, &columns(&all, true))?;
    }

    #[test]
    fn any_names_and_numbers_are_held_or_refused(all in sequences(any_text(3), any_text(2), 4)) {
        for format in of_bags() {
            held_or_refused(&*format, &bags(&all))?;
        }
        for format in of_symbols() {
            held_or_refused(&*format, &columns(&all, false))?;
        }
        let numbers = Csv { separator: ' ', symbolic: vec!["word".into(), "pos".into()], ..Default::default() };
        held_or_refused(&numbers, &columns(&all[..1], true))?;
    }

    #[test]
    fn formats_convert_into_each_other_without_a_loss(all in sequences(any_text(2), LABELS_WITH_SPACES, 4)) {
        converted(&of_bags(), &bags(&all))?;
        converted(&of_symbols(), &columns(&all, false))?;
    }

    #[test]
    fn chunks_of_any_text_are_what_the_whole_is(
        text in "([ab:@,\"\t ]{0,3}(\n|\r\n|\n\n)){0,8}[ab\t ]{0,2}",
        batch in 1..6_usize,
    ) {
        let tabs = Conll { separator: Separator::Tab, label: false, ..Default::default() };
        let formats: [&dyn Format; 5] =
            [&Crfsuite::default(), &Crfsuite { labelled: false }, &Conll::default(), &tabs, &Jsonl {}];
        for format in formats {
            let Ok(whole) = read(format, &text) else { continue };
            let (parts, message) = pieces(format, &text, whole.schema(), batch);
            prop_assert_eq!(message, None);
            let parts: Vec<_> = parts.iter().flat_map(exact).collect();
            prop_assert_eq!(parts, exact(&whole), "{:?}", format);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in vec(any::<u8>(), 0..60)) {
        for format in [&Crfsuite::default() as &dyn Format, &Conll::default(), &Csv::default(), &Jsonl {}] {
            let _ = read(format, &text);
        }
    }

    #[test]
    fn no_line_of_separators_makes_a_reader_panic(text in "[a@:\\\\ \t\n\r\",{}\\[\\]1]{0,40}") {
        for format in [&Crfsuite::default() as &dyn Format, &Conll::default(), &Csv::default(), &Jsonl {}] {
            let _ = read(format, &text);
        }
    }
}

#[test]
fn crfsuite_lines_are_labels_and_attributes() {
    let text = "B-NP\tw=the\tlen:3\n\ta\\:b\\\\:-2.5\tc\\/d\nO\n\n\n@weight:2.5\nx:y\tthe same\n";
    let want = vec![
        (
            1.0,
            vec![
                at("B-NP", &[("w=the", 1.0), ("len", 3.0)]),
                at("", &[("a:b\\", -2.5), ("c\\/d", 1.0)]),
                at("O", &[]),
            ],
        ),
        (2.5, vec![at("x:y", &[("the same", 1.0)])]),
    ];
    assert_eq!(names(&Crfsuite::default(), text), want);
    // Line ends, a byte order mark and the end of the last line change nothing.
    let crlf = format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"));
    assert_eq!(names(&Crfsuite::default(), crlf), want);
}

#[test]
fn crfsuite_lines_without_labels_are_attributes() {
    let want = vec![(1.0, vec![at("", &[("a", 1.0), ("b", 2.0)]), at("", &[]), at("", &[("c", 1.0)])])];
    assert_eq!(names(&Crfsuite { labelled: false }, "a\tb:2\n\t\nc\t\n"), want);
}

#[test]
fn an_attribute_that_comes_twice_counts_twice() {
    let want = vec![(1.0, vec![at("x", &[("a", 4.0)])])];
    assert_eq!(names(&Crfsuite::default(), "x\ta\ta\ta:2\n"), want);
    assert_eq!(names(&Jsonl {}, r#"{"x": [{"a": 1, "a": 3}], "y": ["x"]}"#), want);
    assert_eq!(
        write(&Jsonl {}, &read(&Crfsuite::default(), "x\ta\ta\ta:2\n").unwrap()).unwrap(),
        "{\"x\":[{\"a\":4.0}],\"y\":[\"x\"]}\n"
    );
}

#[test]
fn conll_columns_are_channels_with_the_given_names() {
    let text = "-DOCSTART- -X- O\n\nthe  DT\tO\n dog NN B \n\t\n \nbarks VB O";
    let format = Conll { columns: vec!["word".into(), "pos".into()], ..Default::default() };
    let want = vec![
        (
            1.0,
            vec![
                at("O", &[("word=the", 1.0), ("pos=DT", 1.0)]),
                at("B", &[("word=dog", 1.0), ("pos=NN", 1.0)]),
            ],
        ),
        (1.0, vec![at("O", &[("word=barks", 1.0), ("pos=VB", 1.0)])]),
    ];
    assert_eq!(names(&format, text), want);
    let unlabelled = Conll { label: false, skip: vec![], ..Default::default() };
    let want = vec![(1.0, vec![at("", &[("column1=-DOCSTART-", 1.0), ("column2=x", 1.0)])])];
    assert_eq!(names(&unlabelled, "-DOCSTART- x\n"), want);
}

#[test]
fn conll_takes_the_names_of_columns_from_the_schema() {
    let format = Conll { columns: vec!["word".into(), "pos".into()], ..Default::default() };
    let train = read(&format, "the DT O\n").unwrap();
    let all = batches(&Conll::default(), b"the DT O\n", Some(train.schema()), 1).unwrap();
    assert_eq!(all, [train]);
}

#[test]
fn csv_columns_are_found_by_name() {
    let format = Csv {
        sequence: Some("day".into()),
        symbolic: vec!["sky".into()],
        ignore: vec!["note".into()],
        ..Default::default()
    };
    let text =
        "\u{feff}day,label,sky,note,heat\r\n1,a,blue,?,3\r\n1,,\"grey, dark\",,-1e3\r\n\r\n2,b,blue,,4";
    let train = read(&format, text).unwrap();
    let want = vec![
        (
            1.0,
            vec![
                at("a", &[("heat", 3.0), ("sky=blue", 1.0)]),
                at("", &[("heat", -1e3), ("sky=grey, dark", 1.0)]),
            ],
        ),
        (1.0, vec![at("b", &[("heat", 4.0), ("sky=blue", 1.0)])]),
    ];
    assert_eq!(named(&train), want);
    let other = "heat;sky;label;day\n4;blue;b;x\n";
    let all = batches(&Csv { separator: ';', ..format }, other.as_bytes(), Some(train.schema()), 1).unwrap();
    assert_eq!(named(&all[0]), want[1..]);
}

#[test]
fn csv_without_a_sequence_column_is_one_sequence() {
    let text = "x,label\n1,a\n\n2,b\n";
    let data = read(&Csv::default(), text).unwrap();
    assert_eq!(named(&data), [(1.0, vec![at("a", &[("x", 1.0)]), at("b", &[("x", 2.0)])])]);
    assert_eq!(write(&Csv::default(), &data).unwrap(), "x,label\n1.0,a\n2.0,b\n");
    let unlabelled = Csv { label: String::new(), ..Default::default() };
    assert_eq!(named(&read(&unlabelled, "x\n1\n").unwrap()), [(1.0, vec![at("", &[("x", 1.0)])])]);
}

#[test]
fn json_positions_are_objects_or_lists() {
    let text = r#"{"y": ["a", null, "b"], "x": [{"u": 2, "v": -0.5}, ["w", "x"], []], "weight": 3}"#;
    let text = format!("{text}\n\n{}", r#"{"x": [["\u00e9"]], "y": null}"#);
    let want = vec![
        (3.0, vec![at("a", &[("u", 2.0), ("v", -0.5)]), at("", &[("w", 1.0), ("x", 1.0)]), at("b", &[])]),
        (1.0, vec![at("", &[("é", 1.0)])]),
    ];
    assert_eq!(names(&Jsonl {}, text), want);
    assert_eq!(names(&Jsonl {}, r#"{"x": []}"#), [(1.0, vec![])]);
}

#[test]
fn a_schema_makes_batches_and_a_reader_can_be_stopped() {
    let text = "a\tx\na\tx\n\nb\tx\n\na\tx\nb\tx\nb\tx\n\nb\tx";
    let whole = read(&Crfsuite::default(), text).unwrap();
    let sizes = |batch: usize| -> Vec<usize> {
        let all = batches(&Crfsuite::default(), text.as_bytes(), Some(whole.schema()), batch).unwrap();
        all.iter().map(Dataset::n_positions).collect()
    };
    assert_eq!(
        (sizes(0), sizes(1), sizes(3), sizes(4)),
        (vec![2, 1, 3, 1], vec![2, 1, 3, 1], vec![3, 3, 1], vec![6, 1])
    );
    assert_eq!(sizes(usize::MAX), [7]);
    let mut seen = 0;
    let mut stop = |data: Dataset| {
        seen += data.len();
        Ok(ControlFlow::Break(()))
    };
    let broken = format!("{text}\n\n\0");
    Crfsuite::default()
        .read(Text::new("f", &mut broken.as_bytes()), Some(whole.schema()), 3, &mut stop)
        .unwrap();
    assert_eq!(seen, 2);
}

#[test]
fn unknown_labels_are_foreign_and_unknown_attributes_have_no_number() {
    let schema = read(&Crfsuite::default(), "a\tx\nb\ty\n").unwrap().schema().clone();
    let all = batches(&Crfsuite::default(), b"a\tx\tnew:2\nc\tnew\n", Some(&schema), 9).unwrap();
    let data = &all[0];
    assert_eq!((data.schema(), data.n_foreign(), data.n_positions()), (&schema, 1, 2));
    assert_eq!(data.label_name(0, data.labels()[1].unwrap()), "c");
    let mut bag = Vec::new();
    data.sequence(0).for_each_in_bag(0, 0, |attribute, value| bag.push((attribute, value)));
    assert_eq!(bag, [(0, 1.0), (u32::MAX, 2.0)]);
    let want = "sequence 1, position 1: `crfsuite` cannot write a symbol that channel `attributes` does not \
                know; read without a schema";
    assert_eq!(write(&Crfsuite::default(), data).unwrap_err(), want);
}

#[test]
fn foreign_labels_are_written_by_name() {
    let schema = read(&Conll::default(), "x a\n").unwrap().schema().clone();
    let all = batches(&Conll::default(), b"x new\n", Some(&schema), 9).unwrap();
    assert_eq!(write(&Conll::default(), &all[0]).unwrap(), "x new\n\n");
}

#[test]
fn a_sequence_may_have_300_000_positions_and_a_line_as_many_attributes() {
    let n = 300_000;
    let data = read(&Crfsuite::default(), "a\tx\n".repeat(n)).unwrap();
    assert_eq!((data.len(), data.n_positions()), (1, n));
    let data = read(&Crfsuite::default(), format!("a{}", "\tx".repeat(n))).unwrap();
    assert_eq!(named(&data)[0].1[0].1["x"], n as f64);
    assert_eq!(read(&Conll::default(), "x a\n".repeat(n)).unwrap().n_positions(), n);
    assert_eq!(read(&Csv::default(), format!("x,label\n{}", "1,a\n".repeat(n))).unwrap().n_positions(), n);
    let json = format!("{{\"x\":[[\"x\"]{}]}}", ",[\"x\"]".repeat(n - 1));
    assert_eq!(read(&Jsonl {}, json).unwrap().n_positions(), n);
}

#[test]
fn gzip_is_read_through() {
    let path = std::env::temp_dir().join(format!("crf-datasets-{}.txt", std::process::id()));
    let text = "a\tx\nb\ty\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    // A file may have several members, as `cat a.gz b.gz` makes it.
    for (bytes, want) in
        [(text.as_bytes().to_vec(), text.to_owned()), ([gzip.clone(), gzip.clone()].concat(), text.repeat(2))]
    {
        std::fs::write(&path, bytes).unwrap();
        let mut got = String::new();
        open(&path).unwrap().read_to_string(&mut got).unwrap();
        assert_eq!(got, want);
        let format: &dyn Format = &Crfsuite::default();
        assert_eq!(format.read_file(&path, None).unwrap(), read(format, &want).unwrap());
    }
    std::fs::write(&path, &gzip[..gzip.len() - 5]).unwrap();
    let format: &dyn Format = &Crfsuite::default();
    let error = format.read_file(&path, None).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    std::fs::remove_file(&path).unwrap();
    let error = open(Path::new("/nowhere/f")).err().unwrap().to_string();
    assert_eq!(error, "/nowhere/f: No such file or directory (os error 2)");
}

#[test]
fn formats_convert_into_each_other() {
    let data = read(&Crfsuite::default(), "@weight:2.0\na\\:b\tx:0.5\n\ty z\n\n").unwrap();
    let json = write(&Jsonl {}, &data).unwrap();
    assert_eq!(json, "{\"x\":[{\"x\":0.5},{\"y z\":1.0}],\"y\":[\"a:b\",null],\"weight\":2.0}\n");
    let back = write(&Crfsuite::default(), &read(&Jsonl {}, json).unwrap()).unwrap();
    assert_eq!(back, "@weight:2.0\na\\:b\tx:0.5\n\ty z\n\n");
    let schema: &Arc<_> = data.schema();
    assert_eq!(schema.channels().len(), 1);
}

/// Sequences read in chunks, and the error message if there is one.
fn pieces(
    format: &dyn Format,
    text: &str,
    schema: &Arc<Schema>,
    batch: usize,
) -> (Vec<Dataset>, Option<String>) {
    let mut all = Vec::new();
    let read = format.read_in_chunks("f", &mut text.as_bytes(), schema, batch, &mut |data| {
        all.extend(data);
        Ok(ControlFlow::Continue(()))
    });
    (all, read.err().map(|error| error.to_string()))
}

#[test]
fn pieces_are_what_the_whole_is() {
    let crfsuite = "a\tx\n\nb\ty\r\na\tx\r\n\r\n\n@weight:2\nb\tx\tz\n\n\na\tz\n \n";
    let conll = "# two\n\nx a\ny b\n\n# one\n\nx b\n";
    let jsonl = "{\"x\": [{\"u\": 1}], \"y\": [\"a\"]}\n\n{\"x\": [{\"v\": 1}, {}], \"y\": [\"b\", \"a\"]}\n";
    let csv = "sequence,label,x\n1,a,2\n1,b,3\n\n2,a,1\n";
    let comments = Conll { skip: vec!["#".into()], ..Conll::default() };
    let formats: [(&dyn Format, &str); 4] = [
        (&Crfsuite::default(), crfsuite.trim_end_matches(" \n")),
        (&comments, conll),
        (&Jsonl::default(), jsonl),
        (&Csv::default(), csv),
    ];
    for (format, text) in formats {
        let whole = read(format, text).unwrap();
        for batch in [1, 2, 3, 40] {
            let (parts, message) = pieces(format, text, whole.schema(), batch);
            assert_eq!(message, None, "{format:?}");
            assert_eq!(
                parts.iter().flat_map(named).collect::<Vec<_>>(),
                named(&whole),
                "{format:?}, {batch}"
            );
        }
    }
}

#[test]
fn an_error_in_a_piece_has_its_line_and_earlier_pieces_are_kept() {
    let schema = read(&Crfsuite::default(), "a\tx\n\nb\ty\n").unwrap().schema().clone();
    for (batch, kept) in [(1, 2), (2, 2), (40, 0)] {
        let (parts, message) = pieces(&Crfsuite::default(), "a\tx\n\nb\ty\n\nb\tx:q\n\nb\n", &schema, batch);
        assert!(message.unwrap().starts_with("f:5:5: expected a finite number"), "{batch}");
        assert_eq!(parts.iter().map(Dataset::len).sum::<usize>(), kept, "{batch}");
        for (text, got) in [
            ("", "f:1:1: expected a sequence, got an empty file"),
            ("\n\n", "f:2:1: expected a sequence, got only blank lines"),
        ] {
            assert_eq!(pieces(&Crfsuite::default(), text, &schema, batch).1.unwrap(), got);
        }
    }
}

#[test]
fn formats_with_labels_name_the_setting_for_data_without_labels() {
    let csv = Csv { symbolic: vec!["w".into()], ..Default::default() };
    let cases: [(&dyn Format, &str, &str, &str); 3] = [
        (&Conll::default(), "the DT O\n", "the DT\n", "format.label=false"),
        (&Crfsuite::default(), "O\tw=the\n", "w=the\n", "format.labelled=false"),
        (&csv, "w,label\nthe,O\n", "w\nthe\n", "format.label=\"\""),
    ];
    for (format, labelled, unlabelled, setting) in cases {
        let schema = read(format, labelled).unwrap().schema().clone();
        let (asks, without) = format.without_labels().unwrap();
        assert_eq!(asks, setting);
        without.check().unwrap();
        let data = batches(&*without, unlabelled.as_bytes(), Some(&schema), 1).unwrap();
        assert_eq!((data[0].labels(), data[0].schema()), (&[None][..], &schema));

        // The setting, as TOML, is the only difference between the two.
        let (key, value) = setting.trim_start_matches("format.").split_once('=').unwrap();
        let mut config = toml::Table::try_from(format).unwrap();
        config.insert(
            key.to_owned(),
            toml::from_str::<toml::Table>(&format!("v = {value}")).unwrap()["v"].clone(),
        );
        assert_eq!(toml::Table::try_from(&without).unwrap(), config);
        assert!(without.without_labels().is_none());
    }
    assert!(Jsonl {}.without_labels().is_none());
}
