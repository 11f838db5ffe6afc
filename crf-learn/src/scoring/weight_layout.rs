use std::ops::Range;

use crf_core::simd::prefetch;
use crf_core::{Error, FeatureSet, Result, SparseRows};

use crate::scoring::bundles::Bundles;
use crate::scoring::dense_runs::NO_ROW;
use crate::scoring::padded_rows::{FEW, LANES, add, add_rows, padded};

/// Number of functions laid out, and later copied, at a time.
const BLOCK: usize = 4096;
/// Maximum length of a layout that is assumed to stay in the cache.
const CACHED: usize = 1 << 20;

/// State weights laid out for reading, and the rows of a dataset translated into offsets in that
/// layout.
///
/// ```text
///           0             blocks[0].narrow     blocks[0].single            bundle_rows[0]
/// regions  │ wide rows   │ narrow rows        │ single weights            │ bundle rows │
///          ├──────┼──────┼──────┼──────┼──────┼──────┼──────┼──────┼──────┼──────┼──────┤
/// function │ g=3  │ g=8  │ g=1  │ g=4  │ g=9  │ g=2  │ g=5  │ g=9  │ g=9  │ b=0  │ b=1  │
/// labels   │ all  │ all  │ 0..8 │ 0..8 │ 0..8 │ 6    │ 0    │ 12   │ 17   │ all  │ all  │
///          └──────┴──────┴──────┴──────┴──────┴──────┴──────┴──────┴──────┴──────┴──────┘
/// ```
///
/// A function `g` has a wide row over all labels, a narrow row over the first [`LANES`]
/// labels, single weights, or a narrow row and single weights for the other labels (as `g=9`):
/// whichever is least work. On text most functions are rare and have one label, but most
/// occurrences are of frequent functions with several labels. Labels are numbered in order of
/// appearance, so the frequent ones come first.
///
/// Each position lists the offsets of the rows of the functions that are 1 there, wide rows first,
/// and its single weights with their labels; no function is looked up in an iteration. Functions
/// with other values are looked up, unless their positions form [dense
/// runs](crate::scoring::dense_runs::DenseRuns). Within each region functions stand in their own
/// order, so a block of consecutive functions occupies one range of each region; bundles `b`
/// follow.
#[derive(Debug)]
pub(crate) struct WeightLayout {
    slots: Vec<WeightSlot>,  // [functions] empty for functions that do not occur
    some_absent: bool,       // true if a function does not occur
    blocks: Vec<BlockStart>, // the last one is the end of all functions
    bundles: Option<Bundles>,
    bundle_rows: Vec<u32>,      // [bundles + 1] offsets
    lists: Vec<PositionList>,   // [positions + 1]
    rows: Vec<u32>,             // offsets of rows, position by position, wide ones first
    singles: Vec<SingleWeight>, // position by position
}

/// Offsets of the weights of a function: those of its first `width` labels form a row, the others
/// are single weights.
#[derive(Debug, Clone, Copy, Default)]
struct WeightSlot {
    row: u32,
    width: u32,
    singles: u32,
    n_singles: u32,
}

impl WeightSlot {
    /// Labels whose weights are single: the last ones of `targets`.
    fn single_labels<'t>(&self, targets: &'t [u32]) -> &'t [u32] {
        &targets[targets.len() - self.n_singles as usize..]
    }
}

/// Start of a block of consecutive functions in the three regions of the layout.
#[derive(Debug, Clone, Copy, Default)]
struct BlockStart {
    function: usize,
    wide: usize,
    narrow: usize,
    single: usize,
}

/// Start of the lists of a position in `rows` and `singles`, and its number of wide rows.
#[derive(Debug, Clone, Copy, Default)]
struct PositionList {
    rows: u32,
    singles: u32,
    n_wide: u32,
}

/// Offset of a weight, and its label.
#[derive(Debug, Clone, Copy)]
struct SingleWeight {
    offset: u32,
    label: u32,
}

impl WeightLayout {
    /// Creates a layout for the features of `features` and the dataset `rows`; `n_labels` is the
    /// number of labels of each kind of node.
    pub(crate) fn new(features: &FeatureSet, n_labels: &[usize], rows: &SparseRows) -> Result<Self> {
        WeightLayout::with(None, features, n_labels, rows, rows)
    }

    /// Creates a layout with bundles, if these pay.
    pub(crate) fn bundled(features: &FeatureSet, n_labels: &[usize], rows: &SparseRows) -> Result<Self> {
        match Bundles::find(features, rows) {
            None => WeightLayout::new(features, n_labels, rows),
            Some((bundles, ones)) => WeightLayout::with(Some(bundles), features, n_labels, rows, &ones),
        }
    }

