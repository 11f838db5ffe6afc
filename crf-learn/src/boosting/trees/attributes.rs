use std::collections::HashMap;

use crf_core::{EncodedDataset, Error, FeatureSet, Result};
use serde::{Deserialize, Serialize};

/// What can be asked about a position: each observation function that is not constant, as numbers in bins, or several functions
/// that exclude each other as the values of one symbol.
///
/// A file holds the cuts alone; [`Attributes::restore`] takes the rest from the functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    cuts: Vec<Option<Vec<f64>>>, // [attributes] of numbers, ascending; none of symbols
    #[serde(skip)]
    layout: Layout,
}

/// Which functions make up each attribute.
#[derive(Debug, Clone, Default, PartialEq)]
struct Layout {
    functions: Vec<Vec<u32>>,        // [attributes]
    places: Vec<Option<(u32, u32)>>, // [functions] attribute, and place among its functions
}

impl Layout {
    fn new(links: &FeatureSet) -> Self {
        let (mut layout, mut of_group) = (Layout::default(), HashMap::new());
        for g in 0..links.n_observations() as u32 {
            if links.is_constant(g) {
                layout.places.push(None);
                continue;
            }
            let next = layout.functions.len();
            let attribute = *of_group.entry(links.group(g)).or_insert(next);
            if attribute == next {
                layout.functions.push(Vec::new());
            }
            layout.places.push(Some((attribute as u32, layout.functions[attribute].len() as u32)));
            layout.functions[attribute].push(g);
        }
        layout
    }
}

impl Attributes {
    /// The attributes of a corpus's state functions, with at most so many bins for numbers.
    pub(crate) fn new(links: &FeatureSet, x: &EncodedDataset, bins: usize) -> Self {
        let layout = Layout::new(links);
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); layout.functions.len()];
        for t in 0..x.nodes().len() {
            x.nodes().for_each(t, |g, value| {
                if let Some((attribute, _)) = layout.places[g as usize] {
                    values[attribute as usize].push(value);
                }
            });
        }
        let n_positions = x.nodes().len();
        let cuts = layout.functions.iter().zip(&mut values).map(|(functions, values)| match functions[..] {
            [_] => {
                // What is not listed is 0; on graphs some of it is of another kind, which moves quantiles only.
                values.resize(n_positions.max(values.len()), 0.0);
                Some(cuts(values, bins))
            }
            _ => None,
        });
        Attributes { cuts: cuts.collect(), layout }
    }

    /// Makes attributes that were read from a file whole again.
    pub(crate) fn restore(&mut self, links: &FeatureSet) -> Result<()> {
        self.layout = Layout::new(links);
        let fits = |(functions, cuts): (&Vec<u32>, &Option<Vec<f64>>)| match cuts {
            Some(cuts) => functions.len() == 1 && cuts.is_sorted(),
            None => functions.len() > 1,
        };
        let all = self.layout.functions.len() == self.cuts.len();
        if all && self.layout.functions.iter().zip(&self.cuts).all(fits) {
            return Ok(());
        }
        Err(Error::data("the attributes of the model do not fit its features"))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }

    /// The functions that attribute `a` is made of.
    pub(crate) fn functions(&self, a: usize) -> &[u32] {
        &self.layout.functions[a]
    }

    /// How many values attribute `a` has: bins, or symbols and none of them.
    pub(crate) fn n_bins(&self, a: usize) -> usize {
        match &self.cuts[a] {
            Some(cuts) => cuts.len() + 1,
            None => self.layout.functions[a].len() + 1,
        }
    }

    /// Whether attribute `a` is a number.
    pub(crate) fn is_number(&self, a: usize) -> bool {
        self.cuts[a].is_some()
    }

    /// The kind of node that attribute `a` belongs to.
    pub(crate) fn kind(&self, a: usize, links: &FeatureSet) -> u16 {
        links.scope(self.layout.functions[a][0])
    }

    /// The value of attribute `a` where no function of it is listed: that of 0, or of no symbol.
    pub(crate) fn default_bin(&self, a: usize) -> u32 {
        self.cuts[a].as_ref().map_or(0, |cuts| bin(cuts, 0.0))
    }

    /// The attribute that function `g` belongs to, and its bin when the function has the given value.
    #[inline]
    pub(crate) fn place(&self, g: u32, value: f64) -> Option<(u32, u32)> {
        let (attribute, place) = self.layout.places[g as usize]?;
        Some((attribute, self.cuts[attribute as usize].as_ref().map_or(place + 1, |cuts| bin(cuts, value))))
    }

    /// Position `t` of a corpus as attributes and their bins, those that may be the default ones included.
    pub(crate) fn row<'a>(
        &'a self,
        x: &'a EncodedDataset,
        t: usize,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        x.nodes().row(t).filter_map(|(g, value)| self.place(g, value))
    }

    /// Attribute `a` in words.
    pub(crate) fn name(&self, a: usize, links: &FeatureSet) -> String {
        match self.layout.functions[a][..] {
            [g] => links.name(g).to_owned(),
            // `letter=a[+1]` is a value of `letter[+1]`.
            ref several => {
                let name = links.name(several[0]);
                let (channel, rest) = name.split_once('=').unwrap_or((name, ""));
                let shift = rest.rfind('[').map_or("", |at| &rest[at..]);
                format!("{channel}{shift}")
            }
        }
    }

    /// That the number `a` is below its `b`-th cut, or not, in words.
    pub(crate) fn below(&self, a: usize, b: u32, yes: bool, links: &FeatureSet) -> String {
        let (name, cuts) = (self.name(a, links), self.cuts[a].as_deref().unwrap_or_default());
        match (cuts, yes) {
            // A test is 0 or 1.
            ([cut], _) if *cut == 0.5 => format!("{}{name}", if yes { "¬" } else { "" }),
            _ => format!("{name}{}{}", if yes { "<" } else { "≥" }, cuts[b as usize - 1]),
        }
    }

    /// A value of the symbol `a` in words.
    pub(crate) fn symbol<'a>(&self, a: usize, bin: u32, links: &'a FeatureSet) -> &'a str {
        match bin {
            0 => "none",
            bin => links.name(self.layout.functions[a][bin as usize - 1]),
        }
    }
}

