/// Mean and variance of numbers that come one by one (Welford 1962): no cancellation between large sums.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    square: f64, // Σ (x − mean)²
}

impl Moments {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.count;
        self.square += difference * (value - self.mean);
    }

    /// The mean, and the factor that makes the deviation 1: 1 where nothing varies, and nothing where either is not finite.
    pub(crate) fn scale(&self) -> Option<(f64, f64)> {
        let deviation = (self.square / self.count.max(1.0)).sqrt();
        let varies = deviation > 1e-12 * self.mean.abs();
        let factor = if varies { deviation.recip() } else { 1.0 };
        (self.mean.is_finite() && deviation.is_finite()).then_some((self.mean, factor))
    }
}
