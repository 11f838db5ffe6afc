use crate::feature_map::Links;
use crate::simd::{fma, prefetch};
use crate::sparse::Rows;

/// Labels are padded to whole vectors of this many numbers.
pub(crate) const LANES: usize = 8;

/// Where the padded row of so many labels ends.
pub(crate) fn padded(n_labels: usize) -> usize {
    n_labels.next_multiple_of(LANES)
}

/// State weights laid out for reading, and the rows of a corpus translated into places of that layout.
///
/// A function that is tied to many labels has a dense row, padded with zeros; the weights of the others stand one by
/// one. On text most functions are rare and have one label, but most occurrences are of frequent functions with many.
/// For the functions that are one at a position, the translation lists dense rows, and single weights with their
/// labels: no function is looked up in an iteration. Functions with other values are looked up.
#[derive(Debug)]
pub(crate) struct Packed {
    places: Vec<Place>, // [functions]
    len: usize,
    dense_starts: Vec<usize>,  // [positions + 1]
    dense: Vec<u32>,           // where each dense row starts
    single_starts: Vec<usize>, // [positions + 1]
    singles: Vec<Single>,
}

/// Where the weights of a function start, and whether they are a dense row.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: u32,
    dense: bool,
}

/// A weight and its label.
#[derive(Debug, Clone, Copy)]
struct Single {
    at: u32,
    label: u32,
}

impl Packed {
    /// A layout for the features of `links`, whose functions have `n_labels` by kind of node, and for `rows`.
    pub(crate) fn new(links: &Links, n_labels: impl Fn(u16) -> usize, rows: &Rows) -> Self {
        // Of few labels a padded row would be mostly padding.
        let dense = |g: u32| {
            let n_labels = n_labels(links.owner(g));
            n_labels > LANES / 2 && links.range(g).len() * 4 >= n_labels
        };
        let mut places = vec![Place { at: 0, dense: false }; links.n_observations()];
        let mut len = 0;
        // Dense rows stand together, and begin with the functions that come first: often the frequent ones.
        for want in [true, false] {
            for g in (0..links.n_observations() as u32).filter(|&g| dense(g) == want) {
                places[g as usize] = Place { at: len as u32, dense: want };
                len += if want { padded(n_labels(links.owner(g))) } else { links.range(g).len() };
            }
        }
        assert!(u32::try_from(len).is_ok(), "{len} packed weights");
        let (mut dense_starts, mut single_starts) = (vec![0], vec![0]);
        let (mut dense, mut singles) = (Vec::new(), Vec::new());
        for r in 0..rows.len() {
            for &g in rows.ones(r) {
                let place = places[g as usize];
                if place.dense {
                    dense.push(place.at);
                } else {
                    singles
                        .extend((place.at..).zip(links.targets(g)).map(|(at, &label)| Single { at, label }));
                }
            }
            dense_starts.push(dense.len());
            single_starts.push(singles.len());
        }
        dense.shrink_to_fit();
        singles.shrink_to_fit();
        Packed { places, len, dense_starts, dense, single_starts, singles }
    }

    /// How many numbers the layout has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Calls `f` with the number of each feature and its place.
    #[inline]
    pub(crate) fn for_each(&self, links: &Links, mut f: impl FnMut(usize, usize)) {
        for (g, place) in self.places.iter().enumerate() {
            let (range, at) = (links.range(g as u32), place.at as usize);
            if place.dense {
                range.zip(links.targets(g as u32)).for_each(|(k, &label)| f(k, at + label as usize));
            } else {
                range.enumerate().for_each(|(n, k)| f(k, at + n));
            }
        }
    }

    fn dense(&self, r: usize) -> &[u32] {
        &self.dense[self.dense_starts[r]..self.dense_starts[r + 1]]
    }

    fn singles(&self, r: usize) -> &[Single] {
        &self.singles[self.single_starts[r]..self.single_starts[r + 1]]
    }

    /// Brings the numbers that row `r` will read or write into the cache, if there is such a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, of: &[f64], r: usize, width: usize) {
        if r + 1 >= self.dense_starts.len() {
            return;
        }
        for &at in self.dense(r) {
            for line in (0..width).step_by(LANES) {
                prefetch(of, at as usize + line);
            }
        }
        for single in self.singles(r) {
            prefetch(of, single.at as usize);
        }
    }

    /// Adds to a padded row of scores what the functions of row `r` are worth under packed weights.
    ///
    /// Loops, not closures: a closure is a function of its own and would miss the caller's vector instructions.
    #[inline(always)]
    pub(crate) fn add_scores<const FMA: bool>(
        &self,
        links: &Links,
        weights: &[f64],
        rows: &Rows,
        r: usize,
        scores: &mut [f64],
    ) {
        match scores.len() / LANES {
            1 => add_rows::<1>(weights, self.dense(r), scores),
            2 => add_rows::<2>(weights, self.dense(r), scores),
            3 => add_rows::<3>(weights, self.dense(r), scores),
            4 => add_rows::<4>(weights, self.dense(r), scores),
            _ => {
                for &at in self.dense(r) {
                    add::<FMA>(scores, 1.0, &weights[at as usize..]);
                }
            }
        }
        for single in self.singles(r) {
            scores[single.label as usize] += weights[single.at as usize];
        }
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let Place { at, dense } = self.places[g as usize];
            if dense {
                add::<FMA>(scores, value, &weights[at as usize..]);
            } else {
                for (weight, &label) in weights[at as usize..].iter().zip(links.targets(g)) {
                    scores[label as usize] += value * weight;
                }
            }
        }
    }

    /// Adds to a packed vector the values of the functions of row `r` times a padded row of beliefs.
    #[inline(always)]
    pub(crate) fn add_beliefs<const FMA: bool>(
        &self,
        links: &Links,
        beliefs: &[f64],
        rows: &Rows,
        r: usize,
        out: &mut [f64],
    ) {
        for &at in self.dense(r) {
            add::<FMA>(&mut out[at as usize..at as usize + beliefs.len()], 1.0, beliefs);
        }
        for single in self.singles(r) {
            out[single.at as usize] += beliefs[single.label as usize];
        }
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let Place { at, dense } = self.places[g as usize];
            if dense {
                add::<FMA>(&mut out[at as usize..at as usize + beliefs.len()], value, beliefs);
            } else {
                for (out, &label) in out[at as usize..].iter_mut().zip(links.targets(g)) {
                    *out += value * beliefs[label as usize];
                }
            }
        }
    }
}

/// Adds dense rows of `M` vectors to scores that stay in registers meanwhile.
#[inline(always)]
fn add_rows<const M: usize>(weights: &[f64], rows: &[u32], scores: &mut [f64]) {
    let Some(scores) = scores.as_chunks_mut::<LANES>().0.first_chunk_mut::<M>() else { return };
    let mut sums = *scores;
    for &at in rows {
        let Some(row) = weights[at as usize..].as_chunks::<LANES>().0.first_chunk::<M>() else { return };
        for m in 0..M {
            for j in 0..LANES {
                sums[m][j] += row[m][j];
            }
        }
    }
    *scores = sums;
}

/// `to += factor · from` over the whole vectors of `to`.
#[inline(always)]
fn add<const FMA: bool>(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.as_chunks_mut::<LANES>().0.iter_mut().zip(from.as_chunks::<LANES>().0) {
        for j in 0..LANES {
            to[j] = fma::<FMA>(factor, from[j], to[j]);
        }
    }
}
