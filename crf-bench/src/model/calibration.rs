use serde::Serialize;

/// The calibration of the predicted probabilities: confidence against accuracy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Positions by the probability of their predicted label, in equal steps from 0 to 1.
    pub bins: Vec<Bin>,
    /// The mean absolute difference of confidence and accuracy over the bins, weighted by their
    /// counts.
    pub expected_calibration_error: f64,
}

/// The positions whose predicted labels have about the same probability.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Bin {
    /// The mean probability; 0 without positions.
    pub confidence: f64,
    /// The fraction of right labels; 0 without positions.
    pub accuracy: f64,
    /// Number of positions.
    pub count: usize,
}

impl Calibration {
    /// The calibration over positions, each the probability of its label and true if it is right,
    /// in `n_bins` bins.
    pub fn new(n_bins: usize, positions: impl IntoIterator<Item = (f64, bool)>) -> Self {
        let mut bins = vec![Bin::default(); n_bins];
        let mut total = 0.0;
        for (confidence, right) in positions {
            let bin = &mut bins[((confidence * n_bins as f64) as usize).min(n_bins - 1)];
            bin.confidence += confidence;
            bin.accuracy += f64::from(right);
            bin.count += 1;
            total += 1.0;
        }
        let mut error = 0.0;
        for bin in bins.iter_mut().filter(|bin| bin.count > 0) {
            error += (bin.confidence - bin.accuracy).abs() / total;
            bin.confidence /= bin.count as f64;
            bin.accuracy /= bin.count as f64;
        }
        Calibration { bins, expected_calibration_error: error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_weighted_by_the_size_of_their_bins() {
        // Nine positions at 0.9 of which six are right, and one at 1.0 that is right.
        let positions = (0..9).map(|i| (0.85, i < 6)).chain([(1.0, true)]);
        let calibration = Calibration::new(10, positions);
        assert_eq!(calibration.bins[8].count, 9);
        assert_eq!(calibration.bins[9], Bin { confidence: 1.0, accuracy: 1.0, count: 1 });
        let want = 0.9 * (0.85 - 6.0 / 9.0);
        assert!((calibration.expected_calibration_error - want).abs() < 1e-12);
    }

    #[test]
    fn no_position_is_no_error() {
        assert_eq!(Calibration::new(10, []).expected_calibration_error, 0.0);
    }
}
