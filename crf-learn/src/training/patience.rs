/// Whether the loss on validation data still falls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    limit: u32,
    since_best: u32,
    best: f64,
}

impl Patience {
    /// Gives up after so many losses in a row that were not lower than any before.
    pub(crate) fn new(limit: u32) -> Self {
        Patience { limit, since_best: 0, best: f64::INFINITY }
    }

    /// Whether a loss is lower than all before.
    pub(crate) fn see(&mut self, loss: f64) -> bool {
        let better = loss < self.best;
        (self.best, self.since_best) = if better { (loss, 0) } else { (self.best, self.since_best + 1) };
        better
    }

    /// Whether it is at its end.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.since_best >= self.limit
    }

    /// Whether any loss was a finite one.
    pub(crate) fn has_best(&self) -> bool {
        self.best.is_finite()
    }
}
