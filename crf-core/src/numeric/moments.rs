/// Running mean and variance (Welford 1962), free of cancellation between large sums.
///
/// The first value is subtracted from all, so that numbers far from zero, such as points of time,
/// keep their differences.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    count: f64,
    first: f64,
    mean: f64,   // of x − first
    square: f64, // Σ (x − first − mean)²
}

impl Moments {
    pub(crate) fn add(&mut self, value: f64) {
        if self.count == 0.0 {
            self.first = value;
        }
        self.count += 1.0;
        let value = value - self.first;
        let difference = value - self.mean;
        self.mean += difference / self.count;
        self.square += difference * (value - self.mean);
    }

    /// Mean, and the factor that scales the standard deviation to 1; the factor is 1 if all
    /// values are equal. `None` if the mean or the deviation is not finite.
    pub(crate) fn scale(&self) -> Option<(f64, f64)> {
        let (mean, deviation) = (self.first + self.mean, (self.square / self.count.max(1.0)).sqrt());
        let factor = if deviation > 0.0 { deviation.recip() } else { 1.0 };
        (mean.is_finite() && deviation.is_finite()).then_some((mean, factor))
    }
}
