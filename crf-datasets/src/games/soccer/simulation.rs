use crf_core::{Label, Rng};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Exp1};

use crate::games::game::{Game, frames};
use crate::games::motion::Body;
use crate::games::plane::{Area, Vector};
use crate::games::sensing::Tracker;
use crate::games::soccer::Soccer;

/// Role of a robot, which determines its behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlayerRole {
    Attacker,
    Receiver,
    Supporter,
    /// Marker of this opponent.
    Marker(usize),
    Defender,
    /// Goal keeper. There is no label for it, since the robot whose role is the label never keeps
    /// the goal.
    Keeper,
}

impl PlayerRole {
    pub(crate) const NAMES: [&'static str; 5] = ["attacker", "receiver", "supporter", "marker", "defender"];

    fn label(self) -> Label {
        match self {
            PlayerRole::Attacker => 0,
            PlayerRole::Receiver => 1,
            PlayerRole::Supporter => 2,
            PlayerRole::Marker(_) => 3,
            PlayerRole::Defender => 4,
            PlayerRole::Keeper => unreachable!("the first robot of a team does not keep the goal"),
        }
    }
}

/// State of the ball.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ball {
    /// Held by a robot, which kicks it after `frames` more frames.
    Held { by: usize, frames: usize },
    /// Free: `by` had it last, `to` is the receiver of a pass, and no robot can take it for
    /// `frames` more frames.
    Free { by: usize, to: Option<usize>, frames: usize },
}

/// State of a game of soccer between two frames; robots are numbered, blue ones first.
#[derive(Debug)]
pub(crate) struct SoccerGame<'a> {
    rules: &'a Soccer,
    area: Area,
    bodies: Vec<Body>, // [robots]
    ball: Body,
    state: Ball,
    tracker: Tracker,
    roles: Vec<PlayerRole>, // [robots]
    spots: Vec<Vector>,     // [robots] targets of supporters
    desired: Vec<Vector>,   // [robots] velocities
    frames_to_plan: usize,  // until roles are assigned again
}

impl<'a> SoccerGame<'a> {
    /// Starts a game: every robot in its own half, and a free ball at the centre.
    pub(crate) fn new(rules: &'a Soccer, rng: &mut Rng) -> Self {
        let n = 2 * rules.players;
        let area = Area::new(rules.field);
        let draw_body = |robot: usize, rng: &mut Rng| {
            let at = area.draw(rng);
            let side = if robot < rules.players { -1.0 } else { 1.0 };
            Body { at: Vector::new(side * at.x.abs(), at.y), ..Body::default() }
        };
        let mut bodies: Vec<Body> = (0..n).map(|robot| draw_body(robot, rng)).collect();
        rules.motion.settle(&mut bodies, area);
        let ball = Body::default();
        let locations = bodies.iter().chain([&ball]).map(|body| body.at);
        SoccerGame {
            rules,
            area,
            tracker: Tracker::new(rules.sensing, locations, rules.rate),
            spots: bodies.iter().map(|body| body.at).collect(),
            bodies,
            ball,
            state: Ball::Free { by: rng.random_range(0..n), to: None, frames: 0 },
            roles: vec![PlayerRole::Keeper; n],
            desired: vec![Vector::ZERO; n],
            frames_to_plan: 0,
        }
    }

    /// Robots of the team of `robot`, without the goal keeper.
    fn field_players(&self, robot: usize) -> std::ops::Range<usize> {
        let first = robot / self.rules.players * self.rules.players;
        first..first + self.rules.players - 1
    }

    /// First robot of the other team.
    fn other_team(&self, robot: usize) -> usize {
        if robot < self.rules.players { self.rules.players } else { 0 }
    }

    /// All opponents of a robot.
    fn opponents(&self, robot: usize) -> std::ops::Range<usize> {
        let first = self.other_team(robot);
        first..first + self.rules.players
    }

    /// Centre of the own goal of a robot; the goal of the opponents is its negative.
    fn own_goal(&self, robot: usize) -> Vector {
        let half = 0.5 * self.rules.field[0];
        Vector::new(if robot < self.rules.players { -half } else { half }, 0.0)
    }

    fn seen_ball(&self) -> Vector {
        self.tracker.seen()[self.bodies.len()]
    }

    /// Distance of the nearest opponent of `robot` from the straight line between two locations.
    fn lane(&self, robot: usize, from: Vector, to: Vector) -> f64 {
        let way = to - from;
        let seen = self.tracker.seen();
        let gaps = self.opponents(robot).map(|other| {
            let share = (seen[other] - from).dot(way) / way.dot(way).max(1.0);
            (from + way * share.clamp(0.0, 1.0) - seen[other]).norm()
        });
        gaps.fold(f64::INFINITY, f64::min)
    }

