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

/// Ranks features by Relief (Kira & Rendell 1992): functions that differ between near positions of different labels count
/// for, those that differ between near positions of one label against.
///
/// Positions for state features, and edges for transition features, are compared by all functions of their kind, each
/// scaled to a range of 1. A feature's score is the mean over the drawn ones whose label is the feature's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relief {
    /// How many positions, or edges, are drawn to look for what is near to them; at least 1.
    pub draws: usize,
    /// Among how many others, drawn too, the near ones are looked for; at least 2.
    pub among: usize,
    /// What the candidates are.
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
        let (map, x) = (problem.map, problem.train);
        let mut scores = self.score(map.state(), x.nodes(), positions(x), &run.seed.child("positions"));
        scores.extend(self.score(map.transition(), x.edge_rows(), edges(map, x), &run.seed.child("edges")));
        self.sizes.show(&scores, &mut PathReporter::new(emit), run)
    }
}

/// Something with a label, or a pair of labels: its row of functions, who it belongs to, and its target.
#[derive(Debug, Clone, Copy)]
struct Item {
    row: usize,
    owner: u16,
    target: u32,
    weight: f64,
}

fn positions(x: &EncodedDataset) -> Vec<Item> {
    let data = x.data();
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

fn edges(map: &FeatureMap, x: &EncodedDataset) -> Vec<Item> {
    let data = x.data();
    let item = |i: usize| {
        let (shape, labels) = (data.shape(i), &data.labels()[data.range(i)]);
        let item = move |(e, &row): (usize, &u32)| {
            let ((u, v), owner) = (shape.ends(e), shape.relation(e));
            let width = map.schema().table_shape(owner).1 as u32;
            let target = known(labels[u])? * width + known(labels[v])?;
            Some(Item { row: row as usize, owner, target, weight: data.weight(i) })
        };
        x.edge_row_indices(i).iter().enumerate().filter_map(item)
    };
    (0..data.len()).flat_map(item).collect()
}

impl Relief {
    fn score(&self, links: &FeatureSet, rows: &SparseRows, mut items: Vec<Item>, seed: &Seed) -> Vec<f64> {
        items.retain(|item| item.weight > 0.0);
        items.shuffle(&mut seed.rng());
        items.truncate(self.draws.max(self.among));
        let rows: Vec<Row> = items.iter().map(|item| summed(rows, item.row)).collect();
        let (drawn, n_pool) = (&items[..self.draws.min(items.len())], self.among.min(items.len()));
        let scales = scales(links.n_observations(), &rows[..n_pool]);
        let looks: Vec<Option<Look>> = drawn
            .par_iter()
            .enumerate()
            .map_init(
                || vec![0.0; links.n_observations()],
                |own, (n, _)| look(n, &items, n_pool, &rows, &scales, own),
            )
            .collect();
        let (mut scores, mut counts) = (vec![0.0; links.len()], vec![0.0; links.len()]);
        for (item, look) in drawn.iter().zip(looks) {
            for (g, difference) in look.into_iter().flatten() {
                links.find(g, item.target).into_iter().for_each(|k| scores[k] += item.weight * difference);
            }
        }
        let mut of_target = std::collections::HashMap::new();
        drawn
            .iter()
            .for_each(|item| *of_target.entry((item.owner, item.target)).or_insert(0.0) += item.weight);
        for g in 0..links.n_observations() as u32 {
            for (k, &target) in links.range(g).zip(links.targets(g)) {
                counts[k] = of_target.get(&(links.scope(g), target)).copied().unwrap_or(1.0);
            }
        }
        scores.iter().zip(counts).map(|(score, count)| score / count).collect()
    }
}

/// By how much more each function differs from the nearest miss than from the nearest hit.
type Look = Vec<(u32, f64)>;

/// The functions that are not zero, ascending, and their values.
type Row = Vec<(u32, f64)>;

/// A row in which each function stands once, with the sum of its values.
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

/// One over the range of each function, zeros included.
fn scales(n: usize, pool: &[Row]) -> Vec<f64> {
    let mut ranges = vec![(0.0_f64, 0.0_f64); n];
    for &(g, value) in pool.iter().flatten() {
        let (low, high) = &mut ranges[g as usize];
        (*low, *high) = (low.min(value), high.max(value));
    }
    ranges.into_iter().map(|(low, high)| if high > low { (high - low).recip() } else { 0.0 }).collect()
}

/// Compares the `n`-th item with the nearest others of a pool, the first items, that have the same label and another; `own` is
/// all zeros.
fn look(
    n: usize,
    items: &[Item],
    n_pool: usize,
    rows: &[Row],
    scales: &[f64],
    own: &mut [f64],
) -> Option<Look> {
    let (item, mut whole) = (items[n], 0.0);
    for &(g, value) in &rows[n] {
        own[g as usize] = value;
        whole += scales[g as usize] * value.abs();
    }
    // By how much more an item differs from another by a function than from none that is zero.
    let more = |own: &[f64], &(g, value): &(u32, f64)| {
        let own = own[g as usize];
        scales[g as usize] * ((own - value).abs() - own.abs())
    };
    let (mut hit, mut miss) = ((f64::INFINITY, None), (f64::INFINITY, None));
    for (m, other) in items[..n_pool].iter().enumerate() {
        if m == n || other.owner != item.owner {
            continue;
        }
        let distance = rows[m].iter().fold(whole, |sum, entry| sum + more(own, entry));
        let nearest = if other.target == item.target { &mut hit } else { &mut miss };
        if distance < nearest.0 {
            *nearest = (distance, Some(m));
        }
    }
    let mut look: Look = Vec::new();
    if let (Some(hit), Some(miss)) = (hit.1, miss.1) {
        for (m, sign) in [(hit, -1.0), (miss, 1.0)] {
            // What the item itself has differs from both by its own value, which cancels.
            look.extend(rows[m].iter().map(|entry| (entry.0, sign * more(own, entry))));
        }
    }
    rows[n].iter().for_each(|&(g, _)| own[g as usize] = 0.0);
    (!look.is_empty()).then_some(look)
}
