/// Weights s·v, of which single ones change, and what is needed to know the average over all turns at any time without
/// touching all of them at each turn.
///
/// A change that comes after turns which weigh a in sum is missing from all of them, so the average over turns that weigh
/// A in sum needs no more than v and Σ a·change, where turns count by their weight times their scale.
#[derive(Debug)]
pub(crate) struct AveragedWeights {
    pub(crate) now: Vec<f64>,
    late: Vec<f64>, // the sum of all changes, each times the scaled turns before it
    scaled: f64,    // Σ weight · scale of all turns
    turns: f64,     // Σ weight of all turns
}

impl AveragedWeights {
    /// Begins with `now`, before the first turn.
    pub(crate) fn new(now: Vec<f64>) -> Self {
        let late = vec![0.0; now.len()];
        AveragedWeights { now, late, scaled: 0.0, turns: 0.0 }
    }

    /// Changes one of v.
    pub(crate) fn add(&mut self, k: usize, change: f64) {
        self.now[k] += change;
        self.late[k] += self.scaled * change;
    }

    /// Ends a turn in which the scale was s.
    pub(crate) fn end_turn(&mut self, weight: f64, scale: f64) {
        self.scaled += weight * scale;
        self.turns += weight;
    }

    /// Writes the average over all turns to `out`.
    pub(crate) fn average(&self, out: &mut Vec<f64>) {
        let (scaled, turns) = (self.scaled, self.turns);
        out.clear();
        out.extend(self.now.iter().zip(&self.late).map(|(now, late)| (scaled * now - late) / turns));
    }
}