    /// Removes the robot with the smallest `distance` from a list.
    fn take_nearest(free: &mut Vec<usize>, distance: impl Fn(usize) -> f64) -> Option<usize> {
        let nearest = (0..free.len()).min_by(|&a, &b| distance(free[a]).total_cmp(&distance(free[b])))?;
        Some(free.remove(nearest))
    }

    /// Assigns roles to the robots of the team whose first robot is `first`.
    fn plan(&mut self, first: usize) {
        let seen = self.tracker.seen();
        let ball = self.seen_ball();
        let goal = self.own_goal(first);
        let mut free: Vec<usize> = self.field_players(first).collect();
        let mut roles = Vec::with_capacity(free.len());
        let (with_ball, receiver) = match self.state {
            Ball::Held { by, .. } => (by, None),
            Ball::Free { by, to, .. } => (by, to),
        };
        let ours = self.field_players(first).start == self.field_players(with_ball).start;
        let distance_to = |location: Vector| move |robot: usize| (seen[robot] - location).norm();
        match receiver.filter(|_| ours) {
            Some(receiver) => {
                free.retain(|&robot| robot != receiver);
                roles.push((receiver, PlayerRole::Receiver));
            }
            // A keeper with the ball needs no attacker beside it.
            None if ours && matches!(self.state, Ball::Held { .. }) => {
                let had = free.iter().position(|&robot| robot == with_ball).map(|k| free.remove(k));
                roles.extend(had.map(|robot| (robot, PlayerRole::Attacker)));
            }
            None => roles
                .extend(Self::take_nearest(&mut free, distance_to(ball)).map(|r| (r, PlayerRole::Attacker))),
        }
        roles.extend(Self::take_nearest(&mut free, distance_to(goal)).map(|r| (r, PlayerRole::Defender)));
        if ours {
            roles.extend(free.iter().map(|&robot| (robot, PlayerRole::Supporter)));
        } else {
            // Opponents nearest to the goal are marked first.
            let mut unmarked: Vec<usize> =
                self.field_players(self.other_team(first)).filter(|&other| other != with_ball).collect();
            while !free.is_empty() {
                match Self::take_nearest(&mut unmarked, distance_to(goal)) {
                    Some(opponent) => {
                        let marker = Self::take_nearest(&mut free, distance_to(seen[opponent]));
                        roles.extend(marker.map(|robot| (robot, PlayerRole::Marker(opponent))));
                    }
                    None => roles.extend(free.drain(..).map(|robot| (robot, PlayerRole::Supporter))),
                }
            }
        }
        for (robot, role) in roles {
            self.roles[robot] = role;
        }
    }

    /// Desired velocity of a robot in its role.
    fn behave(&mut self, robot: usize, rng: &mut Rng) -> Vector {
        let Soccer { motion, rate, players, .. } = self.rules;
        let from = self.tracker.seen()[robot];
        let ball = self.seen_ball();
        let goal = self.own_goal(robot);
        let held = matches!(self.state, Ball::Held { by, .. } if by == robot);
        let target = match self.roles[robot] {
            PlayerRole::Attacker if held => goal * -1.0,
            PlayerRole::Attacker => ball,
            PlayerRole::Receiver => {
                // The own team has kicked the ball, so the robot knows its direction.
                let ahead = self.ball.velocity.direction();
                ball + ahead * (from - ball).dot(ahead).max(0.0)
            }
            PlayerRole::Supporter => self.support(robot, rng),
            PlayerRole::Marker(opponent) => {
                let opponent = self.tracker.seen()[opponent];
                opponent + (ball - opponent).direction() * (2.0 * motion.diameter)
            }
            PlayerRole::Defender => goal + (ball - goal) * 0.35,
            PlayerRole::Keeper => goal + (ball - goal).direction() * (1.5 * motion.diameter),
        };
        let desired = motion.towards(from, target, *rate);
        // A robot that wants the ball does not turn aside for robots near the ball.
        let near_ball = |other: usize| (self.tracker.seen()[other] - ball).norm() < 2.0 * motion.diameter;
        let wants_ball = matches!(self.roles[robot], PlayerRole::Attacker | PlayerRole::Receiver);
        let others = (0..2 * players).filter(|&other| other != robot && !(wants_ball && near_ball(other)));
        motion.around(desired, from, others.map(|other| self.tracker.seen()[other]))
    }

    /// Target of a supporter. When it is reached, the next one is the most open of six random
    /// locations for a pass.
    fn support(&mut self, robot: usize, rng: &mut Rng) -> Vector {
        let from = self.tracker.seen()[robot];
        let ball = self.seen_ball();
        if (self.spots[robot] - from).norm() < self.rules.motion.diameter {
            let spots: [Vector; 6] = std::array::from_fn(|_| self.area.draw(rng));
            let open = |spot: &Vector| self.lane(robot, ball, *spot);
            self.spots[robot] =
                spots.into_iter().max_by(|a, b| open(a).total_cmp(&open(b))).expect("there are six");
        }
        self.spots[robot]
    }

