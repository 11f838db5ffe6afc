use std::collections::VecDeque;

use crf_core::{Result, Rng, require};
use rand::RngExt as _;
use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::{not_negative, positive};
use crate::games::plane::Vector;

/// Cameras that track robots, after the system that Vail 2008 describes in §2.1.3.
///
/// An image is `latency` frames old when it has been processed, the locations in it are noisy, and
/// sometimes a marker is not found for some frames. A Kalman filter with constant velocity tracks
/// each robot. Its prediction for the present is the location that behaviours know and that is
/// recorded.
///
/// The thesis prints no numbers: all are ours. Its filter is an extended one because it also tracks
/// orientations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sensing {
    /// Standard deviation of a measured location along x and along y, in mm; above 0.
    pub noise: f64,
    /// Age of images when they have been processed, in frames; at most 600.
    pub latency: usize,
    /// Probability that a marker that was found is not found in the next image.
    pub loss: f64,
    /// Probability that a marker that was not found is found in the next image; above 0.
    pub recovery: f64,
    /// Standard deviation of the accelerations that the filter assumes, in mm/s²; above 0.
    pub agility: f64,
}

impl Default for Sensing {
    fn default() -> Self {
        Sensing { noise: 3.0, latency: 6, loss: 0.005, recovery: 0.2, agility: 2000.0 }
    }
}

impl Sensing {
    pub(crate) fn check(&self) -> Result<()> {
        positive("sensing.noise", self.noise)?;
        require(self.latency <= 600, "sensing.latency", "at most 600", self.latency)?;
        not_negative("sensing.loss", self.loss)?;
        require(self.loss <= 1.0, "sensing.loss", "a probability between 0 and 1", self.loss)?;
        positive("sensing.recovery", self.recovery)?;
        require(self.recovery <= 1.0, "sensing.recovery", "a probability of at most 1", self.recovery)?;
        positive("sensing.agility", self.agility)
    }
}

/// Observed locations of objects: the true ones, or those estimated by tracking.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    seen: Vec<Vector>,  // [objects]
    tracks: Vec<Track>, // [objects], or empty if locations are observed exactly
}

impl Tracker {
    /// Tracker that knows the initial locations.
    pub(crate) fn new(sensing: Option<Sensing>, locations: impl Iterator<Item = Vector>, rate: f64) -> Self {
        let seen: Vec<Vector> = locations.collect();
        let tracks =
            sensing.iter().flat_map(|&sensing| seen.iter().map(move |&at| Track::new(sensing, at, rate)));
        Tracker { tracks: tracks.collect(), seen }
    }

    /// Observes the next frame, given the true locations.
    pub(crate) fn observe(&mut self, locations: impl Iterator<Item = Vector>, rng: &mut Rng) {
        for (k, (seen, at)) in self.seen.iter_mut().zip(locations).enumerate() {
            *seen = self.tracks.get_mut(k).map_or(at, |track| track.follow(at, rng));
        }
    }

    /// Observed locations of the objects.
    pub(crate) fn seen(&self) -> &[Vector] {
        &self.seen
    }
}

/// Track of one object.
#[derive(Debug, Clone)]
struct Track {
    sensing: Sensing,
    /// Seconds between two images.
    step: f64,
    /// Locations in images that are not processed yet, the oldest first.
    pending: VecDeque<Vector>, // [latency]
    is_lost: bool,
    filter: KalmanFilter,
}

impl Track {
    /// Track of a robot that is known to stand still.
    fn new(sensing: Sensing, at: Vector, rate: f64) -> Self {
        let pending = std::iter::repeat_n(at, sensing.latency).collect();
        Track { sensing, step: rate.recip(), pending, is_lost: false, filter: KalmanFilter::at_rest(at) }
    }

    /// Estimated location of a robot that is truly at `at`.
    fn follow(&mut self, at: Vector, rng: &mut Rng) -> Vector {
        let Sensing { noise, latency, loss, recovery, agility } = self.sensing;
        self.pending.push_back(at);
        let imaged = self.pending.pop_front().unwrap_or(at);
        self.filter.predict(self.step, agility);
        self.is_lost = rng.random_bool(if self.is_lost { 1.0 - recovery } else { loss });
        if !self.is_lost {
            let error = Vector::new(StandardNormal.sample(rng), StandardNormal.sample(rng));
            self.filter.update(imaged + error * noise, noise * noise);
        }
        self.filter.at + self.filter.velocity * (latency as f64 * self.step)
    }
}

