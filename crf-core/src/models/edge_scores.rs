use crate::Label;
use crate::data::graph::offsets;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::{FeatureMap, FeatureSet};
use crate::inference::potentials::{EdgeTables, Tables};

/// No more numbers than this stand in shared tables: every worker keeps what it makes of them, every shard their sums.
const MOST_POOLED: usize = 1 << 19;

/// The tables of scores of a corpus's edges under the weights of transition features.
///
/// Edges with equal rows share a table. When few rows are distinct, the tables are made once per weight vector;
/// otherwise each sequence makes its own.
#[derive(Debug)]
pub struct EdgeScores<'a> {
    links: &'a FeatureSet,
    x: &'a EncodedDataset,
    weights: Vec<f64>,
    base_at: Vec<usize>, // [relations + 1] where each relation starts in `base`
    base: Vec<f64>,      // scores of the constant functions, by relation and pair
    pooled: bool,        // whether `tables` holds one table per distinct row
    tables: Vec<f64>,
    table_offset: Vec<usize>, // [distinct rows + 1]
    version: u64,
}

/// Memory for the tables of one sequence, when they are not shared by the whole corpus.
#[derive(Debug, Default)]
pub struct OwnTables {
    values: Vec<f64>,
    starts: Vec<usize>,
    of_edge: Vec<u32>,
}

impl<'a> EdgeScores<'a> {
    /// Scores of the edges of `x`, which are to be given weights by [`EdgeScores::update`].
    pub fn new(map: &'a FeatureMap, x: &'a EncodedDataset) -> Self {
        let (links, schema) = (map.transition(), map.schema());
        let table_len = |relation: u16| {
            let (rows, columns) = schema.table_shape(relation);
            rows * columns
        };
        let base_at = offsets((0..schema.relations().len()).map(|relation| table_len(relation as u16)));
        let table_offset = offsets(x.relation_of_row().iter().map(|&relation| table_len(relation)));
        let n_rows = x.edge_rows().len();
        let pooled = n_rows <= 64 || (n_rows * 4 <= x.n_edges() && table_offset[n_rows] <= MOST_POOLED);
        EdgeScores {
            links,
            x,
            weights: vec![0.0; links.len()],
            base: vec![0.0; base_at[base_at.len() - 1]],
            tables: vec![0.0; if pooled { table_offset[n_rows] } else { 0 }],
            base_at,
            pooled,
            table_offset,
            version: 0,
        }
    }

    /// How many numbers the shared tables have: none if each sequence makes its own.
    pub fn n_shared(&self) -> usize {
        self.tables.len()
    }

    /// Whether tables are shared by the whole corpus.
    pub fn are_shared(&self) -> bool {
        self.pooled
    }

    /// Takes on the weights of the transition features.
    pub fn update(&mut self, weights: &[f64]) {
        self.weights.copy_from_slice(weights);
        self.base.fill(0.0);
        for &(g, value) in self.x.constant_transition() {
            let base = &mut self.base[self.base_at[self.links.owner(g) as usize]..];
            self.links.add_scores(&self.weights, g, value, base);
        }
        self.fill_shared();
    }

    /// Makes the shared tables under the weights as they are, if there are such.
    fn fill_shared(&mut self) {
        if !self.pooled {
            return;
        }
        let mut tables = std::mem::take(&mut self.tables);
        for row in 0..self.x.edge_rows().len() {
            self.fill(row, &mut tables[self.table_offset[row]..self.table_offset[row + 1]]);
        }
        self.tables = tables;
        self.version = Tables::new_version();
    }

    fn fill(&self, row: usize, table: &mut [f64]) {
        let relation = self.x.relation_of_row()[row] as usize;
        table.copy_from_slice(&self.base[self.base_at[relation]..self.base_at[relation + 1]]);
        self.x.edge_rows().for_each(row, |g, value| self.links.add_scores(&self.weights, g, value, table));
    }

