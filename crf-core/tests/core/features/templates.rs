//! Attributes of templates, on symbols that training saw and on others.
use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Schema, Value};
use crf_testing::datasets::features;

fn read(mut data: DatasetBuilder, words: &[&str]) -> Dataset {
    for word in words {
        let (word, label) = (data.symbol(0, word), data.label("y"));
        data.push(&[Value::Symbol(word)], Some(label)).unwrap();
    }
    data.end_chain().unwrap();
    data.finish()
}

fn train(words: &[&str]) -> Dataset {
    let channels = vec![Channel { name: "word".into(), kind: ChannelKind::Symbol(Alphabet::default()) }];
    read(DatasetBuilder::growing(channels).unwrap(), words)
}

/// Attributes at every position of `words`, under templates fitted on `train`.
fn attributes(templates: &str, train: &Dataset, words: Option<&[&str]>) -> Vec<Vec<String>> {
    let fitted = features(&format!("[{{ state = {{ type = \"template\", templates = {templates} }} }}]"));
    let fitted = fitted.fit(train).unwrap();
    let map = fitted.map(&fitted.encode(Arc::new(train.clone())).unwrap()).unwrap();
    let schema: Arc<Schema> = train.schema().clone();
    let data = words.map_or_else(|| train.clone(), |words| read(DatasetBuilder::new(schema), words));
    let x = fitted.encode(Arc::new(data)).unwrap();
    let row = |t| {
        let mut names = Vec::new();
        x.nodes().for_each(t, |g, _| names.push(map.state().name(g).to_owned()));
        names
    };
    (0..x.nodes().len()).map(row).collect()
}

#[test]
fn cells_reach_over_positions_and_never_beyond_the_ends() {
    let train = train(&["The", "dog", "The"]);
    let got = attributes(r#"["word[0]", "word[-1]|word[1]", "first", "last"]"#, &train, None);
    let want: [&[&str]; 3] =
        [&["word[0]=The", "first"], &["word[0]=dog", "word[-1]|word[1]=The|The"], &["word[0]=The", "last"]];
    assert_eq!(got, want);
}

#[test]
fn parts_of_unseen_words_are_known() {
    let train = train(&["walking", "Über-99x", "ab"]);
    let templates =
        r#"["word[0]", "suffix3(word[0])", "prefix2(word[0])", "shape(word[0])", "lower(word[0])"]"#;
    let all = attributes(templates, &train, None);
    assert_eq!(
        all[1][1..],
        ["suffix3(word[0])=99x", "prefix2(word[0])=Üb", "shape(word[0])=Aa-0a", "lower(word[0])=über-99x"]
    );
    assert_eq!(all[2], ["word[0]=ab", "prefix2(word[0])=ab", "shape(word[0])=a", "lower(word[0])=ab"]);
    let unseen = attributes(templates, &train, Some(&["talking", "ÜBER-99X"]));
    assert_eq!(unseen[0], ["suffix3(word[0])=ing", "shape(word[0])=a"]);
    assert_eq!(unseen[1], ["lower(word[0])=über-99x"]);
}

#[test]
fn wrong_templates_are_refused_with_what_would_do() {
    let refused = |templates: &str| {
        let list = features(&format!("[{{ state = {{ type = \"template\", templates = {templates} }} }}]"));
        list.check().unwrap_err().to_string()
    };
    let message = refused(r#"["word[0]|pos"]"#);
    assert!(message.starts_with("`templates` must be templates of cells such as `word[-1]`"), "{message}");
    assert!(message.ends_with("got `pos` in `word[0]|pos`"), "{message}");
    assert!(refused(r#"["prefix0(word[0])"]"#).ends_with("got `prefix0(word[0])` in `prefix0(word[0])`"));
    assert_eq!(refused("[]"), "`templates` must be a list of at least one template, got []");
    let unknown = features(r#"[{ state = { type = "template", templates = ["wrod[0]"] } }]"#);
    let error = unknown.fit(&train(&["a"])).unwrap_err().to_string();
    assert_eq!(error, "unknown channel `wrod`, did you mean `word`?");
}

#[test]
fn macros_read_as_crfpp_and_wapiti_have_them() {
    let train = train(&["The", "dog", "Barks2"]);
    let templates = r#"["U00:%x[-1,0]", "U01:%x[0,0]/%X[1,0]", "%t[0,0,\"\\u\"]", "U9=%m[0,0,\"^.?.?\"]|%M[2,0,\"\\l*$\"]"]"#;
    let got = attributes(templates, &train, None);
    let want: [&[&str]; 3] = [
        &["U00:_B-1", "U01:The/dog", "true", "U9=Th|"],
        &["U00:The", "U01:dog/barks2", "false", "U9=do|_B+1"],
        &["U00:dog", "U01:Barks2/_B+1", "true", "U9=Ba|_B+2"],
    ];
    assert_eq!(got, want);
}

#[test]
fn broken_macros_and_missing_columns_are_refused() {
    let train = train(&["The"]);
    for (template, message) in [
        ("U:%x[0", "`%x[0` in `U:%x[0`"),
        ("U:%y[0,0]", "`%y[0,0]`"),
        ("U:%x[0,0,\"a\"]", "`%x[0,0,\"a\"]`"),
        ("U:%t[0,0,\"*\"]", "`%t[0,0,\"*\"]`"),
        ("U:%x[0,3]", "the columns 0 to 0, got column 3 in `U:%x[0,3]`"),
    ] {
        let template = toml::Value::String(template.to_owned());
        let spec = format!("[{{ state = {{ type = \"template\", templates = [{template}] }} }}]");
        let error = features(&spec).fit(&train).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