/// Kalman filter of location and velocity (Kalman 1960); x and y are independent with the same
/// covariance.
#[derive(Debug, Clone, Copy)]
struct KalmanFilter {
    at: Vector,
    velocity: Vector,
    /// Variance of the location, its covariance with the velocity, variance of the velocity.
    covariance: [f64; 3],
}

impl KalmanFilter {
    fn at_rest(at: Vector) -> Self {
        KalmanFilter { at, velocity: Vector::ZERO, covariance: [0.0; 3] }
    }

    /// Prediction step: P ← F P Fᵀ + Q for F = [1 s; 0 1] and an acceleration that is constant for
    /// a step and white between steps.
    fn predict(&mut self, s: f64, agility: f64) {
        self.at += self.velocity * s;
        let [p, c, v] = self.covariance;
        let q = agility * agility * s * s;
        self.covariance = [p + s * (2.0 * c + s * v) + 0.25 * q * s * s, c + s * v + 0.5 * q * s, v + q];
    }

    /// Update step for a measured location: K = P Hᵀ / (H P Hᵀ + R), P ← (1 − K H) P.
    fn update(&mut self, measured: Vector, r: f64) {
        let [p, c, v] = self.covariance;
        let [gain_location, gain_velocity] = [p / (p + r), c / (p + r)];
        let innovation = measured - self.at;
        self.at += innovation * gain_location;
        self.velocity += innovation * gain_velocity;
        self.covariance = [(1.0 - gain_location) * p, (1.0 - gain_location) * c, v - gain_velocity * c];
    }
}

#[cfg(test)]
mod tests {
    use crf_core::Seed;

    use super::*;

    /// After exact steps without acceleration, a filter with an uninformative start must agree with
    /// the least-squares fit of a straight line, which is computed by hand.
    #[test]
    fn a_filter_that_expects_no_acceleration_fits_a_line_by_least_squares() {
        let mut filter = KalmanFilter { covariance: [1e9, 0.0, 1e9], ..KalmanFilter::at_rest(Vector::ZERO) };
        let locations = [3.0, 4.5, 9.0, 10.0, 15.5];
        for (t, &x) in locations.iter().enumerate() {
            if t > 0 {
                filter.predict(1.0, 0.0);
            }
            filter.update(Vector::new(x, -x), 1.0);
        }
        // Σ(t−2)x / Σ(t−2)² = (−6 − 4.5 + 0 + 10 + 31)/10, and mean + 2 · slope.
        assert!((filter.velocity.x - 3.05).abs() < 1e-6, "{filter:?}");
        assert!((filter.at.x - (8.4 + 6.1)).abs() < 1e-6, "{filter:?}");
        assert_eq!((filter.at.y, filter.velocity.y), (-filter.at.x, -filter.velocity.x));
        // Variances of the same fit: 1/5 + 2²/10, 2/10, 1/10.
        for (got, want) in filter.covariance.into_iter().zip([0.6, 0.2, 0.1]) {
            assert!((got - want).abs() < 1e-6, "{filter:?}");
        }
    }

    #[test]
    fn a_steady_robot_is_seen_where_it_is_in_spite_of_latency_noise_and_loss() {
        let sensing = Sensing { loss: 0.05, ..Sensing::default() };
        let mut rng = Seed::new(1).rng();
        let mut track = Track::new(sensing, Vector::ZERO, 60.0);
        let mut sum = 0.0;
        let mut worst = 0.0_f64;
        for t in 1..=6000 {
            let at = Vector::new(f64::from(t), -2.0 * f64::from(t));
            let error = (track.follow(at, &mut rng) - at).norm();
            if t > 600 {
                (sum, worst) = (sum + error, worst.max(error));
            }
        }
        assert!(sum / 5400.0 < 12.0 && worst < 100.0, "mean {}, worst {worst}", sum / 5400.0);
    }
}
