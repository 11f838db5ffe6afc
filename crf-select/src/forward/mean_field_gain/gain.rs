use crf_core::Label;
use crf_core::simd::{Kernel, dispatch, exp_nonpositive};

/// What a candidate with weight μ adds to the likelihood of positions that are taken by themselves, each label of which has
/// the probability that the current model gives it (Vail 2008, equation 3.31):
///
/// ```text
/// gain(μ) = Σ_t μ·G_t(y_t) − log Σ_y p_t(y) exp(μ·G_t(y)) − (prior/2) μ²
/// ```
///
/// Labels with G_t(y) = 0 need no term of their own: together they have what probability the others leave.
///
/// At most positions a candidate speaks of one label, and where its function is a test always with the same value: of these
/// positions p_t(y) is kept, and G_t(y) where values differ, and vectors go along them.
#[derive(Debug, Default)]
pub(crate) struct Gain {
    observed: f64, // Σ_t G_t(y_t)
    tests: [Tests; 2],
    singles: Singles,
    pairs: Vec<Pair>,
    largest: f64, // of all |G_t(y)|
}

/// Positions at which one label has a G, the same at all of them.
#[derive(Debug, Default)]
struct Tests {
    g: f64,              // zero as long as there is no position
    p: Vec<Probability>, // [positions]
}

/// Positions at which one label has a G of their own.
#[derive(Debug, Default)]
struct Singles {
    p: Vec<Probability>,
    g: Vec<f64>,
}

/// Probability p of a label, stored as p or as −(1 − p), whichever keeps more digits.
///
/// Near p = 1 the complement is far smaller than the spacing of doubles, and its logarithm is what
/// a negative weight can gain.
#[derive(Debug, Clone, Copy)]
struct Probability(f64);

impl Probability {
    /// The probability of one label among all of its position.
    #[inline(always)]
    fn new(all: &[f64], label: usize) -> Self {
        let p = all[label];
        if p <= 0.5 { Probability(p) } else { Probability(-sum_without(all, &[label])) }
    }

    /// (p, 1 − p).
    #[inline(always)]
    fn with_complement(self) -> (f64, f64) {
        let Probability(x) = self;
        // The sign of a zero counts: −0 is the complement of a certain label.
        if x.is_sign_negative() { (1.0 + x, -x) } else { (x, 1.0 - x) }
    }
}

/// Sum of all probabilities but those of `labels`, without cancellation.
fn sum_without(all: &[f64], labels: &[usize]) -> f64 {
    all.iter().enumerate().filter(|(label, _)| !labels.contains(label)).map(|(_, p)| p).sum()
}

/// A position at which two labels have a G, or that does not count once.
#[derive(Debug)]
struct Pair {
    terms: [(f64, f64); 2], // p_t(y) and G_t(y)
    others: f64,            // the probability of all other labels
    weight: f64,
}

/// No exponent is larger than this: beyond it a feature that fires on true labels only would go on to infinity.
const LARGEST_EXPONENT: f64 = 50.0;

impl Gain {
    /// Forgets all positions.
    pub(crate) fn clear(&mut self) {
        self.observed = 0.0;
        self.largest = 0.0;
        for tests in &mut self.tests {
            tests.g = 0.0;
            tests.p.clear();
        }
        self.singles.p.clear();
        self.singles.g.clear();
        self.pairs.clear();
    }

    /// Adds a position that counts `weight` times and at which one label has a G.
    ///
    /// `all` are the probabilities of the position's labels, `one` is the label, its G, and whether it
    /// is the true one.
    #[inline(always)]
    pub(crate) fn single(&mut self, all: &[f64], one: (Label, f64, bool), weight: f64) {
        let (label, g, is_true) = one;
        // A label without another has its probability whatever the weight.
        if g == 0.0 || all.len() == 1 {
            return;
        }
        let p = Probability::new(all, label as usize);
        self.note(g, is_true, weight);
        if weight != 1.0 {
            let (p, others) = p.with_complement();
            self.pairs.push(Pair { terms: [(p, g), (0.0, 0.0)], others, weight });
        } else if let Some(tests) = self.tests.iter_mut().find(|tests| tests.g == g || tests.g == 0.0) {
            tests.g = g;
            tests.p.push(p);
        } else {
            self.singles.p.push(p);
            self.singles.g.push(g);
        }
    }

    /// Adds a position at which two labels have a G.
    pub(crate) fn pair(&mut self, all: &[f64], labels: [(Label, f64, bool); 2], weight: f64) {
        labels.iter().for_each(|&(_, g, is_true)| self.note(g, is_true, weight));
        let others = sum_without(all, &labels.map(|(label, ..)| label as usize));
        let terms = labels.map(|(label, g, _)| (all[label as usize], g));
        self.pairs.push(Pair { terms, others, weight });
    }

    #[inline(always)]
    fn note(&mut self, g: f64, is_true: bool, weight: f64) {
        self.largest = self.largest.max(g.abs());
        self.observed += if is_true { weight * g } else { 0.0 };
    }

