use std::borrow::Cow;

use crate::Label;
use crate::data::graph::offsets;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::feature_set::FeatureSet;
use crate::inference::potentials::{EdgeTables, TableVersion, Tables};

/// Number of tables that are shared whatever they cost.
const FEW: usize = 64;

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
    weights: Cow<'a, [f64]>,
    constant_offsets: Vec<usize>, // [relations + 1] offset of each relation in `constants`
    constants: Vec<f64>,          // scores of the constant functions, by relation and pair of labels
    may_share: bool,              // true if `tables` has room for one table per distinct row
    shared: bool,                 // true if `tables` holds those of the weights
    tables: Vec<f64>,
    table_offsets: Vec<usize>, // [distinct rows + 1]
    version: TableVersion,
    changed: Vec<u32>, // functions whose weights a shift changed
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
    /// Lays out the tables of `encoded` under weights of zero; [`EdgeScores::update`] gives them
    /// others.
    pub fn new(map: &'a FeatureMap, encoded: &'a EncodedDataset) -> Self {
        let zeros = vec![0.0; map.transition().len()];
        EdgeScores::lay_out(map, encoded, Cow::Owned(zeros))
    }

    /// Computes the tables of `encoded` under weights of the transition features that are borrowed,
    /// since there may be many more of them than the data use.
    pub fn with_weights(map: &'a FeatureMap, encoded: &'a EncodedDataset, weights: &'a [f64]) -> Self {
        let mut scores = EdgeScores::lay_out(map, encoded, Cow::Borrowed(weights));
        scores.fill_all();
        scores
    }

    fn lay_out(map: &'a FeatureMap, encoded: &'a EncodedDataset, weights: Cow<'a, [f64]>) -> Self {
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
        let shared =
            n_rows <= FEW || (n_rows * 4 <= encoded.n_edges() && table_offsets[n_rows] <= MAX_SHARED);
        let tables = vec![0.0; if shared { table_offsets[n_rows] } else { 0 }];
        EdgeScores {
            features,
            encoded,
            weights,
            constants: vec![0.0; constant_offsets[constant_offsets.len() - 1]],
            version: TableVersion::of(&tables),
            tables,
            constant_offsets,
            may_share: shared,
            shared,
            table_offsets,
            changed: Vec::new(),
        }
    }

    /// Number of values in the tables that the whole dataset may share; 0 if it never does.
    pub fn n_shared(&self) -> usize {
        self.tables.len()
    }

    /// True if tables are shared by the whole dataset at present.
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// Recomputes the tables for the given weights of the transition features.
    pub fn update(&mut self, weights: &[f64]) {
        self.weights.to_mut().copy_from_slice(weights);
        self.fill_all();
    }

    /// Recomputes the scores of the constant functions and the shared tables, if there are any.
    fn fill_all(&mut self) {
        self.constants.fill(0.0);
        for &(g, value) in self.encoded.constant_transition() {
            let constants = &mut self.constants[self.constant_offsets[self.features.scope(g) as usize]..];
            self.features.add_scores(&self.weights, g, value, constants);
        }
        self.shared = self.may_share;
        if self.shared {
            self.fill_rows(TableVersion::default(), |_| true);
        }
    }

    /// Recomputes the shared tables of some rows; the others have the version `others`.
    fn fill_rows(&mut self, others: TableVersion, wanted: impl Fn(usize) -> bool) {
        self.version = others.after(&[]);
        let mut tables = std::mem::take(&mut self.tables);
        for row in (0..self.encoded.edge_rows().len()).filter(|&row| wanted(row)) {
            let table = &mut tables[self.table_offsets[row]..self.table_offsets[row + 1]];
            self.fill(row, table);
            self.version = self.version.after(table);
        }
        self.tables = tables;
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
    ///
    /// Of a few shared tables, those of rows with such a feature are computed anew. Many are no
    /// longer shared before the next [`EdgeScores::update`]: each sequence computes those it needs.
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
        let mut functions = std::mem::take(&mut self.changed);
        functions.clear();
        for (e, &row) in encoded.edge_row_indices(i).iter().enumerate() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if from[u] == to[u] && from[v] == to[v] {
                continue;
            }
            for (labels, sign) in [(from, -1.0), (to, 1.0)] {
                let pair = labels[u] * shape.card(v) as u32 + labels[v];
                let weights = self.weights.to_mut();
                let functions = &mut functions;
                let mut add = |g, value: f64| {
                    let k = features.find(g, pair)?;
                    let step = sign * step(k);
                    weights[k] += step * value;
                    changed(k, step * value);
                    functions.push(g);
                    Some(step * value * value)
                };
                encoded.edge_rows().for_each(row as usize, |g, value| {
                    add(g, value);
                });
                let constants = &mut self.constants[self.constant_offsets[relation as usize]..];
                for &(g, value) in
                    encoded.constant_transition().iter().filter(|(g, _)| features.scope(*g) == relation)
                {
                    constants[pair as usize] += add(g, value).unwrap_or(0.0);
                }
            }
        }
        if !functions.is_empty() && encoded.edge_rows().len() > FEW {
            self.shared = false;
        }
        if self.shared && !functions.is_empty() {
            functions.sort_unstable();
            functions.dedup();
            // A constant function is in no row, and in the tables of all rows of its relation.
            let in_all = |g: &u32, row| {
                features.is_constant(*g) && features.scope(*g) == encoded.relation_of_row()[row]
            };
            self.fill_rows(self.version, |row| {
                functions.iter().any(|g| in_all(g, row))
                    || encoded.edge_rows().row(row).any(|(g, _)| functions.binary_search(&g).is_ok())
            });
        }
        self.changed = functions;
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
