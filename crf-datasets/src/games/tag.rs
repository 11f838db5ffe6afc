mod simulation;

use std::sync::Arc;

use crf_core::{Alphabet, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::coordinates;
use crate::games::game::record;
use crate::games::motion::Motion;
use crate::games::sensing::Sensing;
use crate::games::tag::simulation::TagGame;
use crate::generators::support::splits::{Size, SplitSizes};
use crate::checks::{not_negative, positive};

/// Robots that play tag: who is the seeker? (Vail 2008, §2.1.3 and §2.7)
///
/// Three holonomic robots move on a field, and each position is a frame. The real channels `robot1.x`, `robot1.y` and so on
/// are their places in mm from the centre; the label is the name of the robot that is the seeker. It chases the nearest
/// other robot. When the bodies come within `reach`, that robot takes the role, brakes and stands still for `pause`, and the
/// old seeker chooses a target as the passive robots do. They go from target to target as the `scheme` says and turn
/// aside for each other and for a seeker that stands still, but not for one that chases them.
///
/// In a frame the places are seen first; then the behaviours run, in random order; then the label is recorded; and then all
/// robots move. A tagged robot takes the role when its behaviour runs next, so hand-overs show in the first
/// or in the second frame of nearness, as the thesis says.
///
/// `motion = { slip = 0.05 }` and `sensing = {}` make real robots of them, for studies of how models carry over from
/// simulation: movements are imperfect, and behaviours and data know only what cameras and a tracker say.
///
/// Deviations. The thesis prints neither speeds nor accelerations, and nothing of how robots avoid each other: `motion`
/// is ours. So are `arrival`, `margin`, `inset`, and the random `dwell` at targets, without which the hourglass can
/// fall into a cycle without any hand-over. Its robots tag "within 4 cm", which we take for the gap between bodies of 20 cm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tag {
    /// How passive robots choose their targets.
    pub scheme: TargetScheme,
    /// How many robots play; from 2 to 100.
    pub robots: usize,
    /// Length of the field along x and its width along y, in mm; centres of robots stay inside.
    pub field: [f64; 2],
    /// Frames a second.
    pub rate: f64,
    /// The gap between two bodies at which one tags the other, in mm.
    pub reach: f64,
    /// How long a robot stands still after it was tagged, braking included, in seconds.
    pub pause: f64,
    /// How near to a target a robot has arrived, in mm.
    pub arrival: f64,
    /// Mean of the exponential time that a robot stays at a target, in seconds.
    pub dwell: f64,
    /// How far from the edges unconstrained targets are at least, in mm.
    pub margin: f64,
    /// How far from the seeker unconstrained targets are, in mm; with `margin` at most half of the field's shorter side.
    pub clearance: f64,
    /// How far from the edges the corners of the hourglass are, in mm.
    pub inset: f64,
    /// How robots move.
    pub motion: Motion,
    /// How they are seen; just as they are when left out.
    pub sensing: Option<Sensing>,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// How passive robots choose their targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetScheme {
    /// The corners (−, −), (+, −), (−, +), (+, +) in turn; if the seeker is in the quadrant of the next one, the corner
    /// furthest from the seeker, and on from there.
    Hourglass,
    /// Anywhere but near to the seeker.
    Unconstrained,
}

impl Default for Tag {
    fn default() -> Self {
        let twenty_minutes = Size { sequences: 1, length: 72_000 };
        Tag {
            scheme: TargetScheme::Hourglass,
            robots: 3,
            field: [4000.0, 3500.0],
            rate: 60.0,
            reach: 40.0,
            pause: 5.0,
            arrival: 20.0,
            dwell: 0.5,
            margin: 100.0,
            clearance: 1000.0,
            inset: 300.0,
            motion: Motion::default(),
            sensing: None,
            train: twenty_minutes,
            holdout: None,
            test: twenty_minutes,
        }
    }
}

impl Tag {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!(
    "source",
    Tag,
    "tag",
    example = r#"
scheme = "unconstrained"
motion = { slip = 0.05 }
sensing = { noise = 3.0, latency = 6 }
"#
);

#[typetag::serde(name = "tag")]
impl Source for Tag {
    fn check(&self) -> Result<()> {
        require((2..=100).contains(&self.robots), "robots", "from 2 to 100", self.robots)?;
        self.field.iter().try_for_each(|&side| positive("field", side))?;
        positive("rate", self.rate)?;
        not_negative("reach", self.reach)?;
        not_negative("pause", self.pause)?;
        positive("arrival", self.arrival)?;
        not_negative("dwell", self.dwell)?;
        not_negative("margin", self.margin)?;
        not_negative("clearance", self.clearance)?;
        not_negative("inset", self.inset)?;
        let half = 0.5 * self.field[0].min(self.field[1]);
        let want = format!("at most {half} with `margin`, half of the field's shorter side");
        require(self.clearance + self.margin <= half, "clearance", &want, self.clearance)?;
        let want = format!("at most {half}, half of the field's shorter side");
        require(self.inset <= half, "inset", &want, self.inset)?;
        self.motion.check()?;
        self.sensing.iter().try_for_each(Sensing::check)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let names: Vec<String> = (1..=self.robots).map(|k| format!("robot{k}")).collect();
        let schema = Arc::new(Schema::chain(coordinates(&names), Alphabet::new(&names))?);
        self.sizes()
            .draw(&schema, seed, |_, length, rng, out| record(TagGame::new(self, rng), length, rng, out))
    }
}