    /// The gain at μ, its derivative, and minus its second derivative.
    pub(crate) fn at(&self, mu: f64, prior: f64) -> [f64; 3] {
        let (mut value, mut slope, mut curvature) = (mu * self.observed, self.observed, 0.0);
        for Tests { g, p } in self.tests.iter().filter(|tests| tests.g != 0.0) {
            let [log_z, mean, variance] = dispatch(OfTests { p, exponent: mu * g });
            value -= log_z;
            slope -= g * mean;
            curvature += g * g * variance;
        }
        let Singles { p, g } = &self.singles;
        let [log_z, mean, variance] = dispatch(OfSingles { p, g, mu, largest: self.largest });
        value -= log_z;
        slope -= mean;
        curvature += variance;
        for Pair { terms, others, weight } in &self.pairs {
            let (mut z, mut mean, mut square) = (*others, 0.0, 0.0);
            for &(p, g) in terms {
                let power = (mu * g).exp();
                z += p * power;
                mean += p * power * g;
                square += p * power * g * g;
            }
            mean /= z;
            value -= weight * z.ln();
            slope -= weight * mean;
            curvature += weight * (square / z - mean * mean);
        }
        [value - 0.5 * prior * mu * mu, slope - prior * mu, curvature + prior]
    }

    /// The largest gain of any μ, and that μ, by Newton's method inside of a bracket; the gain is concave. The search begins
    /// with a μ that may be near.
    pub(crate) fn largest(&self, prior: f64, near: f64) -> (f64, f64) {
        if self.largest == 0.0 {
            return (0.0, 0.0);
        }
        let limit = LARGEST_EXPONENT / self.largest;
        let (mut low, mut high, mut mu, mut best) = (-limit, limit, near.clamp(-limit, limit), (0.0, 0.0));
        let mut width = f64::INFINITY; // of the step before
        for _ in 0..100 {
            let [value, slope, curvature] = self.at(mu, prior);
            if value > best.0 {
                best = (value, mu);
            }
            if slope > 0.0 {
                low = mu
            } else {
                high = mu
            }
            let step = slope / curvature;
            // What is left to gain is about half of this.
            if slope == 0.0 || (slope * step).abs() <= 1e-8 * (1e-3 + best.0) || high - low <= 1e-12 * limit {
                break;
            }
            // Steps that do not shrink may go to and fro for long.
            let newton = mu + step;
            let is_good = newton > low && newton < high && step.abs() <= 0.5 * width;
            let next = if is_good { newton } else { 0.5 * (low + high) };
            width = (next - mu).abs();
            mu = next;
        }
        best
    }
}

/// Over positions at which a label has probability p and its power is multiplied by z = exp(`exponent`): the sums of
/// log(1 − p + p z), of the label's new probability q = p z / (1 − p + p z), and of q (1 − q).
struct OfTests<'p> {
    p: &'p [Probability],
    exponent: f64,
}

/// Numbers to a vector.
const LANES: usize = 8;
/// The logarithm of what products of factors stay below, and above one over it.
const LARGEST_LOGARITHM: f64 = 600.0;

impl Kernel for OfTests<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 3] {
        let z = self.exponent.exp();
        // Each factor lies between 1 and z.
        let n_factors = (LARGEST_LOGARITHM / self.exponent.abs()).clamp(1.0, 1024.0) as usize;
        let (vectors, rest) = self.p.as_chunks::<LANES>();
        let (mut log, mut mean, mut variance) = (0.0, [0.0; LANES], [0.0; LANES]);
        for vectors in vectors.chunks(n_factors) {
            let mut product = [1.0; LANES];
            for p in vectors {
                for j in 0..LANES {
                    let (p, others) = p[j].with_complement();
                    let factor = others + p * z;
                    let q = p * z / factor;
                    product[j] *= factor;
                    mean[j] += q;
                    variance[j] += q * (others / factor);
                }
            }
            log += product.iter().map(|product: &f64| product.ln()).sum::<f64>();
        }
        for p in rest {
            let (p, others) = p.with_complement();
            let factor = others + p * z;
            let q = p * z / factor;
            log += factor.ln();
            mean[0] += q;
            variance[0] += q * (others / factor);
        }
        [log, mean.iter().sum(), variance.iter().sum()]
    }
}

/// Over positions at which a label has probability p and its power is multiplied by exp(μg): the sums of the logarithm of
/// what all labels then have together, of g q with the label's new probability q, and of g² q (1 − q).
struct OfSingles<'p> {
    p: &'p [Probability],
    g: &'p [f64],
    mu: f64,
    largest: f64, // of all |g|
}

