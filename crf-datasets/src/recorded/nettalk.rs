use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Error, Result, Seed, Source, Splits, Value,
    require,
};
use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::data_dir;
use crate::text::fields::Fields;
use crate::text::lines::Lines;

/// Pronunciation of English words, one letter per position (Sejnowski & Rosenberg 1987).
///
/// The observation is the channel of symbols `letter`. The label is the letter's phoneme, its mark
/// of stress or syllable, or both. Both together are the classes of Dietterich and Ashenfelter's
/// poster: about 126 in a thousand words. The labels are those of the training words, so a few
/// positions of the test words can never be predicted right.
///
/// Words are drawn by the seed from the 19,801 in the dictionary, without replacement. Of a word
/// with several pronunciations only the first counts, as in the paper. `gunpowder` has no stress in
/// the dictionary and is omitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nettalk {
    /// Dictionary file: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// File with a list of training words, such as `nettalk/nettalk.list` with the 1,000 most
    /// common words; the first `train` words of the list are taken. If omitted, the training words
    /// are drawn.
    pub list: Option<PathBuf>,
    /// Content of the labels: `phoneme`, `stress` or `both`.
    pub target: Spoken,
    /// Number of training words.
    pub train: usize,
    /// Number of validation words; none if omitted.
    pub holdout: Option<usize>,
    /// Number of test words.
    pub test: usize,
}

/// Content of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spoken {
    /// The phoneme, `-` for a silent letter.
    Phoneme,
    /// Primary, secondary or no stress of a vowel (`1`, `2`, `0`), or the side of its syllable
    /// (`<`, `>`).
    Stress,
    /// The phoneme and then the stress.
    Both,
}

impl Default for Nettalk {
    fn default() -> Self {
        let file = "nettalk/nettalk.data".into();
        Nettalk { file, list: None, target: Spoken::Both, train: 1000, holdout: None, test: 1000 }
    }
}

crf_core::plugin!(
    "source",
    Nettalk,
    "nettalk",
    example = r#"
target = "phoneme"
list = "nettalk/nettalk.list"
"#
);

const HELP: &str =
    ", which is part of the NETtalk corpus (UCI Machine Learning Repository, Connectionist Bench)";

#[typetag::serde(name = "nettalk")]
impl Source for Nettalk {
    fn check(&self) -> Result<()> {
        for (key, n) in [("train", Some(self.train)), ("holdout", self.holdout), ("test", Some(self.test))] {
            require(n != Some(0), key, "at least 1", 0)?;
        }
        Ok(())
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let words = data_dir::read(&self.file, HELP, dictionary)?;
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.shuffle(&mut seed.child("words").rng());
        if let Some(list) = &self.list {
            let numbers: HashMap<&str, usize> =
                words.iter().map(|word| word.letters.as_str()).zip(0..).collect();
            let common = data_dir::read(list, HELP, |lines| listed(lines, &numbers))?;
            let ranks: HashMap<usize, usize> = common.into_iter().zip(0..).collect();
            let n_listed = ranks.len();
            require(
                self.train <= n_listed,
                "train",
                &format!("at most {n_listed}, as many as the list has"),
                self.train,
            )?;
            // Listed words come first, in the order of the list; the others keep the order of the
            // draw.
            order.sort_by_key(|word| {
                ranks.get(word).copied().filter(|&rank| rank < self.train).unwrap_or(n_listed)
            });
        }
        let mut left = order.as_slice();
        let mut take = |key: &str, n: usize| {
            let n_left = left.len();
            require(n <= n_left, key, &format!("at most {n_left}, as many words as are left"), n)?;
            Ok::<_, Error>(left.split_off(..n).unwrap_or_default().iter().map(|&word| &words[word]))
        };
        let train = self.chains(take("train", self.train)?, DatasetBuilder::growing(vec![letter()])?)?;
        let schema = train.schema().clone();
        let mut draw = |key, n| self.chains(take(key, n)?, DatasetBuilder::new(schema.clone()));
        let holdout = self.holdout.map(|n| draw("holdout", n)).transpose()?;
        Ok(Splits { train, holdout, test: draw("test", self.test)? })
    }
}

fn letter() -> Channel {
    let letters = Alphabet::new(LETTERS.map(String::from));
    Channel { name: "letter".into(), kind: ChannelKind::Symbol(letters) }
}

const LETTERS: std::ops::RangeInclusive<char> = 'a'..='z';

impl Nettalk {
    fn chains<'a>(&self, words: impl Iterator<Item = &'a Word>, mut data: DatasetBuilder) -> Result<Dataset> {
        let mut name = String::new();
        for Word { letters, phonemes, stress } in words {
            for ((letter, phoneme), stress) in letters.bytes().zip(phonemes.chars()).zip(stress.chars()) {
                name.clear();
                name.extend((self.target != Spoken::Stress).then_some(phoneme));
                name.extend((self.target != Spoken::Phoneme).then_some(stress));
                let label = data.label(&name);
                data.push(&[Value::Symbol(u32::from(letter - b'a'))], Some(label))?;
            }
            data.end_chain()?;
        }
        Ok(data.finish())
    }
}

