use std::collections::HashMap;

use crf_core::FeatureSet;
use crf_core::SparseRows;
use crf_core::kernel_support::offsets;

/// Minimum number of uses of a bundle; a rarer one costs more to sum than it saves.
const MIN_USES: u32 = 24;
/// Maximum fraction of the entries that may be left; above it bundles are not worth their memory.
const MAX_ENTRIES_LEFT: f64 = 0.8;
/// Maximum number of entries considered per row: the number of bits of a set.
const MAX_ENTRIES: usize = u64::BITS as usize;

/// Sets of observation functions that occur together so often that their weights are summed once
/// for all these positions.
///
/// Where one function is 1, others often must be 1 too: three words in a row determine each of them
/// and each pair. Such implications are found in the data, so nothing need be known about how the
/// functions were made. On text little more than half of the entries remain.
///
/// A function implies the functions that are 1 in every row in which it is 1. With a minimum of 2
/// uses, the rows
///
/// ```text
/// row 0: the  old  man  the+old  old+man  the+old+man
/// row 1: the  old  car  the+old  old+car
/// row 2: the  old  man  the+old  old+man  the+old+man
/// row 3: the  old  tea  the+old  old+tea
/// ```
///
/// give two bundles. `man` (rows 0 and 2) implies all six functions of row 0; `the` (all rows)
/// implies `the`, `old` and `the+old`; `car` and `tea` are used too rarely. A row is covered by the
/// functions that imply most first, so rows 0 and 2 become one bundle of six each, and rows 1 and 3
/// the bundle {the, old, the+old} and two functions of their own.
///
/// Sets are bit sets over the entries of the first row in which a function occurs (its home row),
/// so a set of at most 64 functions is one word.
#[derive(Debug)]
pub(crate) struct Bundles {
    starts: Vec<usize>,        // [bundles + 1]
    members: Vec<u32>,         // functions, bundle by bundle
    bundle_starts: Vec<usize>, // [functions + 1]
    bundles: Vec<u32>,         // bundles, function by function
}

impl Bundles {
    /// Finds bundles of functions that have features. Also returns the ones of `rows` with bundles
    /// in place of their members: bundle `b` has the index `n_functions + b`. `None` if little
    /// would be saved.
    pub(crate) fn find(features: &FeatureSet, rows: &SparseRows) -> Option<(Self, SparseRows)> {
        let n_functions = features.n_observations();
        let mut cover = Cover::new(features, rows);
        let mut uses: HashMap<Key, u32> = HashMap::new();
        for r in 0..rows.len() {
            cover.cover(r, |key, _| {
                *uses.entry(key).or_default() += 1;
                true
            });
        }
        uses.retain(|_, uses| *uses >= MIN_USES);

        let mut indices: HashMap<Key, u32> = HashMap::with_capacity(uses.len());
        let (mut members, mut sizes) = (Vec::new(), Vec::new());
        let mut bundled = SparseRows::default();
        let mut n_entries = 0;
        for r in 0..rows.len() {
            let left = cover.cover(r, |key, first| {
                if !uses.contains_key(&key) {
                    return false;
                }
                let index = *indices.entry(key).or_insert_with(|| {
                    members.extend(bits(key.members).map(|j| first[j]));
                    sizes.push(key.members.count_ones() as usize);
                    (n_functions + sizes.len() - 1) as u32
                });
                bundled.add(index, 1.0);
                true
            });
            let ones = rows.ones(r);
            let left = bits(left).chain(MAX_ENTRIES..ones.len()).map(|j| ones[j]);
            let has_features = |g: &u32| !features.targets(*g).is_empty();
            left.filter(has_features).for_each(|g| bundled.add(g, 1.0));
            bundled.end_row();
            n_entries += ones.iter().copied().filter(has_features).count();
        }
        if bundled.n_entries() as f64 > MAX_ENTRIES_LEFT * n_entries as f64 {
            return None;
        }
        let starts = offsets(sizes);
        let (bundle_starts, bundles) = bundles_by_function(n_functions, &starts, &members);
        Some((Bundles { starts, members, bundle_starts, bundles }, bundled))
    }

