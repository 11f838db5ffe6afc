//! Texts and data that formats refuse, each with its message.
use crate::common::{batches, read, write};
use crf_datasets::{Conll, Crfsuite, Csv, Format, Jsonl, Separator};

#[track_caller]
fn refused(format: &dyn Format, text: impl AsRef<[u8]>, message: &str) {
    assert_eq!(read(format, text).unwrap_err(), message);
}

#[track_caller]
fn unwritable(to: &dyn Format, from: &dyn Format, text: &str, message: &str) {
    assert_eq!(write(to, &read(from, text).unwrap()).unwrap_err(), message);
}

fn all() -> [Box<dyn Format>; 4] {
    [Box::new(Crfsuite::default()), Box::new(Conll::default()), Box::new(Csv::default()), Box::new(Jsonl {})]
}

fn word_and_pos() -> Conll {
    Conll { columns: vec!["word".into(), "pos".into()], ..Default::default() }
}

#[test]
fn empty_files() {
    for format in all() {
        refused(&*format, "", "f:1:1: expected a sequence, got an empty file");
        refused(&*format, "\u{feff}", "f:1:1: expected a sequence, got only blank lines");
    }
    refused(
        &Csv::default(),
        "x,label\n\n",
        "f:2:1: expected a row below the header, got the end of the file",
    );
}

#[test]
fn only_blank_lines() {
    for format in all() {
        refused(&*format, "\n\r\n\n", "f:3:1: expected a sequence, got only blank lines");
    }
    refused(&Conll::default(), "-DOCSTART- O\n \t\n", "f:2:1: expected a sequence, got only blank lines");
}

#[test]
fn nul_bytes_and_invalid_utf_8() {
    let texts: [&[u8]; 4] = [b"a\tb\nc\td?\n", b"a b\nc d?\n", b"x,label\n1,d?\n", b"{\"x\":[]}\n{\"d?"];
    for (format, text) in all().into_iter().zip(texts) {
        let at = text.iter().position(|&byte| byte == b'?').unwrap();
        let column = at - text.iter().position(|&byte| byte == b'\n').unwrap();
        let mut text = text.to_vec();
        text[at] = 0;
        refused(&*format, &text, &format!("f:2:{column}: expected text, got a NUL byte"));
        text[at] = 0xff;
        refused(&*format, &text, &format!("f:2:{column}: expected UTF-8, got byte 0xff"));
    }
}

#[test]
fn empty_and_broken_fields_of_crfsuite_lines() {
    let format = Crfsuite::default();
    refused(&format, "a\tb\na\t\tb\n", "f:2:3: expected the name of an attribute, got an empty one");
    refused(&format, "a\t:2\n", "f:1:3: expected the name of an attribute, got an empty one");
    refused(&format, "a\tb\t\t\n", "f:1:5: expected the name of an attribute, got an empty one");
    let want = "expected a finite number after `:` (a colon in a name is `\\:`), got";
    refused(&format, "a\tb:\n", &format!("f:1:5: {want} ``"));
    refused(&format, "é\tb\\:x:y:2\tc\n", &format!("f:1:9: {want} `y:2`"));
}

#[test]
fn values_that_are_not_finite() {
    let want = "expected a finite number after `:` (a colon in a name is `\\:`), got";
    for value in ["NaN", "nan", "inf", "-inf", "infinity", "1e309"] {
        refused(&Crfsuite::default(), format!("a\tx\tb:{value}\n"), &format!("f:1:7: {want} `{value}`"));
        let list = "list `b` under `symbolic` or `ignore` if it holds none";
        let message = format!("f:3:b: expected a finite number, got `{value}`; {list}");
        refused(&Csv::default(), format!("b,label\n1,x\n{value},x\n"), &message);
    }
    let message = "f:1:16: expected valid JSON, got an error: number out of range";
    refused(&Jsonl {}, "{\"x\":[{\"b\":1e309}]}", message);
    refused(&Jsonl {}, "{\"x\":[{\"b\":NaN}]}", "f:1:12: expected valid JSON, got an error: expected value");
    refused(&Jsonl {}, "{\"x\":[{\"b\":null}]}", "f:1:15: expected a number, got null");
}

