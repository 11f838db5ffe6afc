use std::collections::HashMap;
use std::sync::Arc;

use crf_core::{EncodedDataset, Error, FeatureSet, Result};
use serde::{Deserialize, Serialize};

/// Attributes of a position, which trees and stumps ask about: each non-constant observation
/// function as a number in bins, or several functions that exclude each other as the values of one
/// symbol.
///
/// A model file holds the cuts alone; [`Attributes::restore`] takes the rest from the functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    cuts: Vec<Option<Vec<f64>>>, // [attributes] ascending cuts of numbers; `None` for symbols
    #[serde(skip)]
    layout: Layout,
}

/// Functions of each attribute.
#[derive(Debug, Clone, Default, PartialEq)]
struct Layout {
    functions: Vec<Vec<u32>>,       // [attributes]
    slots: Vec<Option<(u32, u32)>>, // [functions] attribute, and index among its functions
    defaults: Arc<[u32]>,           // [attributes] bin where no function is listed
}

impl Layout {
    fn new(features: &FeatureSet) -> Self {
        let mut layout = Layout::default();
        let mut of_group = HashMap::new();
        for g in 0..features.n_observations() as u32 {
            if features.is_constant(g) {
                layout.slots.push(None);
                continue;
            }
            let next = layout.functions.len();
            let attribute = *of_group.entry(features.group(g)).or_insert(next);
            if attribute == next {
                layout.functions.push(Vec::new());
            }
            layout.slots.push(Some((attribute as u32, layout.functions[attribute].len() as u32)));
            layout.functions[attribute].push(g);
        }
        layout
    }
}

