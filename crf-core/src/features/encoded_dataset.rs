use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::data::sparse_rows::SparseRows;
use crate::error::{Error, Result};
use crate::features::encoding_chunks::{EncodedEntry, EncodingChunk, EncodingChunks};
use crate::features::feature_map::FeatureMap;
use crate::features::fitted_entry::FittedEntry;

/// Encoded dataset: the value of every observation function at every node and edge, computed once.
///
/// Constant functions, with one value everywhere, are stored apart and cost nothing per position.
/// Edges with equal rows share one row, so transition weights that do not depend on the
/// observations need one table for the whole dataset.
#[derive(Debug, Clone)]
pub struct EncodedDataset {
    data: Arc<Dataset>,
    nodes: SparseRows, // [positions]
    constant_state: Vec<(u32, f64)>,
    edge_rows: SparseRows, // [distinct rows]
    constant_transition: Vec<(u32, f64)>,
    row_of_edge: Vec<u32>,     // [edges]
    edge_starts: Vec<usize>,   // [sequences + 1]
    relation_of_row: Vec<u16>, // [distinct rows]
}

/// Key of a row of edges: the relation and the bits of the entries.
type Key = (u16, Vec<(u32, u64)>);
/// Index of each distinct row of edges.
type KnownRows = HashMap<Key, u32>;

fn key(relation: u16, entries: impl Iterator<Item = (u32, f64)>) -> Key {
    (relation, entries.map(|(g, value)| (g, value.to_bits())).collect())
}

impl EncodedDataset {
    /// Encodes on all threads, and reports to `progress` the number of encoded positions.
    ///
    /// Chunks depend on the data and the functions alone and are joined in order: the same bits at
    /// any number of threads. Only the chunks that all threads work on are in memory at once.
    pub(crate) fn encode(
        data: Arc<Dataset>,
        state: &[FittedEntry],
        transition: &[FittedEntry],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let (constant_state, state_offsets) = constants_and_offsets(state, data.schema());
        let (constant_transition, transition_offsets) = constants_and_offsets(transition, data.schema());
        let mut result = EncodedDataset {
            nodes: SparseRows::default(),
            constant_state,
            edge_rows: SparseRows::default(),
            constant_transition,
            row_of_edge: Vec::new(),
            edge_starts: vec![0],
            relation_of_row: Vec::new(),
            data: data.clone(),
        };
        let n_functions = (state_offsets[state.len()] + transition_offsets[transition.len()]) as usize;
        let chunks = EncodingChunks::new(&data, state.iter().chain(transition), n_functions);
        let mut known = KnownRows::new();
        for batch in chunks.batches(rayon::current_num_threads()) {
            let encoded = batch.par_iter().map(|chunk| {
                let encode = |entries, offsets| chunk.encode(entries, offsets, &data);
                Ok((encode(state, &state_offsets)?, encode(transition, &transition_offsets)?))
            });
            for (chunk, encoded) in batch.iter().zip(encoded.collect::<Vec<Result<_>>>()) {
                let (nodes, edges) = encoded?;
                result.append(chunk, &nodes, &edges, &mut known);
                progress(result.nodes.len());
            }
        }
        Ok(result)
    }

    /// Appends the rows of a chunk.
    fn append(
        &mut self,
        chunk: &EncodingChunk,
        nodes: &[EncodedEntry],
        edges: &[EncodedEntry],
        known: &mut KnownRows,
    ) {
        let data = self.data.clone();
        let shape = data.shape(chunk.sequence);
        for t in chunk.positions.clone() {
            self.nodes.push(row(nodes, shape.kind(t), t - chunk.from));
        }
        for e in chunk.edges(&shape) {
            let (relation, head) = (shape.relation(e), shape.ends(e).1);
            // Zeros, of either sign, must not keep equal rows apart.
            let entries = row(edges, relation, head - chunk.from).filter(|&(_, value)| value != 0.0);
            let entries: Vec<(u32, f64)> = entries.collect();
            let next = self.relation_of_row.len() as u32;
            let index = *known.entry(key(relation, entries.iter().copied())).or_insert(next);
            if index == next {
                self.edge_rows.push(entries);
                self.relation_of_row.push(relation);
            }
            self.row_of_edge.push(index);
        }
        if chunk.positions.end == shape.n_nodes() {
            self.edge_starts.push(self.row_of_edge.len());
        }
    }

