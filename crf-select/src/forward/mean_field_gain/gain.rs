use crf_core::Label;
use crf_core::simd::{Kernel, dispatch, exp_nonpositive};

/// Gain of likelihood of a candidate with weight μ, as a function of μ, if positions are taken by
/// themselves and each label of a position has the probability that the current model gives it
/// (Vail 2008, equation 3.31):
///
/// ```text
/// gain(μ) = Σ_t μ·G_t(y_t) − log Σ_y p_t(y) exp(μ·G_t(y)) − (prior/2) μ²
/// ```
///
/// Labels with G_t(y) = 0 need no term of their own: together they have the probability that the
/// others leave.
///
/// At most positions a candidate has G_t(y) ≠ 0 for one label only, and if its function is a test,
/// always the same value. Such positions are stored by that label's p_t(y), with G_t(y) only where
/// values differ, and evaluated in vectors.
#[derive(Debug, Default)]
pub(crate) struct Gain {
    observed: f64, // Σ_t G_t(y_t)
    equal_terms: [EqualTerms; 2],
    single_terms: SingleTerms,
    pair_terms: Vec<PairTerm>,
    max_abs_g: f64, // max |G_t(y)|
}

/// Positions with one label whose G is not zero, and the same at all of them.
#[derive(Debug, Default)]
struct EqualTerms {
    g: f64,              // zero as long as there is no position
    p: Vec<Probability>, // [positions]
}

/// Positions with one label whose G is not zero.
#[derive(Debug, Default)]
struct SingleTerms {
    p: Vec<Probability>, // [positions]
    g: Vec<f64>,         // [positions]
}

/// Probability p of a label, stored as p or as −(1 − p), whichever keeps more digits.
///
/// Near p = 1 the complement is far smaller than the spacing of doubles, and its logarithm is what
/// a negative weight can gain.
#[derive(Debug, Clone, Copy)]
struct Probability(f64);

impl Probability {
    /// Probability of one label among those of all labels of its position.
    #[inline(always)]
    fn new(all: &[f64], label: usize) -> Self {
        let p = all[label];
        if p <= 0.5 { Probability(p) } else { Probability(-sum_without(all, &[label])) }
    }

    /// (p, 1 − p).
    #[inline(always)]
    fn with_complement(self) -> (f64, f64) {
        let Probability(x) = self;
        // The sign bit decides, also of a zero: −0 is a label with probability 1.
        if x.is_sign_negative() { (1.0 + x, -x) } else { (x, 1.0 - x) }
    }
}

/// Sum of all probabilities except those of `labels`, without cancellation.
fn sum_without(all: &[f64], labels: &[usize]) -> f64 {
    all.iter().enumerate().filter(|(label, _)| !labels.contains(label)).map(|(_, p)| p).sum()
}

/// A position with two labels whose G is not zero, or with a weight other than 1.
#[derive(Debug)]
struct PairTerm {
    terms: [(f64, f64); 2], // p_t(y) and G_t(y)
    others: f64,            // probability of all other labels
    weight: f64,
}

/// Maximum of |μ·G_t(y)|: without it the best weight of a feature that fires on true labels only
/// would be infinite.
const MAX_EXPONENT: f64 = 50.0;

impl Gain {
    /// Removes all positions.
    pub(crate) fn clear(&mut self) {
        self.observed = 0.0;
        self.max_abs_g = 0.0;
        for terms in &mut self.equal_terms {
            terms.g = 0.0;
            terms.p.clear();
        }
        self.single_terms.p.clear();
        self.single_terms.g.clear();
        self.pair_terms.clear();
    }