impl Attributes {
    /// Creates the attributes of the state functions of a dataset, with at most `bins` bins for
    /// numbers.
    pub(crate) fn new(features: &FeatureSet, x: &EncodedDataset, bins: usize) -> Self {
        let layout = Layout::new(features);
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); layout.functions.len()];
        for t in 0..x.nodes().len() {
            x.nodes().for_each(t, |g, value| {
                if let Some((attribute, _)) = layout.slots[g as usize]
                    && layout.functions[attribute as usize].len() == 1
                {
                    values[attribute as usize].push(value);
                }
            });
        }
        let n_positions = x.nodes().len();
        let cuts = layout.functions.iter().zip(values).map(|(functions, values)| {
            // Values that are not listed are 0; on graphs some are of nodes of another kind, which
            // only moves quantiles. They are counted: text has more of them than memory holds.
            let n_zeros = n_positions.saturating_sub(values.len());
            (functions.len() == 1).then(|| cuts(values, n_zeros, bins))
        });
        let mut attributes = Attributes { cuts: cuts.collect(), layout };
        attributes.set_defaults();
        attributes
    }

    /// Reattaches the functions after deserialisation.
    pub(crate) fn restore(&mut self, features: &FeatureSet) -> Result<()> {
        self.layout = Layout::new(features);
        let fits = |(functions, cuts): (&Vec<u32>, &Option<Vec<f64>>)| match cuts {
            Some(cuts) => functions.len() == 1 && cuts.is_sorted(),
            None => functions.len() > 1,
        };
        let all = self.layout.functions.len() == self.cuts.len();
        if all && self.layout.functions.iter().zip(&self.cuts).all(fits) {
            self.set_defaults();
            return Ok(());
        }
        Err(Error::data("the attributes of the model do not fit its features"))
    }

    fn set_defaults(&mut self) {
        let default = |cuts: &Option<Vec<f64>>| cuts.as_ref().map_or(0, |cuts| bin(cuts, 0.0));
        self.layout.defaults = self.cuts.iter().map(default).collect();
    }

    /// Bin of each attribute where none of its functions is listed.
    pub(super) fn defaults(&self) -> &Arc<[u32]> {
        &self.layout.defaults
    }

    /// Number of attributes.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }

    /// Functions of attribute `a`.
    pub(crate) fn functions(&self, a: usize) -> &[u32] {
        &self.layout.functions[a]
    }

    /// Number of values of attribute `a`: bins, or symbols plus one for none of them.
    pub(crate) fn n_bins(&self, a: usize) -> usize {
        match &self.cuts[a] {
            Some(cuts) => cuts.len() + 1,
            None => self.layout.functions[a].len() + 1,
        }
    }

    /// True if attribute `a` is a number.
    pub(crate) fn is_number(&self, a: usize) -> bool {
        self.cuts[a].is_some()
    }

    /// True if attribute `a` is a number with a cut between bin `b` and the bin before it.
    pub(crate) fn has_cut(&self, a: usize, b: u32) -> bool {
        b > 0 && self.cuts[a].as_ref().is_some_and(|cuts| b as usize <= cuts.len())
    }

    /// Kind of node that attribute `a` belongs to.
    pub(crate) fn kind(&self, a: usize, features: &FeatureSet) -> u16 {
        features.scope(self.layout.functions[a][0])
    }

    /// Bin of attribute `a` where none of its functions is listed: that of 0, or of no symbol.
    pub(crate) fn default_bin(&self, a: usize) -> u32 {
        self.layout.defaults[a]
    }

    /// Attribute of function `g`, and its bin when the function has the given value; `None` for
    /// constant functions.
    #[inline]
    pub(crate) fn attribute_and_bin(&self, g: u32, value: f64) -> Option<(u32, u32)> {
        let (attribute, index) = self.layout.slots[g as usize]?;
        Some((attribute, self.cuts[attribute as usize].as_ref().map_or(index + 1, |cuts| bin(cuts, value))))
    }

    /// Attributes of position `t` of a dataset with their bins; default bins may be among them.
    pub(crate) fn row<'a>(
        &'a self,
        x: &'a EncodedDataset,
        t: usize,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        x.nodes().row(t).filter_map(|(g, value)| self.attribute_and_bin(g, value))
    }

    /// Name of attribute `a`.
    pub(crate) fn name(&self, a: usize, features: &FeatureSet) -> String {
        match self.layout.functions[a][..] {
            [g] => features.name(g).to_owned(),
            // `letter=a[+1]` is a value of `letter[+1]`.
            ref several => {
                let name = features.name(several[0]);
                let (channel, rest) = name.split_once('=').unwrap_or((name, ""));
                let shift = rest.rfind('[').map_or("", |at| &rest[at..]);
                format!("{channel}{shift}")
            }
        }
    }

    /// Question in words whether the number `a` is below its `b`-th cut, answered `yes` or no.
    pub(crate) fn below(&self, a: usize, b: u32, yes: bool, features: &FeatureSet) -> String {
        let (name, cuts) = (self.name(a, features), self.cuts[a].as_deref().unwrap_or_default());
        match (cuts, yes) {
            // A test is 0 or 1.
            ([cut], _) if *cut == 0.5 => format!("{}{name}", if yes { "¬" } else { "" }),
            _ => format!("{name}{}{}", if yes { "<" } else { "≥" }, cuts[b as usize - 1]),
        }
    }

    /// Value of the symbol `a` in words.
    pub(crate) fn symbol<'a>(&self, a: usize, bin: u32, features: &'a FeatureSet) -> &'a str {
        match bin {
            0 => "none",
            bin => features.name(self.layout.functions[a][bin as usize - 1]),
        }
    }
}

/// Bin of a value: the number of cuts that it reaches.
#[inline]
fn bin(cuts: &[f64], value: f64) -> u32 {
    cuts.partition_point(|&cut| cut <= value) as u32
}

