use std::ops::Range;

use crate::scoring::bundles::Bundles;
use crate::scoring::dense_runs::NO_ROW;
use crate::scoring::padded_rows::{FEW, LANES, add, add_rows, padded};
use crf_core::FeatureSet;
use crf_core::SparseRows;
use crf_core::simd::prefetch;
use crf_core::{Error, Result};

/// Functions that are laid out, and later copied, at a time.
const BLOCK: usize = 4096;
/// A layout of no more numbers than this is taken to be in the cache.
const CACHED: usize = 1 << 20;

/// State weights laid out for reading, and the rows of a corpus translated into places of that layout.
///
/// The weights of a function stand in a *wide* row, padded to all labels, in a *narrow* one with a vector's worth of the
/// first labels, one by one, or in a narrow row and the rest one by one: whatever is least work. On text most functions
/// are rare and have one label, but most occurrences are of frequent functions with several; and labels are numbered as
/// they turn up, so the frequent ones come first.
///
/// For the functions that are one at a position, the translation lists rows, and single weights with their labels:
/// no function is looked up in an iteration. Functions with other values are looked up where their positions make no
/// [bands](crate::scoring::dense_runs::Bands). Bundles of functions have wide rows behind everything else.
#[derive(Debug)]
pub(crate) struct WeightLayout {
    places: Vec<Place>,      // [functions] empty for those that occur nowhere
    some_absent: bool,       // whether there are such
    blocks: Vec<DenseBlock>, // the last one is where all functions end
    bundles: Option<Bundles>,
    bundle_rows: Vec<u32>, // [bundles + 1]
    lists: Vec<List>,      // [positions + 1]
    rows: Vec<u32>,        // where each row starts; a position's wide rows come first
    singles: Vec<Single>,
}

/// Where the weights of a function stand: those of the first `width` labels in a row, the others one behind the other.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    row: u32,
    width: u32,
    singles: u32,
    n_singles: u32,
}

impl Place {
    /// Those of a function's labels whose weights stand one by one: the last ones.
    fn alone<'t>(&self, targets: &'t [u32]) -> &'t [u32] {
        &targets[targets.len() - self.n_singles as usize..]
    }
}

/// Where the pieces of some consecutive functions start in the three regions of the layout.
#[derive(Debug, Clone, Copy, Default)]
struct DenseBlock {
    function: usize,
    wide: usize,
    narrow: usize,
    single: usize,
}

/// Where the lists of a position start, and how many of its rows are wide.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    rows: u32,
    singles: u32,
    n_wide: u32,
}

/// A weight and its label.
#[derive(Debug, Clone, Copy)]
struct Single {
    at: u32,
    label: u32,
}

impl WeightLayout {
    /// A layout for the features of `links`, whose functions have so many labels by kind of node, and for `rows`.
    pub(crate) fn new(links: &FeatureSet, n_labels: &[usize], rows: &SparseRows) -> Result<Self> {
        WeightLayout::with(None, links, n_labels, rows, rows)
    }

    /// The same with bundles where they pay.
    pub(crate) fn bundled(links: &FeatureSet, n_labels: &[usize], rows: &SparseRows) -> Result<Self> {
        match Bundles::find(links, rows) {
            None => WeightLayout::new(links, n_labels, rows),
            Some((bundles, ones)) => WeightLayout::with(Some(bundles), links, n_labels, rows, &ones),
        }
    }

    /// A layout for `rows`, whose ones are replaced by those of `ones`.
    fn with(
        bundles: Option<Bundles>,
        links: &FeatureSet,
        n_labels: &[usize],
        rows: &SparseRows,
        ones: &SparseRows,
    ) -> Result<Self> {
        let occurrences = occurrences(links, rows, ones);
        let mut packed = WeightLayout {
            places: vec![Place::default(); links.n_observations()],
            some_absent: occurrences.contains(&0),
            blocks: vec![DenseBlock::default()],
            bundles,
            bundle_rows: Vec::new(),
            lists: Vec::with_capacity(rows.len() + 1),
            rows: Vec::new(),
            singles: Vec::new(),
        };
        packed.lay_out(links, n_labels, &occurrences, &dense(links, rows))?;
        packed.lay_out_bundles(links, n_labels)?;
        packed.translate(links, ones)?;
        Ok(packed)
    }

