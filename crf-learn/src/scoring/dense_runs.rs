use crate::scoring::padded_rows::{FEW, LANES};
use crf_core::EncodedDataset;
use crf_core::simd::fma;

/// How many positions a band has at most, and how many make one.
pub(crate) const LONGEST: usize = 32;
const SHORTEST: usize = LANES / 2;
/// The row of a function that has no feature.
pub(crate) const NO_ROW: u32 = u32::MAX;
const NO_BAND: u32 = u32::MAX;

/// Positions of a sequence that follow each other and whose functions with other values than one are the same, as those of
/// real channels are.
///
/// Their values are kept once more, function by function, so that vectors go along positions: a weight is read once for all
/// positions of a vector, and a sum over positions is added to its place once for all of them.
#[derive(Debug, Default)]
pub(crate) struct DenseRuns {
    starts: Vec<u32>, // [positions] the number of the band that starts there, or `NO_BAND`; empty if there is none
    bands: Vec<Band>,
    rows: Vec<u32>,   // where the row of each function of a band starts, of those that have one
    values: Vec<f64>, // for each function of a band [padded positions]
}

#[derive(Debug, Clone, Copy)]
struct Band {
    len: usize,
    n_rows: usize,
    rows: usize,
    values: usize,
}

impl DenseRuns {
    /// The bands of a corpus; `row` is where the weights of a function for all labels start, if they stand in a row.
    pub(crate) fn find(x: &EncodedDataset, row: impl Fn(u32) -> Option<u32>) -> Self {
        let mut found = DenseRuns { starts: vec![NO_BAND; x.nodes().len()], ..DenseRuns::default() };
        let columns = |r: usize| x.nodes().valued(r).0;
        for i in 0..x.len() {
            let (mut r, end) = (x.data().range(i).start, x.data().range(i).end);
            while r < end {
                let most = end.min(r + LONGEST);
                let alike = (r..most).take_while(|&other| columns(other) == columns(r)).count();
                // What has a row of its own elsewhere, or cannot be numbered, is handled position by position.
                let banded = alike >= SHORTEST
                    && !columns(r).is_empty()
                    && found.bands.len() < NO_BAND as usize
                    && columns(r).iter().all(|&g| row(g).is_some());
                if banded {
                    found.starts[r] = found.bands.len() as u32;
                    found.add(x, r, alike, &row);
                }
                r += alike;
            }
        }
        if found.bands.is_empty() { DenseRuns::default() } else { found }
    }

    fn add(&mut self, x: &EncodedDataset, r: usize, len: usize, row: impl Fn(u32) -> Option<u32>) {
        let (rows, values) = (self.rows.len(), self.values.len());
        for (k, &g) in x.nodes().valued(r).0.iter().enumerate() {
            if let Some(at) = row(g).filter(|&at| at != NO_ROW) {
                self.rows.push(at);
                self.values.extend((r..r + len).map(|r| x.nodes().valued(r).1[k]));
                self.values.resize(self.values.len().next_multiple_of(LANES), 0.0);
            }
        }
        self.bands.push(Band { len, n_rows: self.rows.len() - rows, rows, values });
    }

    /// How many positions the band has that starts at position `r`, if one does.
    #[inline(always)]
    pub(crate) fn len_at(&self, r: usize) -> Option<usize> {
        self.at(r).map(|band| band.len)
    }

    #[inline(always)]
    fn at(&self, r: usize) -> Option<&Band> {
        self.bands.get(*self.starts.get(r)? as usize)
    }

    /// The rows of the band at position `r`, and their values in as many padded positions as are told last.
    #[inline(always)]
    fn parts(&self, r: usize) -> Option<(&[u32], &[f64], usize)> {
        let band = self.at(r)?;
        let stride = band.len.next_multiple_of(LANES);
        let rows = &self.rows[band.rows..][..band.n_rows];
        Some((rows, &self.values[band.values..][..band.n_rows * stride], stride))
    }

    /// Adds to the padded scores of a band's positions what its values are worth under packed weights.
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
                for (k, &at) in rows.iter().enumerate() {
                    let Some(row) = weights[at as usize + label..].first_chunk::<FEW>() else { return };
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

    /// Adds to packed sums the values of a band times its positions' padded beliefs.
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
            let mut of = [[0.0; LONGEST]; FEW];
            for (p, beliefs) in beliefs.chunks_exact(width).enumerate() {
                for j in 0..FEW {
                    of[j][p] = beliefs[label + j];
                }
            }
            for (k, &at) in rows.iter().enumerate() {
                let mut sums = [[0.0; LANES]; FEW];
                for block in (0..stride).step_by(LANES) {
                    let Some(values) = values[k * stride + block..].first_chunk::<LANES>() else { return };
                    for j in 0..FEW {
                        let Some(of) = of[j][block..].first_chunk::<LANES>() else { return };
                        for p in 0..LANES {
                            sums[j][p] = fma::<FMA>(values[p], of[p], sums[j][p]);
                        }
                    }
                }
                let Some(row) = out[at as usize + label..].first_chunk_mut::<FEW>() else { return };
                for j in 0..FEW {
                    row[j] += total(&sums[j]);
                }
            }
        }
    }
}

/// The sum of a vector, half by half.
#[inline(always)]
fn total(of: &[f64; LANES]) -> f64 {
    let mut halves = [0.0; LANES / 2];
    for p in 0..LANES / 2 {
        halves[p] = of[p] + of[p + LANES / 2];
    }
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