/// Cuts between the distinct values, of which 0 has `n_zeros` more than are listed: all of them, or
/// so that the bins have about the same number of values.
fn cuts(mut values: Vec<f64>, n_zeros: usize, bins: usize) -> Vec<f64> {
    let n_values = values.len() + n_zeros;
    values.sort_unstable_by(f64::total_cmp);
    // Each distinct value with the number of values up to it.
    let mut ends: Vec<(f64, usize)> = Vec::new();
    let zeros_at = if n_zeros > 0 { values.partition_point(|&value| value < 0.0) } else { usize::MAX };
    let mut see = |value: f64, count: usize| match ends.last_mut() {
        Some((last, end)) if *last == value => *end += count,
        last => {
            let before = last.map_or(0, |(_, end)| *end);
            ends.push((value, before + count));
        }
    };
    for (k, &value) in values.iter().enumerate() {
        if k == zeros_at {
            see(0.0, n_zeros);
        }
        see(value, 1);
    }
    if zeros_at == values.len() {
        see(0.0, n_zeros);
    }
    let between = |k: usize| {
        let (below, above) = (ends[k].0, ends[k + 1].0);
        let middle = below + (above - below) / 2.0;
        if middle > below && middle < above { middle } else { above }
    };
    if ends.len() <= bins {
        return (1..ends.len()).map(|k| between(k - 1)).collect();
    }
    let mut cuts = Vec::new();
    let mut last = 0;
    for b in 1..bins {
        let from = (b * n_values / bins).max(last + 1);
        let k = ends.partition_point(|&(_, end)| end < from);
        if k + 1 >= ends.len() {
            break;
        }
        cuts.push(between(k));
        last = ends[k].1;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cuts of values that are all there, zeros as well.
    fn dense_cuts(mut values: Vec<f64>, bins: usize) -> Vec<f64> {
        values.sort_unstable_by(f64::total_cmp);
        let between = |below: f64, above: f64| {
            let middle = below + (above - below) / 2.0;
            if middle > below && middle < above { middle } else { above }
        };
        let steps = values.windows(2).filter(|pair| pair[0] < pair[1]);
        if steps.clone().count() < bins {
            return steps.map(|pair| between(pair[0], pair[1])).collect();
        }
        let (mut cuts, mut last) = (Vec::new(), 0);
        for b in 1..bins {
            let from = (b * values.len() / bins).max(last + 1);
            let Some(end) = (from..values.len()).find(|&end| values[end - 1] < values[end]) else { break };
            cuts.push(between(values[end - 1], values[end]));
            last = end;
        }
        cuts
    }

    proptest! {
        #![proptest_config(crf_testing::cases(256))]

        #[test]
        fn zeros_that_are_counted_cut_as_zeros_that_are_stored(
            values in prop::collection::vec(prop_oneof![-3..4_i32, -40..40_i32], 0..60), n_zeros in 0..80_usize, bins in 2..9_usize,
        ) {
            let values: Vec<f64> = values.into_iter().map(|value| 0.25 * f64::from(value)).collect();
            let mut dense = values.clone();
            dense.resize(values.len() + n_zeros, 0.0);
            prop_assert_eq!(cuts(values, n_zeros, bins), dense_cuts(dense, bins));
        }
    }

    #[test]
    fn cuts_separate_distinct_values_or_share_them_out() {
        assert_eq!(cuts(vec![1.0, 1.0], 2, 64), [0.5]);
        assert!(cuts(vec![3.0; 5], 0, 64).is_empty());
        let hundred = cuts((0..100).map(f64::from).collect(), 0, 4);
        assert_eq!(hundred, [24.5, 49.5, 74.5]);
        assert_eq!([bin(&hundred, 24.0), bin(&hundred, 25.0), bin(&hundred, 1e9)], [0, 1, 3]);
        // Values whose difference overflows have a finite cut, too.
        assert!(cuts(vec![-f64::MAX, f64::MAX], 0, 64).iter().all(|cut| cut.is_finite()));
        // Neighbours without a number in between are still separated.
        let (below, above) = (1.0, 1.0 + f64::EPSILON);
        let cut = cuts(vec![below, above], 0, 64);
        assert_eq!([bin(&cut, below), bin(&cut, above)], [0, 1]);
    }
}