    /// Creates a layout for `rows`, whose ones are replaced by those of `ones`.
    fn with(
        bundles: Option<Bundles>,
        features: &FeatureSet,
        n_labels: &[usize],
        rows: &SparseRows,
        ones: &SparseRows,
    ) -> Result<Self> {
        let occurrences = occurrences(features, rows, ones);
        let mut layout = WeightLayout {
            slots: vec![WeightSlot::default(); features.n_observations()],
            some_absent: occurrences.contains(&0),
            blocks: vec![BlockStart::default()],
            bundles,
            bundle_rows: Vec::new(),
            lists: Vec::with_capacity(rows.len() + 1),
            rows: Vec::new(),
            singles: Vec::new(),
        };
        layout.lay_out(features, n_labels, &occurrences, &find_dense(features, rows))?;
        layout.lay_out_bundles(features, n_labels)?;
        layout.translate(features, ones)?;
        Ok(layout)
    }

    fn lay_out(
        &mut self,
        features: &FeatureSet,
        n_labels: &[usize],
        occurrences: &[u64],
        dense: &[bool],
    ) -> Result<()> {
        let mut next = BlockStart::default();
        for g in 0..features.n_observations() {
            if g > 0 && g % BLOCK == 0 {
                self.blocks.push(BlockStart { function: g, ..next });
            }
            if occurrences[g] == 0 || features.targets(g as u32).is_empty() {
                continue;
            }
            let width = padded(n_labels[features.scope(g as u32) as usize]);
            let targets = features.targets(g as u32);
            let frequent = targets.partition_point(|&label| (label as usize) < LANES);
            let width = if dense[g] { width } else { cheapest(targets.len(), frequent, width) };
            let region = if width == LANES { &mut next.narrow } else { &mut next.wide };
            let n_singles = match width {
                0 => targets.len(),
                LANES => targets.len() - frequent,
                _ => 0,
            };
            self.slots[g] = WeightSlot {
                row: *region as u32,
                width: width as u32,
                singles: next.single as u32,
                n_singles: n_singles as u32,
            };
            *region += width;
            next.single += n_singles;
        }
        self.blocks.push(BlockStart { function: features.n_observations(), ..next });
        // The regions follow each other: wide, narrow, single. Rows that are a whole vector are
        // narrow.
        let narrow = next.wide.next_multiple_of(LANES);
        let single = narrow + next.narrow;
        stored("weights", single + next.single)?;
        for slot in &mut self.slots {
            slot.row += if slot.width == LANES as u32 { narrow as u32 } else { 0 };
            slot.singles += single as u32;
        }
        for block in &mut self.blocks {
            block.narrow += narrow;
            block.single += single;
        }
        Ok(())
    }

    fn lay_out_bundles(&mut self, features: &FeatureSet, n_labels: &[usize]) -> Result<()> {
        let mut end = self.blocks[self.blocks.len() - 1].single;
        if let Some(bundles) = &self.bundles {
            end = end.next_multiple_of(LANES);
            for b in 0..bundles.len() {
                self.bundle_rows.push(stored("weights", end)?);
                end += padded(n_labels[features.scope(bundles.members(b)[0]) as usize]);
            }
        }
        self.bundle_rows.push(stored("weights", end)?);
        Ok(())
    }

    fn translate(&mut self, features: &FeatureSet, ones: &SparseRows) -> Result<()> {
        for r in 0..ones.len() {
            let mut list = self.next_list()?;
            for &g in ones.ones(r) {
                let slot = self.slot(g as usize);
                if slot.width > 0 {
                    self.rows.push(slot.row);
                    if slot.width != LANES as u32 {
                        let (first_narrow, last) = ((list.rows + list.n_wide) as usize, self.rows.len() - 1);
                        self.rows.swap(first_narrow, last);
                        list.n_wide += 1;
                    }
                }
                if slot.n_singles > 0 {
                    let singles = (slot.singles..).zip(slot.single_labels(features.targets(g)));
                    self.singles.extend(singles.map(|(offset, &label)| SingleWeight { offset, label }));
                }
            }
            self.lists.push(list);
        }
        self.lists.push(self.next_list()?);
        self.rows.shrink_to_fit();
        self.singles.shrink_to_fit();
        Ok(())
    }

