use std::collections::HashMap;

use crf_core::FeatureSet;
use crf_core::SparseRows;
use crf_core::kernel_support::offsets;

/// A bundle that stands in for its members less often than this costs more to sum up than it saves.
const LEAST_USES: u32 = 24;
/// Bundles that leave more than this share of the entries are not worth their memory.
const WORTH: f64 = 0.8;
/// How many entries of a row are looked at: as many as a word has bits.
const MOST_ENTRIES: usize = u64::BITS as usize;

/// Sets of functions that come together so often that their weights are summed once for all these positions.
///
/// Where a function is one, others often have to be one too: three words in a row tell each of them, and each pair. What
/// is implied by a function is found in the data, so nothing need be known about how functions were made. On text this
/// leaves little more than half of the entries.
#[derive(Debug)]
pub(crate) struct Bundles {
    starts: Vec<usize>, // [bundles + 1]
    members: Vec<u32>,
    of_starts: Vec<usize>, // [functions + 1]
    of: Vec<u32>,          // the bundles of each function
}

impl Bundles {
    /// Bundles of functions that have features, and the ones of `rows` with bundles in place of their members: a bundle is
    /// numbered as if it were a function behind all others. `None` if little would be saved.
    pub(crate) fn find(links: &FeatureSet, rows: &SparseRows) -> Option<(Self, SparseRows)> {
        let n_functions = links.n_observations();
        let mut cover = Cover::new(links, rows);
        let mut uses: HashMap<Key, u32> = HashMap::new();
        for r in 0..rows.len() {
            cover.of(r, |key, _| {
                *uses.entry(key).or_default() += 1;
                true
            });
        }
        uses.retain(|_, uses| *uses >= LEAST_USES);

        let mut numbers: HashMap<Key, u32> = HashMap::with_capacity(uses.len());
        let (mut members, mut sizes) = (Vec::new(), Vec::new());
        let (mut bundled, mut entries) = (SparseRows::default(), 0);
        for r in 0..rows.len() {
            let left = cover.of(r, |key, first| {
                if !uses.contains_key(&key) {
                    return false;
                }
                let number = *numbers.entry(key).or_insert_with(|| {
                    members.extend(bits(key.members).map(|j| first[j]));
                    sizes.push(key.members.count_ones() as usize);
                    (n_functions + sizes.len() - 1) as u32
                });
                bundled.add(number, 1.0);
                true
            });
            let ones = rows.ones(r);
            let left = bits(left).chain(MOST_ENTRIES..ones.len()).map(|j| ones[j]);
            let has_features = |g: &u32| !links.targets(*g).is_empty();
            left.filter(has_features).for_each(|g| bundled.add(g, 1.0));
            bundled.end_row();
            entries += ones.iter().copied().filter(has_features).count();
        }
        if bundled.n_entries() as f64 > WORTH * entries as f64 {
            return None;
        }
        let starts = offsets(sizes);
        let (of_starts, of) = turned(n_functions, &starts, &members);
        Some((Bundles { starts, members, of_starts, of }, bundled))
    }

    /// How many bundles there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The functions of bundle `b`.
    pub(crate) fn members(&self, b: usize) -> &[u32] {
        &self.members[self.starts[b]..self.starts[b + 1]]
    }

    /// The bundles of function `g`.
    pub(crate) fn of(&self, g: usize) -> &[u32] {
        &self.of[self.of_starts[g]..self.of_starts[g + 1]]
    }
}

/// What names a bundle: a function, and those of its implied functions that were left when it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    function: u32,
    members: u64, // of the entries of the function's first row
}

/// Covers rows by functions and what these imply.
struct Cover<'a> {
    rows: &'a SparseRows,
    home: Vec<u32>,    // [functions] the first row of each
    implied: Vec<u64>, // [functions] the entries of that row that are in all its other rows too
    at: Vec<u8>,       // [functions] where it stands in the row that was looked at last
    order: Vec<u8>,    // the entries of a row, those that imply most first
}

impl<'a> Cover<'a> {
    fn new(links: &FeatureSet, rows: &'a SparseRows) -> Self {
        const NOWHERE: u32 = u32::MAX;
        let n_functions = links.n_observations();
        let (mut home, mut implied) = (vec![NOWHERE; n_functions], vec![0_u64; n_functions]);
        let (mut seen_in, mut uses) = (vec![NOWHERE; n_functions], vec![0_u32; n_functions]);
        for r in 0..rows.len() {
            let ones = looked_at(rows, r);
            ones.iter().for_each(|&g| seen_in[g as usize] = r as u32);
            for &g in ones {
                let g = g as usize;
                uses[g] += 1;
                if home[g] == NOWHERE {
                    let has_features = |j: &usize| !links.targets(ones[*j]).is_empty();
                    (home[g], implied[g]) = (r as u32, set((0..ones.len()).filter(has_features)));
                } else if implied[g].count_ones() > 1 {
                    let first = rows.ones(home[g] as usize);
                    implied[g] = set(bits(implied[g]).filter(|&j| seen_in[first[j] as usize] == r as u32));
                }
            }
        }
        // Who is rare is no bundle, and need not be looked at.
        implied.iter_mut().zip(&uses).filter(|(_, uses)| **uses < LEAST_USES).for_each(|(set, _)| *set = 0);
        Cover { rows, home, implied, at: vec![0; n_functions], order: Vec::new() }
    }

    /// Offers bundles for row `r`, each with the row in which its members are, to `take`, which says whether it takes them;
    /// returns the entries that are left.
    fn of(&mut self, r: usize, mut take: impl FnMut(Key, &[u32]) -> bool) -> u64 {
        let Cover { rows, home, implied, at, order } = self;
        let ones = looked_at(rows, r);
        order.clear();
        for (j, &g) in (0..).zip(ones) {
            at[g as usize] = j;
            if implied[g as usize].count_ones() > 1 {
                order.push(j);
            }
        }
        order.sort_by_key(|&j| std::cmp::Reverse(implied[ones[j as usize] as usize].count_ones()));
        let mut left = set(0..ones.len());
        for &j in &*order {
            if left & (1 << j) == 0 {
                continue;
            }
            let function = ones[j as usize];
            let first = rows.ones(home[function as usize] as usize);
            let (mut members, mut taken) = (0, 0);
            for member in bits(implied[function as usize]) {
                // One that came twice in the first row is at one place of this one.
                let entry = 1 << at[first[member] as usize];
                if left & !taken & entry != 0 {
                    (members, taken) = (members | 1 << member, taken | entry);
                }
            }
            if taken.count_ones() > 1 && take(Key { function, members }, first) {
                left &= !taken;
            }
        }
        left
    }
}

/// The ones of row `r` that are looked at.
fn looked_at(rows: &SparseRows, r: usize) -> &[u32] {
    let ones = rows.ones(r);
    &ones[..ones.len().min(MOST_ENTRIES)]
}

/// The set of some entries.
fn set(entries: impl Iterator<Item = usize>) -> u64 {
    entries.fold(0, |set, j| set | 1 << j)
}

/// The members of a set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        next
    })
}

/// The bundles of each function, from the functions of each bundle.
fn turned(n_functions: usize, starts: &[usize], members: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut sizes = vec![0; n_functions];
    members.iter().for_each(|&g| sizes[g as usize] += 1);
    let of_starts = offsets(sizes);
    let (mut next, mut of) = (of_starts.clone(), vec![0; members.len()]);
    for b in 0..starts.len() - 1 {
        for &g in &members[starts[b]..starts[b + 1]] {
            of[next[g as usize]] = b as u32;
            next[g as usize] += 1;
        }
    }
    (of_starts, of)
}
