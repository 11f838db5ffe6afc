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
use crate::games::soccer::simulation::{PlayerRole, SoccerGame};
use crate::generators::support::splits::{Size, SplitSizes};

/// Robot soccer with changing roles; the label is the role of one player (after Vail 2008, chapter
/// 4).
///
/// Two teams of holonomic robots play, blue towards +x. Each position is a frame, and a sequence is
/// a game. The real channels `blue1.x`, `blue1.y`, …, `yellow1.x`, … and `ball.x`, `ball.y` are
/// locations in mm from the centre of the field. The label is the role of `blue1`:
///
/// - `attacker`: has the ball and dribbles, passes or shoots, or is the robot of its team nearest
///   to a ball to be won;
/// - `receiver`: the ball is on its way to the robot, which meets it;
/// - `supporter`: goes where a pass could reach it;
/// - `marker`: stays between an opponent and the ball;
/// - `defender`: stays between the ball and its own goal.
///
/// The last player of each team keeps the goal. Roles are assigned every `plan` seconds and when
/// the owner of the ball changes, to both teams by the same rule. The behaviour of the other robots
/// carries much information about a role, and there are many of them: relations between all objects
/// make many candidate features, of which few matter.
///
/// The games of RoboCup 2007 that the thesis uses are not public. All rules and numbers except
/// those of the field are ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Soccer {
    /// Number of robots per team, including the goal keeper; from 3 to 11.
    pub players: usize,
    /// Length of the field along x and its width along y, in mm.
    pub field: [f64; 2],
    /// Width of the goals, in mm; below the width of the field.
    pub goal: f64,
    /// Frames per second.
    pub rate: f64,
    /// Motion of the robots.
    pub motion: Motion,
    /// Cameras that track the robots; if omitted, the true locations are observed.
    pub sensing: Option<Sensing>,
    /// Gap between a robot and the ball below which the robot takes it, in mm.
    pub reach: f64,
    /// Maximum speed of a kicked ball, in mm/s.
    pub kick: f64,
    /// Time for which a kicked ball flies over all robots, in seconds.
    pub chip: f64,
    /// Deceleration of a free ball, in mm/s²; above 0.
    pub friction: f64,
    /// Mean of the exponential time for which a robot holds the ball before it kicks, in seconds.
    pub hold: f64,
    /// Mean of the exponential time that an opponent near the ball needs to win it, in seconds;
    /// above 0.
    pub tackle: f64,
    /// Distance from the goal within which robots shoot, in mm.
    pub shoot: f64,
    /// Time between assignments of roles, in seconds; above 0.
    pub plan: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for Soccer {
    fn default() -> Self {
        let ten_minutes = Size { sequences: 1, length: 36_000 };
        Soccer {
            players: 5,
            field: [4900.0, 3400.0],
            goal: 700.0,
            rate: 60.0,
            motion: Motion { diameter: 180.0, ..Motion::default() },
            sensing: None,
            reach: 60.0,
            kick: 4000.0,
            chip: 0.2,
            friction: 800.0,
            hold: 0.8,
            tackle: 1.5,
            shoot: 1500.0,
            plan: 0.5,
            train: ten_minutes,
            holdout: None,
            test: ten_minutes,
        }
    }
}

impl Soccer {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", Soccer, "soccer", example = "players = 5");

#[typetag::serde(name = "soccer")]
impl Source for Soccer {
    fn check(&self) -> Result<()> {
        require((3..=11).contains(&self.players), "players", "from 3 to 11", self.players)?;
        self.field.iter().try_for_each(|&side| positive("field", side))?;
        positive("goal", self.goal)?;
        require(self.goal < self.field[1], "goal", "below the width of the field", self.goal)?;
        positive("rate", self.rate)?;
        self.motion.check()?;
        self.sensing.iter().try_for_each(Sensing::check)?;
        not_negative("reach", self.reach)?;
        positive("kick", self.kick)?;
        not_negative("chip", self.chip)?;
        positive("friction", self.friction)?;
        not_negative("hold", self.hold)?;
        positive("tackle", self.tackle)?;
        not_negative("shoot", self.shoot)?;
        positive("plan", self.plan)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let team = |colour: &'static str| (1..=self.players).map(move |k| format!("{colour}{k}"));
        let objects: Vec<String> = team("blue").chain(team("yellow")).chain(["ball".to_owned()]).collect();
        let schema = Arc::new(Schema::chain(coordinates(&objects), Alphabet::new(PlayerRole::NAMES))?);
        self.sizes()
            .draw(&schema, seed, |_, length, rng, out| record(SoccerGame::new(self, rng), length, rng, out))
    }
}
