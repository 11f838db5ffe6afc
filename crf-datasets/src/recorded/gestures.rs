use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{Error, Label, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::labels::numbered;
use crate::recorded::table::{Recording, Table, chains};
use crate::text::fields::Fields;

/// Videos of hand gestures, 30 frames per position (ChaLearn 2011; Diotte 2017, §IV.C).
///
/// Each of 20 sets is a task of its own, with one person and 9 to 14 labels: 0 is rest, the others
/// are the set's vocabulary. A set has 30 training videos and 17 test videos, 16 in set 2. For
/// validation data, take some of the training videos by `held-out` with `as = "holdout"`. The 60
/// real channels are two histograms of visual words, each of length 1: `m0` … `m29` of the video,
/// `k0` … `k29` of its depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gestures {
    /// Data file: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// Number of the set, from 1 to 20.
    pub set: u8,
}

impl Default for Gestures {
    fn default() -> Self {
        Gestures { file: "gesture/gesture.tsv.gz".into(), set: 1 }
    }
}

crf_core::plugin!("source", Gestures, "gestures", example = "set = 2");

const HELP: &str = "which holds the bags of visual words that github.com/xiuyanni/CRF has for the ChaLearn Gesture \
                    Dataset (CGD2011), a position a line with TABs between,";

#[typetag::serde(name = "gestures")]
impl Source for Gestures {
    fn check(&self) -> Result<()> {
        require((1..=20).contains(&self.set), "set", "from 1 to 20", self.set)
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        let videos = table().read(&self.file, |fields| self.video(fields), position)?;
        let videos_of =
            |split: &'static str| videos.iter().filter(move |video| video.name.starts_with(split));
        for split in ["train", "test"] {
            if videos_of(split).next().is_none() {
                let (file, set) = (self.file.display(), self.set);
                return Err(Error::data(format!("{file}: expected {split} videos of set {set}, got none")));
            }
        }
        let last_label =
            videos.iter().flat_map(|video| &video.labels).max().map_or(0, |&label| label as usize);
        let schema = Arc::new(Schema::chain(real(channels()), numbered(last_label + 1))?);
        Ok(Splits {
            train: chains(videos_of("train"), &schema)?,
            holdout: None,
            test: chains(videos_of("test"), &schema)?,
        })
    }
}

impl Gestures {
    /// Video of a line, with its split; `None` if it is in another set.
    fn video(&self, fields: &mut Fields<'_>) -> Result<Option<String>> {
        let set: u8 = fields.next("a set from 1 to 20", |text| text.parse().ok())?;
        let split =
            fields.next("`train` or `test`", |text| ["train", "test"].contains(&text).then_some(text))?;
        let video = fields.name("a video")?;
        Ok((set == self.set).then(|| format!("{split} video {video}")))
    }
}

/// Reads position, label and histograms.
fn position(fields: &mut Fields<'_>, video: &mut Recording) -> Result<Label> {
    fields.count(video.labels.len(), &video.name)?;
    let label = fields.next("a label from 0 on", |text| text.parse::<u8>().ok())?;
    fields.reals(60, &mut video.values)?;
    Ok(label.into())
}

fn channels() -> impl Iterator<Item = String> {
    ["m", "k"].into_iter().flat_map(|sort| (0..30).map(move |k| format!("{sort}{k}")))
}