    /// Number of bundles.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Functions of bundle `b`.
    pub(crate) fn members(&self, b: usize) -> &[u32] {
        &self.members[self.starts[b]..self.starts[b + 1]]
    }

    /// Bundles that function `g` is a member of.
    pub(crate) fn of_function(&self, g: usize) -> &[u32] {
        &self.bundles[self.bundle_starts[g]..self.bundle_starts[g + 1]]
    }
}

/// Identity of a bundle: a function, and those of its implied functions that no other bundle had
/// covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    function: u32,
    members: u64, // set of entries of the function's home row
}

/// Covers the ones of a row by functions and what these imply.
struct Cover<'a> {
    rows: &'a SparseRows,
    home: Vec<u32>,    // [functions] the first row of each
    implied: Vec<u64>, // [functions] entries of the home row that all its other rows have too
    entry_of: Vec<u8>, // [functions] entry of the current row
    order: Vec<u8>,    // entries of the current row, those that imply most first
}

impl<'a> Cover<'a> {
    fn new(features: &FeatureSet, rows: &'a SparseRows) -> Self {
        const NOWHERE: u32 = u32::MAX;
        let n_functions = features.n_observations();
        let mut home = vec![NOWHERE; n_functions];
        let mut implied = vec![0_u64; n_functions];
        let mut seen_in = vec![NOWHERE; n_functions];
        let mut uses = vec![0_u32; n_functions];
        for r in 0..rows.len() {
            let ones = considered_ones(rows, r);
            ones.iter().for_each(|&g| seen_in[g as usize] = r as u32);
            for &g in ones {
                let g = g as usize;
                uses[g] += 1;
                if home[g] == NOWHERE {
                    let has_features = |j: &usize| !features.targets(ones[*j]).is_empty();
                    (home[g], implied[g]) = (r as u32, set((0..ones.len()).filter(has_features)));
                } else if implied[g].count_ones() > 1 {
                    let first = rows.ones(home[g] as usize);
                    implied[g] = set(bits(implied[g]).filter(|&j| seen_in[first[j] as usize] == r as u32));
                }
            }
        }
        // Functions used fewer than `MIN_USES` times cannot form a bundle.
        implied.iter_mut().zip(&uses).filter(|(_, uses)| **uses < MIN_USES).for_each(|(set, _)| *set = 0);
        Cover { rows, home, implied, entry_of: vec![0; n_functions], order: Vec::new() }
    }

    /// Offers bundles for row `r` to `take`, each with the home row of its function; `take` returns
    /// true to accept. Returns the entries that no accepted bundle covers.
    fn cover(&mut self, r: usize, mut take: impl FnMut(Key, &[u32]) -> bool) -> u64 {
        let Cover { rows, home, implied, entry_of, order } = self;
        let ones = considered_ones(rows, r);
        order.clear();
        for (j, &g) in (0..).zip(ones) {
            entry_of[g as usize] = j;
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
                // A function that is listed twice in the home row may be listed once in this one.
                let entry = 1 << entry_of[first[member] as usize];
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

/// The ones of row `r` that are considered.
fn considered_ones(rows: &SparseRows, r: usize) -> &[u32] {
    let ones = rows.ones(r);
    &ones[..ones.len().min(MAX_ENTRIES)]
}

/// Set of entries.
fn set(entries: impl Iterator<Item = usize>) -> u64 {
    entries.fold(0, |set, j| set | 1 << j)
}

/// Entries of a set, ascending.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        next
    })
}

/// Transposes the members of all bundles: the offsets and the bundles of each function.
fn bundles_by_function(n_functions: usize, starts: &[usize], members: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut sizes = vec![0; n_functions];
    members.iter().for_each(|&g| sizes[g as usize] += 1);
    let bundle_starts = offsets(sizes);
    let mut next = bundle_starts.clone();
    let mut bundles = vec![0; members.len()];
    for b in 0..starts.len() - 1 {
        for &g in &members[starts[b]..starts[b + 1]] {
            bundles[next[g as usize]] = b as u32;
            next[g as usize] += 1;
        }
    }
    (bundle_starts, bundles)
}
