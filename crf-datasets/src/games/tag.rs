mod simulation;

use std::sync::Arc;

use crf_core::{Alphabet, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::coordinates;
use crate::checks::{not_negative, positive};
use crate::games::game::record;
use crate::games::motion::Motion;
use crate::games::sensing::Sensing;
use crate::games::tag::simulation::TagGame;
use crate::generators::support::splits::{Size, SplitSizes};

/// Robots that play tag; the label is the robot that is the seeker (Vail 2008, §2.1.3 and §2.7).
///
/// Three holonomic robots move on a field. Each position is a frame, and a sequence is a game. The
/// real channels `robot1.x`, `robot1.y`, … are their locations in mm from the centre; the label is
/// the name of the seeker. The seeker chases the nearest other robot. When the gap between their
/// bodies is below `reach`, that robot becomes the seeker, brakes and stands still for `pause`, and
/// the old seeker chooses a target as the passive robots do. Passive robots go from target to
/// target, chosen by `scheme`. They turn aside for each other and for a seeker that stands still,
/// but not for a seeker that chases them.
///
/// In a frame the locations are observed first. Then the behaviours run, in random order; then the
/// label is recorded; then all robots move. A tagged robot becomes the seeker when its behaviour
/// runs next, so a hand-over shows in the first or in the second frame in which the robots are near
/// each other, as in the thesis.
///
/// `motion = { slip = 0.05 }` and `sensing = {}` simulate real robots, to study how models transfer
/// from simulation. Movements are then imperfect, and behaviours and data have only the locations
/// that the tracker estimates.
///
/// Deviations. The thesis prints neither speeds nor accelerations, nor the rule by which robots
/// avoid each other: `motion` is ours. So are `arrival`, `margin`, `inset`, and the random `dwell`
/// at targets, without which the hourglass can fall into a cycle without any hand-over. In the
/// thesis robots tag "within 4 cm"; we read this as the gap between bodies of 20 cm. "The corner of
/// the quadrant furthest from the seeker" we read as the corner of the field in that quadrant; it
/// may also mean the furthest corner of the quadrant itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tag {
    /// Choice of targets by passive robots: `hourglass` or `unconstrained`.
    pub scheme: TargetScheme,
    /// Number of robots; from 2 to 100.
    pub robots: usize,
    /// Length of the field along x and its width along y, in mm; centres of robots stay inside.
    pub field: [f64; 2],
    /// Frames per second.
    pub rate: f64,
    /// Gap between two bodies below which one tags the other, in mm.
    pub reach: f64,
    /// Time for which a tagged robot stands still, including braking, in seconds.
    pub pause: f64,
    /// Distance from a target at which a robot has arrived, in mm.
    pub arrival: f64,
    /// Mean of the exponential time for which a robot stays at a target, in seconds.
    pub dwell: f64,
    /// Minimum distance of unconstrained targets from the edges, in mm.
    pub margin: f64,
    /// Minimum distance of unconstrained targets from the seeker, in mm. The sum with `margin` is
    /// at most half of the shorter side of the field.
    pub clearance: f64,
    /// Distance of the corners of the hourglass from the edges, in mm.
    pub inset: f64,
    /// Motion of the robots.
    pub motion: Motion,
    /// Cameras that track the robots; if omitted, the true locations are observed.
    pub sensing: Option<Sensing>,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// Choice of targets by passive robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetScheme {
    /// Corners (−, −), (+, −), (−, +), (+, +) in turn. If the seeker is in the quadrant of the next
    /// corner, the target is the corner furthest from the seeker, and the order continues from
    /// there.
    Hourglass,
    /// Anywhere except near the seeker.
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