    fn lay_out(
        &mut self,
        links: &FeatureSet,
        n_labels: &[usize],
        occurrences: &[u64],
        dense: &[bool],
    ) -> Result<()> {
        let mut next = DenseBlock::default();
        for g in 0..links.n_observations() {
            if g > 0 && g % BLOCK == 0 {
                self.blocks.push(DenseBlock { function: g, ..next });
            }
            if occurrences[g] == 0 || links.targets(g as u32).is_empty() {
                continue;
            }
            let (width, targets) =
                (padded(n_labels[links.scope(g as u32) as usize]), links.targets(g as u32));
            let frequent = targets.partition_point(|&label| (label as usize) < LANES);
            let width = if dense[g] { width } else { cheapest(targets.len(), frequent, width) };
            let region = if width == LANES { &mut next.narrow } else { &mut next.wide };
            let n_singles = match width {
                0 => targets.len(),
                LANES => targets.len() - frequent,
                _ => 0,
            };
            self.places[g] = Place {
                row: *region as u32,
                width: width as u32,
                singles: next.single as u32,
                n_singles: n_singles as u32,
            };
            *region += width;
            next.single += n_singles;
        }
        self.blocks.push(DenseBlock { function: links.n_observations(), ..next });
        // The regions stand one behind the other: wide, narrow, single. Rows that are a whole vector are narrow.
        let (narrow, single) =
            (next.wide.next_multiple_of(LANES), next.wide.next_multiple_of(LANES) + next.narrow);
        number("weights", single + next.single)?;
        for place in &mut self.places {
            place.row += if place.width == LANES as u32 { narrow as u32 } else { 0 };
            place.singles += single as u32;
        }
        for block in &mut self.blocks {
            block.narrow += narrow;
            block.single += single;
        }
        Ok(())
    }

    fn lay_out_bundles(&mut self, links: &FeatureSet, n_labels: &[usize]) -> Result<()> {
        let mut end = self.blocks[self.blocks.len() - 1].single;
        if let Some(bundles) = &self.bundles {
            end = end.next_multiple_of(LANES);
            for b in 0..bundles.len() {
                self.bundle_rows.push(number("weights", end)?);
                end += padded(n_labels[links.scope(bundles.members(b)[0]) as usize]);
            }
        }
        self.bundle_rows.push(number("weights", end)?);
        Ok(())
    }

    fn translate(&mut self, links: &FeatureSet, ones: &SparseRows) -> Result<()> {
        for r in 0..ones.len() {
            let mut list = self.end_of_lists()?;
            for &g in ones.ones(r) {
                let place = self.place_of(g as usize);
                if place.width > 0 {
                    self.rows.push(place.row);
                    if place.width != LANES as u32 {
                        let (at, last) = ((list.rows + list.n_wide) as usize, self.rows.len() - 1);
                        self.rows.swap(at, last);
                        list.n_wide += 1;
                    }
                }
                if place.n_singles > 0 {
                    let singles = (place.singles..).zip(place.alone(links.targets(g)));
                    self.singles.extend(singles.map(|(at, &label)| Single { at, label }));
                }
            }
            self.lists.push(list);
        }
        self.lists.push(self.end_of_lists()?);
        self.rows.shrink_to_fit();
        self.singles.shrink_to_fit();
        Ok(())
    }

    /// Where the weights of a function with so many labels start if all stand in a row; `NO_ROW` if there are none.
    pub(crate) fn whole_row(&self, g: u32, n_labels: usize) -> Option<u32> {
        let Place { row, width, n_singles, .. } = self.places[g as usize];
        match width as usize {
            0 if n_singles == 0 => Some(NO_ROW),
            width if width == padded(n_labels) => Some(row),
            _ => None,
        }
    }

