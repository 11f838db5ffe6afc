use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Label, Result, Schema, Seed, Source, Splits,
    Value, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::data_dir;
use crate::text::fields::Fields;
use crate::text::lines::Lines;

/// Handwritten words, one letter per position (Kassel 1995; Taskar, Guestrin & Koller 2003).
///
/// 52,152 letters in 6,877 words, in ten folds. A letter is an image of 16 rows of 8 pixels, the
/// bag channel `pixels`: it holds `p_r_c`, with the value 1, if the pixel in row r and column c is
/// black. With all labels for all pixels and all transitions a chain has 26·128 + 26·26 = 4,004
/// weights.
///
/// The defaults are the usual small task: fold 1 for training, the other nine for testing. For the
/// large task and for cross-validation set `train = []` and one test fold. For a random split of
/// all words use `held-out` with `of = "all"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ocr {
    /// Data file: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// Folds of the training data, from 0 to 9; if empty, all folds that are not listed elsewhere.
    pub train: Vec<u8>,
    /// Folds of the validation data; none if empty.
    pub holdout: Vec<u8>,
    /// Folds of the test data; if empty, all folds that are not listed elsewhere.
    pub test: Vec<u8>,
}

impl Default for Ocr {
    fn default() -> Self {
        Ocr { file: "ocr/letters.tsv.gz".into(), train: vec![1], holdout: Vec::new(), test: Vec::new() }
    }
}

crf_core::plugin!("source", Ocr, "ocr", example = "train = [1]");

const FOLDS: std::ops::Range<u8> = 0..10;
const ROWS: usize = 16;
const COLUMNS: usize = 8;
const HELP: &str = ", which is the letter data of ai.stanford.edu/~btaskar/ocr, a letter a line with TABs \
                    between: word, position from 1, fold, letter, and its pixels row by row as 32 hex digits";

#[typetag::serde(name = "ocr")]
impl Source for Ocr {
    fn check(&self) -> Result<()> {
        require(
            !self.train.is_empty() || !self.test.is_empty(),
            "train",
            "folds, or `test`",
            "none in both",
        )?;
        let mut seen = Vec::new();
        for (key, folds) in [("train", &self.train), ("holdout", &self.holdout), ("test", &self.test)] {
            for &fold in folds {
                let want = "folds from 0 to 9, none of them twice or in two parts";
                require(FOLDS.contains(&fold) && !seen.contains(&fold), key, want, fold)?;
                seen.push(fold);
            }
        }
        for (key, folds) in [("train", self.folds(&self.train)), ("test", self.folds(&self.test))] {
            require(!folds.is_empty(), key, "at least one fold", "none, since other parts have them all")?;
        }
        Ok(())
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        let words = data_dir::read(&self.file, HELP, parse)?;
        let channel = Channel { name: "pixels".into(), kind: ChannelKind::Bag(pixels()) };
        let schema = Arc::new(Schema::chain(vec![channel], letters())?);
        let split = |folds: &[u8]| chains(words.iter().filter(|word| folds.contains(&word.fold)), &schema);
        Ok(Splits {
            train: split(&self.folds(&self.train))?,
            holdout: (!self.holdout.is_empty()).then(|| split(&self.holdout)).transpose()?,
            test: split(&self.folds(&self.test))?,
        })
    }
}

impl Ocr {
    /// Folds of a split: those listed for it, or if there are none, all folds that no split lists.
    fn folds(&self, listed: &[u8]) -> Vec<u8> {
        if !listed.is_empty() {
            return listed.to_vec();
        }
        FOLDS
            .filter(|fold| ![&self.train, &self.holdout, &self.test].iter().any(|split| split.contains(fold)))
            .collect()
    }
}

fn letters() -> Alphabet {
    Alphabet::new(('a'..='z').map(String::from))
}

fn pixels() -> Alphabet {
    Alphabet::new((0..ROWS).flat_map(|r| (0..COLUMNS).map(move |c| format!("p_{r}_{c}"))))
}

/// Word: its fold, and its letters with their images; the first pixel is the highest bit.
#[derive(Debug, PartialEq)]
struct Word {
    fold: u8,
    letters: Vec<(Label, u128)>,
}

