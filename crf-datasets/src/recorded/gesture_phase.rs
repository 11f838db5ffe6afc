use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{Alphabet, Error, Label, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::recorded::table::{Recording, Table, chains};
use crate::text::fields::Fields;

/// Gesture phases in videos of people who tell stories (Madeo, Lima & Peres 2013).
///
/// 9,873 frames in seven videos. The label of a frame is its phase: `D` (rest), `P` (preparation),
/// `S` (stroke), `H` (hold) or `R` (retraction). The real channels `v1` … `v32` are velocities and
/// accelerations of hands and wrists. A video is named after its person and its story: `a1`, `a2`,
/// `a3`, `b1`, `b3`, `c1`, `c3`. For leave-one-video-out, sweep `test` over them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GesturePhase {
    /// Data file: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// Names of the test videos; all other videos are trained on.
    pub test: Vec<String>,
}

impl Default for GesturePhase {
    fn default() -> Self {
        GesturePhase { file: "gesture_phase/va3.csv.gz".into(), test: vec!["a1".into()] }
    }
}

crf_core::plugin!("source", GesturePhase, "gesture-phase", example = r#"test = ["b1", "b3"]"#);

const VIDEOS: [&str; 7] = ["a1", "a2", "a3", "b1", "b3", "c1", "c3"];
const PHASES: [&str; 5] = ["D", "P", "S", "H", "R"];
const HELP: &str = "which is the processed data of Gesture Phase Segmentation (UCI Machine Learning Repository 302), all \
                    videos in one,";

#[typetag::serde(name = "gesture-phase")]
impl Source for GesturePhase {
    fn check(&self) -> Result<()> {
        for (k, video) in self.test.iter().enumerate() {
            if !VIDEOS.contains(&video.as_str()) {
                return Err(Error::unknown("video", video, VIDEOS));
            }
            require(
                !self.test[..k].contains(video),
                "test",
                "videos that differ",
                format!("`{video}` twice"),
            )?;
        }
        let is_proper_subset = !self.test.is_empty() && self.test.len() < VIDEOS.len();
        require(is_proper_subset, "test", "at least one video, and not all seven", self.test.len())
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        self.check()?;
        let videos = table().read(&self.file, video, frame)?;
        let names: Vec<&str> = videos.iter().map(|video| video.name.as_str()).collect();
        if names != VIDEOS {
            let (file, want, got) = (self.file.display(), VIDEOS.join(", "), names.join(", "));
            return Err(Error::data(format!("{file}: expected the videos {want}, got {got}")));
        }
        let schema = Arc::new(Schema::chain(real(channels()), Alphabet::new(PHASES))?);
        let split =
            |test| chains(videos.iter().filter(|video| self.test.contains(&video.name) == test), &schema);
        Ok(Splits { train: split(false)?, holdout: None, test: split(true)? })
    }
}

fn channels() -> impl Iterator<Item = String> {
    (1..=32).map(|k| format!("v{k}"))
}

fn table() -> Table<'static> {
    let columns = ["video", "t", "label"].map(String::from).into_iter().chain(channels());
    Table { separator: ',', header: columns.collect::<Vec<_>>().join(","), help: HELP }
}

fn video(fields: &mut Fields<'_>) -> Result<Option<String>> {
    Ok(Some(fields.name("a video")?.to_owned()))
}

fn frame(fields: &mut Fields<'_>, video: &mut Recording) -> Result<Label> {
    fields.count(video.labels.len(), format_args!("video {}", video.name))?;
    let label = fields.one_of(&PHASES)?;
    fields.reals(32, &mut video.values)?;
    Ok(label)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::text::lines::Lines;

    #[test]
    fn malformed_rows_name_line_and_column() {
        let refused = |rows: &str, message: &str| {
            let text = format!("{}\n{rows}", table().header);
            let read = table().parse(Lines::new("f", &mut text.as_bytes()), video, frame);
            assert_eq!(read.unwrap_err().to_string(), message);
        };
        refused(",0,D", "f:2:1: expected a video, got ``");
        refused("a1,1,D", "f:2:4: expected position 0 of video a1, got 1");
        refused("a1,0,X", "f:2:6: expected one of D, P, S, H, R, got `X`");
        refused("a1,0,D,1,inf", "f:2:10: expected a finite number, got `inf`");
    }

    #[test]
    fn videos_that_do_not_exist_are_refused() {
        let refused = |test: &[&str], message: &str| {
            let test = test.iter().map(|name| name.to_string()).collect();
            let error = GesturePhase { test, ..GesturePhase::default() }.check().unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        };
        refused(&["b2"], "unknown video `b2`, did you mean `a2`?");
        refused(&[], "`test` must be at least one video, and not all seven, got 0");
        refused(&VIDEOS, "`test` must be at least one video, and not all seven, got 7");
        refused(&["a1", "a1"], "`test` must be videos that differ, got `a1` twice");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_videos_have_their_known_sizes() {
        let frames = [1743, 1260, 1830, 1069, 1420, 1107, 1444];
        for (video, n) in VIDEOS.into_iter().zip(frames) {
            let source = GesturePhase { test: vec![video.into()], ..GesturePhase::default() };
            let Splits { train, test, .. } = source.load(&Seed::new(1)).unwrap();
            assert_eq!((train.len(), train.n_positions()), (6, 9_873 - n), "{video}");
            assert_eq!((test.len(), test.n_positions()), (1, n), "{video}");
            let counts = (0..5).map(|k| {
                [&train, &test].iter().flat_map(|part| part.labels()).filter(|y| **y == Some(k)).count()
            });
            assert_eq!(counts.collect::<Vec<_>>(), [2741, 2097, 2950, 998, 1087]);
        }
    }
}
