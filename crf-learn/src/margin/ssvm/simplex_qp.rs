/// Minimum of the limit of steps of a solution.
const MIN_STEPS: usize = 1_000;
/// Limit of steps per point. Where points differ by many orders of size, there is no end to steps
/// that gain a little.
const STEPS_PER_POINT: usize = 20;

/// Small quadratic program of cutting planes: max_α Σ_k α_k b_k − ½ αᵀGα with α ≥ 0 and Σ_k α_k =
/// total.
///
/// Points are added and removed between solutions, each of which starts where the last one ended.
#[derive(Debug)]
pub(crate) struct SimplexQp {
    total: f64,
    gram: Vec<Vec<f64>>, // [points × points]
    linear: Vec<f64>,
    alpha: Vec<f64>,
    gradient: Vec<f64>, // b − Gα
}

impl SimplexQp {
    /// Creates the program with one point, at which everything is zero.
    pub(crate) fn new(total: f64) -> Self {
        SimplexQp { total, gram: vec![vec![0.0]], linear: vec![0.0], alpha: vec![total], gradient: vec![0.0] }
    }

    /// Shares of all points.
    pub(crate) fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Adds a point, given its inner products with all points, itself the last.
    pub(crate) fn add(&mut self, products: Vec<f64>, linear: f64) {
        self.gram.iter_mut().zip(&products).for_each(|(row, product)| row.push(*product));
        let product: f64 = products.iter().zip(&self.alpha).map(|(product, alpha)| product * alpha).sum();
        self.gradient.push(linear - product);
        self.gram.push(products);
        self.linear.push(linear);
        self.alpha.push(0.0);
    }

    /// Removes a point without any share; the last point takes its index.
    pub(crate) fn remove(&mut self, k: usize) {
        assert!(self.alpha[k] == 0.0, "point {k} has a share of {}", self.alpha[k]);
        self.gram.swap_remove(k);
        for row in &mut self.gram {
            row.swap_remove(k);
        }
        self.linear.swap_remove(k);
        self.alpha.swap_remove(k);
        self.gradient.swap_remove(k);
    }

    /// Value Σ_k α_k b_k − ½ αᵀGα.
    pub(crate) fn value(&self) -> f64 {
        let terms = self.alpha.iter().zip(&self.linear).zip(&self.gradient);
        terms.map(|((alpha, linear), gradient)| 0.5 * alpha * (linear + gradient)).sum()
    }

    /// Moves shares between pairs of points until no distribution is better by more than
    /// `tolerance`, or the limit of steps is reached: the next solution goes on from there.
    ///
    /// The receiving point is the one with the largest derivative; the giving point is the one for
    /// which the step gains most (the second-order choice of Fan, Chen & Lin 2005).
    pub(crate) fn solve(&mut self, tolerance: f64) {
        let SimplexQp { total, gram, linear, alpha, gradient } = self;
        for ((gradient, row), linear) in gradient.iter_mut().zip(&*gram).zip(&*linear) {
            *gradient = linear - row.iter().zip(&*alpha).map(|(product, alpha)| product * alpha).sum::<f64>();
        }
        // Derivatives are differences of numbers of this size, and no more precise than their
        // rounding.
        let rounding = 64.0 * f64::EPSILON * *total * linear.iter().copied().fold(0.0, f64::max);
        let tolerance = tolerance.max(rounding);
        for _ in 0..MIN_STEPS.max(STEPS_PER_POINT * alpha.len()) {
            let best =
                (1..alpha.len()).fold(0, |best, k| if gradient[k] > gradient[best] { k } else { best });
            let mean: f64 = alpha.iter().zip(&*gradient).map(|(alpha, gradient)| alpha * gradient).sum();
            if *total * gradient[best] - mean <= tolerance {
                return;
            }
            let row = &gram[best];
            let gain = |k: usize| {
                let slope = gradient[best] - gradient[k];
                let curvature = row[best] + gram[k][k] - 2.0 * row[k];
                let step = (slope / curvature.max(f64::MIN_POSITIVE)).min(alpha[k]);
                (step, step * (slope - 0.5 * step * curvature))
            };
            let givers = (0..alpha.len()).filter(|&k| alpha[k] > 0.0 && gradient[k] < gradient[best]);
            let Some((giver, (step, gained))) =
                givers.map(|k| (k, gain(k))).max_by(|a, b| a.1.1.total_cmp(&b.1.1))
            else {
                return;
            };
            if gained <= 0.0 {
                return;
            }
            alpha[best] += step;
            alpha[giver] -= step;
            let rows = gram[best].iter().zip(&gram[giver]);
            gradient.iter_mut().zip(rows).for_each(|(gradient, (best, giver))| {
                *gradient -= step * (best - giver);
            });
        }
    }
}
