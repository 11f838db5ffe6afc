use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Questions about symbols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Symbols {
    /// Tests for a set of symbols. The best set is found by sorting symbols by their means (Fisher
    /// 1958).
    #[default]
    Sets,
    /// Tests for a single symbol.
    Single,
}

/// Sums of g and h over some cells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) g: f64,
    pub(crate) h: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, other: Sum) {
        self.g += other.g;
        self.h += other.h;
    }

    #[inline]
    pub(crate) fn minus(self, other: Sum) -> Sum {
        Sum { g: self.g - other.g, h: self.h - other.h }
    }
}

/// Settings that the value of a leaf depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighing {
    /// λ of the penalty (λ/2)·value² on each leaf.
    pub(crate) l2: f64,
    /// Minimum Σh of a leaf.
    pub(crate) min_weight: f64,
    /// Questions about symbols.
    pub(crate) symbols: Symbols,
}

impl Weighing {
    /// Value that minimises Σ h (g/h − value)² + λ·value².
    pub(crate) fn value(&self, sum: Sum) -> f64 {
        let weight = sum.h + self.l2;
        if weight > 0.0 { sum.g / weight } else { 0.0 }
    }

    /// Decrease of that sum by the best value.
    #[inline]
    fn decrease(&self, sum: Sum) -> f64 {
        let weight = sum.h + self.l2;
        if weight > 0.0 { sum.g * sum.g / weight } else { 0.0 }
    }

    /// Gain of a split: the decrease by two leaves for `part` and the rest of `all` beyond that by
    /// one leaf for all. 0 if one of them is too light.
    #[inline]
    pub(crate) fn gain(&self, part: Sum, all: Sum) -> f64 {
        let rest = all.minus(part);
        // Sums that nearly cancel are rounding.
        let least = self.min_weight.max(1e-9 * all.h);
        if part.h <= least.next_down() || rest.h <= least.next_down() {
            return 0.0;
        }
        self.decrease(part) + self.decrease(rest) - self.decrease(all)
    }

    /// Best cut of a number, if any gains more than `least`: its gain, the number of bins below,
    /// and their sum.
    pub(crate) fn best_cut(&self, bins: &[Sum], all: Sum, least: f64) -> Option<(f64, u32, Sum)> {
        let mut below = Sum::default();
        let mut best = least;
        let mut found = None;
        for b in 1..bins.len() {
            below.add(bins[b - 1]);
            let gain = self.gain(below, all);
            if gain > best {
                (best, found) = (gain, Some((gain, b as u32, below)));
            }
        }
        found
    }

    /// Best set of values of a symbol, if any gains more than `least`: its gain and sum. Its bits
    /// are written to `set`.
    ///
    /// The set is the lighter part, so that values never seen here go with most others.
    pub(crate) fn best_set(
        &self,
        bins: &[Sum],
        all: Sum,
        least: f64,
        order: &mut Vec<u32>,
        set: &mut Vec<u64>,
    ) -> Option<(f64, Sum)> {
        order.clear();
        order.extend((0..bins.len() as u32).filter(|&b| bins[b as usize].h > 1e-9 * all.h));
        let mut best = least;
        let chosen: (&[u32], Sum) = match self.symbols {
            Symbols::Single => {
                let mut found = None;
                for (index, &b) in order.iter().enumerate() {
                    let gain = self.gain(bins[b as usize], all);
                    if gain > best {
                        (best, found) = (gain, Some(index));
                    }
                }
                let index = found?;
                (&order[index..=index], bins[order[index] as usize])
            }
            Symbols::Sets => {
                let mean = |b: &u32| bins[*b as usize].g / bins[*b as usize].h;
                order.sort_unstable_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
                let mut below = Sum::default();
                let mut found = None;
                for (index, &b) in order.iter().enumerate() {
                    below.add(bins[b as usize]);
                    let gain = self.gain(below, all);
                    if gain > best {
                        (best, found) = (gain, Some((index + 1, below)));
                    }
                }
                let (n_below, below) = found?;
                let rest = all.minus(below);
                if below.h <= rest.h { (&order[..n_below], below) } else { (&order[n_below..], rest) }
            }
        };
        set.clear();
        set.resize(bins.len().div_ceil(64), 0);
        chosen.0.iter().for_each(|&b| set[b as usize / 64] |= 1 << (b % 64));
        Some((best, chosen.1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    fn bins() -> impl Strategy<Value = Vec<Sum>> {
        prop::collection::vec((-3.0..3.0_f64, 0.1..2.0_f64).prop_map(|(g, h)| Sum { g, h }), 2..8)
    }

    fn total(bins: &[Sum]) -> Sum {
        let mut all = Sum::default();
        bins.iter().for_each(|&bin| all.add(bin));
        all
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// Sorting by means finds the best of all sets.
        #[test]
        fn no_set_is_better_than_the_one_found(bins in bins(), min_weight in 0.0..1.0) {
            let weighing = Weighing { l2: 0.0, min_weight, symbols: Symbols::Sets };
            let all = total(&bins);
            let subset = |mask: usize| {
                let mut part = Sum::default();
                (0..bins.len()).filter(|b| mask >> b & 1 == 1).for_each(|b| part.add(bins[b]));
                part
            };
            let best = (1..(1 << bins.len()) - 1).map(|mask| weighing.gain(subset(mask), all)).fold(0.0, f64::max);
            let mut set = Vec::new();
            match weighing.best_set(&bins, all, 1e-12, &mut Vec::new(), &mut set) {
                // With light leaves forbidden, a set that is no prefix may be better.
                Some((gain, sum)) => {
                    prop_assert!(gain < best + 1e-9);
                    prop_assert!(min_weight >= 0.1 || gain > best - 1e-9);
                    let part = subset(set[0] as usize);
                    prop_assert!((part.g - sum.g).abs() < 1e-9 && (part.h - sum.h).abs() < 1e-9);
                    prop_assert!(part.h <= all.h / 2.0 + 1e-9);
                }
                None => prop_assert!(min_weight >= 0.1 || best < 1e-9),
            }
        }

        #[test]
        fn no_cut_is_better_than_the_one_found(bins in bins(), l2 in 0.0..2.0) {
            let weighing = Weighing { l2, min_weight: 0.3, symbols: Symbols::Sets };
            let all = total(&bins);
            let best = (1..bins.len()).map(|b| weighing.gain(total(&bins[..b]), all)).fold(0.0, f64::max);
            let found = weighing.best_cut(&bins, all, 0.0).map_or(0.0, |(gain, ..)| gain);
            prop_assert!((found - best).abs() < 1e-12);
        }
    }

    #[test]
    fn a_leaf_is_the_penalised_mean() {
        let weighing = Weighing { l2: 1.0, min_weight: 0.0, symbols: Symbols::Single };
        assert_eq!(weighing.value(Sum { g: 2.0, h: 3.0 }), 0.5);
        assert_eq!(weighing.value(Sum { g: 0.0, h: -1.0 }), 0.0);
    }
}