    /// The place of a function, or of a bundle.
    fn place_of(&self, g: usize) -> Place {
        self.places.get(g).copied().unwrap_or_else(|| {
            let b = g - self.places.len();
            let (row, end) = (self.bundle_rows[b], self.bundle_rows[b + 1]);
            Place { row, width: end - row, ..Place::default() }
        })
    }

    /// The list of a position behind all others.
    fn end_of_lists(&self) -> Result<List> {
        let rows = number("rows of weights at all positions", self.rows.len())?;
        let singles = number("single weights at all positions", self.singles.len())?;
        Ok(List { rows, singles, n_wide: 0 })
    }

    /// How many numbers the layout has.
    pub(crate) fn len(&self) -> usize {
        self.bundle_rows[self.bundle_rows.len() - 1] as usize
    }

    /// Whether the weight of a feature stands in one place only.
    pub(crate) fn is_plain(&self) -> bool {
        self.bundles.is_none()
    }

    /// The place of the weight of function `g`, which occurs, for a label that it is tied to.
    pub(crate) fn place(&self, links: &FeatureSet, g: u32, label: u32) -> usize {
        let place = self.places[g as usize];
        if label < place.width {
            return (place.row + label) as usize;
        }
        place.singles as usize + place.alone(links.targets(g)).partition_point(|&other| other < label)
    }

    /// Calls `f` with the number of each feature of the functions of a block, its place, and its factor.
    #[inline(always)]
    fn for_each_of(&self, links: &FeatureSet, of: [DenseBlock; 2], mut f: impl FnMut(usize, usize, f64)) {
        for g in of[0].function..of[1].function {
            let (Place { row, width, mut singles, n_singles }, g) = (self.places[g], g as u32);
            if width + n_singles == 0 {
                continue;
            }
            let factor = links.factor(g);
            for (k, &label) in links.range(g).zip(links.targets(g)) {
                if label < width {
                    f(k, (row + label) as usize, factor);
                } else {
                    f(k, singles as usize, factor);
                    singles += 1;
                }
            }
        }
    }

    /// Puts the weights `w` of all features into their places.
    pub(crate) fn pack(&self, links: &FeatureSet, w: &[f64], packed: &mut [f64]) {
        let (packed, bundles) = packed.split_at_mut(self.bundle_rows[0] as usize);
        self.pack_bundles(links, 0..self.bundle_rows.len() - 1, w, bundles);
        let (wide, rest) = packed.split_at_mut(self.blocks[0].narrow);
        let (narrow, single) = rest.split_at_mut(self.blocks[0].single - self.blocks[0].narrow);
        self.pack_blocks(links, &self.blocks, w, [wide, narrow, single]);
    }

    fn pack_blocks(&self, links: &FeatureSet, blocks: &[DenseBlock], w: &[f64], to: [&mut [f64]; 3]) {
        let [wide, narrow, single] = to;
        let first = blocks[0];
        if blocks.len() > 2 {
            let middle = blocks.len() / 2;
            let at = blocks[middle];
            let (wide, wide_after) = wide.split_at_mut(at.wide - first.wide);
            let (narrow, narrow_after) = narrow.split_at_mut(at.narrow - first.narrow);
            let (single, single_after) = single.split_at_mut(at.single - first.single);
            rayon::join(
                || self.pack_blocks(links, &blocks[..=middle], w, [wide, narrow, single]),
                || self.pack_blocks(links, &blocks[middle..], w, [wide_after, narrow_after, single_after]),
            );
            return;
        }
        let starts = self.blocks[0];
        self.for_each_of(links, [first, blocks[1]], |k, place, factor| {
            if place >= starts.single {
                single[place - first.single] = factor * w[k];
            } else if place >= starts.narrow {
                narrow[place - first.narrow] = factor * w[k];
            } else {
                wide[place - first.wide] = factor * w[k];
            }
        });
    }