/// How many cuts a value reaches.
#[inline]
fn bin(cuts: &[f64], value: f64) -> u32 {
    cuts.partition_point(|&cut| cut <= value) as u32
}

/// Cuts between values: all of them, or so that the bins have about the same number of values.
fn cuts(values: &mut [f64], bins: usize) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let mut cuts = Vec::new();
    let between = |below: f64, above: f64| {
        let middle = below + (above - below) / 2.0;
        if middle > below { middle } else { above }
    };
    let steps = values.windows(2).filter(|pair| pair[0] < pair[1]);
    if steps.clone().count() < bins {
        cuts.extend(steps.map(|pair| between(pair[0], pair[1])));
        return cuts;
    }
    let mut at = 0;
    for b in 1..bins {
        let from = (b * values.len() / bins).max(at + 1);
        let Some(end) = (from..values.len()).find(|&end| values[end - 1] < values[end]) else { break };
        cuts.push(between(values[end - 1], values[end]));
        at = end;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_separate_distinct_values_or_share_them_out() {
        assert_eq!(cuts(&mut [1.0, 0.0, 1.0, 0.0], 64), [0.5]);
        assert!(cuts(&mut [3.0; 5], 64).is_empty());
        let hundred = cuts(&mut (0..100).map(f64::from).collect::<Vec<_>>(), 4);
        assert_eq!(hundred, [24.5, 49.5, 74.5]);
        assert_eq!([bin(&hundred, 24.0), bin(&hundred, 25.0), bin(&hundred, 1e9)], [0, 1, 3]);
        // Neighbours between which no number lies are still told apart.
        let (below, above) = (1.0, 1.0 + f64::EPSILON);
        let cut = cuts(&mut [below, above], 64);
        assert_eq!([bin(&cut, below), bin(&cut, above)], [0, 1]);
    }
}
