use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Error, Label, Result, Schema, Seed, Source, Splits, Value, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recorded::table::{Recording, Table, chains};
use crate::text::fields::Fields;

/// Activities of older people with a batteryless sensor on the chest (Shinmoto Torres et al. 2013).
///
/// 75,128 readings in 87 trials, 60 in room S1 and 27 in S2. The labels are four activities: `bed`
/// (sitting on it), `chair`, `lying` and `ambulating`. Real channels are the accelerations
/// `frontal`, `vertical` and `lateral` in g, the properties of the signal at the antenna (`rssi`,
/// `phase`, `frequency`), and `elapsed`, the seconds since the previous reading, since readings are
/// irregular. Channels of symbols are the `antenna` and the person's `sex`.
///
/// There is no official split. The trials of the chosen rooms are distributed over the folds in the
/// order of the file, one to each fold in turn, and one fold is the test data. With as many folds
/// as trials this is leave-one-trial-out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActivityOlder {
    /// Data file: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// Rooms whose trials are used, among `S1` and `S2`; at least one.
    pub rooms: Vec<Room>,
    /// Number of folds, from 2 to the number of trials.
    pub folds: usize,
    /// Index of the test fold, from 0; all other folds are trained on.
    pub fold: usize,
}

/// Room of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Room {
    /// Room with four antennas.
    S1,
    /// Room with three antennas.
    S2,
}

impl Default for ActivityOlder {
    fn default() -> Self {
        let file = "activity_older/activity_older.csv.gz".into();
        ActivityOlder { file, rooms: vec![Room::S1, Room::S2], folds: 3, fold: 0 }
    }
}

crf_core::plugin!(
    "source",
    ActivityOlder,
    "activity-older",
    example = r#"
rooms = ["S1"]
folds = 60
"#
);

const HELP: &str = "which holds Activity Recognition with Healthy Older People (UCI Machine Learning Repository 427), all \
                    trials in one,";
const HEADER: &str =
    "room,trial,sex,time_s,acc_frontal_g,acc_vertical_g,acc_lateral_g,antenna,rssi,phase,frequency,label";
const SEXES: [&str; 2] = ["M", "F"];
const ANTENNAS: [&str; 4] = ["1", "2", "3", "4"];
const ACTIVITIES: [&str; 4] = ["bed", "chair", "lying", "ambulating"];

#[typetag::serde(name = "activity-older")]
impl Source for ActivityOlder {
    fn check(&self) -> Result<()> {
        let once = !self.rooms.is_empty()
            && (1..self.rooms.len()).all(|k| !self.rooms[..k].contains(&self.rooms[k]));
        require(once, "rooms", "at least one of `S1` and `S2`, each once", format!("{:?}", self.rooms))?;
        require(self.folds >= 2, "folds", "at least 2", self.folds)?;
        require(self.fold < self.folds, "fold", "below `folds`", self.fold)
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        self.check()?;
        let mut time = 0.0;
        let trials = table().read(
            &self.file,
            |fields| self.trial(fields),
            |fields, trial| reading(fields, trial, &mut time),
        )?;
        if trials.len() < self.folds {
            let want = format!("at most {}, the number of trials", trials.len());
            return Err(Error::setting("folds", want, self.folds));
        }
        let schema = Arc::new(schema()?);
        let fold = |test| {
            let chosen = trials.iter().enumerate().filter(|(k, _)| (k % self.folds == self.fold) == test);
            chains(chosen.map(|(_, trial)| trial), &schema)
        };
        Ok(Splits { train: fold(false)?, holdout: None, test: fold(true)? })
    }
}

impl ActivityOlder {
    /// Trial of a line; `None` if it is in another room.
    fn trial(&self, fields: &mut Fields<'_>) -> Result<Option<String>> {
        let room = [Room::S1, Room::S2][fields.one_of(&["S1", "S2"])? as usize];
        let trial = fields.name("a trial")?;
        Ok(self.rooms.contains(&room).then(|| format!("{room:?} {trial}")))
    }
}

/// Reads the fields of a reading; `previous_time` is the time of the previous reading.
fn reading(fields: &mut Fields<'_>, trial: &mut Recording, previous_time: &mut f64) -> Result<Label> {
    let sex = fields.one_of(&SEXES)?;
    let last = (!trial.labels.is_empty()).then_some(*previous_time);
    let time = fields.time(last)?;
    let elapsed = last.map_or(0.0, |last| time - last);
    *previous_time = time;
    trial.values.extend([Value::Symbol(sex), Value::Real(elapsed)]);
    fields.reals(3, &mut trial.values)?;
    trial.values.push(Value::Symbol(fields.one_of(&ANTENNAS)?));
    fields.reals(3, &mut trial.values)?;
    fields.one_of(&["1", "2", "3", "4"])
}

