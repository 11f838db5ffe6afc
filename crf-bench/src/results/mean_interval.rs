//! Means with intervals.

use std::fmt;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over trials with Student's 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a single trial; `None` with fewer than two trials.
    pub deviation: Option<f64>,
    /// Half the width of the interval; `None` with fewer than two trials or numbers that are not
    /// finite.
    pub half_width: Option<f64>,
    /// Number of trials.
    pub trials: usize,
}

impl MeanInterval {
    /// The mean and interval of the given trials.
    pub fn from_trials(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 || !mean.is_finite() {
            return MeanInterval { mean, deviation: None, half_width: None, trials: values.len() };
        }
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let quantile = StudentsT::new(0.0, 1.0, n - 1.0).map(|student| student.inverse_cdf(0.975)).ok();
        let half_width = quantile.map(|t| t * deviation / n.sqrt());
        MeanInterval { mean, deviation: Some(deviation), half_width, trials: values.len() }
    }

    /// The lower end of the interval; −∞ without an interval.
    pub fn low(&self) -> f64 {
        self.half_width.map_or(f64::NEG_INFINITY, |half| self.mean - half)
    }

    /// The upper end of the interval; ∞ without an interval.
    pub fn high(&self) -> f64 {
        self.half_width.map_or(f64::INFINITY, |half| self.mean + half)
    }

    /// The p-value of Student's two-sided test that the true mean is 0; `None` without a deviation.
    pub fn p_value(&self) -> Option<f64> {
        let (deviation, n) = (self.deviation?, self.trials as f64);
        if deviation == 0.0 {
            return Some(if self.mean == 0.0 { 1.0 } else { 0.0 });
        }
        let t = self.mean.abs() / (deviation / n.sqrt());
        StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|student| 2.0 * student.sf(t))
    }

    /// True if the whole interval lies above that of `other`.
    pub fn is_above(&self, other: &MeanInterval) -> bool {
        self.low() > other.high()
    }

    /// The mean without its interval, with the decimals that the interval leaves certain; a dash
    /// for NaN.
    pub fn short(&self) -> String {
        if self.mean.is_nan() {
            return "–".to_owned();
        }
        format!("{:.*}", self.decimals(), self.mean)
    }

    fn decimals(&self) -> usize {
        // Two digits of the half width, or four of the mean without a width.
        let (scale, digits) = match self.half_width {
            Some(half) if half > 0.0 => (half, 1.0),
            _ => (self.mean.abs(), 3.0),
        };
        if scale == 0.0 || !scale.is_finite() {
            return 3;
        }
        (digits - scale.log10().floor()).clamp(0.0, 6.0) as usize
    }
}

impl fmt::Display for MeanInterval {
    /// `0.1523 ± 0.0041`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        self.half_width.map_or(Ok(()), |half| write!(f, " ± {half:.*}", self.decimals()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let interval = MeanInterval::from_trials(&[1.0, 2.0, 3.0, 4.0]);
        // t_{0.975, 3} = 3.182446, deviation √(5/3), so 3.182446 · 1.290994 / 2.
        assert!((interval.half_width.expect("four trials") - 2.054260).abs() < 1e-5, "{interval:?}");
        assert_eq!(interval.to_string(), "2.5 ± 2.1");
    }

    #[test]
    fn one_trial_has_no_interval() {
        let interval = MeanInterval::from_trials(&[0.25]);
        assert_eq!((interval.half_width, interval.to_string().as_str()), (None, "0.2500"));
        assert!(!interval.is_above(&MeanInterval::from_trials(&[0.0])));
        assert_eq!(MeanInterval::from_trials(&[f64::NAN; 3]).to_string(), "–");
    }
}