#[test]
fn the_largest_and_smallest_numbers_are_fine() {
    for value in ["1e308", "-1e308", "5e-324", "1e-320", "-0.0"] {
        read(&Crfsuite::default(), format!("a\tb:{value}\n")).unwrap();
        read(&Csv::default(), format!("b,label\n{value},x\n")).unwrap();
        read(&Jsonl {}, format!("{{\"x\":[{{\"b\":{value}}}]}}")).unwrap();
    }
}

#[test]
fn weights_that_are_none_or_have_no_positions() {
    let format = Crfsuite::default();
    for value in ["", "-1", "nan", "two"] {
        let message = format!("f:2:9: expected a finite weight of at least 0, got `{value}`");
        refused(&format, format!("a\n@weight:{value}\n"), &message);
    }
    refused(&format, "@weight:2\n\na\n", "f:2:1: expected positions after the weight, got a blank line");
    refused(
        &format,
        "a\n\n@weight:2\n",
        "f:3:1: expected positions after the weight, got the end of the file",
    );
    refused(&Jsonl {}, "{\"x\":[],\"weight\":-1}", "f:1:20: expected a weight of at least 0, got -1");
}

#[test]
fn rows_with_too_few_or_too_many_columns() {
    refused(&Conll::default(), "the DT O\n\ndog  NN\n", "f:3:8: expected 3 columns as in line 1, got 2");
    refused(
        &Conll::default(),
        "\nthe DT O\ndog NN O x y\n",
        "f:3:10: expected 3 columns as in line 2, got 5",
    );
    refused(&word_and_pos(), "the DT\n", "f:1:7: expected 3 columns (word pos label), got 2");
    let unlabelled = Conll { label: false, ..word_and_pos() };
    refused(&unlabelled, "the DT O\n", "f:1:8: expected 2 columns (word pos), got 3");
    let message = "f:1:4: expected at least 2 columns, of which the last is the label, got 1";
    refused(&Conll::default(), "the\n", message);
    let tabs = Conll { separator: Separator::Tab, ..word_and_pos() };
    refused(&tabs, "the DT O\n", "f:1:9: expected 3 columns (word pos label), got 1");
    refused(&Csv::default(), "x,label\n1,a\n\n1\n", "f:4:label: expected a field, got the end of the line");
    refused(&Csv::default(), "x,label\r\n\r\n1,a,b\r\n", "f:3:3: expected 2 fields as in the header, got 3");
}

#[test]
fn more_or_fewer_labels_than_positions() {
    let want = "expected as many labels in `y` as positions in `x`, which are 1, got";
    refused(&Jsonl {}, "{\"x\":[[]]}\n{\"x\":[[]],\"y\":[\"a\",\"b\"]}", &format!("f:2:1: {want} 2"));
    refused(&Jsonl {}, "{\"y\":[],\"x\":[[]]}", &format!("f:1:1: {want} 0"));
}

#[test]
fn json_that_is_none_or_another() {
    refused(
        &Jsonl {},
        "{\"x\":[[\"a\"]",
        "f:1:11: expected valid JSON, got an error: EOF while parsing a list",
    );
    refused(
        &Jsonl {},
        "[1]",
        "f:1:1: expected an object with `x`, and `y`, `edges` and `weight` if known, got sequence",
    );
    refused(&Jsonl {}, "{\"x\":[1]}", "f:1:7: expected an object or a list of attributes, got integer `1`");
    refused(&Jsonl {}, "{\"x\":[[1]]}", "f:1:8: expected a string, got integer `1`");
    refused(&Jsonl {}, "{\"x\":1}", "f:1:6: expected a list of positions, got integer `1`");
    refused(&Jsonl {}, "{\"x\":[[]],\"y\":[1]}", "f:1:16: expected a string, got integer `1`");
    refused(&Jsonl {}, "{\"z\":1}", "f:1:4: expected only `x`, `y`, `edges` and `weight`, got the key `z`");
    refused(&Jsonl {}, "{\"y\":[]}", "f:1:8: expected a key `x`, got none");
    refused(&Jsonl {}, "{\"x\":[],\"x\":[]}", "f:1:11: expected one `x`, got a second one");
    refused(&Jsonl {}, "{\"x\":[]} {}", "f:1:10: expected valid JSON, got an error: trailing characters");
    let deep = format!("{{\"x\":[{}", "[".repeat(100_000));
    refused(&Jsonl {}, deep, "f:1:7: expected a string, got sequence");
}