    /// The tables of sequence `i`.
    pub fn tables<'s>(&'s self, i: usize, own: &'s mut OwnTables) -> Tables<'s> {
        let rows = self.x.edge_row_indices(i);
        if self.pooled {
            let shared = self.x.edge_rows().len() <= 1;
            let of_edge = if shared { EdgeTables::Shared } else { EdgeTables::Each(rows) };
            return Tables {
                values: &self.tables,
                starts: &self.table_offset,
                of_edge,
                version: self.version,
            };
        }
        let OwnTables { values, starts, of_edge } = own;
        values.clear();
        starts.clear();
        of_edge.clear();
        for (e, &row) in rows.iter().enumerate() {
            let (at, row) = (values.len(), row as usize);
            starts.push(at);
            of_edge.push(e as u32);
            values.resize(at + self.table_offset[row + 1] - self.table_offset[row], 0.0);
            self.fill(row, &mut values[at..]);
        }
        starts.push(values.len());
        Tables { values, starts, of_edge: EdgeTables::Each(of_edge), version: Tables::new_version() }
    }

    /// Adds `step(k)` to the weight of each transition feature `k` that `to` has on the edges of sequence `i`, and subtracts
    /// it from those that `from` has; calls `changed` with each of these features and the change of its weight.
    pub fn shift(
        &mut self,
        i: usize,
        from: &[Label],
        to: &[Label],
        step: impl Fn(usize) -> f64,
        mut changed: impl FnMut(usize, f64),
    ) {
        let (x, links, shape) = (self.x, self.links, self.x.data().shape(i));
        let mut moved = false;
        for (e, &row) in x.edge_row_indices(i).iter().enumerate() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if from[u] == to[u] && from[v] == to[v] {
                continue;
            }
            for (labels, sign) in [(from, -1.0), (to, 1.0)] {
                let pair = labels[u] * shape.card(v) as u32 + labels[v];
                let weights = &mut self.weights;
                let mut add = |g, value: f64| {
                    let k = links.find(g, pair)?;
                    let step = sign * step(k);
                    weights[k] += step * value;
                    changed(k, step * value);
                    Some(step * value * value)
                };
                x.edge_rows().for_each(row as usize, |g, value| moved |= add(g, value).is_some());
                let base = &mut self.base[self.base_at[relation as usize]..];
                for &(g, value) in x.constant_transition().iter().filter(|(g, _)| links.owner(*g) == relation)
                {
                    if let Some(score) = add(g, value) {
                        base[pair as usize] += score;
                        moved = true;
                    }
                }
            }
        }
        if moved {
            self.fill_shared();
        }
    }

    /// Adds the features that the edges of sequence `i` are expected to have, if it made its own tables; `beliefs` are
    /// summed by table.
    pub fn add_own(&self, i: usize, beliefs: &[f64], out: &mut [f64]) {
        if self.pooled {
            return;
        }
        let shape = self.x.data().shape(i);
        for (e, &row) in self.x.edge_row_indices(i).iter().enumerate() {
            self.add_row(row as usize, &beliefs[shape.edge_offset(e)..shape.edge_offset(e + 1)], out);
        }
    }

    /// Adds the features that all edges are expected to have, if tables are shared; `beliefs` are summed by table.
    pub fn add_shared(&self, beliefs: &[f64], out: &mut [f64]) {
        if !self.pooled {
            return;
        }
        for row in 0..self.x.edge_rows().len() {
            self.add_row(row, &beliefs[self.table_offset[row]..self.table_offset[row + 1]], out);
        }
    }

    fn add_row(&self, row: usize, belief: &[f64], out: &mut [f64]) {
        let (x, links) = (self.x, self.links);
        let relation = x.relation_of_row()[row];
        let mut add = |g, value| links.add_expectation(g, value, belief, out);
        x.edge_rows().for_each(row, &mut add);
        let base = x.constant_transition().iter().filter(|(g, _)| links.owner(*g) == relation);
        base.for_each(|&(g, value)| add(g, value));
    }
}
