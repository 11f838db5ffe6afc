/// Running mean and variance (Welford 1962), free of cancellation between large sums.
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

    /// Mean, and the factor that scales the standard deviation to 1; the factor is 1 if nothing
    /// varies. `None` if the mean or the deviation is not finite.
    pub(crate) fn scale(&self) -> Option<(f64, f64)> {
        let deviation = (self.square / self.count.max(1.0)).sqrt();
        let varies = deviation > 1e-12 * self.mean.abs();
        let factor = if varies { deviation.recip() } else { 1.0 };
        (self.mean.is_finite() && deviation.is_finite()).then_some((self.mean, factor))
    }
}
