use crf_core::{Label, Rng};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution as _, Exp1};

use crate::games::game::{Game, frames};
use crate::games::motion::Body;
use crate::games::plane::{Area, Vector, quadrant};
use crate::games::sensing::Tracker;
use crate::games::tag::{Tag, TargetScheme};

/// State of a game of tag between two frames.
#[derive(Debug)]
pub(crate) struct TagGame<'a> {
    rules: &'a Tag,
    area: Area,
    bodies: Vec<Body>, // [robots]
    tracker: Tracker,
    errands: Vec<Errand>, // [robots]
    desired: Vec<Vector>, // [robots] velocities
    order: Vec<usize>,    // of the behaviours in this frame
    frame: usize,
    seeker: usize,
    /// First frame in which the seeker chases.
    chases_from: usize,
    /// Tagged robot whose behaviour has not run since.
    tagged: Option<usize>,
}

/// Errand of a passive robot: its target, and its stay there.
#[derive(Debug, Clone, Copy)]
struct Errand {
    target: Vector,
    /// Quadrant of the last corner.
    corner: usize,
    /// Frames left at the target before another one is chosen; `None` on the way.
    stay: Option<usize>,
}

impl<'a> TagGame<'a> {
    /// Starts a game: robots at random locations, one of which is the seeker.
    pub(crate) fn new(rules: &'a Tag, rng: &mut Rng) -> Self {
        let n = rules.robots;
        let area = Area::new(rules.field);
        let body = |rng: &mut Rng| Body { at: area.draw(rng), ..Body::default() };
        let mut bodies: Vec<Body> = (0..n).map(|_| body(rng)).collect();
        rules.motion.settle(&mut bodies, area);
        let errand =
            |rng: &mut Rng| Errand { target: Vector::ZERO, corner: rng.random_range(0..4), stay: Some(0) };
        TagGame {
            rules,
            area,
            tracker: Tracker::new(rules.sensing, bodies.iter().map(|body| body.at), rules.rate),
            bodies,
            errands: (0..n).map(|_| errand(rng)).collect(),
            desired: vec![Vector::ZERO; n],
            order: (0..n).collect(),
            frame: 0,
            seeker: rng.random_range(0..n),
            chases_from: 0,
            tagged: None,
        }
    }

    /// Desired velocity of a robot.
    fn behave(&mut self, robot: usize, rng: &mut Rng) -> Vector {
        if self.tagged == Some(robot) {
            self.tagged = None;
            self.errands[self.seeker].stay = Some(0);
            self.seeker = robot;
            self.chases_from = self.frame.saturating_add(frames(self.rules.pause, self.rules.rate));
        }
        match robot == self.seeker {
            true if self.is_chasing() => self.chase(),
            true => Vector::ZERO,
            false => self.wander(robot, rng),
        }
    }

    /// True after the pause of the seeker.
    fn is_chasing(&self) -> bool {
        self.frame >= self.chases_from
    }

    /// Desired velocity of the seeker, which tags the nearest robot if it is within reach.
    fn chase(&mut self) -> Vector {
        let Tag { motion, reach, rate, .. } = self.rules;
        let seen = self.tracker.seen();
        let from = seen[self.seeker];
        let others = (0..seen.len()).filter(|&robot| robot != self.seeker);
        let others = others.map(|robot| (robot, (seen[robot] - from).norm()));
        let (nearest, distance) =
            others.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are two robots or more");
        if distance < motion.diameter + reach {
            self.tagged.get_or_insert(nearest);
        }
        motion.towards(from, seen[nearest], *rate)
    }

    /// Desired velocity of a passive robot.
    fn wander(&mut self, robot: usize, rng: &mut Rng) -> Vector {
        let Tag { motion, arrival, dwell, rate, .. } = self.rules;
        let from = self.tracker.seen()[robot];
        let mut errand = self.errands[robot];
        if errand.stay.is_none() && (errand.target - from).norm() <= *arrival {
            let mean_times: f64 = Exp1.sample(rng);
            errand.stay = Some(frames(dwell * mean_times, *rate));
        }
        match &mut errand.stay {
            Some(0) => errand = self.next_errand(errand, rng),
            Some(left) => *left -= 1,
            None => {}
        }
        self.errands[robot] = errand;
        let ignored = self.is_chasing().then_some(self.seeker);
        let others = self.tracker.seen().iter().enumerate();
        let others = others.filter(|&(other, _)| other != robot && Some(other) != ignored).map(|(_, &at)| at);
        motion.around(motion.towards(from, errand.target, *rate), from, others)
    }

    /// Errand after the given one.
    fn next_errand(&self, Errand { corner, .. }: Errand, rng: &mut Rng) -> Errand {
        let Tag { scheme, margin, clearance, inset, .. } = *self.rules;
        let seeker = self.tracker.seen()[self.seeker];
        match scheme {
            TargetScheme::Hourglass => {
                let next = (corner + 1) % 4;
                let corner = if next == quadrant(seeker) { 3 - next } else { next };
                Errand { target: self.area.inner(inset).corner(corner), corner, stay: None }
            }
            TargetScheme::Unconstrained => {
                // At least a fifth of the area is far enough: `Tag::check` ensures it.
                let mut target = self.area.inner(margin).draw(rng);
                while (target - seeker).norm() < clearance {
                    target = self.area.inner(margin).draw(rng);
                }
                Errand { target, corner, stay: None }
            }
        }
    }
}

impl Game for TagGame<'_> {
    fn seen(&self) -> &[Vector] {
        self.tracker.seen()
    }

    fn decide(&mut self, rng: &mut Rng) -> Label {
        self.order.shuffle(rng);
        for k in 0..self.order.len() {
            let robot = self.order[k];
            self.desired[robot] = self.behave(robot, rng);
        }
        self.seeker as Label
    }

    fn advance(&mut self, rng: &mut Rng) {
        let Tag { motion, rate, .. } = self.rules;
        motion.step(&mut self.bodies, &self.desired, self.area, *rate, rng);
        self.tracker.observe(self.bodies.iter().map(|body| body.at), rng);
        self.frame += 1;
    }
}