    fn pack_bundles(&self, links: &FeatureSet, some: Range<usize>, w: &[f64], mut to: &mut [f64]) {
        let Some(bundles) = &self.bundles else { return };
        if some.len() > BLOCK {
            let middle = some.start + some.len() / 2;
            let (to, after) =
                to.split_at_mut((self.bundle_rows[middle] - self.bundle_rows[some.start]) as usize);
            rayon::join(
                || self.pack_bundles(links, some.start..middle, w, to),
                || self.pack_bundles(links, middle..some.end, w, after),
            );
            return;
        }
        for b in some {
            let row = to.split_off_mut(..(self.bundle_rows[b + 1] - self.bundle_rows[b]) as usize);
            let Some(row) = row else { return };
            row.fill(0.0);
            for &g in bundles.members(b) {
                links.add_scores(w, g, 1.0, row);
            }
        }
    }

    /// Writes the numbers of all features, from their places, to `out`.
    pub(crate) fn unpack(&self, links: &FeatureSet, packed: &[f64], out: &mut [f64]) {
        self.unpack_blocks(links, &self.blocks, packed, out);
    }

    fn unpack_blocks(&self, links: &FeatureSet, blocks: &[DenseBlock], packed: &[f64], out: &mut [f64]) {
        let start = |block: &DenseBlock| match block.function {
            g if g == links.n_observations() => links.len(),
            g => links.range(g as u32).start,
        };
        let first = start(&blocks[0]);
        if blocks.len() > 2 {
            let middle = blocks.len() / 2;
            let (out, after) = out.split_at_mut(start(&blocks[middle]) - first);
            rayon::join(
                || self.unpack_blocks(links, &blocks[..=middle], packed, out),
                || self.unpack_blocks(links, &blocks[middle..], packed, after),
            );
            return;
        }
        if self.some_absent {
            out.fill(0.0);
        }
        self.for_each_of(links, [blocks[0], blocks[1]], |k, place, factor| {
            out[k - first] = factor * packed[place]
        });
        let Some(bundles) = &self.bundles else { return };
        for g in blocks[0].function..blocks[1].function {
            for &b in bundles.of(g) {
                let (row, g) = (&packed[self.bundle_rows[b as usize] as usize..], g as u32);
                let (range, factor) = (links.range(g), links.factor(g));
                let out = &mut out[range.start - first..range.end - first];
                out.iter_mut()
                    .zip(links.targets(g))
                    .for_each(|(out, &label)| *out += factor * row[label as usize]);
            }
        }
    }

    /// The wide and narrow rows of row `r`, and its single weights.
    #[inline(always)]
    fn list(&self, r: usize) -> (&[u32], &[u32], &[Single]) {
        let (list, end) = (self.lists[r], self.lists[r + 1]);
        let (wide, narrow) = self.rows[list.rows as usize..end.rows as usize].split_at(list.n_wide as usize);
        (wide, narrow, &self.singles[list.singles as usize..end.singles as usize])
    }

    /// Brings the numbers that row `r` will read or write into the cache, if there is such a row.
    ///
    /// Rows of a small layout are there already most of the time, and to ask for them costs more than it saves; single
    /// weights are those of rare functions.
    #[inline(always)]
    pub(crate) fn prefetch(&self, of: &[f64], r: usize, width: usize) {
        if r + 1 >= self.lists.len() {
            return;
        }
        let (wide, narrow, singles) = self.list(r);
        if self.len() > CACHED {
            for &at in wide {
                for line in (0..width).step_by(LANES) {
                    prefetch(of, at as usize + line);
                }
            }
            for &at in narrow {
                prefetch(of, at as usize);
            }
        }
        for single in singles {
            prefetch(of, single.at as usize);
        }
    }

