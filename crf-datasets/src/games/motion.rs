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

/// Number of times that all pairs of robots are looked at, at most.
const MOST_PASSES: i32 = 128;

impl Body {
    /// Puts the object at the nearest location in the area; it stops at the edge.
    fn put(&mut self, at: Vector, area: Area) {
        self.at = area.clamp(at);
        if self.at.x != at.x {
            self.velocity.x = 0.0;
        }
        if self.at.y != at.y {
            self.velocity.y = 0.0;
        }
    }
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
    /// area they stop. At the end no two overlap.
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
        self.settle(bodies, area);
    }

    /// Brings robots back to the area and pushes those apart that touch, until no two overlap.
    ///
    /// In a crowd a push may bring others together, so all pairs are looked at again. An area too
    /// small for all robots leaves them overlapping.
    pub(crate) fn settle(&self, bodies: &mut [Body], area: Area) {
        bodies.iter_mut().for_each(|body| body.put(body.at, area));
        // Pushes that only just part two robots would go on for ever in a row of them.
        let further = (0..MOST_PASSES).map(|pass| (1e-9 * f64::powi(2.0, pass)).min(1e-2));
        for slack in further {
            let mut are_apart = true;
            for i in 1..bodies.len() {
                let (before, from) = bodies.split_at_mut(i);
                for a in before {
                    are_apart &= !self.part(a, &mut from[0], area, slack);
                }
            }
            if are_apart {
                return;
            }
        }
    }

    /// Pushes two robots apart if they touch, each by the same distance; where the edge stops one,
    /// the other goes the rest. `slack` is the fraction of the diameter that is left between them:
    /// without it, rounding would leave an overlap.
    fn part(&self, a: &mut Body, b: &mut Body, area: Area, slack: f64) -> bool {
        let way = b.at - a.at;
        if way.norm() >= self.diameter {
            return false;
        }
        let ahead = way.direction();
        let approach = ahead * (0.5 * (a.velocity - b.velocity).dot(ahead).max(0.0));
        a.velocity = (a.velocity - approach).at_most(self.speed);
        b.velocity = (b.velocity + approach).at_most(self.speed);
        let apart = self.diameter * (1.0 + slack);
        a.put(a.at + ahead * (0.5 * (way.norm() - apart)), area);
        b.put(a.at + (b.at - a.at).direction() * apart, area);
        if (b.at - a.at).norm() < self.diameter {
            a.put(b.at - (b.at - a.at).direction() * apart, area);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]

        /// A quarter of the area, at most, is covered.
        #[test]
        fn robots_at_the_edge_of_the_field_do_not_overlap(
            places in vec((-1.0..1.0, -1.0..1.0), 2..12),
            (length, width) in (2000.0..6000.0, 2000.0..6000.0),
            corner in 0.0..1.0,
        ) {
            let motion = Motion::default();
            let area = Area::new([length, width]);
            // The nearer to 1, the more robots crowd in a corner.
            let body = |&(x, y): &(f64, f64)| {
                let at = |place: f64, side: f64| 0.5 * side * (corner + (1.0 - corner) * place) + 30.0 * place;
                Body { at: Vector::new(at(x, length), at(y, width)), velocity: Vector::new(500.0, 500.0) }
            };
            let mut bodies: Vec<Body> = places.iter().map(body).collect();
            motion.settle(&mut bodies, area);
            for (i, b) in bodies.iter().enumerate() {
                prop_assert_eq!(area.clamp(b.at), b.at, "robot {} is outside", i);
                for a in &bodies[..i] {
                    let distance = (b.at - a.at).norm();
                    prop_assert!(distance >= motion.diameter, "{} and {}: {}", i, a.at.x, distance);
                }
            }
        }
    }

    #[test]
    fn robots_at_one_place_are_parted_also_in_a_corner() {
        let motion = Motion::default();
        let area = Area::new([4000.0, 3500.0]);
        for place in [Vector::ZERO, Vector::new(1e9, 1e9), Vector::new(-1e9, 0.0)] {
            let mut bodies = [Body { at: place, ..Body::default() }; 5];
            motion.settle(&mut bodies, area);
            for (i, b) in bodies.iter().enumerate() {
                assert_eq!(area.clamp(b.at), b.at);
                assert!(
                    bodies[..i].iter().all(|a| (b.at - a.at).norm() >= motion.diameter),
                    "{place:?}: {bodies:?}"
                );
            }
        }
    }

    #[test]
    fn a_field_too_small_for_its_robots_ends_the_pushing() {
        let mut bodies = [Body::default(); 100];
        let area = Area::new([1.0, 1.0]);
        Motion::default().settle(&mut bodies, area);
        assert!(bodies.iter().all(|body| area.clamp(body.at) == body.at));
    }
}
