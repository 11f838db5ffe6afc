use crf_core::{Result, Rng, require};
use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::{not_negative, positive};
use crate::games::plane::{Area, Vector};

/// Motion of holonomic robots, which move in any direction at once, with bounded speed and
/// acceleration.
///
/// The desired speed of a robot is the largest from which it can still stop at its target: min(v,
/// √(2ad), d per frame) at the distance d. Each frame brings its velocity nearer to the desired one
/// by at most a per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Motion {
    /// Maximum speed v, in mm/s.
    pub speed: f64,
    /// Maximum acceleration a, in mm/s².
    pub acceleration: f64,
    /// Diameter of a robot, in mm.
    pub diameter: f64,
    /// Distance between centres below which robots turn aside, in mm.
    pub aside_from: f64,
    /// Distance below which all of the approaching velocity is turned aside, in mm; below
    /// `aside_from`.
    pub aside_at: f64,
    /// Standard deviation of the error of a movement, as a fraction of the movement. 0 disables
    /// errors.
    pub slip: f64,
}

impl Default for Motion {
    fn default() -> Self {
        Motion {
            speed: 2000.0,
            acceleration: 2000.0,
            diameter: 200.0,
            aside_from: 450.0,
            aside_at: 300.0,
            slip: 0.0,
        }
    }
}

/// Location and velocity of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Body {
    pub(crate) at: Vector,
    pub(crate) velocity: Vector,
}

impl Motion {
    pub(crate) fn check(&self) -> Result<()> {
        positive("motion.speed", self.speed)?;
        positive("motion.acceleration", self.acceleration)?;
        positive("motion.diameter", self.diameter)?;
        positive("motion.aside_from", self.aside_from)?;
        let is_below = (0.0..self.aside_from).contains(&self.aside_at);
        require(is_below, "motion.aside_at", "at least 0 and below `aside_from`", self.aside_at)?;
        not_negative("motion.slip", self.slip)
    }

    /// Desired velocity of a robot that goes to a target and stops there.
    pub(crate) fn towards(&self, from: Vector, target: Vector, rate: f64) -> Vector {
        let way = target - from;
        let distance = way.norm();
        way.direction() * self.speed.min((2.0 * self.acceleration * distance).sqrt()).min(rate * distance)
    }

    /// Velocity of a robot that avoids others: the nearer they are, the more of the approaching
    /// velocity is turned aside.
    pub(crate) fn around(
        &self,
        desired: Vector,
        from: Vector,
        others: impl Iterator<Item = Vector>,
    ) -> Vector {
        let mut velocity = desired;
        for other in others {
            let way = other - from;
            let ahead = way.direction();
            let distance = way.norm();
            let approach = velocity.dot(ahead);
            if distance < self.aside_from && approach > 0.0 {
                let share = (self.aside_from - distance) / (self.aside_from - self.aside_at);
                let side = if velocity.dot(ahead.left()) < 0.0 { ahead.left() * -1.0 } else { ahead.left() };
                velocity += (side - ahead) * (approach * share.min(1.0));
            }
        }
        velocity.at_most(self.speed)
    }

    /// Moves all robots for one frame, with velocities as close to the desired ones as the
    /// acceleration allows.
    ///
    /// Robots that touch are pushed apart and lose the approaching velocity. At the edge of the
    /// area they stop.
    pub(crate) fn step(&self, bodies: &mut [Body], desired: &[Vector], area: Area, rate: f64, rng: &mut Rng) {
        for (body, &desired) in bodies.iter_mut().zip(desired) {
            body.velocity += (desired - body.velocity).at_most(self.acceleration / rate);
            let way = body.velocity * rate.recip();
            body.at += way;
            if self.slip > 0.0 {
                let error = Vector::new(StandardNormal.sample(rng), StandardNormal.sample(rng));
                body.at += error * (self.slip * way.norm());
            }
        }
        self.separate(bodies);
        for body in bodies {
            let inside = area.clamp(body.at);
            if inside.x != body.at.x {
                body.velocity.x = 0.0;
            }
            if inside.y != body.at.y {
                body.velocity.y = 0.0;
            }
            body.at = inside;
        }
    }

    /// Pushes robots apart that touch, each by the same distance.
    pub(crate) fn separate(&self, bodies: &mut [Body]) {
        for i in 1..bodies.len() {
            let (before, from) = bodies.split_at_mut(i);
            let b = &mut from[0];
            for a in before {
                let way = b.at - a.at;
                let ahead = way.direction();
                let gap = way.norm() - self.diameter;
                if gap < 0.0 {
                    a.at += ahead * (0.5 * gap);
                    b.at -= ahead * (0.5 * gap);
                    let approach = ahead * (0.5 * (a.velocity - b.velocity).dot(ahead).max(0.0));
                    a.velocity = (a.velocity - approach).at_most(self.speed);
                    b.velocity = (b.velocity + approach).at_most(self.speed);
                }
            }
        }
    }
}
