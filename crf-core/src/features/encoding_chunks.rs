use std::ops::Range;

use crate::data::dataset::Dataset;
use crate::data::graph::Shape;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::features::fitted_entry::FittedEntry;
use crate::features::prototype::{EncodedRows, Encoder};

/// Upper limits of the positions and of the values in a chunk.
const MAX_POSITIONS: usize = 4096;
const MAX_VALUES: usize = 1 << 24;
/// Lower limit of the positions in a chunk: shorter ones would mostly compute their surroundings.
const MIN_POSITIONS: usize = 128;

/// Division of a dataset into chunks for encoding: whole sequences, or parts of long chains if the
/// functions have a known reach.
#[derive(Debug)]
pub(crate) struct EncodingChunks {
    chunks: Vec<EncodingChunk>,
    len: usize, // upper limit of positions per chunk, unless it is a whole sequence
}

impl EncodingChunks {
    pub(crate) fn new<'p>(
        data: &Dataset,
        mut entries: impl Iterator<Item = &'p FittedEntry>,
        n_functions: usize,
    ) -> Self {
        let join = |reach: (usize, usize), entry: &FittedEntry| {
            let (before, after) = entry.encoder.reach()?;
            Some((reach.0.max(before), reach.1.max(after)))
        };
        let reach = entries.try_fold((0, 0), join);
        let len = (MAX_VALUES / n_functions.max(1)).clamp(MIN_POSITIONS, MAX_POSITIONS);
        let mut chunks = Vec::new();
        for i in 0..data.len() {
            let n = data.range(i).len();
            match reach.filter(|_| matches!(data.shape(i), Shape::Chain { .. }) && n > 0) {
                None => chunks.push(EncodingChunk { sequence: i, positions: 0..n, from: 0, to: n }),
                Some((before, after)) => chunks.extend((0..n).step_by(len).map(|start| {
                    let end = n.min(start + len);
                    let (from, to) = (start.saturating_sub(before), n.min(end.saturating_add(after)));
                    EncodingChunk { sequence: i, positions: start..end, from, to }
                })),
            }
        }
        EncodingChunks { chunks, len }
    }

    /// Batches of consecutive chunks, each large enough to keep the threads busy.
    pub(crate) fn batches(&self, threads: usize) -> impl Iterator<Item = &[EncodingChunk]> {
        let mut rest = &self.chunks[..];
        let enough = 2 * threads * self.len;
        std::iter::from_fn(move || {
            let mut positions = 0;
            let full = rest.iter().position(|chunk| {
                positions += chunk.positions.len();
                positions >= enough
            });
            let (batch, others) = rest.split_at(full.map_or(rest.len(), |last| last + 1));
            rest = others;
            (!batch.is_empty()).then_some(batch)
        })
    }
}

/// Chunk: some positions of a sequence, and those around them on which their values depend.
#[derive(Debug)]
pub(crate) struct EncodingChunk {
    pub(crate) sequence: usize,
    pub(crate) positions: Range<usize>,
    /// First position that is read.
    pub(crate) from: usize,
    /// End of the positions that are read.
    to: usize,
}

/// Values of one entry's functions on a chunk.
#[derive(Debug)]
pub(crate) struct EncodedEntry {
    /// Kind of node, or relation, of the functions.
    pub(crate) scope: u16,
    /// Index of the first function.
    pub(crate) first: u32,
    /// One row per position that is read.
    pub(crate) rows: EncodedRows,
}

impl EncodingChunk {
    /// Encodes all entries; `offsets` are the indices of their first functions.
    pub(crate) fn encode(
        &self,
        entries: &[FittedEntry],
        offsets: &[u32],
        data: &Dataset,
    ) -> Result<Vec<EncodedEntry>> {
        let x = data.sequence(self.sequence).part(self.from..self.to);
        let encode = |(FittedEntry { scope, encoder, .. }, &first): (&FittedEntry, &u32)| {
            let rows = EncodedRows::encode(&**encoder, &x);
            self.require_finite(&rows, &**encoder, data.schema())?;
            Ok(EncodedEntry { scope: *scope, first, rows })
        };
        entries.iter().zip(offsets).map(encode).collect()
    }

    /// Edges whose head is among the positions.
    pub(crate) fn edges(&self, shape: &Shape<'_>) -> Range<usize> {
        match shape {
            Shape::Chain { .. } => {
                self.positions.start.saturating_sub(1)..self.positions.end.saturating_sub(1)
            }
            Shape::Graph(_) => 0..shape.n_edges(),
        }
    }

    fn require_finite(&self, rows: &EncodedRows, encoder: &dyn Encoder, schema: &Schema) -> Result<()> {
        for t in 0..rows.len() {
            if let Some((g, value)) = rows.not_finite(t) {
                let name = encoder.observations(schema).swap_remove(g as usize).name;
                let location = format!("sequence {}, position {}", self.sequence + 1, self.from + t + 1);
                return Err(Error::NotFinite(format!("`{name}` is {value}; scale the channel")).at(location));
            }
        }
        Ok(())
    }
}
