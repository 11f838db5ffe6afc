use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crf_core::Rng;
use rand::RngExt as _;

/// A place on a field, in mm from its centre, or a velocity, in mm/s.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Vector {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Vector {
    pub(crate) const ZERO: Vector = Vector { x: 0.0, y: 0.0 };

    pub(crate) fn new(x: f64, y: f64) -> Self {
        Vector { x, y }
    }

    pub(crate) fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y
    }

    pub(crate) fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The vector of length 1 in this direction; that along x if there is none.
    pub(crate) fn direction(self) -> Self {
        match self.norm() {
            0.0 => Vector::new(1.0, 0.0),
            norm => self * norm.recip(),
        }
    }

    /// A quarter turn to the left.
    pub(crate) fn left(self) -> Self {
        Vector::new(-self.y, self.x)
    }

    /// The same direction, and no longer than `most`.
    pub(crate) fn at_most(self, most: f64) -> Self {
        match self.norm() {
            norm if norm > most => self * (most / norm),
            _ => self,
        }
    }
}

impl Add for Vector {
    type Output = Vector;

    fn add(self, other: Vector) -> Vector {
        Vector::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Vector {
    type Output = Vector;

    fn sub(self, other: Vector) -> Vector {
        Vector::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;

    fn mul(self, factor: f64) -> Vector {
        Vector::new(self.x * factor, self.y * factor)
    }
}

impl AddAssign for Vector {
    fn add_assign(&mut self, other: Vector) {
        *self = *self + other;
    }
}

impl SubAssign for Vector {
    fn sub_assign(&mut self, other: Vector) {
        *self = *self - other;
    }
}

/// A rectangle around the centre, by the x and the y of its corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    half: Vector,
}

impl Area {
    /// The area of the given length along x and width along y.
    pub(crate) fn new([length, width]: [f64; 2]) -> Self {
        Area { half: Vector::new(length, width) * 0.5 }
    }

    /// What is further than `margin` from the edges.
    pub(crate) fn inner(self, margin: f64) -> Self {
        Area { half: self.half - Vector::new(margin, margin) }
    }

    /// The corner in the quadrant of that number.
    pub(crate) fn corner(self, quadrant: usize) -> Vector {
        let side = |bit: usize, half: f64| if quadrant & bit == 0 { -half } else { half };
        Vector::new(side(1, self.half.x), side(2, self.half.y))
    }

    /// The nearest place of the area.
    pub(crate) fn clamp(self, at: Vector) -> Vector {
        let Vector { x, y } = self.half;
        Vector::new(at.x.clamp(-x, x), at.y.clamp(-y, y))
    }

    /// Any place of the area.
    pub(crate) fn draw(self, rng: &mut Rng) -> Vector {
        let mut side = |half: f64| half * (2.0 * rng.random::<f64>() - 1.0);
        Vector::new(side(self.half.x), side(self.half.y))
    }
}

/// The quadrant that a place is in: 0 is (−, −), 1 is (+, −), 2 is (−, +), 3 is (+, +).
pub(crate) fn quadrant(at: Vector) -> usize {
    usize::from(at.x > 0.0) + 2 * usize::from(at.y > 0.0)
}
