use std::fmt;
use std::ops::Range;

use crate::data::dataset::Dataset;
use crate::error::Result;
use crate::features::fitted::FittedFeatures;
use crate::features::fitted_entry::FittedEntry;
use crate::features::prototype::EncodedRows;

/// Size of encoded data and of a feature map, estimated without building them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodingSize {
    /// Number of observation functions.
    pub functions: usize,
    /// Number of features of these functions; fewer with `pairs = "observed"`.
    pub features: usize,
    /// Approximate number of non-zero values; edges with equal rows, which share them, are counted
    /// one by one.
    pub entries: usize,
    /// Approximate upper limit of the bytes of the encoded data while they are built.
    pub bytes: usize,
    /// Approximate bytes of the values at positions alone, without those of edges, which may share
    /// them.
    pub least_bytes: usize,
}

/// Number of samples, and positions per sample, that are encoded to estimate the fraction of
/// non-zero values.
const SAMPLES: usize = 16;
const SAMPLE_LEN: usize = 32;

impl FittedFeatures {
    /// Estimates the size of `data` after encoding from a few samples.
    pub fn estimate(&self, data: &Dataset) -> Result<EncodingSize> {
        let mut counts = [[0; 2]; 2]; // [at positions, on edges][ones, other values]
        let mut n_sampled = 0;
        for (i, sample) in samples(data) {
            n_sampled += sample.len();
            let x = data.sequence(i).part(sample);
            for (entries, [ones, others]) in self.entries().into_iter().zip(&mut counts) {
                for FittedEntry { encoder, .. } in entries {
                    let rows = EncodedRows::encode(&**encoder, &x);
                    for (_, value) in (0..rows.len()).flat_map(|t| rows.row(t)) {
                        *ones += usize::from(value == 1.0);
                        *others += usize::from(value != 1.0);
                    }
                }
            }
        }
        let scale = data.n_positions() as f64 / n_sampled.max(1) as f64;
        // A one takes 4 bytes and any other value 12; sequences are encoded in chunks, which take
        // little beside the result.
        let [at_positions, on_edges] = counts.map(|[ones, others]| scale * (4 * ones + 12 * others) as f64);
        Ok(EncodingSize {
            functions: self.n_functions(),
            features: self.n_candidates()? as usize,
            entries: (scale * counts.as_flattened().iter().sum::<usize>() as f64) as usize,
            bytes: (at_positions + on_edges) as usize,
            least_bytes: at_positions as usize,
        })
    }
}

/// Samples at equal distances, or all of a small dataset: sequence and positions.
fn samples(data: &Dataset) -> impl Iterator<Item = (usize, Range<usize>)> {
    let step = (data.n_positions() / SAMPLES).max(SAMPLE_LEN);
    (0..data.len()).flat_map(move |i| {
        let range = data.range(i);
        // The first sample of the sequence is the first that begins in it, counted over all
        // sequences.
        let first = range.start.next_multiple_of(step);
        (first..range.end).step_by(step).map(move |start| {
            let start = start - range.start;
            (i, start..range.len().min(start + SAMPLE_LEN))
        })
    })
}

impl fmt::Display for EncodingSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EncodingSize { functions, features, entries, bytes, .. } = self;
        let megabytes = *bytes as f64 / 1e6;
        write!(f, "{functions} functions, {features} features, about {entries} values in {megabytes:.1} MB")
    }
}
