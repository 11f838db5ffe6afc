use crate::simd::fma;
use crate::sparse::Rows;

/// How many positions make a band.
pub(crate) const BAND: usize = 8;
/// The row of a function that has no feature.
pub(crate) const NO_ROW: u32 = u32::MAX;
const NO_BAND: u32 = u32::MAX;

/// Positions that follow each other and whose functions with other values than one are the same, as those of real channels
/// are: a row of weights is read once for all of them, and a row of sums is written once.
#[derive(Debug, Default)]
pub(crate) struct Bands {
    starts: Vec<u32>, // [positions] where the rows of a band that starts there are listed, or `NO_BAND`; empty if there is none
    rows: Vec<u32>,   // for each value of a band's positions where its row starts, or `NO_ROW`
}

impl Bands {
    /// The bands of `rows`; `row` is where the weights of a function for all labels start, if they stand in a row.
    pub(crate) fn find(rows: &Rows, row: impl Fn(u32) -> Option<u32>) -> Self {
        let same = |r: usize| r + 1 < rows.len() && rows.valued(r).0 == rows.valued(r + 1).0;
        let (mut alike, mut bands) = (0, Bands { starts: vec![NO_BAND; rows.len()], rows: Vec::new() });
        for r in (0..rows.len()).rev() {
            let columns = rows.valued(r).0;
            alike = match alike {
                1.. if same(r) => alike + 1,
                _ => usize::from(!columns.is_empty() && columns.iter().all(|&g| row(g).is_some())),
            };
            if alike >= BAND {
                bands.starts[r] = 0;
            }
        }
        if bands.starts.iter().all(|&start| start == NO_BAND) {
            return Bands::default();
        }
        for r in 0..rows.len() {
            if bands.starts[r] == NO_BAND {
                continue;
            }
            if r > 0 && bands.starts[r - 1] != NO_BAND && same(r - 1) {
                bands.starts[r] = bands.starts[r - 1];
                continue;
            }
            bands.starts[r] = bands.rows.len() as u32;
            bands.rows.extend(rows.valued(r).0.iter().filter_map(|&g| row(g)));
        }
        // What is too long to be numbered is handled position by position.
        if bands.rows.len() < NO_BAND as usize { bands } else { Bands::default() }
    }

    /// Whether a band starts at position `r`.
    #[inline(always)]
    pub(crate) fn starts_at(&self, r: usize) -> bool {
        self.starts.get(r).is_some_and(|&start| start != NO_BAND)
    }

    /// Where the rows start that belong to the values of the band at position `r`, and these values.
    #[inline(always)]
    fn at<'r>(&'r self, rows: &'r Rows, r: usize) -> (&'r [u32], [&'r [f64]; BAND]) {
        let n = rows.valued(r).0.len();
        let at = &self.rows[self.starts[r] as usize..][..n];
        (at, std::array::from_fn(|p| &rows.valued(r + p).1[..n]))
    }

    /// Adds to the padded scores of a band's positions what its values are worth under packed weights.
    #[inline(always)]
    pub(crate) fn add_scores<const B: usize, const FMA: bool>(
        &self,
        weights: &[f64],
        rows: &Rows,
        r: usize,
        scores: &mut [f64],
    ) {
        let ((at, values), width) = (self.at(rows, r), scores.len() / BAND);
        for label in (0..width).step_by(B) {
            let mut sums = [[0.0; B]; BAND];
            for k in 0..at.len() {
                if at[k] == NO_ROW {
                    continue;
                }
                let Some(row) = weights[at[k] as usize + label..].first_chunk::<B>() else { return };
                for p in 0..BAND {
                    for j in 0..B {
                        sums[p][j] = fma::<FMA>(values[p][k], row[j], sums[p][j]);
                    }
                }
            }
            for p in 0..BAND {
                let Some(scores) = scores[p * width + label..].first_chunk_mut::<B>() else { return };
                for j in 0..B {
                    scores[j] += sums[p][j];
                }
            }
        }
    }

    /// Adds to packed sums the values of a band times its positions' padded beliefs.
    #[inline(always)]
    pub(crate) fn add_beliefs<const B: usize, const FMA: bool>(
        &self,
        beliefs: &[f64],
        rows: &Rows,
        r: usize,
        out: &mut [f64],
    ) {
        let ((at, values), width) = (self.at(rows, r), beliefs.len() / BAND);
        for label in (0..width).step_by(B) {
            let mut of = [[0.0; B]; BAND];
            for p in 0..BAND {
                let Some(beliefs) = beliefs[p * width + label..].first_chunk::<B>() else { return };
                of[p] = *beliefs;
            }
            for k in 0..at.len() {
                if at[k] == NO_ROW {
                    continue;
                }
                let Some(row) = out[at[k] as usize + label..].first_chunk_mut::<B>() else { return };
                let mut sums = *row;
                for p in 0..BAND {
                    for j in 0..B {
                        sums[j] = fma::<FMA>(values[p][k], of[p][j], sums[j]);
                    }
                }
                *row = sums;
            }
        }
    }
}
