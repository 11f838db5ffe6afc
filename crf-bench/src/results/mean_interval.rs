use std::fmt;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean over trials with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a single trial; none with fewer than two.
    pub deviation: Option<f64>,
    /// Half the width of Student's 95% interval; none with fewer than two trials, or numbers that are not
    /// finite.
    pub half_width: Option<f64>,
    /// How many trials there are.
    pub trials: usize,
}

impl MeanInterval {
    /// The estimate of the given trials.
    pub fn of(values: &[f64]) -> Self {
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

    /// The lower end of the interval; nothing is known without one.
    pub fn low(&self) -> f64 {
        self.half_width.map_or(f64::NEG_INFINITY, |half| self.mean - half)
    }

    /// The upper end of the interval; nothing is known without one.
    pub fn high(&self) -> f64 {
        self.half_width.map_or(f64::INFINITY, |half| self.mean + half)
    }

    /// How probable a mean so far from 0 is if the true one is 0, by Student's two-sided test; nothing is known without a
    /// deviation.
    pub fn p_value(&self) -> Option<f64> {
        let (deviation, n) = (self.deviation?, self.trials as f64);
        if deviation == 0.0 {
            return Some(if self.mean == 0.0 { 1.0 } else { 0.0 });
        }
        let t = self.mean.abs() / (deviation / n.sqrt());
        StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|student| 2.0 * student.sf(t))
    }

    /// Whether the whole interval lies above that of `other`.
    pub fn is_above(&self, other: &MeanInterval) -> bool {
        self.low() > other.high()
    }

    /// The mean without its interval, with the decimals that the interval leaves certain; a dash where nothing is known.
    pub fn short(&self) -> String {
        if self.mean.is_nan() {
            return "–".to_owned();
        }
        format!("{:.*}", self.decimals(), self.mean)
    }

    fn decimals(&self) -> usize {
        // Two digits of the half width, or four of the mean when there is no width to go by.
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
        let of = MeanInterval::of(&[1.0, 2.0, 3.0, 4.0]);
        // t_{0.975, 3} = 3.182446, deviation √(5/3), so 3.182446 · 1.290994 / 2.
        assert!((of.half_width.expect("four trials") - 2.054260).abs() < 1e-5, "{of:?}");
        assert_eq!(of.to_string(), "2.5 ± 2.1");
    }

    #[test]
    fn one_trial_has_no_interval() {
        let of = MeanInterval::of(&[0.25]);
        assert_eq!((of.half_width, of.to_string().as_str()), (None, "0.2500"));
        assert!(!of.is_above(&MeanInterval::of(&[0.0])));
        assert_eq!(MeanInterval::of(&[f64::NAN; 3]).to_string(), "–");
    }
}