    /// Offset of the weights of function `g` if all of them form one row; `NO_ROW` if it has no
    /// features.
    pub(crate) fn whole_row(&self, g: u32, n_labels: usize) -> Option<u32> {
        let WeightSlot { row, width, n_singles, .. } = self.slots[g as usize];
        match width as usize {
            0 if n_singles == 0 => Some(NO_ROW),
            width if width == padded(n_labels) => Some(row),
            _ => None,
        }
    }

    /// Slot of a function, or of a bundle (`g` ≥ number of functions).
    fn slot(&self, g: usize) -> WeightSlot {
        self.slots.get(g).copied().unwrap_or_else(|| {
            let b = g - self.slots.len();
            let (row, end) = (self.bundle_rows[b], self.bundle_rows[b + 1]);
            WeightSlot { row, width: end - row, ..WeightSlot::default() }
        })
    }

    /// List of the next position.
    fn next_list(&self) -> Result<PositionList> {
        let rows = stored("rows of weights at all positions", self.rows.len())?;
        let singles = stored("single weights at all positions", self.singles.len())?;
        Ok(PositionList { rows, singles, n_wide: 0 })
    }

    /// Length of the layout.
    pub(crate) fn len(&self) -> usize {
        self.bundle_rows[self.bundle_rows.len() - 1] as usize
    }

    /// True if every weight is stored once: a layout without bundles.
    pub(crate) fn is_plain(&self) -> bool {
        self.bundles.is_none()
    }

    /// Offset of the weight of function `g`, which must occur in the data, and a label that it has
    /// a feature for.
    pub(crate) fn offset(&self, features: &FeatureSet, g: u32, label: u32) -> usize {
        let slot = self.slots[g as usize];
        if label < slot.width {
            return (slot.row + label) as usize;
        }
        slot.singles as usize
            + slot.single_labels(features.targets(g)).partition_point(|&other| other < label)
    }

    /// Calls `f` with the index of each feature of the functions of a block, its offset, and its
    /// factor.
    #[inline(always)]
    fn for_each_feature(
        &self,
        features: &FeatureSet,
        block: [BlockStart; 2],
        mut f: impl FnMut(usize, usize, f64),
    ) {
        for g in block[0].function..block[1].function {
            let (WeightSlot { row, width, mut singles, n_singles }, g) = (self.slots[g], g as u32);
            if width + n_singles == 0 {
                continue;
            }
            let factor = features.factor(g);
            for (k, &label) in features.range(g).zip(features.targets(g)) {
                if label < width {
                    f(k, (row + label) as usize, factor);
                } else {
                    f(k, singles as usize, factor);
                    singles += 1;
                }
            }
        }
    }

    /// Writes the weights `w` of all features into the layout.
    pub(crate) fn pack(&self, features: &FeatureSet, w: &[f64], packed: &mut [f64]) {
        let (packed, bundles) = packed.split_at_mut(self.bundle_rows[0] as usize);
        self.pack_bundles(features, 0..self.bundle_rows.len() - 1, w, bundles);
        let (wide, rest) = packed.split_at_mut(self.blocks[0].narrow);
        let (narrow, single) = rest.split_at_mut(self.blocks[0].single - self.blocks[0].narrow);
        self.pack_blocks(features, &self.blocks, w, [wide, narrow, single]);
    }

    fn pack_blocks(&self, features: &FeatureSet, blocks: &[BlockStart], w: &[f64], to: [&mut [f64]; 3]) {
        let [wide, narrow, single] = to;
        let first = blocks[0];
        if blocks.len() > 2 {
            let middle = blocks.len() / 2;
            let split = blocks[middle];
            let (wide, wide_after) = wide.split_at_mut(split.wide - first.wide);
            let (narrow, narrow_after) = narrow.split_at_mut(split.narrow - first.narrow);
            let (single, single_after) = single.split_at_mut(split.single - first.single);
            rayon::join(
                || self.pack_blocks(features, &blocks[..=middle], w, [wide, narrow, single]),
                || self.pack_blocks(features, &blocks[middle..], w, [wide_after, narrow_after, single_after]),
            );
            return;
        }
        let starts = self.blocks[0];
        self.for_each_feature(features, [first, blocks[1]], |k, offset, factor| {
            if offset >= starts.single {
                single[offset - first.single] = factor * w[k];
            } else if offset >= starts.narrow {
                narrow[offset - first.narrow] = factor * w[k];
            } else {
                wide[offset - first.wide] = factor * w[k];
            }
        });
    }