    /// Adds to padded scores what the functions that are one in row `r` are worth under packed weights.
    ///
    /// Loops, not closures: a closure is a function of its own and would miss the caller's vector instructions.
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
                for &at in wide {
                    add::<FMA>(scores, 1.0, &weights[at as usize..]);
                }
                add_rows::<1, LANES>(weights, &[], narrow, scores);
            }
        }
        for single in singles {
            scores[single.label as usize] += weights[single.at as usize];
        }
    }

    /// Adds to padded scores what the functions with other values are worth in row `r`.
    #[inline(always)]
    pub(crate) fn add_scores_of_values<const FMA: bool>(
        &self,
        links: &FeatureSet,
        weights: &[f64],
        rows: &SparseRows,
        r: usize,
        scores: &mut [f64],
    ) {
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let place = self.places[g as usize];
            add::<FMA>(&mut scores[..place.width as usize], value, &weights[place.row as usize..]);
            for (&label, weight) in
                place.alone(links.targets(g)).iter().zip(&weights[place.singles as usize..])
            {
                scores[label as usize] += value * weight;
            }
        }
    }

    /// Adds to a packed vector padded beliefs for the functions that are one in row `r`.
    #[inline(always)]
    pub(crate) fn add_beliefs_of_ones<const FMA: bool>(&self, beliefs: &[f64], r: usize, out: &mut [f64]) {
        let (wide, narrow, singles) = self.list(r);
        for &at in wide {
            add::<FMA>(&mut out[at as usize..at as usize + beliefs.len()], 1.0, beliefs);
        }
        if let Some(frequent) = beliefs.first_chunk::<LANES>() {
            for &at in narrow {
                add::<FMA>(&mut out[at as usize..at as usize + LANES], 1.0, frequent);
            }
        }
        for single in singles {
            out[single.at as usize] += beliefs[single.label as usize];
        }
    }

    /// Adds to a packed vector padded beliefs times the functions with other values in row `r`.
    #[inline(always)]
    pub(crate) fn add_beliefs_of_values<const FMA: bool>(
        &self,
        links: &FeatureSet,
        beliefs: &[f64],
        rows: &SparseRows,
        r: usize,
        out: &mut [f64],
    ) {
        let (columns, values) = rows.valued(r);
        for (&g, &value) in columns.iter().zip(values) {
            let place = self.places[g as usize];
            add::<FMA>(&mut out[place.row as usize..(place.row + place.width) as usize], value, beliefs);
            for (&label, out) in place.alone(links.targets(g)).iter().zip(&mut out[place.singles as usize..])
            {
                *out += value * beliefs[label as usize];
            }
        }
    }
}

/// How many there are of something, as it is stored.
fn number(of: &str, n: usize) -> Result<u32> {
    u32::try_from(n)
        .map_err(|_| Error::data(format!("{n} {of}, of which at most {} can be handled", u32::MAX)))
}

/// How often each function occurs outside of bundles: among the `ones`, or with another value in `rows`.
fn occurrences(links: &FeatureSet, rows: &SparseRows, ones: &SparseRows) -> Vec<u64> {
    let mut occurrences = vec![0; links.n_observations()];
    for r in 0..rows.len() {
        for &g in ones.ones(r).iter().chain(rows.valued(r).0) {
            occurrences.get_mut(g as usize).into_iter().for_each(|n| *n += 1);
        }
    }
    occurrences
}

/// Which functions have another value than one at most positions, as real channels do: these have whole rows whatever their
/// labels, so that positions make bands.
fn dense(links: &FeatureSet, rows: &SparseRows) -> Vec<bool> {
    let mut n_valued = vec![0; links.n_observations()];
    for r in 0..rows.len() {
        rows.valued(r).0.iter().for_each(|&g| n_valued[g as usize] += 1);
    }
    n_valued.into_iter().map(|n: usize| 2 * n > rows.len()).collect()
}

/// The width of the row that is the least work for a function with so many labels, of which some are frequent.
///
/// A vector of a row is about as much work as a single weight, and to find the row half as much.
fn cheapest(n_labels: usize, n_frequent: usize, wide: usize) -> usize {
    let row = |width: usize| 1 + 2 * width.div_ceil(LANES);
    let options = [
        (2 * n_labels, 0),
        (row(LANES) + 2 * (n_labels - n_frequent), if wide < LANES { wide } else { LANES }),
        (row(wide), wide),
    ];
    options.into_iter().min_by_key(|&(work, _)| work).map_or(0, |(_, width)| width)
}
