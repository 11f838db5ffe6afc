use crf_core::EncodedDataset;

use super::Attributes;

/// A dataset as bins of attributes, by position and by attribute; default bins are omitted from
/// both.
#[derive(Debug)]
pub(crate) struct Binned {
    row_starts: Vec<usize>,    // [positions + 1]
    rows: Vec<(u32, u32)>,     // attribute, bin
    column_starts: Vec<usize>, // [attributes + 1]
    columns: Vec<(u32, u32)>,  // position, bin
}

impl Binned {
    /// Computes the bins of all positions.
    pub(crate) fn new(attributes: &Attributes, x: &EncodedDataset) -> Self {
        let mut row_starts = vec![0];
        let mut rows = Vec::new();
        let mut counts = vec![0; attributes.len() + 1];
        for t in 0..x.nodes().len() {
            let row = attributes.row(x, t).filter(|&(a, bin)| bin != attributes.default_bin(a as usize));
            rows.extend(row.inspect(|&(a, _)| counts[a as usize + 1] += 1));
            row_starts.push(rows.len());
        }
        for a in 0..attributes.len() {
            counts[a + 1] += counts[a];
        }
        let mut next = counts.clone();
        let mut columns = vec![(0, 0); rows.len()];
        for t in 0..x.nodes().len() {
            for &(a, bin) in &rows[row_starts[t]..row_starts[t + 1]] {
                columns[next[a as usize]] = (t as u32, bin);
                next[a as usize] += 1;
            }
        }
        Binned { row_starts, rows, column_starts: counts, columns }
    }

    /// Attributes of position `t` that are not in their default bins.
    pub(crate) fn row(&self, t: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows[self.row_starts[t]..self.row_starts[t + 1]].iter().copied()
    }

    /// Positions at which attribute `a` is not in its default bin, with its bins there.
    pub(crate) fn column(&self, a: usize) -> &[(u32, u32)] {
        &self.columns[self.column_starts[a]..self.column_starts[a + 1]]
    }
}
