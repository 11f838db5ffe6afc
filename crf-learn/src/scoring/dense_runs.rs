use crf_core::EncodedDataset;
use crf_core::simd::fma;

use crate::scoring::padded_rows::{FEW, LANES};

/// Maximum number of positions of a run.
pub(crate) const MAX_LEN: usize = 32;
/// Minimum number of positions of a run.
const MIN_LEN: usize = LANES / 2;
/// Offset that stands for the row of a function without features.
pub(crate) const NO_ROW: u32 = u32::MAX;
/// Index that stands for no run.
const NO_RUN: u32 = u32::MAX;

/// Runs of consecutive positions whose non-binary values belong to the same observation functions,
/// as those of real channels do.
///
/// The values of a run are stored once more, function by function, so that vector instructions go
/// along positions: a weight is read once for a vector of positions, and an expectation is summed
/// over the run before it is added to its row.
#[derive(Debug, Default)]
pub(crate) struct DenseRuns {
    starts: Vec<u32>, // [positions] index of the run that starts there, or `NO_RUN`; empty without runs
    runs: Vec<Run>,
    rows: Vec<u32>, // run by run, the offset of the weight row of each function that has features
    values: Vec<f64>, // run by run [functions × padded positions]
}

#[derive(Debug, Clone, Copy)]
struct Run {
    len: usize,    // positions
    n_rows: usize, // functions that have features
    rows: usize,   // offset in `rows`
    values: usize, // offset in `values`
}

impl DenseRuns {
    /// Finds the runs of an encoded dataset; `row` is the offset of the weights of a function if
    /// these form one row over all labels.
    pub(crate) fn find(x: &EncodedDataset, row: impl Fn(u32) -> Option<u32>) -> Self {
        let mut found = DenseRuns { starts: vec![NO_RUN; x.nodes().len()], ..DenseRuns::default() };
        let columns = |r: usize| x.nodes().valued(r).0;
        for i in 0..x.len() {
            let mut r = x.data().range(i).start;
            let end = x.data().range(i).end;
            while r < end {
                let last = end.min(r + MAX_LEN);
                let alike = (r..last).take_while(|&other| columns(other) == columns(r)).count();
                // Functions without one whole row, and runs beyond the largest index, are handled
                // position by position.
                let is_run = alike >= MIN_LEN
                    && !columns(r).is_empty()
                    && found.runs.len() < NO_RUN as usize
                    && columns(r).iter().all(|&g| row(g).is_some());
                if is_run {
                    found.starts[r] = found.runs.len() as u32;
                    found.add(x, r, alike, &row);
                }
                r += alike;
            }
        }
        if found.runs.is_empty() { DenseRuns::default() } else { found }
    }

    fn add(&mut self, x: &EncodedDataset, r: usize, len: usize, row: impl Fn(u32) -> Option<u32>) {
        let rows = self.rows.len();
        let values = self.values.len();
        for (k, &g) in x.nodes().valued(r).0.iter().enumerate() {
            if let Some(offset) = row(g).filter(|&offset| offset != NO_ROW) {
                self.rows.push(offset);
                self.values.extend((r..r + len).map(|r| x.nodes().valued(r).1[k]));
                self.values.resize(self.values.len().next_multiple_of(LANES), 0.0);
            }
        }
        self.runs.push(Run { len, n_rows: self.rows.len() - rows, rows, values });
    }

    /// Number of positions of the run that starts at position `r`, if there is one.
    #[inline(always)]
    pub(crate) fn run_len(&self, r: usize) -> Option<usize> {
        self.run_at(r).map(|run| run.len)
    }

    #[inline(always)]
    fn run_at(&self, r: usize) -> Option<&Run> {
        self.runs.get(*self.starts.get(r)? as usize)
    }

    /// Weight rows of the run at position `r`, its values `[rows × stride]`, and the stride: its
    /// number of positions, padded.
    #[inline(always)]
    fn parts(&self, r: usize) -> Option<(&[u32], &[f64], usize)> {
        let run = self.run_at(r)?;
        let stride = run.len.next_multiple_of(LANES);
        let rows = &self.rows[run.rows..][..run.n_rows];
        Some((rows, &self.values[run.values..][..run.n_rows * stride], stride))
    }

    /// Adds to the padded scores of a run's positions the scores of its values under packed
    /// weights.
    #[inline(always)]
    pub(crate) fn add_scores<const FMA: bool>(
        &self,
        r: usize,
        weights: &[f64],
        width: usize,
        scores: &mut [f64],
    ) {
        let Some((rows, values, stride)) = self.parts(r) else { return };
        for label in (0..width).step_by(FEW) {
            for block in (0..stride).step_by(LANES) {
                let mut sums = [[0.0; LANES]; FEW];
                for (k, &offset) in rows.iter().enumerate() {
                    let Some(row) = weights[offset as usize + label..].first_chunk::<FEW>() else { return };
                    let Some(values) = values[k * stride + block..].first_chunk::<LANES>() else { return };
                    for j in 0..FEW {
                        for p in 0..LANES {
                            sums[j][p] = fma::<FMA>(values[p], row[j], sums[j][p]);
                        }
                    }
                }
                let positions = scores[block * width..].chunks_exact_mut(width).take(LANES);
                for (p, scores) in positions.enumerate() {
                    let Some(scores) = scores[label..].first_chunk_mut::<FEW>() else { return };
                    for j in 0..FEW {
                        scores[j] += sums[j][p];
                    }
                }
            }
        }
    }

    /// Adds to packed sums the values of a run times the padded beliefs of its positions.
    #[inline(always)]
    pub(crate) fn add_beliefs<const FMA: bool>(
        &self,
        r: usize,
        beliefs: &[f64],
        width: usize,
        out: &mut [f64],
    ) {
        let Some((rows, values, stride)) = self.parts(r) else { return };
        for label in (0..width).step_by(FEW) {
            let mut by_label = [[0.0; MAX_LEN]; FEW];
            for (p, beliefs) in beliefs.chunks_exact(width).enumerate() {
                for j in 0..FEW {
                    by_label[j][p] = beliefs[label + j];
                }
            }
            for (k, &offset) in rows.iter().enumerate() {
                let mut sums = [[0.0; LANES]; FEW];
                for block in (0..stride).step_by(LANES) {
                    let Some(values) = values[k * stride + block..].first_chunk::<LANES>() else { return };
                    for j in 0..FEW {
                        let Some(by_label) = by_label[j][block..].first_chunk::<LANES>() else { return };
                        for p in 0..LANES {
                            sums[j][p] = fma::<FMA>(values[p], by_label[p], sums[j][p]);
                        }
                    }
                }
                let Some(row) = out[offset as usize + label..].first_chunk_mut::<FEW>() else { return };
                for j in 0..FEW {
                    row[j] += total(&sums[j]);
                }
            }
        }
    }
}

/// Sum of a vector, half by half.
#[inline(always)]
fn total(vector: &[f64; LANES]) -> f64 {
    let mut halves = [0.0; LANES / 2];
    for p in 0..LANES / 2 {
        halves[p] = vector[p] + vector[p + LANES / 2];
    }
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