#[test]
fn tables_whose_header_or_order_is_wrong() {
    let format = Csv { sequence: Some("day".into()), ..Default::default() };
    refused(&format, "dya,x,label\n", "f:1: unknown column `day`, did you mean `dya`?");
    refused(&Csv::default(), "x\n1\n", "f:1: unknown column `label`; there is `x`");
    refused(&Csv::default(), "x,x,label\n", "f:1:x: expected names that differ, got this one twice");
    let message = "f:5:day: expected the rows of a sequence next to each other, got `1` again";
    refused(&format, "day,x,label\n1,1,a\n1,1,a\n2,1,a\n1,1,a\n", message);
    let list = "list `sky` under `symbolic` or `ignore` if it holds none";
    let message = format!("f:2:sky: expected a finite number, got `blue`; {list}");
    refused(&Csv::default(), "sky,label\nblue,a\n", &message);
    let message = format!("f:2:sky: expected a finite number, got ``; {list}");
    refused(&Csv::default(), "sky,label\n,a\n", &message);
}

#[test]
fn data_that_do_not_fit_the_schema() {
    let train = read(&Crfsuite::default(), "a\tx\n").unwrap();
    let error = batches(&word_and_pos(), b"the DT O\n", Some(train.schema()), 1).unwrap_err();
    let want = "f: expected the channel `attributes` (bags of attributes), got the channels `word` \
                (symbols), `pos` (symbols)";
    assert_eq!(error, want);
    let train = read(&Csv::default(), "a,b,label\n1,2,x\n").unwrap();
    let error = batches(&Csv::default(), b"b,c,a,label\n1,2,3,x\n", Some(train.schema()), 1).unwrap_err();
    assert_eq!(error, "f:1:c: expected the columns `a`, `b`, got another one; list it under `ignore`");
    let error = batches(&Csv::default(), b"b,label\n1,x\n", Some(train.schema()), 1).unwrap_err();
    assert_eq!(error, "f:1: unknown column `a`, did you mean `b`?");
}

#[test]
fn what_a_format_cannot_hold() {
    let (crfsuite, conll, csv, json) = (Crfsuite::default(), Conll::default(), Csv::default(), Jsonl {});
    let bags = "a\tx\n\nb\ty\n";
    let want = "cannot hold channel `attributes` of bags of attributes; `crfsuite` and `jsonl` can";
    unwritable(&conll, &crfsuite, bags, &format!("`conll` {want}"));
    unwritable(&csv, &crfsuite, bags, &format!("`csv` {want}"));
    let want = "cannot hold channel `column1` of symbols; `conll` and `csv` can";
    unwritable(&crfsuite, &conll, "x a\n", &format!("`crfsuite` {want}"));
    unwritable(&json, &conll, "x a\n", &format!("`jsonl` {want}"));
    unwritable(&conll, &csv, "x,label\n1,a\n", "`conll` cannot hold channel `x` of real numbers; `csv` can");
    unwritable(&csv, &conll, "x a\n\nx a\n", "`csv` cannot hold 2 sequences without a column `sequence`");
    let empty = "`crfsuite` cannot hold sequence 1, which is empty; `jsonl` can";
    unwritable(&crfsuite, &json, "{\"x\":[]}", empty);
    let tabs = Conll { separator: Separator::Tab, ..Default::default() };
    let place = "sequence 1, position 1:";
    let want = "cannot hold an unknown label; set `unknown` to a label that stands for it";
    unwritable(&conll, &tabs, "x\t\n", &format!("{place} `conll` {want}"));
    let want = "cannot hold an empty name between spaces; use separator = \"tab\"";
    unwritable(&conll, &tabs, "\ta\n", &format!("{place} `conll` {want}"));
}

