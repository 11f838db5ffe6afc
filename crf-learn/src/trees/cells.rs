/// A weighted least-squares problem, cell by cell: at a position and for a label before, a tree is to come near g/h, and the
/// difference counts h times.
///
/// Numbers are kept in single precision, and summed in double.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cells {
    pub(crate) starts: Vec<usize>, // [positions + 1]
    pub(crate) previous: Vec<u16>, // the label before
    pub(crate) g: Vec<f32>,        // minus the slope of the loss
    pub(crate) h: Vec<f32>,        // its curvature, or how much the cell counts
}

impl Default for Cells {
    fn default() -> Self {
        Cells { starts: vec![0], previous: Vec::new(), g: Vec::new(), h: Vec::new() }
    }
}

impl Cells {
    /// Forgets all cells.
    pub(crate) fn clear(&mut self) {
        self.starts.truncate(1);
        self.previous.clear();
        self.g.clear();
        self.h.clear();
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

    /// How many positions were closed.
    pub(crate) fn n_positions(&self) -> usize {
        self.starts.len() - 1
    }
}
