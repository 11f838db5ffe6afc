use crf_core::{
    EncodedDataset, FeatureMap, FeatureSet, FitContext, Problem, Result, Seed, Selector, SparseRows, Stop,
    require,
};
use rand::seq::SliceRandom as _;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::function_columns::known;
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::filters::ranking::Sizes;

/// Relief filter (Kira & Rendell 1992): ranks features by how much better their function separates
/// near positions of different labels than near positions of the same label.
///
/// Unlike `correlation` and `mutual-information` it sees functions that tell labels apart only
/// together, because near positions are found by all functions at once. Features that say the same
/// are still all kept, and nothing is trained: the learner of the method trains the chosen
/// features.
///
/// Some positions are drawn at random; for each, the nearest one with its label (the hit) and the
/// nearest one with another label (the miss) are found. The distance is the sum of the differences
/// of all functions, each scaled to a range of 1. A function gains its difference to the miss and
/// loses that to the hit. A feature's score is the mean over the drawn positions that have its
/// label. For transition features, edges with their label pairs take the place of positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relief {
    /// Number of positions, and of edges, whose hit and miss are searched; at least 1.
    pub draws: usize,
    /// Number of positions, and of edges, drawn as possible hits and misses; at least 2.
    pub among: usize,
    /// Sizes of the candidate models.
    #[serde(flatten)]
    pub sizes: Sizes,
}

impl Default for Relief {
    fn default() -> Self {
        Relief { draws: 250, among: 1000, sizes: Sizes::default() }
    }
}

crf_core::plugin!("selector", Relief, "relief");

#[typetag::serde(name = "relief")]
impl Selector for Relief {
    fn check(&self) -> Result<()> {
        require(self.draws >= 1, "draws", "at least 1", self.draws)?;
        require(self.among >= 2, "among", "at least 2", self.among)?;
        self.sizes.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let (map, encoded) = (problem.map, problem.train);
        let mut scores =
            self.score(map.state(), encoded.nodes(), positions(encoded), &run.seed.child("positions"));
        let edges = edges(map, encoded);
        scores.extend(self.score(map.transition(), encoded.edge_rows(), edges, &run.seed.child("edges")));
        self.sizes.report(&scores, &mut PathReporter::new(emit), run)
    }
}

/// A labelled position or edge.
#[derive(Debug, Clone, Copy)]
struct Item {
    row: usize,  // of functions
    owner: u16,  // its node kind or relation
    target: u32, // its label or label pair
    weight: f64,
}

/// All positions with a known label.
fn positions(encoded: &EncodedDataset) -> Vec<Item> {
    let data = encoded.data();
    let item = |i: usize| {
        let (shape, range) = (data.shape(i), data.range(i));
        let start = range.start;
        let item = move |row: usize| {
            let (owner, target) = (shape.kind(row - start), known(data.labels()[row])?);
            Some(Item { row, owner, target, weight: data.weight(i) })
        };
        range.filter_map(item)
    };
    (0..data.len()).flat_map(item).collect()
}

/// All edges with known labels at both ends.
fn edges(map: &FeatureMap, encoded: &EncodedDataset) -> Vec<Item> {
    let data = encoded.data();
    let item = |i: usize| {
        let (shape, labels) = (data.shape(i), &data.labels()[data.range(i)]);
        let item = move |(e, &row): (usize, &u32)| {
            let ((u, v), owner) = (shape.ends(e), shape.relation(e));
            let width = map.schema().table_shape(owner).1 as u32;
            let target = known(labels[u])? * width + known(labels[v])?;
            Some(Item { row: row as usize, owner, target, weight: data.weight(i) })
        };
        encoded.edge_row_indices(i).iter().enumerate().filter_map(item)
    };
    (0..data.len()).flat_map(item).collect()
}

