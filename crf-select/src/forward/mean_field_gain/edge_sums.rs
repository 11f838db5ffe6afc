use crf_core::Label;

/// The edges of one function as the positions at their ends see them: which label is at the other end, and the sum of the
/// function over the edges on one side of which it is.
pub(crate) struct EdgeSums {
    first: Vec<u32>, // [positions] the place of its first sight, plus one; zero without any
    at: Vec<u32>,    // the positions that have sights
    sights: Vec<Sight>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    pub(crate) other: Other,
    pub(crate) g: f64,
    next: u32, // the place of the next sight of its position, plus one
}

/// What is at the other end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    Tail(Label),
    Head(Label),
}

impl EdgeSums {
    pub(crate) fn new(n_positions: usize) -> Self {
        EdgeSums { first: vec![0; n_positions], at: Vec::new(), sights: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.at.drain(..).for_each(|t| self.first[t as usize] = 0);
        self.sights.clear();
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, t: usize, other: Other, g: f64) {
        let first = self.first[t];
        if first == 0 {
            self.at.push(t as u32);
        }
        let mut place = first as usize;
        while place > 0 {
            let sight = &mut self.sights[place - 1];
            if sight.other == other {
                sight.g += g;
                return;
            }
            place = sight.next as usize;
        }
        self.sights.push(Sight { other, g, next: first });
        self.first[t] = self.sights.len() as u32;
    }

    /// The positions that see something, and what they see.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (usize, Seen<'_>)> {
        self.at.iter().map(|&t| (t as usize, Seen { sights: &self.sights, place: self.first[t as usize] }))
    }
}

/// What one position sees.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    sights: &'s [Sight],
    place: u32,
}

impl Seen<'_> {
    /// The sum of the function over edges with this at the other end, if there are any.
    #[inline(always)]
    pub(crate) fn of(mut self, other: Other) -> Option<f64> {
        self.find(|sight| sight.other == other).map(|sight| sight.g)
    }
}

impl<'s> Iterator for Seen<'s> {
    type Item = &'s Sight;

    #[inline(always)]
    fn next(&mut self) -> Option<&'s Sight> {
        let sight = &self.sights[(self.place as usize).checked_sub(1)?];
        self.place = sight.next;
        Some(sight)
    }
}
