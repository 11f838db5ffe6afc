use crf_core::Label;

/// For one transition function: at each position, the sum of its values over incident edges, by
/// direction and by the label at the other end.
///
/// The sums of a position are a linked list in one vector, so that clearing and filling them
/// allocates nothing.
pub(crate) struct EdgeSums {
    first: Vec<u32>,     // [positions] index of the first sum plus one; 0 if there is none
    positions: Vec<u32>, // those that have sums
    sums: Vec<EdgeSum>,
}

/// A sum over the edges between a position and neighbours with one label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EdgeSum {
    pub(crate) other: OtherEnd,
    pub(crate) g: f64,
    next: u32, // index of the position's next sum plus one; 0 if there is none
}

/// The other end of an edge, by its side and its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherEnd {
    Tail(Label),
    Head(Label),
}

impl EdgeSums {
    pub(crate) fn new(n_positions: usize) -> Self {
        EdgeSums { first: vec![0; n_positions], positions: Vec::new(), sums: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.positions.drain(..).for_each(|t| self.first[t as usize] = 0);
        self.sums.clear();
    }

    /// Adds the function's value `g` on an edge to the sum of position `t` with this other end.
    #[inline(always)]
    pub(crate) fn add(&mut self, t: usize, other: OtherEnd, g: f64) {
        let first = self.first[t];
        if first == 0 {
            self.positions.push(t as u32);
        }
        let mut next = first as usize;
        while next > 0 {
            let sum = &mut self.sums[next - 1];
            if sum.other == other {
                sum.g += g;
                return;
            }
            next = sum.next as usize;
        }
        self.sums.push(EdgeSum { other, g, next: first });
        self.first[t] = self.sums.len() as u32;
    }

    /// Positions that have sums, with these.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (usize, IncidentSums<'_>)> {
        self.positions
            .iter()
            .map(|&t| (t as usize, IncidentSums { sums: &self.sums, next: self.first[t as usize] }))
    }
}

/// Iterator over the sums of one position.
#[derive(Clone, Copy)]
pub(crate) struct IncidentSums<'s> {
    sums: &'s [EdgeSum],
    next: u32, // index plus one
}

impl IncidentSums<'_> {
    /// The sum over edges with this other end; `None` if there are none.
    #[inline(always)]
    pub(crate) fn sum_over(mut self, other: OtherEnd) -> Option<f64> {
        self.find(|sum| sum.other == other).map(|sum| sum.g)
    }
}

impl<'s> Iterator for IncidentSums<'s> {
    type Item = &'s EdgeSum;

    #[inline(always)]
    fn next(&mut self) -> Option<&'s EdgeSum> {
        let sum = &self.sums[(self.next as usize).checked_sub(1)?];
        self.next = sum.next;
        Some(sum)
    }
}