    /// Copies the encoded data and gives sequence `i` the weight `weight(i)`.
    pub fn reweighted(&self, weight: impl FnMut(usize) -> f64) -> Result<Self> {
        Ok(EncodedDataset { data: Arc::new(self.data.reweighted(weight)?), ..self.clone() })
    }

    /// Calls `visit` with (function, kind of node, label) for every non-zero state function at
    /// every labelled position.
    pub(crate) fn visit_states(&self, visit: &mut dyn FnMut(u32, u16, u32)) {
        for i in 0..self.len() {
            let (shape, range) = (self.data.shape(i), self.data.range(i));
            for (n, t) in range.enumerate() {
                if let Some(label) = self.data.labels()[t].filter(|&label| !Dataset::is_foreign(label)) {
                    self.nodes.for_each(t, |g, _| visit(g, shape.kind(n), label));
                    self.constant_state.iter().for_each(|&(g, _)| visit(g, shape.kind(n), label));
                }
            }
        }
    }

    /// Calls `visit` with (function, relation, pair of labels) for every non-zero transition
    /// function at every edge with two labelled ends.
    pub(crate) fn visit_transitions(&self, visit: &mut dyn FnMut(u32, u16, u32)) {
        for i in 0..self.len() {
            let (shape, labels) = (self.data.shape(i), &self.data.labels()[self.data.range(i)]);
            for (e, &row) in self.edge_row_indices(i).iter().enumerate() {
                let ((u, v), relation) = (shape.ends(e), shape.relation(e));
                if let (Some(before), Some(now)) = (labels[u], labels[v])
                    && !Dataset::is_foreign(before.max(now))
                {
                    let pair = before * shape.card(v) as u32 + now;
                    self.edge_rows.for_each(row as usize, |g, _| visit(g, relation, pair));
                    self.constant_transition.iter().for_each(|&(g, _)| visit(g, relation, pair));
                }
            }
        }
    }

    /// Rejects a model of another schema.
    pub fn require(&self, schema: &Arc<Schema>) -> Result<()> {
        if self.data.schema() != schema {
            return Err(Error::data("the model was made for other channels or labels than the data have"));
        }
        Ok(())
    }

    /// Part number `part` of `of` equal parts of the sequences, counted from 1.
    pub fn part(&self, part: usize, of: usize) -> Result<EncodedDataset> {
        Ok(self.subset(&self.data.part(part, of)?.collect::<Vec<usize>>()))
    }

    /// Copies the sequences with the given indices, encoded as they are here.
    pub fn subset(&self, sequences: &[usize]) -> EncodedDataset {
        let mut nodes = SparseRows::default();
        let mut row_of_edge = Vec::new();
        let mut edge_starts = vec![0];
        // Rows of other sequences only are omitted: every row costs a table for each weight vector.
        let mut edge_rows = SparseRows::default();
        let mut relation_of_row = Vec::new();
        let mut known = vec![None; self.edge_rows.len()];
        for &i in sequences {
            self.data.range(i).for_each(|t| nodes.push_row(&self.nodes, t));
            for &row in self.edge_row_indices(i) {
                let index = known[row as usize].get_or_insert_with(|| {
                    edge_rows.push_row(&self.edge_rows, row as usize);
                    relation_of_row.push(self.relation_of_row[row as usize]);
                    relation_of_row.len() as u32 - 1
                });
                row_of_edge.push(*index);
            }
            edge_starts.push(row_of_edge.len());
        }
        EncodedDataset {
            data: self.data.subset(sequences).into(),
            nodes,
            constant_state: self.constant_state.clone(),
            edge_rows,
            constant_transition: self.constant_transition.clone(),
            row_of_edge,
            edge_starts,
            relation_of_row,
        }
    }

