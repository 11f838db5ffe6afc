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
}

/// Number of samples, and positions per sample, that are encoded to estimate the fraction of
/// non-zero values.
const SAMPLES: usize = 16;
const SAMPLE_LEN: usize = 32;

impl FittedFeatures {
    /// Estimates the size of `data` after encoding from a few samples.
    pub fn estimate(&self, data: &Dataset) -> Result<EncodingSize> {
        let map = self.candidates()?;
        let functions = map.state().n_observations() + map.transition().n_observations();
        let mut ones = 0;
        let mut others = 0;
        let mut n_sampled = 0;
        for (i, sample) in samples(data) {
            n_sampled += sample.len();
            let x = data.sequence(i).part(sample);
            for FittedEntry { encoder, .. } in self.entries().into_iter().flatten() {
                let rows = EncodedRows::encode(&**encoder, &x);
                for (_, value) in (0..rows.len()).flat_map(|t| rows.row(t)) {
                    ones += usize::from(value == 1.0);
                    others += usize::from(value != 1.0);
                }
            }
        }
        let n = data.n_positions();
        let scaled = |count: usize, n: usize| (count as f64 * n as f64 / n_sampled.max(1) as f64) as usize;
        let entries = scaled(ones + others, n);
        // A one takes 4 bytes and any other value 12; sequences are encoded in chunks, which take
        // little beside the result.
        let bytes = 4 * scaled(ones, n) + 12 * scaled(others, n);
        Ok(EncodingSize { functions, features: map.len(), entries, bytes })
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
        let EncodingSize { functions, features, entries, bytes } = self;
        let megabytes = *bytes as f64 / 1e6;
        write!(f, "{functions} functions, {features} features, about {entries} values in {megabytes:.1} MB")
    }
}
