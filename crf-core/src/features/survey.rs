use std::collections::{HashMap, HashSet};

use crate::data::sparse_rows::SparseRows;
use crate::features::column_fingerprint::fingerprint;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::{FeatureMap, FeatureSet};

/// What encoded data show of the features before any is trained.
///
/// Features whose function is constant by its nature, such as intercepts, are not looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survey {
    /// Features whose function has one value everywhere in these data, with that value: zero if it never occurs.
    pub constant: Vec<(usize, f64)>,
    /// Features that always have the value of an earlier one, with that one.
    pub duplicates: Vec<(usize, usize)>,
}

impl Survey {
    /// Looks at all features in one pass over the data.
    pub fn new(map: &FeatureMap, x: &EncodedDataset) -> Self {
        let mut survey = Survey::default();
        let kinds = (0..x.len()).flat_map(|i| {
            let shape = x.data().shape(i);
            (0..shape.n_nodes()).map(move |n| shape.kind(n))
        });
        survey.look(map.state(), 0, x.nodes(), kinds);
        let relations = x.relation_of_row().iter().copied();
        survey.look(map.transition(), map.state().len(), x.edge_rows(), relations);
        survey
    }

    /// Looks at the features of one link, the first of which has number `first`; `owners` has one entry a row.
    fn look(
        &mut self,
        links: &FeatureSet,
        first: usize,
        rows: &SparseRows,
        owners: impl Iterator<Item = u16>,
    ) {
        let mut functions = vec![Seen::default(); links.n_observations()];
        let mut n_rows: HashMap<u16, usize> = HashMap::new();
        for (r, owner) in owners.enumerate() {
            *n_rows.entry(owner).or_default() += 1;
            rows.for_each(r, |g, value| functions[g as usize].see(r, value));
        }
        let mut equal: HashMap<(u16, u128), u32> = HashMap::new();
        let mut taken: HashMap<(u32, u32), usize> = HashMap::new();
        let repeated = repeated(links, &functions);
        for (g, seen) in (0..).zip(&functions).filter(|(g, _)| !links.is_constant(*g)) {
            let owner = links.owner(g);
            if let Some(value) = seen.constant(n_rows.get(&owner).copied().unwrap_or(0)) {
                self.constant.extend(links.range(g).map(|k| (first + k, value)));
            }
            if repeated.contains(&(owner, seen.print)) {
                let like = *equal.entry((owner, seen.print)).or_insert(g);
                for (k, &target) in links.range(g).zip(links.targets(g)) {
                    let earlier = *taken.entry((like, target)).or_insert(k);
                    self.duplicates.extend((earlier < k).then_some((first + k, first + earlier)));
                }
            }
        }
    }
}

/// The fingerprints that several functions share.
fn repeated(links: &FeatureSet, functions: &[Seen]) -> HashSet<(u16, u128)> {
    let (mut once, mut twice) = (HashSet::new(), HashSet::new());
    for (g, seen) in (0..).zip(functions).filter(|(g, _)| !links.is_constant(*g)) {
        let print = (links.owner(g), seen.print);
        if !once.insert(print) {
            twice.insert(print);
        }
    }
    twice
}

/// What was seen of a function.
#[derive(Debug, Clone, Default)]
struct Seen {
    print: u128,
    rows: usize,
    value: f64,
    last: Option<usize>,
    varies: bool,
}

impl Seen {
    fn see(&mut self, row: usize, value: f64) {
        // A function that comes twice in a row has their sum there, which no single value shows.
        self.varies |= (self.rows > 0 && value != self.value) || self.last == Some(row);
        self.rows += 1;
        self.value = value;
        self.last = Some(row);
        self.print = self.print.wrapping_add(fingerprint(row, value));
    }

    /// The value everywhere, if the function was seen to have one.
    fn constant(&self, n_rows: usize) -> Option<f64> {
        match self.rows {
            0 => Some(0.0),
            rows if rows == n_rows && !self.varies => Some(self.value),
            _ => None,
        }
    }
}
