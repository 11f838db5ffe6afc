/// What a candidate with weight μ adds to the likelihood of positions that are taken by themselves, each label of which has
/// the probability that the current model gives it (Vail 2008, equation 3.31):
///
/// ```text
/// gain(μ) = Σ_t μ·G_t(y_t) − log Σ_y p_t(y) exp(μ·G_t(y)) − (prior/2) μ²
/// ```
///
/// Labels with G_t(y) = 0 need no term of their own: together they have what probability the others leave.
#[derive(Debug, Default)]
pub(crate) struct Gain {
    observed: f64,          // Σ_t G_t(y_t)
    ends: Vec<(u32, f64)>, // [positions] where the terms of each end, and the probability of all other labels
    terms: Vec<(f64, f64)>, // p_t(y) and G_t(y)
    largest: f64,          // of all |G_t(y)|
}

/// No exponent is larger than this: beyond it a feature that fires on true labels only would go on to infinity.
const LARGEST_EXPONENT: f64 = 50.0;

impl Gain {
    /// Forgets all positions.
    pub(crate) fn clear(&mut self) {
        self.observed = 0.0;
        self.largest = 0.0;
        self.ends.clear();
        self.terms.clear();
    }

    /// Adds a label of the open position: its probability, G of it, and whether it is the true one.
    pub(crate) fn add(&mut self, probability: f64, g: f64, is_true: bool) {
        self.terms.push((probability, g));
        self.largest = self.largest.max(g.abs());
        self.observed += if is_true { g } else { 0.0 };
    }

    /// Closes a position, which has so many labels.
    pub(crate) fn end_position(&mut self, n_labels: usize) {
        let terms = &self.terms[self.ends.last().map_or(0, |&(end, _)| end as usize)..];
        // Where all labels are named, what rounding leaves is not theirs.
        let others =
            if terms.len() == n_labels { 0.0 } else { 1.0 - terms.iter().map(|(p, _)| p).sum::<f64>() };
        self.ends.push((self.terms.len() as u32, others.max(0.0)));
    }

    /// The gain at μ, its derivative, and minus its second derivative.
    pub(crate) fn at(&self, mu: f64, prior: f64) -> [f64; 3] {
        let (mut value, mut slope, mut curvature) = (mu * self.observed, self.observed, 0.0);
        let (mut start, mut last, mut power) = (0, f64::NAN, 0.0);
        for &(end, others) in &self.ends {
            let (mut z, mut mean, mut square) = (others, 0.0, 0.0);
            for &(p, g) in &self.terms[start..end as usize] {
                // Most functions are tests and have one value.
                if g != last {
                    (last, power) = (g, (mu * g).exp());
                }
                z += p * power;
                mean += p * power * g;
                square += p * power * g * g;
            }
            mean /= z;
            value -= z.ln();
            slope -= mean;
            curvature += square / z - mean * mean;
            start = end as usize;
        }
        [value - 0.5 * prior * mu * mu, slope - prior * mu, curvature + prior]
    }

    /// The largest gain of any μ, by Newton's method inside of a bracket; the gain is concave.
    pub(crate) fn largest(&self, prior: f64) -> f64 {
        if self.largest == 0.0 {
            return 0.0;
        }
        let limit = LARGEST_EXPONENT / self.largest;
        let (mut low, mut high, mut mu, mut best) = (-limit, limit, 0.0, 0.0_f64);
        for _ in 0..60 {
            let [value, slope, curvature] = self.at(mu, prior);
            best = best.max(value);
            if slope > 0.0 {
                low = mu
            } else {
                high = mu
            }
            let step = slope / curvature;
            // What is left to gain is about half of this.
            if (slope * step).abs() <= 1e-9 * (1e-3 + best) || high - low <= 1e-12 * limit {
                break;
            }
            let newton = mu + step;
            mu = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Positions of up to three labels: probabilities, G, and which label is true.
    fn positions() -> impl Strategy<Value = Vec<([f64; 3], [f64; 3], usize)>> {
        let g = prop_oneof![Just(0.0), Just(1.0), -3.0..3.0];
        let position = ([0.01..1.0, 0.01..1.0, 0.01..1.0], [g.clone(), g.clone(), g], 0..3_usize);
        proptest::collection::vec(position, 1..20)
    }

    fn gain(positions: &[([f64; 3], [f64; 3], usize)]) -> (Gain, impl Fn(f64, f64) -> f64) {
        let mut gain = Gain::default();
        let normal = |p: &[f64; 3]| p.map(|x| x / p.iter().sum::<f64>());
        for (p, g, y) in positions {
            for k in (0..3).filter(|&k| g[k] != 0.0) {
                gain.add(normal(p)[k], g[k], k == *y);
            }
            gain.end_position(3);
        }
        let brute = move |mu: f64, prior: f64| {
            let of = |(p, g, y): &([f64; 3], [f64; 3], usize)| {
                let z: f64 = (0..3).map(|k| normal(p)[k] * (mu * g[k]).exp()).sum();
                mu * g[*y] - z.ln()
            };
            positions.iter().map(of).sum::<f64>() - 0.5 * prior * mu * mu
        };
        (gain, brute)
    }

    proptest! {
        #[test]
        fn newton_finds_what_a_search_over_all_weights_finds(positions in positions(), prior in prop_oneof![Just(0.0), 0.01..2.0]) {
            let (gain, brute) = gain(&positions);
            let limit = if gain.largest > 0.0 { LARGEST_EXPONENT / gain.largest } else { 1.0 };
            // Golden section on a concave function.
            let (mut low, mut high) = (-limit, limit);
            for _ in 0..200 {
                let [a, b] = [0.382, 0.618].map(|part| low + part * (high - low));
                if brute(a, prior) < brute(b, prior) { low = a } else { high = b }
            }
            let (want, got) = (brute(0.5 * (low + high), prior).max(0.0), gain.largest(prior));
            prop_assert!((got - want).abs() <= 1e-6 * (1.0 + want), "{got} vs {want}");
        }

        #[test]
        fn derivatives_match_differences(positions in positions(), mu in -2.0..2.0, prior in 0.0..2.0) {
            let (gain, brute) = gain(&positions);
            let [value, slope, curvature] = gain.at(mu, prior);
            let h = 1e-4;
            let [above, below] = [mu + h, mu - h].map(|mu| brute(mu, prior));
            prop_assert!((value - brute(mu, prior)).abs() < 1e-9);
            prop_assert!((slope - (above - below) / (2.0 * h)).abs() < 1e-5);
            prop_assert!((curvature + (above - 2.0 * value + below) / (h * h)).abs() < 1e-4);
        }
    }
}