    fn pack_bundles(&self, features: &FeatureSet, some: Range<usize>, w: &[f64], mut to: &mut [f64]) {
        let Some(bundles) = &self.bundles else { return };
        if some.len() > BLOCK {
            let middle = some.start + some.len() / 2;
            let (to, after) =
                to.split_at_mut((self.bundle_rows[middle] - self.bundle_rows[some.start]) as usize);
            rayon::join(
                || self.pack_bundles(features, some.start..middle, w, to),
                || self.pack_bundles(features, middle..some.end, w, after),
            );
            return;
        }
        for b in some {
            let row = to.split_off_mut(..(self.bundle_rows[b + 1] - self.bundle_rows[b]) as usize);
            let Some(row) = row else { return };
            row.fill(0.0);
            for &g in bundles.members(b) {
                features.add_scores(w, g, 1.0, row);
            }
        }
    }

    /// Writes the numbers of all features from the layout to `out`.
    pub(crate) fn unpack(&self, features: &FeatureSet, packed: &[f64], out: &mut [f64]) {
        self.unpack_blocks(features, &self.blocks, packed, out);
    }

    fn unpack_blocks(&self, features: &FeatureSet, blocks: &[BlockStart], packed: &[f64], out: &mut [f64]) {
        let start = |block: &BlockStart| match block.function {
            g if g == features.n_observations() => features.len(),
            g => features.range(g as u32).start,
        };
        let first = start(&blocks[0]);
        if blocks.len() > 2 {
            let middle = blocks.len() / 2;
            let (out, after) = out.split_at_mut(start(&blocks[middle]) - first);
            rayon::join(
                || self.unpack_blocks(features, &blocks[..=middle], packed, out),
                || self.unpack_blocks(features, &blocks[middle..], packed, after),
            );
            return;
        }
        if self.some_absent {
            out.fill(0.0);
        }
        self.for_each_feature(features, [blocks[0], blocks[1]], |k, offset, factor| {
            out[k - first] = factor * packed[offset]
        });
        let Some(bundles) = &self.bundles else { return };
        for g in blocks[0].function..blocks[1].function {
            for &b in bundles.of_function(g) {
                let (row, g) = (&packed[self.bundle_rows[b as usize] as usize..], g as u32);
                let (range, factor) = (features.range(g), features.factor(g));
                let out = &mut out[range.start - first..range.end - first];
                out.iter_mut()
                    .zip(features.targets(g))
                    .for_each(|(out, &label)| *out += factor * row[label as usize]);
            }
        }
    }

    /// Offsets of the wide and of the narrow rows of position `r`, and its single weights.
    #[inline(always)]
    fn list(&self, r: usize) -> (&[u32], &[u32], &[SingleWeight]) {
        let (list, end) = (self.lists[r], self.lists[r + 1]);
        let (wide, narrow) = self.rows[list.rows as usize..end.rows as usize].split_at(list.n_wide as usize);
        (wide, narrow, &self.singles[list.singles as usize..end.singles as usize])
    }

    /// Prefetches the numbers that position `r` will read or write, if there is such a position.
    ///
    /// The rows of a small layout are mostly in the cache already, and prefetching them costs more
    /// than it saves. Single weights belong to rare functions.
    #[inline(always)]
    pub(crate) fn prefetch(&self, packed: &[f64], r: usize, width: usize) {
        if r + 1 >= self.lists.len() {
            return;
        }
        let (wide, narrow, singles) = self.list(r);
        if self.len() > CACHED {
            for &offset in wide {
                for line in (0..width).step_by(LANES) {
                    prefetch(packed, offset as usize + line);
                }
            }
            for &offset in narrow {
                prefetch(packed, offset as usize);
            }
        }
        for single in singles {
            prefetch(packed, single.offset as usize);
        }
    }

    /// Adds to padded scores the packed weights of the functions that are 1 at position `r`.
    ///
    /// Loops, not closures: a closure is a function of its own and would miss the vector
    /// instructions of its caller.
    #[inline(always)]
    pub(crate) fn add_scores_of_ones<const FMA: bool>(&self, weights: &[f64], r: usize, scores: &mut [f64]) {
        let (wide, narrow, singles) = self.list(r);
        match scores.len() {
            FEW => add_rows::<1, FEW>(weights, wide, &[], scores),
            8 => add_rows::<1, LANES>(weights, &[], narrow, scores),
            16 => add_rows::<2, LANES>(weights, wide, narrow, scores),
            24 => add_rows::<3, LANES>(weights, wide, narrow, scores),
            32 => add_rows::<4, LANES>(weights, wide, narrow, scores),
            _ => {
                for &offset in wide {
                    add::<FMA>(scores, 1.0, &weights[offset as usize..]);
                }
                add_rows::<1, LANES>(weights, &[], narrow, scores);
            }
        }
        for single in singles {
            scores[single.label as usize] += weights[single.offset as usize];
        }
    }