/// Word of the dictionary; the three texts have the same length.
#[derive(Debug, PartialEq)]
struct Word {
    letters: String,
    phonemes: String,
    stress: String,
}

/// Reads the dictionary: the words below a line of dashes, each with its first pronunciation.
///
/// A line has letters, phonemes, stress, and a code from 0 to 2 for regular, irregular and foreign
/// words.
fn dictionary(mut lines: Lines<'_>) -> Result<Vec<Word>> {
    loop {
        match lines.next()? {
            Some(line) if line.text.starts_with("---") => break,
            Some(_) => {}
            None => {
                return Err(lines.last().error(0, "a line of dashes above the words", "the end of the file"));
            }
        }
    }
    let mut words = Vec::new();
    let mut seen = HashSet::new();
    while let Some(line) = lines.next()? {
        // One word has no stress: its code is in the column of the stress, and the column of the
        // code is empty.
        if line.text.is_empty() || line.text.ends_with("\t0\t") {
            continue;
        }
        let mut fields = Fields::new(line, '\t');
        let lower = |text: &str| !text.is_empty() && text.chars().all(|c| LETTERS.contains(&c));
        let letters = fields.next("a word of letters from a to z", |text| lower(text).then_some(text))?;
        let mut of_same_length = |want: &str| {
            fields.next(format_args!("{} {want}", letters.len()), |text| {
                (text.is_ascii() && text.len() == letters.len()).then_some(text)
            })
        };
        let (phonemes, stress) = (of_same_length("phonemes")?, of_same_length("marks of stress")?);
        fields.next("a code from 0 to 2", |text| ["0", "1", "2"].contains(&text.trim_end()).then_some(()))?;
        fields.end()?;
        if seen.insert(letters.to_owned()) {
            words.push(Word { letters: letters.into(), phonemes: phonemes.into(), stress: stress.into() });
        }
    }
    if words.is_empty() { Err(lines.no_sequence()) } else { Ok(words) }
}

