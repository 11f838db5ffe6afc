use std::fmt;
use std::ops::Range;

use crate::data::dataset::Dataset;
use crate::error::Result;
use crate::features::fitted::FittedFeatures;
use crate::features::fitted_entry::FittedEntry;
use crate::features::prototype::EncodedRows;

/// How large encoded data and a feature map would become, found without making them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodingSize {
    /// How many observation functions there are.
    pub functions: usize,
    /// How many features these make; fewer with `pairs = "observed"`.
    pub features: usize,
    /// About how many values are not zero; edges with equal rows, which share them, count each.
    pub entries: usize,
    /// About how many bytes the encoded data take at most, while they are made.
    pub bytes: usize,
}

/// So many pieces of so many positions are encoded to see how many values are not zero.
const SAMPLES: usize = 16;
const SAMPLE_LEN: usize = 32;

impl FittedFeatures {
    /// What it would take to encode `data`, judged by a few pieces of it.
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
        // A one takes 4 bytes and any other value 12; sequences are encoded in pieces, which take little beside the result.
        let bytes = 4 * scaled(ones, n) + 12 * scaled(others, n);
        Ok(EncodingSize { functions, features: map.len(), entries, bytes })
    }
}

/// Pieces of sequences at equal distances, or all of a small dataset.
fn samples(data: &Dataset) -> impl Iterator<Item = (usize, Range<usize>)> {
    let step = (data.n_positions() / SAMPLES).max(SAMPLE_LEN);
    (0..data.len()).flat_map(move |i| {
        let range = data.range(i);
        // The first piece of the sequence is the first that begins in it, counted over all sequences.
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