    /// Adds to padded scores the scores of the functions that have other values at position `r`.
    #[inline(always)]
    pub(crate) fn add_scores_of_values<const FMA: bool>(
        &self,
        features: &FeatureSet,
        weights: &[f64],
        rows: &SparseRows,
        r: usize,
        scores: &mut [f64],
    ) {
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let slot = self.slots[g as usize];
            add::<FMA>(&mut scores[..slot.width as usize], value, &weights[slot.row as usize..]);
            for (&label, weight) in
                slot.single_labels(features.targets(g)).iter().zip(&weights[slot.singles as usize..])
            {
                scores[label as usize] += value * weight;
            }
        }
    }

    /// Adds padded beliefs to the packed sums of the functions that are 1 at position `r`.
    #[inline(always)]
    pub(crate) fn add_beliefs_of_ones<const FMA: bool>(&self, beliefs: &[f64], r: usize, out: &mut [f64]) {
        let (wide, narrow, singles) = self.list(r);
        for &offset in wide {
            add::<FMA>(&mut out[offset as usize..offset as usize + beliefs.len()], 1.0, beliefs);
        }
        if let Some(frequent) = beliefs.first_chunk::<LANES>() {
            for &offset in narrow {
                add::<FMA>(&mut out[offset as usize..offset as usize + LANES], 1.0, frequent);
            }
        }
        for single in singles {
            out[single.offset as usize] += beliefs[single.label as usize];
        }
    }

    /// Adds padded beliefs times values to the packed sums of the functions that have other values
    /// at position `r`.
    #[inline(always)]
    pub(crate) fn add_beliefs_of_values<const FMA: bool>(
        &self,
        features: &FeatureSet,
        beliefs: &[f64],
        rows: &SparseRows,
        r: usize,
        out: &mut [f64],
    ) {
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let slot = self.slots[g as usize];
            add::<FMA>(&mut out[slot.row as usize..(slot.row + slot.width) as usize], value, beliefs);
            for (&label, out) in
                slot.single_labels(features.targets(g)).iter().zip(&mut out[slot.singles as usize..])
            {
                *out += value * beliefs[label as usize];
            }
        }
    }
}

/// A count as it is stored; `what` names it in the error.
fn stored(what: &str, n: usize) -> Result<u32> {
    u32::try_from(n)
        .map_err(|_| Error::data(format!("{n} {what}, of which at most {} can be handled", u32::MAX)))
}

/// Number of occurrences of each function outside of bundles: among the `ones`, or with another
/// value in `rows`.
fn occurrences(features: &FeatureSet, rows: &SparseRows, ones: &SparseRows) -> Vec<u64> {
    let mut occurrences = vec![0; features.n_observations()];
    for r in 0..rows.len() {
        for &g in ones.ones(r).iter().chain(rows.valued(r).0) {
            occurrences.get_mut(g as usize).into_iter().for_each(|n| *n += 1);
        }
    }
    occurrences
}

/// True for each function that has another value than 1 at most positions, as real channels do.
/// Such a function has a whole row whatever its labels, so that its positions can form dense runs.
fn find_dense(features: &FeatureSet, rows: &SparseRows) -> Vec<bool> {
    let mut n_valued = vec![0; features.n_observations()];
    for r in 0..rows.len() {
        rows.valued(r).0.iter().for_each(|&g| n_valued[g as usize] += 1);
    }
    n_valued.into_iter().map(|n: usize| 2 * n > rows.len()).collect()
}

/// Width of the row that is least work for a function with `n_labels` labels, of which `n_frequent`
/// are among the first [`LANES`].
///
/// A vector of a row is about as much work as a single weight; finding the row is half as much.
fn cheapest(n_labels: usize, n_frequent: usize, wide: usize) -> usize {
    let row = |width: usize| 1 + 2 * width.div_ceil(LANES);
    let options = [
        (2 * n_labels, 0),
        (row(LANES) + 2 * (n_labels - n_frequent), if wide < LANES { wide } else { LANES }),
        (row(wide), wide),
    ];
    options.into_iter().min_by_key(|&(work, _)| work).map_or(0, |(_, width)| width)
}
