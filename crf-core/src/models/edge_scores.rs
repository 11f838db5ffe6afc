use crate::Label;
use crate::data::graph::offsets;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::feature_set::FeatureSet;
use crate::inference::potentials::{EdgeTables, TableVersion, Tables};

/// Upper limit of the numbers in shared tables: every worker keeps their exponentials, and every
/// shard their sums.
const MAX_SHARED: usize = 1 << 19;

/// Edge tables of an encoded dataset under the weights of the transition features.
///
/// Edges with equal rows share a table. If few rows are distinct, the tables are computed once per
/// weight vector; otherwise each sequence computes its own.
#[derive(Debug)]
pub struct EdgeScores<'a> {
    features: &'a FeatureSet,
    encoded: &'a EncodedDataset,
    weights: Vec<f64>,
    constant_offsets: Vec<usize>, // [relations + 1] offset of each relation in `constants`
    constants: Vec<f64>,          // scores of the constant functions, by relation and pair of labels
    shared: bool,                 // true if `tables` holds one table per distinct row
    tables: Vec<f64>,
    table_offsets: Vec<usize>, // [distinct rows + 1]
    version: TableVersion,
}

/// Memory for the tables of one sequence, if they are not shared by the whole dataset.
#[derive(Debug, Default)]
pub struct OwnTables {
    values: Vec<f64>,
    starts: Vec<usize>,
    of_edge: Vec<u32>,
    relations: Vec<u16>,
}

impl<'a> EdgeScores<'a> {
    /// Lays out the tables of `encoded`; [`EdgeScores::update`] gives them weights.
    pub fn new(map: &'a FeatureMap, encoded: &'a EncodedDataset) -> Self {
        let features = map.transition();
        let schema = map.schema();
        let table_len = |relation: u16| {
            let (rows, columns) = schema.table_shape(relation);
            rows * columns
        };
        let constant_offsets =
            offsets((0..schema.relations().len()).map(|relation| table_len(relation as u16)));
        let table_offsets = offsets(encoded.relation_of_row().iter().map(|&relation| table_len(relation)));
        let n_rows = encoded.edge_rows().len();
        let shared = n_rows <= 64 || (n_rows * 4 <= encoded.n_edges() && table_offsets[n_rows] <= MAX_SHARED);
        EdgeScores {
            features,
            encoded,
            weights: vec![0.0; features.len()],
            constants: vec![0.0; constant_offsets[constant_offsets.len() - 1]],
            tables: vec![0.0; if shared { table_offsets[n_rows] } else { 0 }],
            constant_offsets,
            shared,
            table_offsets,
            version: TableVersion::default(),
        }
    }

    /// Number of values in the shared tables; 0 if each sequence computes its own.
    pub fn n_shared(&self) -> usize {
        self.tables.len()
    }

    /// True if tables are shared by the whole dataset.
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// Recomputes the tables for the given weights of the transition features.
    pub fn update(&mut self, weights: &[f64]) {
        self.weights.copy_from_slice(weights);
        self.constants.fill(0.0);
        for &(g, value) in self.encoded.constant_transition() {
            let constants = &mut self.constants[self.constant_offsets[self.features.scope(g) as usize]..];
            self.features.add_scores(&self.weights, g, value, constants);
        }
        self.fill_shared();
    }

    /// Recomputes the shared tables, if there are any, for the current weights.
    fn fill_shared(&mut self) {
        if !self.shared {
            return;
        }
        let mut tables = std::mem::take(&mut self.tables);
        for row in 0..self.encoded.edge_rows().len() {
            self.fill(row, &mut tables[self.table_offsets[row]..self.table_offsets[row + 1]]);
        }
        self.tables = tables;
        self.version = TableVersion::of(&self.tables);
    }

    fn fill(&self, row: usize, table: &mut [f64]) {
        let relation = self.encoded.relation_of_row()[row] as usize;
        table.copy_from_slice(
            &self.constants[self.constant_offsets[relation]..self.constant_offsets[relation + 1]],
        );
        self.encoded
            .edge_rows()
            .for_each(row, |g, value| self.features.add_scores(&self.weights, g, value, table));
    }