fn schema() -> Result<Schema> {
    let symbol = |names: &[&str]| ChannelKind::Symbol(Alphabet::new(names));
    let real = || ChannelKind::Real;
    let channels = [
        ("sex", symbol(&SEXES)),
        ("elapsed", real()),
        ("frontal", real()),
        ("vertical", real()),
        ("lateral", real()),
        ("antenna", symbol(&ANTENNAS)),
        ("rssi", real()),
        ("phase", real()),
        ("frequency", real()),
    ];
    let channels = channels.map(|(name, kind)| Channel { name: name.into(), kind });
    Schema::chain(channels.to_vec(), Alphabet::new(ACTIVITIES))
}

fn table() -> Table<'static> {
    Table { separator: ',', header: HEADER.into(), help: HELP }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::text::lines::Lines;

    /// The trials in room S1 below a good header, or the message.
    fn read(rows: &str) -> Result<Vec<Recording>, String> {
        let text = format!("{HEADER}\n{rows}");
        let mut time = 0.0;
        let source = ActivityOlder { rooms: vec![Room::S1], ..ActivityOlder::default() };
        let position = |fields: &mut Fields<'_>, trial: &mut Recording| reading(fields, trial, &mut time);
        let trials =
            table().parse(Lines::new("f", &mut text.as_bytes()), |fields| source.trial(fields), position);
        trials.map_err(|error| error.to_string())
    }

    #[test]
    fn readings_have_the_time_since_the_one_before() {
        let rows = [
            "S1,a,M,5,1,2,3,4,-60,2,920,1",
            "S1,a,M,5.5,1,2,3,1,-60,2,920,4",
            "S2,a,M,0,1,2,3,1,-60,2,920,4",
            "S1,b,F,1,1,2,3,1,-60,2,920,3",
        ];
        let trials = read(&rows.join("\n")).unwrap();
        let elapsed = |trial: &Recording| trial.values.chunks(9).map(|values| values[1]).collect::<Vec<_>>();
        assert_eq!(trials.iter().map(|trial| trial.name.as_str()).collect::<Vec<_>>(), ["S1 a", "S1 b"]);
        assert_eq!(elapsed(&trials[0]), [Value::Real(0.0), Value::Real(0.5)]);
        assert_eq!(elapsed(&trials[1]), [Value::Real(0.0)]);
        assert_eq!(trials[0].values[5], Value::Symbol(3));
        assert_eq!((&trials[0].labels[..], &trials[1].labels[..]), (&[0, 3][..], &[2][..]));
        assert_eq!(schema().unwrap().channels().len(), 9);
    }

    #[test]
    fn malformed_rows_name_line_and_column() {
        let refused = |rows: &str, message: &str| assert_eq!(read(rows), Err(message.to_owned()));
        refused("S3,a", "f:2:1: expected one of S1, S2, got `S3`");
        refused("S1,a,X", "f:2:6: expected one of M, F, got `X`");
        refused("S1,a,M,x", "f:2:8: expected a time, got `x`");
        refused("S1,a,M,0,1,2,3,5", "f:2:16: expected one of 1, 2, 3, 4, got `5`");
        let good = "S1,a,M,1,1,2,3,4,-60,2,920,1";
        refused(&format!("{good}\nS1,a,M,0.5,1"), "f:3:8: expected a time of at least 1, got `0.5`");
        refused(&format!("{good},2"), "f:2:30: expected the end of the line, got `2`");
    }

    #[test]
    fn folds_and_rooms_that_cannot_be_are_refused() {
        let refused = |source: ActivityOlder, message: &str| {
            assert_eq!(source.check().unwrap_err().to_string(), message);
        };
        let good = ActivityOlder::default;
        refused(ActivityOlder { folds: 1, ..good() }, "`folds` must be at least 2, got 1");
        refused(ActivityOlder { fold: 3, ..good() }, "`fold` must be below `folds`, got 3");
        let want = "`rooms` must be at least one of `S1` and `S2`, each once, got";
        refused(ActivityOlder { rooms: vec![], ..good() }, &format!("{want} []"));
        refused(ActivityOlder { rooms: vec![Room::S1; 2], ..good() }, &format!("{want} [S1, S1]"));
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_rooms_have_their_known_sizes() {
        let (s1, s2) = ([15_162, 4_381, 30_983, 1_956], [1_244, 530, 20_537, 335]);
        let both = [16_406, 4_911, 51_520, 2_291];
        for (rooms, folds, want) in
            [(vec![Room::S1], 60, s1), (vec![Room::S2], 27, s2), (vec![Room::S1, Room::S2], 87, both)]
        {
            let source = ActivityOlder { rooms, folds, fold: folds - 1, ..ActivityOlder::default() };
            let Splits { train, test, .. } = source.load(&Seed::new(1)).unwrap();
            assert_eq!((train.len(), test.len()), (folds - 1, 1));
            let count =
                |k| [&train, &test].iter().flat_map(|part| part.labels()).filter(|y| **y == Some(k)).count();
            assert_eq!([0, 1, 2, 3].map(count), want);
            let error =
                ActivityOlder { folds: folds + 1, ..source }.load(&Seed::new(1)).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`folds` must be at most {folds}, the number of trials, got {}", folds + 1)
            );
        }
    }
}