    /// Copies the data without the functions that have no feature in `map`.
    ///
    /// Functions keep their indices. Edges that differ in omitted functions only share a row, and
    /// so a table.
    pub fn restricted(&self, map: &FeatureMap) -> EncodedDataset {
        let has_state = |g: u32| !map.state().range(g).is_empty();
        let has_transition = |g: u32| !map.transition().range(g).is_empty();
        let mut edge_rows = SparseRows::default();
        let mut relation_of_row = Vec::new();
        let mut known = KnownRows::new();
        let indices: Vec<u32> = (0..self.edge_rows.len())
            .map(|row| {
                let entries = self.edge_rows.row(row).filter(|&(g, _)| has_transition(g));
                let relation = self.relation_of_row[row];
                let next = relation_of_row.len() as u32;
                *known.entry(key(relation, entries.clone())).or_insert_with(|| {
                    edge_rows.push(entries);
                    relation_of_row.push(relation);
                    next
                })
            })
            .collect();
        EncodedDataset {
            data: self.data.clone(),
            nodes: self.nodes.restricted(has_state),
            constant_state: self.constant_state.iter().copied().filter(|&(g, _)| has_state(g)).collect(),
            edge_rows,
            constant_transition: self
                .constant_transition
                .iter()
                .copied()
                .filter(|&(g, _)| has_transition(g))
                .collect(),
            row_of_edge: self.row_of_edge.iter().map(|&row| indices[row as usize]).collect(),
            edge_starts: self.edge_starts.clone(),
            relation_of_row,
        }
    }

    /// Raw data.
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// True if there is no sequence.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Rows of all positions: the values of the state functions that are not constant.
    pub fn nodes(&self) -> &SparseRows {
        &self.nodes
    }

    /// Constant state functions with their values.
    pub fn constant_state(&self) -> &[(u32, f64)] {
        &self.constant_state
    }

    /// Distinct rows of all edges: the values of the transition functions that are not constant.
    pub fn edge_rows(&self) -> &SparseRows {
        &self.edge_rows
    }

    /// Constant transition functions with their values.
    pub fn constant_transition(&self) -> &[(u32, f64)] {
        &self.constant_transition
    }

    /// Index in [`EncodedDataset::edge_rows`] of each edge of sequence `i`.
    pub fn edge_row_indices(&self, i: usize) -> &[u32] {
        &self.row_of_edge[self.edge_starts[i]..self.edge_starts[i + 1]]
    }

    /// Number of edges of all sequences together.
    pub fn n_edges(&self) -> usize {
        self.row_of_edge.len()
    }

    /// Relation of the edges of each distinct row.
    pub fn relation_of_row(&self) -> &[u16] {
        &self.relation_of_row
    }
}

/// Constant functions with their values, and the index of each entry's first function, with the
/// number of functions at the end.
fn constants_and_offsets(entries: &[FittedEntry], schema: &Schema) -> (Vec<(u32, f64)>, Vec<u32>) {
    let mut all_constants = Vec::new();
    let mut offsets = vec![0];
    let mut next = 0;
    for FittedEntry { encoder, .. } in entries {
        let (len, constants) = encoder.constants(schema);
        all_constants.extend(constants.into_iter().map(|(g, value)| (next + g, value)));
        next += len as u32;
        offsets.push(next);
    }
    (all_constants, offsets)
}

fn row(entries: &[EncodedEntry], scope: u16, t: usize) -> impl Iterator<Item = (u32, f64)> {
    let in_scope = entries.iter().filter(move |entry| entry.scope == scope);
    in_scope.flat_map(move |entry| entry.rows.row(t).map(move |(g, value)| (entry.first + g, value)))
}
