use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crf_core::Rng;
use rand::RngExt as _;

/// Location on a field, in mm from its centre, or velocity, in mm/s.
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

    /// Unit vector in this direction; that along x if the vector is 0.
    pub(crate) fn direction(self) -> Self {
        match self.norm() {
            0.0 => Vector::new(1.0, 0.0),
            norm => self * norm.recip(),
        }
    }

    /// Vector after a quarter turn to the left.
    pub(crate) fn left(self) -> Self {
        Vector::new(-self.y, self.x)
    }

    /// Vector in the same direction, shortened to at most `max`.
    pub(crate) fn at_most(self, max: f64) -> Self {
        match self.norm() {
            norm if norm > max => self * (max / norm),
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

/// Rectangle around the centre of the field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    half: Vector, // the corner (+, +)
}

impl Area {
    /// Area with a length along x and a width along y.
    pub(crate) fn new([length, width]: [f64; 2]) -> Self {
        Area { half: Vector::new(length, width) * 0.5 }
    }

    /// Area of the points further than `margin` from the edges.
    pub(crate) fn inner(self, margin: f64) -> Self {
        Area { half: self.half - Vector::new(margin, margin) }
    }

    /// Corner in a quadrant, see [`quadrant`].
    pub(crate) fn corner(self, quadrant: usize) -> Vector {
        let side = |bit: usize, half: f64| if quadrant & bit == 0 { -half } else { half };
        Vector::new(side(1, self.half.x), side(2, self.half.y))
    }

    /// Nearest location in the area.
    pub(crate) fn clamp(self, location: Vector) -> Vector {
        let Vector { x, y } = self.half;
        Vector::new(location.x.clamp(-x, x), location.y.clamp(-y, y))
    }

    /// Draws a location uniformly from the area.
    pub(crate) fn draw(self, rng: &mut Rng) -> Vector {
        let mut side = |half: f64| half * (2.0 * rng.random::<f64>() - 1.0);
        Vector::new(side(self.half.x), side(self.half.y))
    }
}

/// Quadrant of a location: 0 is (−, −), 1 is (+, −), 2 is (−, +), 3 is (+, +).
pub(crate) fn quadrant(location: Vector) -> usize {
    usize::from(location.x > 0.0) + 2 * usize::from(location.y > 0.0)
}
