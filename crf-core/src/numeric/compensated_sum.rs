/// Sum that keeps its rounding errors, so that large terms that cancel or leave again take no digit
/// of the small ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CompensatedSum {
    high: f64,
    low: f64,
}

impl CompensatedSum {
    /// Adds a number without error: Knuth (1969), §4.2.2, theorem B, gives the rounding error of
    /// the sum; Dekker (1971) normalises both parts.
    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let part = sum - self.high;
        let rest = self.low + ((self.high - (sum - part)) + (x - part));
        self.high = sum + rest;
        self.low = rest - (self.high - sum);
    }

    /// The sum with one more number.
    #[inline(always)]
    pub fn plus(mut self, x: f64) -> Self {
        self.add(x);
        self
    }

    /// The sum as one number; not finite if it overflows.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_terms_that_cancel_leave_the_small_ones() {
        let mut sum = CompensatedSum::default();
        [0.25, 1e17, 0.5, -1e17].into_iter().for_each(|x| sum.add(x));
        assert_eq!(sum.value(), 0.75);
    }

    #[test]
    fn a_sum_that_overflows_is_not_finite() {
        let sum = CompensatedSum::default().plus(f64::MAX).plus(f64::MAX);
        assert!(!sum.value().is_finite() && !sum.plus(-f64::MAX).value().is_finite());
    }
}