    /// Kicks the ball: to the goal if it is near, otherwise to the team mate that is best to reach.
    fn kick(&mut self, robot: usize, rng: &mut Rng) {
        let Soccer { kick, friction, shoot, chip, rate, .. } = *self.rules;
        let ball = self.ball.at;
        let goal = self.own_goal(robot) * -1.0;
        let mates = self.field_players(robot).filter(|&mate| mate != robot);
        let score = |mate: usize| {
            let at = self.tracker.seen()[mate];
            let forward = (ball - goal).norm() - (at - goal).norm();
            self.lane(robot, ball, at) + 0.2 * forward
        };
        let best = mates.map(|mate| (mate, score(mate) + 200.0 * rng.random::<f64>()));
        let best = best.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(mate, _)| mate);
        let to = best.filter(|_| (goal - ball).norm() > shoot);
        let target = match to {
            Some(mate) => self.tracker.seen()[mate],
            None => goal + Vector::new(0.0, self.rules.goal * 0.8 * (rng.random::<f64>() - 0.5)),
        };
        // A pass arrives with a third of the maximum speed; a shot has the maximum speed.
        let arrival = kick / 3.0;
        let needed = (2.0 * friction * (target - ball).norm() + arrival * arrival).sqrt();
        let speed = if to.is_some() { needed.min(kick) } else { kick };
        self.ball.velocity = (target - ball).direction() * speed;
        self.state = Ball::Free { by: robot, to, frames: frames(chip, rate) };
        self.frames_to_plan = 0;
    }

    /// Gives the ball to a robot.
    fn give(&mut self, robot: usize, rng: &mut Rng) {
        let mean_times: f64 = Exp1.sample(rng);
        self.state = Ball::Held { by: robot, frames: frames(self.rules.hold * mean_times, self.rules.rate) };
        self.frames_to_plan = 0;
    }

    /// Moves the ball, and gives it to the robot that takes it.
    fn roll(&mut self, rng: &mut Rng) {
        let Soccer { motion, rate, reach, kick, friction, tackle, goal, .. } = *self.rules;
        let near = 0.5 * motion.diameter + reach;
        match self.state {
            Ball::Held { by, frames } => {
                let spot =
                    self.bodies[by].at - self.own_goal(by).direction() * (0.5 * motion.diameter + 20.0);
                self.ball.velocity = (spot - self.ball.at).at_most(kick / rate) * rate;
                self.ball.at = self.area.clamp(self.ball.at + self.ball.velocity * rate.recip());
                let thief =
                    self.opponents(by).find(|&other| (self.bodies[other].at - self.ball.at).norm() < near);
                match thief {
                    Some(thief) if rng.random_bool((tackle * rate).recip().min(1.0)) => self.give(thief, rng),
                    _ if frames == 0 => self.kick(by, rng),
                    _ => self.state = Ball::Held { by, frames: frames - 1 },
                }
            }
            Ball::Free { by, to, frames } => {
                self.state = Ball::Free { by, to, frames: frames.saturating_sub(1) };
                let slower = self.ball.velocity.norm() - friction / rate;
                self.ball.velocity = self.ball.velocity.at_most(slower.max(0.0));
                let at = self.ball.at + self.ball.velocity * rate.recip();
                self.ball.at = self.area.clamp(at);
                if self.ball.at != at {
                    if self.ball.at.x != at.x && at.y.abs() < 0.5 * goal {
                        self.ball.at = Vector::ZERO; // a goal
                    }
                    self.ball.velocity = Vector::ZERO;
                    self.state = Ball::Free { by, to: None, frames: 0 };
                    self.frames_to_plan = 0;
                }
                let taker = (0..self.bodies.len())
                    .map(|robot| (robot, (self.bodies[robot].at - self.ball.at).norm()))
                    .filter(|&(_, distance)| distance < near && frames == 0)
                    .min_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((taker, _)) = taker {
                    self.give(taker, rng);
                }
            }
        }
    }
}

impl Game for SoccerGame<'_> {
    fn seen(&self) -> &[Vector] {
        self.tracker.seen()
    }

    fn decide(&mut self, rng: &mut Rng) -> Label {
        if self.frames_to_plan == 0 {
            self.frames_to_plan = frames(self.rules.plan, self.rules.rate).max(1);
            self.plan(0);
            self.plan(self.rules.players);
        }
        self.frames_to_plan -= 1;
        for robot in 0..self.bodies.len() {
            self.desired[robot] = self.behave(robot, rng);
        }
        self.roles[0].label()
    }

    fn advance(&mut self, rng: &mut Rng) {
        let Soccer { motion, rate, .. } = self.rules;
        motion.step(&mut self.bodies, &self.desired, self.area, *rate, rng);
        self.roll(rng);
        self.tracker.observe(self.bodies.iter().chain([&self.ball]).map(|body| body.at), rng);
    }
}