impl Relief {
    /// Scores all features of a set; `items` are the positions or edges that its functions
    /// describe.
    fn score(&self, features: &FeatureSet, rows: &SparseRows, mut items: Vec<Item>, seed: &Seed) -> Vec<f64> {
        items.retain(|item| item.weight > 0.0);
        items.shuffle(&mut seed.rng());
        items.truncate(self.draws.max(self.among));
        let mut rows: Vec<Row> = items.iter().map(|item| summed(rows, item.row)).collect();
        let drawn = &items[..self.draws.min(items.len())];
        let n_pool = self.among.min(items.len());
        scale(features.n_observations(), &mut rows, n_pool);
        let comparisons: Vec<Option<Differences>> = drawn
            .par_iter()
            .enumerate()
            .map_init(
                || vec![0.0; features.n_observations()],
                |own_values, (n, _)| compare(n, &items, n_pool, &rows, own_values),
            )
            .collect();
        let mut scores = vec![0.0; features.len()];
        for (item, differences) in drawn.iter().zip(comparisons) {
            for (g, difference) in differences.into_iter().flatten() {
                let feature = features.find(g, item.target);
                feature.into_iter().for_each(|k| scores[k] += item.weight * difference);
            }
        }
        let mut weight_of_target = std::collections::HashMap::new();
        drawn.iter().for_each(|item| {
            *weight_of_target.entry((item.owner, item.target)).or_insert(0.0) += item.weight
        });
        let mut counts = vec![0.0; features.len()];
        for g in 0..features.n_observations() as u32 {
            for (k, &target) in features.range(g).zip(features.targets(g)) {
                counts[k] = weight_of_target.get(&(features.scope(g), target)).copied().unwrap_or(1.0);
            }
        }
        scores.iter().zip(counts).map(|(score, count)| score / count).collect()
    }
}

/// Per function, its difference to the miss minus that to the hit; a function may occur more than
/// once.
type Differences = Vec<(u32, f64)>;

/// Non-zero functions of an item, ascending, with their values.
type Row = Vec<(u32, f64)>;

/// A row in which each function occurs once, with the sum of its values.
fn summed(rows: &SparseRows, r: usize) -> Row {
    let mut row: Row = rows.row(r).collect();
    row.sort_by_key(|(g, _)| *g);
    row.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    row
}

/// Divides the values of each function by their range among the first `n_pool` rows, zeros
/// included; those of a function that is constant there become 0.
fn scale(n_functions: usize, rows: &mut [Row], n_pool: usize) {
    let mut ranges = vec![(0.0_f64, 0.0_f64); n_functions];
    for &(g, value) in rows[..n_pool].iter().flatten() {
        let (low, high) = &mut ranges[g as usize];
        (*low, *high) = (low.min(value), high.max(value));
    }
    for (g, value) in rows.iter_mut().flatten() {
        let (low, high) = ranges[*g as usize];
        // Halves, since the range of the largest doubles would overflow.
        let half = 0.5 * high - 0.5 * low;
        *value = if half > 0.0 { 0.5 * (*value / half) } else { 0.0 };
    }
}

/// Finds the hit and the miss of the `n`-th item among the first `n_pool` items and compares it
/// with them; `None` if one of them is missing or nothing differs. `own_values` is a buffer of
/// zeros, one per function, and is left so.
fn compare(
    n: usize,
    items: &[Item],
    n_pool: usize,
    rows: &[Row],
    own_values: &mut [f64],
) -> Option<Differences> {
    let item = items[n];
    let mut distance_to_zero = 0.0;
    for &(g, value) in &rows[n] {
        own_values[g as usize] = value;
        distance_to_zero += value.abs();
    }
    // The difference of one function between the item and another, beyond its difference to an item
    // where the function is zero.
    let excess = |own_values: &[f64], &(g, value): &(u32, f64)| {
        let own = own_values[g as usize];
        (own - value).abs() - own.abs()
    };
    let mut hit = (f64::INFINITY, None);
    let mut miss = (f64::INFINITY, None);
    for (m, other) in items[..n_pool].iter().enumerate() {
        if m == n || other.owner != item.owner {
            continue;
        }
        let distance = rows[m].iter().fold(distance_to_zero, |sum, entry| sum + excess(own_values, entry));
        let nearest = if other.target == item.target { &mut hit } else { &mut miss };
        if distance < nearest.0 {
            *nearest = (distance, Some(m));
        }
    }
    let mut differences: Differences = Vec::new();
    if let (Some(hit), Some(miss)) = (hit.1, miss.1) {
        for (m, sign) in [(hit, -1.0), (miss, 1.0)] {
            // The distance to zero is part of both differences and cancels.
            differences.extend(rows[m].iter().map(|entry| (entry.0, sign * excess(own_values, entry))));
        }
    }
    rows[n].iter().for_each(|&(g, _)| own_values[g as usize] = 0.0);
    (!differences.is_empty()).then_some(differences)
}