#[test]
fn separators_in_names() {
    let place = "sequence 1, position 1:";
    for (json, shown) in [("\\t", "\\t"), ("\\n", "\\n"), ("\\r", "\\r"), ("\\u0000", "\\0")] {
        let want = format!("{place} `crfsuite` cannot hold '{shown}' in the name \"u{shown}v\"; `jsonl` can");
        let text = format!("{{\"x\":[[\"u{json}v\"]]}}");
        unwritable(&Crfsuite::default(), &Jsonl {}, &text, &want);
    }
    let tabs = Conll { separator: Separator::Tab, ..Default::default() };
    let want = format!("{place} `conll` cannot hold ' ' in the name \"a b\"; `csv` can");
    unwritable(&Conll::default(), &tabs, "a b\tx\n", &want);
    let want =
        format!("{place} `conll` cannot hold the line \"-DOCSTART-\\ta\", which would be read as blank");
    unwritable(
        &tabs,
        &Csv { symbolic: vec!["w".into()], ..Default::default() },
        "w,label\n-DOCSTART-,a\n",
        &want,
    );
}

#[test]
fn sums_that_overflow_are_refused() {
    let want = "sequence 1, position 1, channel `attributes`: not a finite number: `b` is inf";
    refused(&Crfsuite::default(), "a\tb:1e308\tb:1e308\n", want);
}

#[test]
fn settings_that_cannot_work() {
    let check = |format: &dyn Format| format.check().unwrap_err().to_string();
    let twice = Conll { columns: vec!["a".into(), "a".into()], ..Default::default() };
    assert_eq!(check(&twice), "`columns` must be names that differ, got [\"a\", \"a\"]");
    let skip = Conll { skip: vec![String::new()], ..Default::default() };
    assert_eq!(check(&skip), "`skip` must be beginnings of lines, got an empty one");
    let quote = Csv { separator: '"', ..Default::default() };
    let want = "`separator` must be an ASCII character other than a quote or a line end, got \"";
    assert_eq!(check(&quote), want);
    let label = Csv { symbolic: vec!["label".into()], ..Default::default() };
    let want = "`symbolic` and `ignore` must be different from `sequence`, `label` and each other, got \
                `label` twice";
    assert_eq!(check(&label), want);
}

/// Text of one sequence with the label in the words of each format; what a format cannot even
/// spell is left out.
fn with_label(label: &str) -> Vec<(Box<dyn Format>, String)> {
    let json = serde_json::to_string(label).unwrap();
    let mut all: Vec<(Box<dyn Format>, String)> = vec![
        (Box::new(Jsonl {}), format!("{{\"x\":[[\"u\"]],\"y\":[{json}]}}")),
        (Box::new(Csv::default()), format!("x,label\n1,\"{}\"\n", label.replace('"', "\"\""))),
    ];
    if !label.contains(['\t', '\n', '\r', '\0']) {
        all.push((Box::new(Crfsuite::default()), format!("\tu\n{label}\tu\n")));
        let tabs = Conll { separator: Separator::Tab, ..Default::default() };
        all.push((Box::new(tabs), format!("u\t{label}\n")));
    }
    all
}

#[test]
fn labels_that_take_more_than_a_line_or_look_like_others_are_refused() {
    for label in ["a\nb", "a\u{b}b", "\u{1b}[31m", "a\u{85}b", "a\u{2028}b", " a", "a ", " ", "\u{feff}a"] {
        for (format, text) in with_label(label) {
            let error = read(&*format, &text).unwrap_err();
            let want = "expected a label of one line without blanks around it";
            assert!(error.contains(want) || error.contains("byte order mark"), "{format:?}: {error}");
            assert!(error.starts_with("f:1:") || error.starts_with("f:2:"), "{error}");
        }
    }
    for label in ["a b", "é", "-", "0", "\u{3a9}\u{200d}"] {
        for (format, text) in with_label(label) {
            assert_eq!(read(&*format, &text).unwrap().label_name(0, 0), label);
        }
    }
}

#[test]
fn labels_without_a_name_are_refused_or_unknown() {
    let want = "f:1:18: expected a label of one line without blanks around it, or null, got ``";
    refused(&Jsonl {}, "{\"x\":[[]],\"y\":[\"\"]}", want);
    for (format, text) in with_label("").into_iter().skip(1) {
        assert!(read(&*format, &text).unwrap().labels().iter().all(Option::is_none));
    }
}