fn chains<'a>(words: impl Iterator<Item = &'a Word>, schema: &Arc<Schema>) -> Result<Dataset> {
    let mut data = DatasetBuilder::new(schema.clone());
    let mut black = Vec::with_capacity(ROWS * COLUMNS);
    for word in words {
        for &(letter, image) in &word.letters {
            black.clear();
            black.extend((0..u128::BITS).filter(|p| image << p >> (u128::BITS - 1) == 1).map(|p| (p, 1.0)));
            data.push(&[Value::Bag(&black)], Some(letter))?;
        }
        data.end_chain()?;
    }
    Ok(data.finish())
}

/// Reads all words; lines that begin with `#` are comments.
fn parse(mut lines: Lines<'_>) -> Result<Vec<Word>> {
    let mut words = Vec::<Word>::new();
    let mut last = (String::new(), 0_usize); // word and position of the previous line
    while let Some(line) = lines.next()? {
        if line.text.is_empty() || line.text.starts_with('#') {
            continue;
        }
        let mut fields = Fields::new(line, '\t');
        let word = fields.name("a word")?;
        let same = !words.is_empty() && word == last.0;
        let position = if same { last.1 + 1 } else { 1 };
        fields.count(position, format_args!("word `{word}`"))?;
        let offset_of_fold = fields.offset();
        let fold = fields
            .next("a fold from 0 to 9", |text| text.parse().ok().filter(|fold| FOLDS.contains(fold)))?;
        let letter = fields.next("a letter from a to z", |text| match text.as_bytes() {
            [letter @ b'a'..=b'z'] => Some(Label::from(letter - b'a')),
            _ => None,
        })?;
        let image = fields.next("32 hex digits", |text| {
            let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
        })?;
        fields.end()?;
        if !same {
            words.push(Word { fold, letters: Vec::new() });
        }
        last = (word.to_owned(), position);
        let words = words.last_mut().expect("a word was pushed if there was none");
        if words.fold != fold {
            return Err(line.error(offset_of_fold, format!("fold {} of word `{word}`", words.fold), fold));
        }
        words.letters.push((letter, image));
    }
    if words.is_empty() { Err(lines.no_sequence()) } else { Ok(words) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const O: &str = "000000707c46c3818181838ef8000000";

    fn read(text: &str) -> Result<Vec<Word>, String> {
        parse(Lines::new("f", &mut text.as_bytes())).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_are_letters_of_words() {
        let text = format!("# word\n1\t1\t0\to\t{O}\r\n1\t2\t0\tn\t{O}\n2\t1\t9\ta\t{:032x}\n", 1);
        let image = u128::from_str_radix(O, 16).unwrap();
        let want = [
            Word { fold: 0, letters: vec![(14, image), (13, image)] },
            Word { fold: 9, letters: vec![(0, 1)] },
        ];
        assert_eq!(read(&text).unwrap(), want);
    }

    #[test]
    fn the_highest_bit_is_the_first_pixel() {
        let channel = Channel { name: "pixels".into(), kind: ChannelKind::Bag(pixels()) };
        let schema = Arc::new(Schema::chain(vec![channel], letters()).unwrap());
        let image = 1 << 127 | 1 << 120 | 1 << 119 | 1;
        let data = chains([Word { fold: 0, letters: vec![(3, image)] }].iter(), &schema).unwrap();
        let mut names = Vec::new();
        let pixels = pixels();
        data.sequence(0).for_each_in_bag(0, 0, |pixel, x| names.push((pixels.name(pixel), x)));
        assert_eq!(names, [("p_0_0", 1.0), ("p_0_7", 1.0), ("p_1_0", 1.0), ("p_15_7", 1.0)]);
        assert_eq!(data.label_name(0, data.labels()[0].unwrap()), "d");
    }

    #[test]
    fn malformed_lines_name_line_and_column() {
        let refused = |text: &str, message: &str| assert_eq!(read(text), Err(message.to_owned()));
        refused("", "f:1:1: expected a sequence, got an empty file");
        refused("#\n1\t1\t0\to", "f:2:8: expected 32 hex digits, got the end of the line");
        refused(&format!("1\t1\t10\to\t{O}"), "f:1:5: expected a fold from 0 to 9, got `10`");
        refused(&format!("1\t1\t1\tO\t{O}"), "f:1:7: expected a letter from a to z, got `O`");
        refused("1\t1\t1\to\t+f", "f:1:9: expected 32 hex digits, got `+f`");
        refused(&format!("1\t2\t1\to\t{O}"), "f:1:3: expected position 1 of word `1`, got 2");
        refused(&format!("1\t1\t1\to\t{O}\t"), "f:1:42: expected the end of the line, got ``");
        let two = format!("1\t1\t1\to\t{O}\n1\t2\t2\to\t{O}");
        refused(&two, "f:2:5: expected fold 1 of word `1`, got 2");
    }

    #[test]
    fn folds_are_in_one_part_each() {
        let refused = |source: Ocr, message: &str| {
            assert_eq!(source.check().unwrap_err().to_string(), message);
        };
        let want = "folds from 0 to 9, none of them twice or in two parts";
        let want_some = "`train` must be folds, or `test`, got none in both";
        refused(Ocr { train: vec![], ..Ocr::default() }, want_some);
        refused(Ocr { train: vec![10], ..Ocr::default() }, &format!("`train` must be {want}, got 10"));
        refused(Ocr { test: vec![0, 1], ..Ocr::default() }, &format!("`test` must be {want}, got 1"));
        refused(
            Ocr { train: FOLDS.collect(), ..Ocr::default() },
            "`test` must be at least one fold, got none, since other parts have them all",
        );
        refused(
            Ocr { train: vec![], test: FOLDS.collect(), ..Ocr::default() },
            "`train` must be at least one fold, got none, since other parts have them all",
        );
        let tested = |source: Ocr| source.folds(&source.test);
        assert_eq!(tested(Ocr { holdout: vec![0], ..Ocr::default() }), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(tested(Ocr { test: vec![4], ..Ocr::default() }), [4]);
        let large = Ocr { train: vec![], holdout: vec![9], test: vec![0], ..Ocr::default() };
        assert_eq!(large.folds(&large.train), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_missing_file_says_how_to_get_it() {
        let source = Ocr { file: "/nowhere/letters.tsv.gz".into(), ..Ocr::default() };
        let error = source.load(&Seed::new(1)).unwrap_err().to_string();
        assert!(error.starts_with("cannot read `/nowhere/letters.tsv.gz`: No such file"), "{error}");
        assert!(error.contains("ai.stanford.edu/~btaskar/ocr"), "{error}");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_file_has_its_known_sizes() {
        let size = |data: &Dataset| (data.len(), data.n_positions());
        let splits = Ocr::default().load(&Seed::new(1)).unwrap();
        assert_eq!((size(&splits.train), size(&splits.test)), ((704, 5_375), (6_173, 46_777)));
        assert!(splits.holdout.is_none());
        let source = Ocr { train: vec![0, 1], holdout: vec![2], test: vec![9], ..Ocr::default() };
        let splits = source.load(&Seed::new(1)).unwrap();
        assert_eq!((splits.train.len(), splits.holdout.unwrap().len(), splits.test.len()), (1_330, 684, 675));
        let words = [626, 704, 684, 698, 693, 651, 739, 717, 690, 675];
        for (fold, n) in FOLDS.zip(words) {
            let source = Ocr { train: vec![], test: vec![fold], ..Ocr::default() };
            let splits = source.load(&Seed::new(1)).unwrap();
            assert_eq!((splits.train.len(), splits.test.len()), (6_877 - n, n), "fold {fold}");
        }
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn diotte_trains_on_6200_random_words() {
        let source = "type = \"held-out\"\nsource = \"ocr\"\nof = \"all\"\nsequences = 677";
        let source: Box<dyn Source> = toml::from_str(source).unwrap();
        source.check().unwrap();
        let splits = [1, 2].map(|seed| source.load(&Seed::new(seed)).unwrap());
        let size = |data: &Dataset| (data.len(), data.n_positions());
        for Splits { train, holdout, test } in &splits {
            assert_eq!((train.len(), test.len(), holdout.is_none()), (6_200, 677, true));
            assert_eq!(size(train).1 + size(test).1, 52_152);
        }
        assert_ne!(splits[0].test, splits[1].test);
    }
}
