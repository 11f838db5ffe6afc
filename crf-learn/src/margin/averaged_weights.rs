/// Lazily averaged weights: an update costs O(changed weights), the average O(dim) when asked for.
///
/// The weights of a turn are s·v, with a scale s that may change from turn to turn. A change that
/// follows turns of total scaled weight a is missing from all of them, so the average over turns of
/// total weight A needs no more than v and Σ a·change.
#[derive(Debug)]
pub(crate) struct AveragedWeights {
    pub(crate) now: Vec<f64>,
    late: Vec<f64>, // sum of all changes, each times `scaled` before it
    scaled: f64,    // Σ weight · scale of all turns
    turns: f64,     // Σ weight of all turns
}

impl AveragedWeights {
    /// Starts with the weights `now`, before the first turn.
    pub(crate) fn new(now: Vec<f64>) -> Self {
        let late = vec![0.0; now.len()];
        AveragedWeights { now, late, scaled: 0.0, turns: 0.0 }
    }

    /// Adds `change` to v_k.
    pub(crate) fn add(&mut self, k: usize, change: f64) {
        self.now[k] += change;
        self.late[k] += self.scaled * change;
    }

    /// Ends a turn of the given weight, in which the scale was `scale`.
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