    /// Tables of sequence `i`.
    pub fn tables<'s>(&'s self, i: usize, own: &'s mut OwnTables) -> Tables<'s> {
        let rows = self.encoded.edge_row_indices(i);
        if self.shared {
            let single_table = self.encoded.edge_rows().len() <= 1;
            let of_edge = if single_table { EdgeTables::Shared } else { EdgeTables::Each(rows) };
            return Tables {
                values: &self.tables,
                starts: &self.table_offsets,
                of_edge,
                relations: if self.constant_offsets.len() > 2 { self.encoded.relation_of_row() } else { &[] },
                version: self.version,
            };
        }
        let OwnTables { values, starts, of_edge, relations } = own;
        values.clear();
        relations.clear();
        starts.clear();
        of_edge.clear();
        for (e, &row) in rows.iter().enumerate() {
            let start = values.len();
            let row = row as usize;
            starts.push(start);
            of_edge.push(e as u32);
            relations.push(self.encoded.relation_of_row()[row]);
            values.resize(start + self.table_offsets[row + 1] - self.table_offsets[row], 0.0);
            self.fill(row, &mut values[start..]);
        }
        starts.push(values.len());
        let version = TableVersion::of(values);
        Tables { values, starts, of_edge: EdgeTables::Each(of_edge), relations, version }
    }

    /// Adds `step(k)` to the weight of each transition feature `k` that `to` has on the edges of
    /// sequence `i`, and subtracts it from those that `from` has; calls `changed` with each of
    /// these features and the change of its weight.
    pub fn shift(
        &mut self,
        i: usize,
        from: &[Label],
        to: &[Label],
        step: impl Fn(usize) -> f64,
        mut changed: impl FnMut(usize, f64),
    ) {
        let EdgeScores { encoded, features, .. } = *self;
        let shape = encoded.data().shape(i);
        let mut moved = false;
        for (e, &row) in encoded.edge_row_indices(i).iter().enumerate() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if from[u] == to[u] && from[v] == to[v] {
                continue;
            }
            for (labels, sign) in [(from, -1.0), (to, 1.0)] {
                let pair = labels[u] * shape.card(v) as u32 + labels[v];
                let weights = &mut self.weights;
                let mut add = |g, value: f64| {
                    let k = features.find(g, pair)?;
                    let step = sign * step(k);
                    weights[k] += step * value;
                    changed(k, step * value);
                    Some(step * value * value)
                };
                encoded.edge_rows().for_each(row as usize, |g, value| moved |= add(g, value).is_some());
                let constants = &mut self.constants[self.constant_offsets[relation as usize]..];
                for &(g, value) in
                    encoded.constant_transition().iter().filter(|(g, _)| features.scope(*g) == relation)
                {
                    if let Some(score) = add(g, value) {
                        constants[pair as usize] += score;
                        moved = true;
                    }
                }
            }
        }
        if moved {
            self.fill_shared();
        }
    }

    /// Adds the expected features of the edges of sequence `i`, if it computed its own tables;
    /// `beliefs` are summed by table.
    pub fn add_own(&self, i: usize, beliefs: &[f64], out: &mut [f64]) {
        if self.shared {
            return;
        }
        let shape = self.encoded.data().shape(i);
        for (e, &row) in self.encoded.edge_row_indices(i).iter().enumerate() {
            self.add_row(row as usize, &beliefs[shape.edge_offset(e)..shape.edge_offset(e + 1)], out);
        }
    }

    /// Adds the expected features of all edges, if tables are shared; `beliefs` are summed by
    /// table.
    pub fn add_shared(&self, beliefs: &[f64], out: &mut [f64]) {
        if !self.shared {
            return;
        }
        for row in 0..self.encoded.edge_rows().len() {
            self.add_row(row, &beliefs[self.table_offsets[row]..self.table_offsets[row + 1]], out);
        }
    }

    fn add_row(&self, row: usize, belief: &[f64], out: &mut [f64]) {
        let (encoded, features) = (self.encoded, self.features);
        let relation = encoded.relation_of_row()[row];
        let mut add = |g, value| features.add_expectation(g, value, belief, out);
        encoded.edge_rows().for_each(row, &mut add);
        let constants = encoded.constant_transition().iter().filter(|(g, _)| features.scope(*g) == relation);
        constants.for_each(|&(g, value)| add(g, value));
    }
}
