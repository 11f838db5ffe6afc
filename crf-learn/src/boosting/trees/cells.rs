use crf_core::{Dataset, Label};

/// Weighted least-squares problem of a tree, cell by cell: at a position and for a previous label,
/// the tree shall come near g/h, and the squared difference has the weight h.
///
/// Numbers are stored in single precision, and summed in double.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cells {
    pub(crate) starts: Vec<usize>, // [positions + 1]
    pub(crate) previous: Vec<u16>, // previous label
    pub(crate) g: Vec<f32>,        // minus the slope of the loss
    pub(crate) h: Vec<f32>,        // curvature of the loss, or weight of the cell
}

/// A position that cells are wanted for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) sequence: usize,
    pub(crate) t: usize, // in its sequence
    pub(crate) weight: f64,
    pub(crate) truth: &'a [Label], // of the sequence
}

impl Default for Cells {
    fn default() -> Self {
        Cells { starts: vec![0], previous: Vec::new(), g: Vec::new(), h: Vec::new() }
    }
}

impl Cells {
    /// Removes all cells.
    pub(crate) fn clear(&mut self) {
        self.starts.truncate(1);
        self.previous.clear();
        self.g.clear();
        self.h.clear();
    }

    /// Replaces all cells: calls `f` with every position that is `sampled`, for it to push some.
    pub(crate) fn fill(
        &mut self,
        data: &Dataset,
        truth: &[Label],
        sampled: &[bool],
        mut f: impl FnMut(&mut Self, Place<'_>),
    ) {
        self.clear();
        for i in 0..data.len() {
            let (range, weight) = (data.range(i), data.weight(i));
            for (t, position) in range.clone().enumerate() {
                if sampled[position] {
                    f(self, Place { sequence: i, t, weight, truth: &truth[range.clone()] });
                }
                self.end_position();
            }
        }
    }

    /// Adds a cell to the open position.
    #[inline]
    pub(crate) fn push(&mut self, previous: u16, g: f64, h: f64) {
        self.previous.push(previous);
        self.g.push(g as f32);
        self.h.push(h as f32);
    }

    /// Closes the open position, which may have no cell.
    pub(crate) fn end_position(&mut self) {
        self.starts.push(self.g.len());
    }

    /// Number of closed positions.
    pub(crate) fn n_positions(&self) -> usize {
        self.starts.len() - 1
    }
}