impl Kernel for OfSingles<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 3] {
        // Everything is divided by the larger of 1 and exp(μg), so that factors lie between exp(−|μg|) and 1.
        let n_factors = (LARGEST_LOGARITHM / (self.mu.abs() * self.largest)).clamp(1.0, 1024.0) as usize;
        let of = |p: Probability, g: f64| {
            let (p, others) = p.with_complement();
            let exponent = self.mu * g;
            let power = exp_nonpositive::<FMA>(-exponent.abs());
            let (own, others) = if exponent > 0.0 { (p, others * power) } else { (p * power, others) };
            let all = own + others;
            let q = own / all;
            (exponent.max(0.0), all, g * q, g * g * q * (others / all))
        };
        let ((p, p_rest), (g, g_rest)) = (self.p.as_chunks::<LANES>(), self.g.as_chunks::<LANES>());
        let (mut log, mut shift, mut mean, mut variance) = (0.0, [0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for (p, g) in p.chunks(n_factors).zip(g.chunks(n_factors)) {
            let mut product = [1.0; LANES];
            for (p, g) in p.iter().zip(g) {
                for j in 0..LANES {
                    let (divided, factor, first, second) = of(p[j], g[j]);
                    shift[j] += divided;
                    product[j] *= factor;
                    mean[j] += first;
                    variance[j] += second;
                }
            }
            log += product.iter().map(|product: &f64| product.ln()).sum::<f64>();
        }
        for (&p, &g) in p_rest.iter().zip(g_rest) {
            let (divided, factor, first, second) = of(p, g);
            log += divided + factor.ln();
            mean[0] += first;
            variance[0] += second;
        }
        [log + shift.iter().sum::<f64>(), mean.iter().sum(), variance.iter().sum()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A position of three labels, one at least without a G: probabilities, G, which label is true, and how often it counts.
    type Position = ([f64; 3], [f64; 3], usize, f64);

    fn positions() -> impl Strategy<Value = Vec<Position>> {
        let g = prop_oneof![3 => Just(0.0), 2 => Just(1.0), 1 => -3.0..3.0];
        // Some labels are as good as certain.
        let p = || prop_oneof![5 => 0.01..1.0, 1 => Just(1e-20)];
        let weight = prop_oneof![4 => Just(1.0), 1 => 0.1..3.0];
        let position = ([p(), p(), p()], [g.clone(), g], 0..3_usize, 0..3_usize, weight);
        let position = position.prop_map(|(p, [a, b], y, turns, weight)| {
            let mut g = [a, b, 0.0];
            g.rotate_left(turns);
            (p, g, y, weight)
        });
        proptest::collection::vec(position, 1..300)
    }

    fn gain(positions: &[Position]) -> (Gain, impl Fn(f64, f64) -> f64) {
        let mut gain = Gain::default();
        let normal = |p: &[f64; 3]| p.map(|x| x / p.iter().sum::<f64>());
        for (p, g, y, weight) in positions {
            let (all, of) = (normal(p), |k: usize| (k as Label, g[k], k == *y));
            match (0..3).filter(|&k| g[k] != 0.0).collect::<Vec<_>>()[..] {
                [] => gain.single(&all, of(0), *weight),
                [k] => gain.single(&all, of(k), *weight),
                [k, l] => gain.pair(&all, [of(k), of(l)], *weight),
                _ => unreachable!("one of three is zero"),
            }
        }
        let brute = move |mu: f64, prior: f64| {
            let of = |(p, g, y, weight): &Position| {
                let z: f64 = (0..3).map(|k| normal(p)[k] * (mu * g[k]).exp()).sum();
                weight * (mu * g[*y] - z.ln())
            };
            positions.iter().map(of).sum::<f64>() - 0.5 * prior * mu * mu
        };
        (gain, brute)
    }

    fn check_newton(positions: &[Position], prior: f64, near: f64) {
        let (gain, brute) = gain(positions);
        let limit = if gain.largest > 0.0 { LARGEST_EXPONENT / gain.largest } else { 1.0 };
        // Golden section on a concave function.
        let (mut low, mut high) = (-limit, limit);
        for _ in 0..200 {
            let [a, b] = [0.382, 0.618].map(|part| low + part * (high - low));
            if brute(a, prior) < brute(b, prior) { low = a } else { high = b }
        }
        let (want, got) = (brute(0.5 * (low + high), prior).max(0.0), gain.largest(prior, near).0);
        assert!((got - want).abs() <= 1e-6 * (1.0 + want), "{got} vs {want}");
    }

    #[test]
    fn a_label_that_is_certain_to_all_digits_leaves_the_others_their_probability() {
        check_newton(&[([0.01, 1e-20, 1e-20], [1.0, 0.0, 0.0], 1, 1.0)], 0.0, 0.0);
        check_newton(&[([0.01, 1e-20, 1e-20], [0.7, 0.0, 0.0], 1, 2.0)], 0.0, 3.0);
        check_newton(&[([0.01, 1e-20, 1e-20], [1.0, 0.5, 0.0], 2, 1.0)], 0.0, 0.0);
    }

    proptest! {
        #[test]
        fn newton_finds_what_a_search_over_all_weights_finds(positions in positions(), prior in prop_oneof![Just(0.0), 0.01..2.0], near in prop_oneof![Just(0.0), -9.0..9.0]) {
            check_newton(&positions, prior, near);
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
