use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Result, Schema, Seed, Source, Splits, Value,
    require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::labels::numbered;
use crate::text::data_dir;
use crate::text::fields::Fields;
use crate::text::lines::Lines;

/// Hyphenation of English words (Dietterich, Hao & Ashenfelter 2008).
///
/// 1,951 training words and 908 test words. A position is a gap between two letters; its label is 1
/// if a hyphen is allowed there. The channels of symbols `left3`, `left2`, `left1`, `right1`,
/// `right2` and `right3` are the letters around it, `_` beyond the ends of the word.
/// `{ state = "equals" }` makes the 162 functions of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hyphen {
    /// File of the training words: an absolute path, or one below the directory in the environment
    /// variable CRF_DATA.
    pub train: PathBuf,
    /// File of the test words, found in the same way.
    pub test: PathBuf,
}

impl Default for Hyphen {
    fn default() -> Self {
        Hyphen { train: "hyphen/train.txt.gz".into(), test: "hyphen/test.txt.gz".into() }
    }
}

crf_core::plugin!("source", Hyphen, "hyphen");

const WINDOW: [&str; 6] = ["left3", "left2", "left1", "right1", "right2", "right3"];
/// Number of values per letter of the window: 26 letters, and none.
const N_VALUES: u32 = 27;
const HELP: &str = ", which is one of sparse.hyphen.6.train and sparse.hyphen.6.test in the test data of \
                    github.com/haifengl/smile";

#[typetag::serde(name = "hyphen")]
impl Source for Hyphen {
    fn check(&self) -> Result<()> {
        for (key, path) in [("train", &self.train), ("test", &self.test)] {
            require(!path.as_os_str().is_empty(), key, "the path of a file", "nothing")?;
        }
        Ok(())
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        let schema = Arc::new(schema()?);
        let read = |file| data_dir::read(file, HELP, |lines| parse(lines, &schema));
        Ok(Splits { train: read(&self.train)?, holdout: None, test: read(&self.test)? })
    }
}

fn schema() -> Result<Schema> {
    let letters = Alphabet::new(('a'..='z').chain(['_']).map(String::from));
    let channels =
        WINDOW.map(|name| Channel { name: name.into(), kind: ChannelKind::Symbol(letters.clone()) });
    Schema::chain(channels.to_vec(), numbered(2))
}

/// Reads all words.
///
/// The first line has the numbers of words, labels and functions. Every other line is a position:
/// the numbers of its word and of itself, from 1; the number of functions that are not 0 there, and
/// their indices; the label.
fn parse(mut lines: Lines<'_>, schema: &Arc<Schema>) -> Result<Dataset> {
    let Some(line) = lines.next()? else { return Err(lines.no_sequence()) };
    let mut fields = Fields::new(line, ' ');
    let n_words: usize = fields.next("a number of words", |text| text.parse().ok())?;
    fields.next("2 labels", |text| (text == "2").then_some(()))?;
    fields.next("162 functions", |text| (text == "162").then_some(()))?;
    fields.end()?;
    let mut data = DatasetBuilder::new(schema.clone());
    let mut word = 0;
    let mut position = 0;
    while let Some(line) = lines.next()? {
        let mut fields = Fields::new(line, ' ');
        let this = word.max(1);
        let next = word + 1;
        let want = if this == next { "" } else { " or the next" };
        let word_of_line: usize = fields.next(format_args!("word {this}{want}"), |text| {
            text.parse().ok().filter(|&number| number == this || number == next)
        })?;
        if word_of_line > word {
            if word > 0 {
                data.end_chain()?;
            }
            word = word_of_line;
            position = 0;
        }
        position += 1;
        fields.count(position, format_args!("word {word}"))?;
        fields.next("6 functions", |text| (text == "6").then_some(()))?;
        let mut values = [Value::Symbol(0); WINDOW.len()];
        for (value, k) in values.iter_mut().zip(0..) {
            let range = N_VALUES * k..N_VALUES * (k + 1);
            let want = format_args!("a function from {} to {}", range.start, range.end - 1);
            let function =
                fields.next(want, |text| text.parse().ok().filter(|function| range.contains(function)))?;
            *value = Value::Symbol(function - range.start);
        }
        let label = fields.one_of(&["0", "1"])?;
        fields.end()?;
        data.push(&values, Some(label))?;
    }
    if word != n_words || word == 0 {
        return Err(lines.last().error(
            0,
            format!("{n_words} words, at least 1, as the first line says"),
            word,
        ));
    }
    data.end_chain()?;
    Ok(data.finish())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Dataset, String> {
        let schema = Arc::new(schema().unwrap());
        parse(Lines::new("f", &mut text.as_bytes()), &schema).map_err(|error| error.to_string())
    }

    #[test]
    fn positions_are_gaps_between_letters() {
        // "to", then "any".
        let data = read(
            "2 2 162\n1 1 6 26 53 73 95 134 161 0\n2 1 6 26 53 54 94 132 161 0\n2 2 6 26 27 67 105 134 161 1\n",
        );
        let data = data.unwrap();
        let window = |i: usize, t: usize| {
            let x = data.sequence(i);
            (0..6).map(|c| x.symbol_name(c, x.symbol(c)[t]).unwrap().to_owned()).collect::<String>()
        };
        assert_eq!([window(0, 0), window(1, 0), window(1, 1)], ["__to__", "__any_", "_any__"]);
        assert_eq!(data.labels(), [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn malformed_lines_name_line_and_column() {
        let refused = |text: &str, message: &str| assert_eq!(read(text), Err(message.to_owned()));
        refused("", "f:1:1: expected a sequence, got an empty file");
        refused("1 3 162", "f:1:3: expected 2 labels, got `3`");
        refused("2 2 162\n2 1", "f:2:1: expected word 1, got `2`");
        refused("2 2 162\n1 2", "f:2:3: expected position 1 of word 1, got 2");
        refused("2 2 162\n1 1 5", "f:2:5: expected 6 functions, got `5`");
        refused("2 2 162\n1 1 6 26 26", "f:2:10: expected a function from 27 to 53, got `26`");
        let good = "1 1 6 26 53 73 95 134 161 0";
        refused(&format!("2 2 162\n{good}\n3 1"), "f:3:1: expected word 1 or the next, got `3`");
        refused(
            &format!("2 2 162\n{good}\n"),
            "f:2:1: expected 2 words, at least 1, as the first line says, got 1",
        );
        refused("0 2 162\n", "f:1:1: expected 0 words, at least 1, as the first line says, got 0");
        refused(&format!("1 2 162\n{good} 7"), "f:2:29: expected the end of the line, got `7`");
    }

    #[test]
    fn a_missing_file_says_how_to_get_it() {
        let error =
            Hyphen { train: "/nowhere/t".into(), ..Hyphen::default() }.load(&Seed::new(1)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("cannot read `/nowhere/t`: No such file"), "{error}");
        assert!(error.ends_with("github.com/haifengl/smile"), "{error}");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_files_have_their_known_sizes() {
        let Splits { train, test, .. } = Hyphen::default().load(&Seed::new(1)).unwrap();
        assert_eq!((train.len(), train.n_positions()), (1_951, 12_049));
        assert_eq!((test.len(), test.n_positions()), (908, 5_836));
        // Letters move through the window from position to position.
        for data in [&train, &test] {
            for x in (0..data.len()).map(|i| data.sequence(i)) {
                assert!((1..6).all(|c| x.symbol(c)[..x.len() - 1] == x.symbol(c - 1)[1..]));
                assert!(x.symbol(1)[0] == 26 && x.symbol(4)[x.len() - 1] == 26);
            }
        }
    }
}