#[test]
fn labels_that_no_reader_takes_are_not_written() {
    let channel = |kind| crf_core::Channel { name: "attributes".into(), kind };
    let bag = || crf_core::ChannelKind::Bag(Default::default());
    let symbol = || crf_core::ChannelKind::Symbol(Default::default());
    for label in ["", " ", "a\nb", "\u{1b}c"] {
        for format in all() {
            let is_bag = write(&*format, &read(&Jsonl {}, "{\"x\":[[]]}").unwrap()).is_ok();
            let mut data =
                crf_core::DatasetBuilder::growing(vec![channel(if is_bag { bag() } else { symbol() })])
                    .unwrap();
            let value = match is_bag {
                true => crf_core::Value::Bag(&[]),
                false => crf_core::Value::Symbol(data.symbol(0, "x")),
            };
            let label = data.label(label);
            data.push(&[value], Some(label)).unwrap();
            data.end_chain().unwrap();
            let error = write(&*format, &data.finish()).unwrap_err();
            let want = "which is not a label of one line without blanks around it";
            assert!(error.starts_with("sequence 1, position 1: ") && error.ends_with(want), "{error}");
        }
    }
}

#[test]
fn a_line_of_spaces_in_crfsuite_ends_a_sequence() {
    let data = read(&Crfsuite::default(), "a\tx\n  \nb\ty\n \n").unwrap();
    assert_eq!((data.len(), data.schema().labels().len()), (2, 2));
    let message = "f:2:1: expected positions after the weight, got a blank line";
    refused(&Crfsuite::default(), "@weight:2\n   \na\n", message);
    let unlabelled = Crfsuite { labelled: false };
    let spaces = read(&Jsonl {}, "{\"x\":[[\"  \"]]}").unwrap();
    let text = write(&unlabelled, &spaces).unwrap();
    assert_eq!((text.as_str(), read(&unlabelled, &text).unwrap()), ("  \t\n\n", spaces));
}

#[test]
fn a_file_of_spaces_holds_no_sequence() {
    let message = "f:2:1: expected a sequence, got only blank lines";
    for format in [&Crfsuite::default() as &dyn Format, &Conll::default(), &Jsonl {}] {
        refused(format, "   \n  ", message);
    }
    refused(&Csv::default(), "   \n  ", "f:1: unknown column `label`; there is ``");
    let symbols = Csv { label: "".into(), ..Default::default() };
    let message = "f:1: expected a name for column 1, got none; give it one, or list \"\" under `ignore`";
    refused(&symbols, "   \n  ", message);
}

#[test]
fn lone_carriage_returns_end_no_line() {
    let texts = ["a\tx\rb\ty\r", "x a\ry b\r", "x,label\r1,a\r", "{\"x\":[[]]}\r{\"x\":[[]]}\r"];
    for (format, text) in all().into_iter().zip(texts) {
        let at = text.find('\r').unwrap() + 1;
        let message = format!("f:1:{at}: expected lines that end with LF or CR LF, got a CR within a line");
        refused(&*format, text, &message);
        let twice = text.trim_end().replace('\r', "\r\r\n");
        refused(&*format, twice, &message);
        read(&*format, text.replace('\r', "\r\n")).unwrap();
    }
}

#[test]
fn a_byte_order_mark_within_a_file_becomes_no_part_of_a_name() {
    let want = "expected a byte order mark at the beginning of the file only, got another one at the beginning of \
                a line; remove it";
    for (format, text) in all().into_iter().zip(["a\tx\n", "x a\n", "x,label\n1,a\n", "{\"x\":[[]]}\n"]) {
        let marked = format!("\u{feff}{text}");
        assert_eq!(read(&*format, &marked).unwrap(), read(&*format, text).unwrap());
        let line = text.matches('\n').count() + 1;
        refused(&*format, format!("{text}{marked}"), &format!("f:{line}:1: {want}"));
        refused(&*format, format!("\u{feff}{marked}"), &format!("f:1:1: {want}"));
    }
    let unlabelled = Conll { label: false, ..Default::default() };
    let symbols = Csv { symbolic: vec!["w".into()], label: "".into(), ..Default::default() };
    let data = read(&symbols, "v,w\n1,\u{feff}x\n").unwrap();
    assert_eq!(write(&symbols, &data).unwrap(), "v,w\n1.0,\u{feff}x\n");
    let words = read(&unlabelled, "y \u{feff}x\n").unwrap();
    assert_eq!(read(&unlabelled, write(&unlabelled, &words).unwrap()).unwrap(), words);
    let place = "sequence 1, position 1:";
    let marked = read(&symbols, "w\n\"\u{feff}x\"\n").unwrap();
    let want = format!("{place} `conll` cannot hold a byte order mark at the beginning of a line");
    assert_eq!(write(&unlabelled, &marked).unwrap_err(), want);
    let want = format!("{place} `csv` cannot hold the symbol \"\\u{{feff}}x\" here");
    assert_eq!(write(&symbols, &marked).unwrap_err(), want);
}