    /// Adds a position at which one label has a G.
    ///
    /// `all` are the probabilities of the position's labels; `term` is the label, its G, and true
    /// if it is the true label.
    #[inline(always)]
    pub(crate) fn add_single(&mut self, all: &[f64], term: (Label, f64, bool), weight: f64) {
        let (label, g, is_true) = term;
        // A label without an alternative has probability 1 under every weight.
        if g == 0.0 || all.len() == 1 {
            return;
        }
        let p = Probability::new(all, label as usize);
        self.observe(g, is_true, weight);
        if weight != 1.0 {
            let (p, others) = p.with_complement();
            self.pair_terms.push(PairTerm { terms: [(p, g), (0.0, 0.0)], others, weight });
        } else if let Some(terms) = self.equal_terms.iter_mut().find(|terms| terms.g == g || terms.g == 0.0) {
            terms.g = g;
            terms.p.push(p);
        } else {
            self.single_terms.p.push(p);
            self.single_terms.g.push(g);
        }
    }

    /// Adds a position at which two labels have a G.
    pub(crate) fn add_pair(&mut self, all: &[f64], labels: [(Label, f64, bool); 2], weight: f64) {
        labels.iter().for_each(|&(_, g, is_true)| self.observe(g, is_true, weight));
        let others = sum_without(all, &labels.map(|(label, ..)| label as usize));
        let terms = labels.map(|(label, g, _)| (all[label as usize], g));
        self.pair_terms.push(PairTerm { terms, others, weight });
    }

    #[inline(always)]
    fn observe(&mut self, g: f64, is_true: bool, weight: f64) {
        self.max_abs_g = self.max_abs_g.max(g.abs());
        self.observed += if is_true { weight * g } else { 0.0 };
    }

    /// The gain at μ, its derivative, and minus its second derivative.
    pub(crate) fn evaluate(&self, mu: f64, prior: f64) -> [f64; 3] {
        let mut value = mu * self.observed;
        let mut slope = self.observed;
        let mut curvature = 0.0;
        for EqualTerms { g, p } in self.equal_terms.iter().filter(|terms| terms.g != 0.0) {
            let [log_z, mean, variance] = dispatch(EqualTermsKernel { p, exponent: mu * g });
            value -= log_z;
            slope -= g * mean;
            curvature += g * g * variance;
        }
        let SingleTerms { p, g } = &self.single_terms;
        let [log_z, mean, variance] = dispatch(SingleTermsKernel { p, g, mu, max_abs_g: self.max_abs_g });
        value -= log_z;
        slope -= mean;
        curvature += variance;
        for PairTerm { terms, others, weight } in &self.pair_terms {
            let mut z = *others;
            let mut mean = 0.0;
            let mut square = 0.0;
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

    /// The largest gain and its μ, by Newton's method in a bracket from a `start` that may be near;
    /// the gain is concave.
    pub(crate) fn maximise(&self, prior: f64, start: f64) -> (f64, f64) {
        if self.max_abs_g == 0.0 {
            return (0.0, 0.0);
        }
        let limit = MAX_EXPONENT / self.max_abs_g;
        let mut low = -limit;
        let mut high = limit;
        let mut mu = start.clamp(-limit, limit);
        let mut best = (0.0, 0.0);
        let mut width = f64::INFINITY; // of the previous step
        for _ in 0..100 {
            let [value, slope, curvature] = self.evaluate(mu, prior);
            if value > best.0 {
                best = (value, mu);
            }
            if slope > 0.0 {
                low = mu
            } else {
                high = mu
            }
            let step = slope / curvature;
            // The rest of the gain is about half of slope · step.
            if slope == 0.0 || (slope * step).abs() <= 1e-8 * (1e-3 + best.0) || high - low <= 1e-12 * limit {
                break;
            }
            // Newton's steps that do not shrink may oscillate for long; bisection takes over.
            let newton = mu + step;
            let is_good = newton > low && newton < high && step.abs() <= 0.5 * width;
            let next = if is_good { newton } else { 0.5 * (low + high) };
            width = (next - mu).abs();
            mu = next;
        }
        best
    }
}

/// Kernel of [`EqualTerms`], with z = exp(`exponent`): the sums over positions of log(1 − p + p z),
/// of the label's new probability q = p z / (1 − p + p z), and of q (1 − q).
struct EqualTermsKernel<'p> {
    p: &'p [Probability],
    exponent: f64,
}

/// Numbers per vector.
const LANES: usize = 8;
/// Maximum of |log| of a product of factors, so that it neither overflows nor underflows.
const MAX_LOGARITHM: f64 = 600.0;

impl Kernel for EqualTermsKernel<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 3] {
        let z = self.exponent.exp();
        // Each factor lies between 1 and z.
        let n_factors = (MAX_LOGARITHM / self.exponent.abs()).clamp(1.0, 1024.0) as usize;
        let (vectors, rest) = self.p.as_chunks::<LANES>();
        let mut log = 0.0;
        let mut mean = [0.0; LANES];
        let mut variance = [0.0; LANES];
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

/// Kernel of [`SingleTerms`]: the sums over positions of log(1 − p + p exp(μg)), of g q with the
/// label's new probability q, and of g² q (1 − q).
struct SingleTermsKernel<'p> {
    p: &'p [Probability],
    g: &'p [f64],
    mu: f64,
    max_abs_g: f64,
}