/// Indices of the words of a list: in parentheses, of which the first begins a line, in upper or
/// lower case.
fn listed(mut lines: Lines<'_>, numbers: &HashMap<&str, usize>) -> Result<Vec<usize>> {
    let mut words = Vec::new();
    let mut seen = HashSet::new();
    let mut open = false;
    while let Some(line) = lines.next()? {
        open |= line.text.starts_with('(');
        if !open {
            continue;
        }
        for word in line.text.split([' ', '(', ')']).filter(|word| !word.is_empty()) {
            let number = numbers.get(word.to_lowercase().as_str()).copied();
            let offset = word.as_ptr() as usize - line.text.as_ptr() as usize;
            let number = number.filter(|&number| seen.insert(number));
            words.push(number.ok_or_else(|| {
                line.error(offset, "a word of the dictionary, each once", format!("`{word}`"))
            })?);
        }
        if line.text.ends_with(')') {
            return Ok(words);
        }
    }
    Err(lines.last().error(0, "a list in parentheses", "the end of the file"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<Word>, String> {
        dictionary(Lines::new("f", &mut format!("a\tb\n---\n{text}").as_bytes()))
            .map_err(|error| error.to_string())
    }

    fn word(letters: &str, phonemes: &str, stress: &str) -> Word {
        Word { letters: letters.into(), phonemes: phonemes.into(), stress: stress.into() }
    }

    #[test]
    fn the_first_pronunciation_counts_and_a_word_without_stress_is_left_out() {
        let text = "\nabbe\t@b-e\t0<>1\t0 \nabbe\t@b-i\t0<>1\t2\ngun\tg^n\t0\t\nzoo\tzu-\t>1<\t1\n";
        assert_eq!(words(text).unwrap(), [word("abbe", "@b-e", "0<>1"), word("zoo", "zu-", ">1<")]);
    }

    #[test]
    fn labels_are_phonemes_or_stress_or_both() {
        let dictionary = [word("abbe", "@b-e", "0<>1")];
        for (target, want) in [
            (Spoken::Phoneme, ["@", "b", "-", "e"]),
            (Spoken::Stress, ["0", "<", ">", "1"]),
            (Spoken::Both, ["@0", "b<", "->", "e1"]),
        ] {
            let source = Nettalk { target, ..Nettalk::default() };
            let data =
                source.chains(dictionary.iter(), DatasetBuilder::growing(vec![letter()]).unwrap()).unwrap();
            assert_eq!(
                data.labels().iter().map(|label| data.label_name(0, label.unwrap())).collect::<Vec<_>>(),
                want
            );
            assert_eq!(data.sequence(0).symbol(0), [0, 1, 1, 4]);
        }
    }

    #[test]
    fn malformed_lines_name_line_and_column() {
        let refused = |text: &str, message: &str| assert_eq!(words(text), Err(message.to_owned()));
        refused("Abbe\t@b-e", "f:3:1: expected a word of letters from a to z, got `Abbe`");
        refused("abbe\t@b-", "f:3:6: expected 4 phonemes, got `@b-`");
        refused("abbe\t@b-e\t0<>", "f:3:11: expected 4 marks of stress, got `0<>`");
        refused("abbe\t@b-e\t0<>1\t3", "f:3:16: expected a code from 0 to 2, got `3`");
        refused("abbe\t@b-e\t0<>1", "f:3:15: expected a code from 0 to 2, got the end of the line");
        let error = dictionary(Lines::new("f", &mut "abbe\n".as_bytes())).unwrap_err().to_string();
        assert_eq!(error, "f:1:1: expected a line of dashes above the words, got the end of the file");
    }

    #[test]
    fn a_list_names_words_of_the_dictionary_once() {
        let numbers = HashMap::from([("the", 7), ("of", 9)]);
        let read = |text: &str| {
            listed(Lines::new("f", &mut text.as_bytes()), &numbers).map_err(|error| error.to_string())
        };
        assert_eq!(read("Note (by X)\n(OF\n THE)\n"), Ok(vec![9, 7]));
        let want = "expected a word of the dictionary, each once, got";
        assert_eq!(read("(OF\n AN)"), Err(format!("f:2:2: {want} `AN`")));
        assert_eq!(read("(OF THE OF)"), Err(format!("f:1:9: {want} `OF`")));
        assert_eq!(
            read("(OF"),
            Err("f:1:1: expected a list in parentheses, got the end of the file".to_owned())
        );
    }

    #[test]
    fn a_missing_file_says_how_to_get_it() {
        let error =
            Nettalk { file: "/nowhere/n".into(), ..Nettalk::default() }.load(&Seed::new(1)).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("cannot read `/nowhere/n`: No such file") && error.contains("NETtalk"),
            "{error}"
        );
        let error = Nettalk { holdout: Some(0), ..Nettalk::default() }.check().unwrap_err().to_string();
        assert_eq!(error, "`holdout` must be at least 1, got 0");
    }

    /// The words of a part by their letters.
    fn spelled(data: &Dataset) -> Vec<String> {
        let word =
            |i| data.sequence(i).symbol(0).iter().map(|&letter| char::from(b'a' + letter as u8)).collect();
        (0..data.len()).map(word).collect()
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_dictionary_has_its_known_sizes() {
        let all = data_dir::read("nettalk/nettalk.data".as_ref(), HELP, dictionary).unwrap();
        assert_eq!(all.len(), 19_801);
        assert_eq!(all.iter().map(|word| word.letters.len()).sum::<usize>(), 145_656 - "gunpowder".len());
        let source = Nettalk { holdout: Some(500), ..Nettalk::default() };
        let Splits { train, holdout, test } = source.load(&Seed::new(1)).unwrap();
        let parts = [spelled(&train), spelled(&holdout.unwrap()), spelled(&test)];
        assert_eq!([0, 1, 2].map(|k| parts[k].len()), [1000, 500, 1000]);
        assert_eq!(parts.concat().into_iter().collect::<HashSet<_>>().len(), 2500);
        assert!((115..=135).contains(&train.schema().labels().len()), "{}", train.schema().labels().len());
        assert!(test.n_foreign() < 20, "{}", test.n_foreign());
        assert_ne!(spelled(&source.load(&Seed::new(2)).unwrap().train), parts[0]);
        let error = Nettalk { test: 18_302, ..source }.load(&Seed::new(1)).unwrap_err().to_string();
        assert_eq!(error, "`test` must be at most 18301, as many words as are left, got 18302");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_most_common_words_are_trained_on_in_their_order() {
        let source = Nettalk { list: Some("nettalk/nettalk.list".into()), ..Nettalk::default() };
        let Splits { train, test, .. } = source.load(&Seed::new(1)).unwrap();
        let train = spelled(&train);
        assert_eq!((train.len(), train[0].as_str(), train[999].as_str()), (1000, "the", "anode"));
        assert_eq!(train.iter().map(String::len).sum::<usize>(), 5_438);
        assert!(spelled(&test).iter().all(|word| !train.contains(word)));
        let error = Nettalk { train: 1001, ..source }.load(&Seed::new(1)).unwrap_err().to_string();
        assert_eq!(error, "`train` must be at most 1000, as many as the list has, got 1001");
    }
}