#[test]
fn a_quote_without_end_does_not_take_the_rest_of_a_table() {
    let format = Csv { symbolic: vec!["w".into()], ..Default::default() };
    let message = "f:4:1: expected the end of the quote of line 2, got the end of the file";
    refused(&format, "label,w\na,\"x\n\nb,y\n", message);
    refused(
        &format,
        "label,w\na,x\"\"\"\nb,\"",
        "f:3:1: expected the end of the quote of line 3, got the end of the file",
    );
    let data = read(&format, "label,w\n\na,\"x,\"\"\n\n\"\" \"\nb,5\" pipe\n\nc,\"\"\n").unwrap();
    let words: Vec<_> =
        data.sequence(0).symbol(0).iter().map(|&w| data.sequence(0).symbol_name(0, w).unwrap()).collect();
    assert_eq!(words, ["x,\"\n\n\" ", "5\" pipe", ""]);
    let message = "f:6:label: expected a field, got the end of the line";
    refused(
        &Csv { symbolic: vec!["w".into()], ..Default::default() },
        "w,label\n\"\n\",a\n\nx\"y,a\nz\n",
        message,
    );
}

#[test]
fn columns_that_would_not_be_read_back_are_not_written() {
    let format = Csv { ignore: vec!["note".into()], ..Default::default() };
    let channel = |name: &str| crf_core::Channel { name: name.into(), kind: crf_core::ChannelKind::Real };
    for name in ["label", "note", "", " x", "x\r", "\u{feff}x", "x\0"] {
        let mut data = crf_core::DatasetBuilder::growing(vec![channel(name)]).unwrap();
        data.push(&[crf_core::Value::Real(1.0)], None).unwrap();
        data.end_chain().unwrap();
        let error = write(&format, &data.finish()).unwrap_err();
        assert!(error.starts_with("`csv` cannot hold a column \""), "{error}");
    }
    refused(
        &Csv::default(),
        ",x,label\n0,1,a\n",
        "f:1: expected a name for column 1, got none; give it one, or list \"\" under `ignore`",
    );
    let without = Csv { ignore: vec!["".into()], ..Default::default() };
    assert_eq!(read(&without, ",x,label\n0,1,a\n").unwrap().schema().channels().len(), 1);
}

#[test]
fn escapes_in_names_and_values_do_not_reach_the_terminal() {
    let evil = "\u{1b}[2J\u{7}";
    let texts = [
        format!("a\tb:{evil}\n"),
        format!("x {evil} a\nx a\n"),
        format!("x,{evil},{evil},label\n1,2,a\n"),
        format!("{{\"{evil}\":1}}"),
    ];
    for (format, text) in all().into_iter().zip(texts) {
        let name = format!("{evil}.txt");
        let read = format.read(crf_datasets::Text::new(&name, &mut text.as_bytes()), None, 1, &mut |_| {
            Ok(std::ops::ControlFlow::Continue(()))
        });
        let message = read.unwrap_err().to_string();
        assert!(
            !message.contains(char::is_control) && message.starts_with("\\u{1b}[2J\\u{7}.txt:"),
            "{message}"
        );
    }
    let missing = crf_datasets::open(std::path::Path::new("/nowhere/\u{1b}[2J")).err().unwrap().to_string();
    assert!(missing.starts_with("/nowhere/\\u{1b}[2J: "), "{missing}");
}

#[test]
fn a_long_field_does_not_flood_the_terminal() {
    let long = "é".repeat(100_000);
    let texts = [
        format!("a\tb:{long}\n"),
        format!("{}\n", ["x"; 3].join(" ") + &format!("\nx y {long}\u{b}")),
        format!("x,label\n{long},a\n"),
        format!("{{\"x\":{}}}", serde_json::to_string(&long).unwrap()),
    ];
    for (format, text) in all().into_iter().zip(texts) {
        let message = read(&*format, &text).unwrap_err();
        assert!(message.contains("é… (200") && message.len() < 700, "{}", message.len());
    }
}