impl Kernel for SingleTermsKernel<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 3] {
        // Everything is divided by the larger of 1 and exp(μg), so that factors lie between
        // exp(−|μg|) and 1.
        let n_factors = (MAX_LOGARITHM / (self.mu.abs() * self.max_abs_g)).clamp(1.0, 1024.0) as usize;
        let terms = |p: Probability, g: f64| {
            let (p, others) = p.with_complement();
            let exponent = self.mu * g;
            let power = exp_nonpositive::<FMA>(-exponent.abs());
            let (own, others) = if exponent > 0.0 { (p, others * power) } else { (p * power, others) };
            let all = own + others;
            let q = own / all;
            (exponent.max(0.0), all, g * q, g * g * q * (others / all))
        };
        let ((p, p_rest), (g, g_rest)) = (self.p.as_chunks::<LANES>(), self.g.as_chunks::<LANES>());
        let mut log = 0.0;
        let mut shift = [0.0; LANES];
        let mut mean = [0.0; LANES];
        let mut variance = [0.0; LANES];
        for (p, g) in p.chunks(n_factors).zip(g.chunks(n_factors)) {
            let mut product = [1.0; LANES];
            for (p, g) in p.iter().zip(g) {
                for j in 0..LANES {
                    let (log_divisor, factor, first, second) = terms(p[j], g[j]);
                    shift[j] += log_divisor;
                    product[j] *= factor;
                    mean[j] += first;
                    variance[j] += second;
                }
            }
            log += product.iter().map(|product: &f64| product.ln()).sum::<f64>();
        }
        for (&p, &g) in p_rest.iter().zip(g_rest) {
            let (log_divisor, factor, first, second) = terms(p, g);
            log += log_divisor + factor.ln();
            mean[0] += first;
            variance[0] += second;
        }
        [log + shift.iter().sum::<f64>(), mean.iter().sum(), variance.iter().sum()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    /// A position of three labels, at least one of them with G = 0: unnormalised probabilities, G,
    /// true label, weight.
    type Position = ([f64; 3], [f64; 3], usize, f64);

    fn positions() -> impl Strategy<Value = Vec<Position>> {
        let g = prop_oneof![3 => Just(0.0), 2 => Just(1.0), 1 => -3.0..3.0];
        // Some labels are almost certain.
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
            let all = normal(p);
            let term = |k: usize| (k as Label, g[k], k == *y);
            match (0..3).filter(|&k| g[k] != 0.0).collect::<Vec<_>>()[..] {
                [] => gain.add_single(&all, term(0), *weight),
                [k] => gain.add_single(&all, term(k), *weight),
                [k, l] => gain.add_pair(&all, [term(k), term(l)], *weight),
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
        let limit = if gain.max_abs_g > 0.0 { MAX_EXPONENT / gain.max_abs_g } else { 1.0 };
        // Golden section on a concave function.
        let (mut low, mut high) = (-limit, limit);
        for _ in 0..200 {
            let [a, b] = [0.382, 0.618].map(|part| low + part * (high - low));
            if brute(a, prior) < brute(b, prior) { low = a } else { high = b }
        }
        let (want, got) = (brute(0.5 * (low + high), prior).max(0.0), gain.maximise(prior, near).0);
        assert!((got - want).abs() <= 1e-6 * (1.0 + want), "{got} vs {want}");
    }

    #[test]
    fn a_label_that_is_certain_to_all_digits_leaves_the_others_their_probability() {
        check_newton(&[([0.01, 1e-20, 1e-20], [1.0, 0.0, 0.0], 1, 1.0)], 0.0, 0.0);
        check_newton(&[([0.01, 1e-20, 1e-20], [0.7, 0.0, 0.0], 1, 2.0)], 0.0, 3.0);
        check_newton(&[([0.01, 1e-20, 1e-20], [1.0, 0.5, 0.0], 2, 1.0)], 0.0, 0.0);
    }

    #[test]
    fn newton_ends_where_its_steps_would_oscillate() {
        let of = |p: [f64; 3], g: [f64; 3], y| (p, g, y, 1.0);
        let positions = [
            of([0.01, 0.01, 0.01], [1.0, 0.0, 0.0], 0),
            of([0.7293863805294442, 0.01, 0.17341236323818515], [0.0, 0.0, 1.0], 0),
            of([0.01, 0.26045303842120543, 0.01], [-2.2654289398227014, 1.0, 0.0], 0),
            of([0.01, 0.7174256410039375, 0.7756111689882894], [1.0, 0.0, 1.0], 0),
            of([0.01, 0.46115127931574756, 0.7487355531759501], [0.0, 1.0, 0.0], 0),
            of([0.46621481096570366, 0.01, 0.45035379926097346], [1.0, 0.0, 0.0], 0),
            of([0.01, 0.01, 0.01], [0.0, 1.4519104967937013, 0.0], 0),
            of([0.01, 0.997780314345652, 0.6219765307481646], [0.0, 1.0, 0.0], 0),
            of([0.7038162134915295, 0.01, 0.01], [-1.7550929404509865, 0.0, 0.0], 0),
            of([0.7068886818180056, 0.01, 0.01], [0.0, 1.0, 0.0], 0),
            of([0.8070640222239616, 0.2549647085173372, 0.01], [-1.9304900117950297, 1.0, 0.0], 1),
            of([0.01, 0.07955899453233445, 0.01], [0.0, 1.0, 0.0], 1),
            of(
                [0.49739359433681374, 0.3701164792180195, 0.9319214901012312],
                [1.9289995219614038, 0.0, 0.0],
                1,
            ),
            of([0.01, 0.08179731247562994, 0.01], [0.0, 1.0, 0.0], 1),
        ];
        check_newton(&positions, 1.5755743096659949, -4.978727129539104);
        check_newton(&[of([0.01, 0.01, 0.01], [1.0, 1.0, 0.0], 0)], 0.0, 0.0);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn newton_finds_what_a_search_over_all_weights_finds(positions in positions(), prior in prop_oneof![Just(0.0), 0.01..2.0], near in prop_oneof![Just(0.0), -9.0..9.0]) {
            check_newton(&positions, prior, near);
        }

        #[test]
        fn derivatives_match_differences(positions in positions(), mu in -2.0..2.0, prior in 0.0..2.0) {
            let (gain, brute) = gain(&positions);
            let [value, slope, curvature] = gain.evaluate(mu, prior);
            let h = 1e-4;
            let [above, below] = [mu + h, mu - h].map(|mu| brute(mu, prior));
            prop_assert!((value - brute(mu, prior)).abs() < 1e-9);
            prop_assert!((slope - (above - below) / (2.0 * h)).abs() < 1e-5);
            prop_assert!((curvature + (above - 2.0 * value + below) / (h * h)).abs() < 1e-4);
        }
    }
}