fn table() -> Table<'static> {
    let columns = ["set", "split", "video", "t", "label"].map(String::from).into_iter().chain(channels());
    Table { separator: '\t', header: columns.collect::<Vec<_>>().join("\t"), help: HELP }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::text::lines::Lines;
    use crf_core::Value;

    fn row(head: &str) -> String {
        format!("{head}{}\n", "\t0.5".repeat(60))
    }

    /// The videos of set 2 below a good header, or the message.
    fn read(rows: &str) -> Result<Vec<Recording>, String> {
        let (text, source) =
            (format!("{}\n{rows}", table().header), Gestures { set: 2, ..Gestures::default() });
        let lines = &mut text.as_bytes();
        let videos = table().parse(Lines::new("f", lines), |fields| source.video(fields), position);
        videos.map_err(|error| error.to_string())
    }

    #[test]
    fn rows_of_the_set_are_positions_of_its_videos() {
        let rows =
            ["1\ttrain\t1\t0\t3", "2\ttrain\t1\t0\t4", "2\ttrain\t1\t1\t0", "2\ttest\t31\t0\t8"].map(row);
        let video = |name: &str, labels: &[Label]| Recording {
            name: name.into(),
            values: vec![Value::Real(0.5); 60 * labels.len()],
            labels: labels.to_vec(),
        };
        assert_eq!(
            read(&rows.concat()).unwrap(),
            [video("train video 1", &[4, 0]), video("test video 31", &[8])]
        );
    }

    #[test]
    fn malformed_rows_name_line_and_column() {
        let refused = |rows: &str, message: &str| assert_eq!(read(rows), Err(message.to_owned()));
        refused("x", "f:2:1: expected a set from 1 to 20, got `x`");
        refused("2\tdev", "f:2:3: expected `train` or `test`, got `dev`");
        refused("2\ttest\t1\t1", "f:2:10: expected position 0 of test video 1, got 1");
        refused("2\ttest\t1\t0\t-1", "f:2:12: expected a label from 0 on, got `-1`");
        refused("2\ttest\t1\t0\t1\tNaN", "f:2:14: expected a finite number, got `NaN`");
        refused("2\ttest\t1\t0\t1\t0.5", "f:2:17: expected a finite number, got the end of the line");
        let long = row("2\ttest\t1\t0\t1").replace('\n', "\t7");
        refused(&long, "f:2:254: expected the end of the line, got `7`");
        let again = ["2\ttest\t1\t0\t1", "2\ttest\t2\t0\t1", "2\ttest\t1\t0\t1"].map(row).concat();
        refused(
            &again,
            "f:4:1: expected the rows of a recording next to each other, got `test video 1` again",
        );
        let error =
            table().parse(Lines::new("f", &mut "a\tb\n".as_bytes()), |_| Ok(None), position).unwrap_err();
        assert!(
            error.to_string().starts_with(r"f:1:1: expected the header `set\tsplit\tvideo\tt\tlabel\tm0"),
            "{error}"
        );
    }

    #[test]
    fn sets_that_do_not_exist_are_refused() {
        let error = Gestures { set: 21, ..Gestures::default() }.check().unwrap_err().to_string();
        assert_eq!(error, "`set` must be from 1 to 20, got 21");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_sets_have_their_known_sizes() {
        const TRAIN: [usize; 20] = [
            908, 1051, 966, 797, 1253, 682, 730, 972, 895, 822, 1157, 801, 548, 547, 745, 839, 927, 591, 966,
            503,
        ];
        const TEST: [usize; 20] = [
            453, 597, 785, 525, 663, 412, 469, 408, 595, 465, 647, 573, 465, 358, 610, 574, 494, 283, 527,
            430,
        ];
        const LABELS: [usize; 20] =
            [11, 11, 9, 11, 9, 11, 10, 12, 10, 10, 9, 12, 13, 9, 9, 14, 9, 11, 10, 10];
        for set in 1..=20_u8 {
            let Splits { train, test, .. } =
                Gestures { set, ..Gestures::default() }.load(&Seed::new(1)).unwrap();
            let k = set as usize - 1;
            assert_eq!((train.len(), test.len()), (30, if set == 2 { 16 } else { 17 }), "set {set}");
            assert_eq!((train.n_positions(), test.n_positions()), (TRAIN[k], TEST[k]), "set {set}");
            assert_eq!(train.schema().labels().len(), LABELS[k], "set {set}");
            for x in (0..30).map(|i| train.sequence(i)) {
                let length =
                    |t: usize, from: usize| (from..from + 30).map(|c| x.real(c)[t].powi(2)).sum::<f64>();
                assert!(
                    (0..x.len()).all(|t| [0, 30].iter().all(|&from| (length(t, from) - 1.0).abs() < 1e-6))
                );
            }
        }
    }

    #[test]
    fn a_set_without_videos_is_refused() {
        let file = std::env::temp_dir().join(format!("gestures-{}.tsv", std::process::id()));
        std::fs::write(&file, format!("{}\n{}", table().header, row("3\ttrain\t1\t0\t3"))).unwrap();
        let message = |set| Gestures { file: file.clone(), set }.load(&Seed::new(1)).unwrap_err().to_string();
        let name = file.display();
        let messages = [message(2), message(3)];
        std::fs::remove_file(&file).unwrap();
        assert_eq!(messages[0], format!("{name}: expected train videos of set 2, got none"));
        assert_eq!(messages[1], format!("{name}: expected test videos of set 3, got none"));
    }

    #[test]
    fn a_missing_file_says_how_to_get_it() {
        let error =
            Gestures { file: "/nowhere/g".into(), set: 1 }.load(&Seed::new(1)).unwrap_err().to_string();
        assert!(error.starts_with("cannot read `/nowhere/g`: No such file"), "{error}");
        assert!(error.contains("github.com/xiuyanni/CRF"), "{error}");
    }
}
