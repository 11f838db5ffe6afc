use rayon::prelude::*;

use super::histogram::{Sum, Weighing};
use super::{Attributes, Binned, Cells, Node, Row, Test, Tree};

/// Minimum number of entries for searching attributes on several threads.
const MIN_PARALLEL_ENTRIES: usize = 100_000;
/// Number of parts that attributes are split into for threads.
const PARTS: usize = 8;
/// Mark of a cell that is in no open node any more.
const DONE: u32 = u32::MAX;

/// Grower: fits trees to cells, level by level.
///
/// A level costs one pass over the cells and one over the bins of their positions, whatever the
/// number of its nodes. The cells of a node at one position are summed first, so that only the
/// question about the previous label looks at every cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grower<'a> {
    pub(crate) attributes: &'a Attributes,
    pub(crate) binned: &'a Binned,
    /// Number of values of the previous label; 0 if trees may not ask for it.
    pub(crate) n_previous: usize,
    pub(crate) weighing: Weighing,
    /// Maximum number of questions on the way to a leaf.
    pub(crate) depth: u32,
    /// Maximum number of leaves.
    pub(crate) leaves: usize,
}

/// Memory for growing a tree, kept from tree to tree.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) cells: Cells,
    row: Option<Row>,
    open: Vec<u32>,         // [cells] open node of each cell
    sum_starts: Vec<usize>, // [positions + 1]
    sums: Vec<(u32, Sum)>,  // open node, and its sum at a position
    last: Vec<usize>,       // [open nodes] latest entry in `sums`
    totals: Vec<Sum>,       // [open nodes]
    by_previous: Vec<Sum>,  // [open nodes × previous labels]
    parts: Vec<PartSplits>,
    order: Vec<u32>,
}

/// Best splits among some of the attributes.
#[derive(Debug, Default)]
struct PartSplits {
    bins: Vec<Sum>, // [open nodes × bins]
    order: Vec<u32>,
    set: Vec<u64>,
    best: Vec<Candidate>, // [open nodes]
}

/// A possible split of a node.
#[derive(Debug, Clone, Default)]
struct Candidate {
    gain: f64,
    attribute: u32,
    below: Option<u32>, // a cut, or else the set
    set: Vec<u64>,
    left: Sum,
}

impl PartSplits {
    fn start(&mut self, n_open: usize) {
        self.best.resize_with(n_open.max(self.best.len()), Candidate::default);
        self.best[..n_open].iter_mut().for_each(|best| best.gain = 0.0);
    }

    /// Considers questions about an attribute whose bins at open node `o` have the given sums.
    fn consider(
        &mut self,
        o: usize,
        attribute: u32,
        bins: &[Sum],
        all: Sum,
        number: bool,
        weighing: &Weighing,
    ) {
        let best = &mut self.best[o];
        // A split that gains less than rounding is none.
        let least = best.gain.max(1e-10 * (1.0 + all.h.abs()));
        if number {
            if let Some((gain, below, left)) = weighing.best_cut(bins, all, least) {
                (best.gain, best.attribute, best.below, best.left) = (gain, attribute, Some(below), left);
            }
        } else if let Some((gain, left)) = weighing.best_set(bins, all, least, &mut self.order, &mut self.set)
        {
            (best.gain, best.attribute, best.below, best.left) = (gain, attribute, None, left);
            std::mem::swap(&mut best.set, &mut self.set);
        }
    }
}

impl Grower<'_> {
    /// Grows the tree that comes nearest to the cells in memory by questions about the attributes
    /// `asked`.
    ///
    /// `shrinkage` multiplies its values.
    pub(crate) fn grow(&self, asked: &[u32], shrinkage: f64, memory: &mut Memory) -> Tree {
        let mut tree = Tree::constant(0.0);
        memory.open.clear();
        memory.open.resize(memory.cells.g.len(), 0);
        let mut open = vec![0_u32];
        let mut n_leaves = 1;
        for level in 0..=self.depth {
            self.sum_up(open.len(), memory);
            if level == 0 {
                tree.nodes[0] = Node::Leaf(shrinkage * self.weighing.value(memory.totals[0]));
            }
            if level == self.depth {
                break;
            }
            self.find_splits(open.len(), asked, memory);
            let Memory { parts, order, totals, .. } = &mut *memory;
            let best = &parts[0].best[..open.len()];
            order.clear();
            order.extend((0..open.len() as u32).filter(|&o| best[o as usize].gain > 0.0));
            order.sort_by(|&a, &b| best[b as usize].gain.total_cmp(&best[a as usize].gain));
            order.truncate(self.leaves - n_leaves);
            order.sort_unstable();
            n_leaves += order.len();
            let mut next = Vec::with_capacity(2 * order.len());
            for &o in &*order {
                let Candidate { gain, attribute, below, ref set, left: sum } = best[o as usize];
                let left = tree.nodes.len() as u32;
                let test = below.map_or(Test::Among(tree.sets.len() as u32), Test::Below);
                if below.is_none() {
                    tree.sets.extend_from_slice(set);
                }
                tree.nodes[open[o as usize] as usize] = Node::Split { attribute, test, left, gain };
                for (child, sum) in [(left, sum), (left + 1, totals[o as usize].minus(sum))] {
                    tree.nodes.push(Node::Leaf(shrinkage * self.weighing.value(sum)));
                    next.push(child);
                }
            }
            if next.is_empty() || n_leaves == self.leaves || level + 1 == self.depth {
                break;
            }
            self.move_on(&tree, &open, memory);
            open = next;
        }
        tree
    }

    /// Sums the cells of each position by open node, and those of each open node by previous label.
    fn sum_up(&self, n_open: usize, memory: &mut Memory) {
        let Memory { cells, open, sum_starts, sums, last, totals, by_previous, .. } = memory;
        sum_starts.clear();
        sums.clear();
        last.clear();
        last.resize(n_open, usize::MAX);
        totals.clear();
        totals.resize(n_open, Sum::default());
        by_previous.clear();
        by_previous.resize(n_open * self.n_previous, Sum::default());
        for t in 0..cells.n_positions() {
            let start = sums.len();
            sum_starts.push(start);
            for c in cells.starts[t]..cells.starts[t + 1] {
                let o = open[c];
                if o == DONE {
                    continue;
                }
                let sum = Sum { g: f64::from(cells.g[c]), h: f64::from(cells.h[c]) };
                // The latest entry may be one of an earlier position.
                let entry = last[o as usize];
                if entry < start || entry == usize::MAX {
                    last[o as usize] = sums.len();
                    sums.push((o, sum));
                } else {
                    sums[entry].1.add(sum);
                }
                if self.n_previous > 0 {
                    by_previous[o as usize * self.n_previous + usize::from(cells.previous[c])].add(sum);
                }
            }
            for &(o, sum) in &sums[start..] {
                totals[o as usize].add(sum);
            }
        }
        sum_starts.push(sums.len());
    }

    /// Finds the best split of each open node, and leaves it in the first part.
    fn find_splits(&self, n_open: usize, asked: &[u32], memory: &mut Memory) {
        let Memory { sum_starts, sums, totals, by_previous, parts, .. } = memory;
        let entries: usize = asked.iter().map(|&a| self.binned.column(a as usize).len()).sum();
        let n_parts = if entries < MIN_PARALLEL_ENTRIES { 1 } else { PARTS };
        parts.resize_with(n_parts.max(parts.len()), PartSplits::default);
        let (sum_starts, sums, totals) = (&**sum_starts, &**sums, &**totals);
        let search = |(part, splits): (usize, &mut PartSplits)| {
            splits.start(n_open);
            let [from, to] = [part, part + 1].map(|part| part * asked.len() / n_parts);
            for &a in &asked[from..to] {
                self.search(a, sum_starts, sums, totals, splits);
            }
        };
        match &mut parts[..n_parts] {
            [only] => search((0, only)),
            many => many.par_iter_mut().enumerate().for_each(search),
        }
        let (first, others) = parts.split_first_mut().expect("there is a part");
        for splits in &mut others[..n_parts - 1] {
            for (best, other) in first.best[..n_open].iter_mut().zip(&mut splits.best) {
                if other.gain > best.gain {
                    std::mem::swap(best, other);
                }
            }
        }
        if self.n_previous > 0 {
            let behind = self.attributes.len() as u32;
            for o in 0..n_open {
                let bins = &by_previous[o * self.n_previous..(o + 1) * self.n_previous];
                first.consider(o, behind, bins, totals[o], false, &self.weighing);
            }
        }
    }

    /// Considers questions about one attribute at all open nodes.
    fn search(
        &self,
        a: u32,
        sum_starts: &[usize],
        sums: &[(u32, Sum)],
        totals: &[Sum],
        splits: &mut PartSplits,
    ) {
        let (n_bins, default) = (self.attributes.n_bins(a as usize), self.attributes.default_bin(a as usize));
        let mut bins = std::mem::take(&mut splits.bins);
        bins.clear();
        bins.resize(totals.len() * n_bins, Sum::default());
        for &(t, bin) in self.binned.column(a as usize) {
            for &(o, sum) in &sums[sum_starts[t as usize]..sum_starts[t as usize + 1]] {
                bins[o as usize * n_bins + bin as usize].add(sum);
            }
        }
        for (o, bins) in bins.chunks_mut(n_bins).enumerate() {
            let mut listed = Sum::default();
            bins.iter().for_each(|&bin| listed.add(bin));
            bins[default as usize] = totals[o].minus(listed);
            splits.consider(o, a, bins, totals[o], self.attributes.is_number(a as usize), &self.weighing);
        }
        splits.bins = bins;
    }

    /// Moves the cells of split nodes to the new nodes, which are numbered in the order of the old
    /// ones.
    fn move_on(&self, tree: &Tree, nodes: &[u32], memory: &mut Memory) {
        let Memory { cells, row, open, last, .. } = memory;
        let row = row.get_or_insert_with(|| Row::new(self.attributes));
        // Index of the left child of each among the new nodes.
        let mut next = 0;
        for (o, &node) in nodes.iter().enumerate() {
            let split = matches!(tree.nodes[node as usize], Node::Split { .. });
            last[o] = if split { next } else { usize::MAX };
            next += 2 * usize::from(split);
        }
        let behind = self.attributes.len() as u32;
        for t in 0..cells.n_positions() {
            let range = cells.starts[t]..cells.starts[t + 1];
            if open[range.clone()].iter().all(|&o| o == DONE) {
                continue;
            }
            row.read(self.binned.row(t));
            for c in range {
                let o = open[c];
                if o == DONE {
                    continue;
                }
                open[c] = match tree.nodes[nodes[o as usize] as usize] {
                    Node::Leaf(_) => DONE,
                    Node::Split { attribute, test, .. } => {
                        let asks = attribute < behind;
                        let bin = if asks { row.bin(attribute) } else { u32::from(cells.previous[c]) };
                        last[o as usize] as u32 + u32::from(!tree.passes(test, bin))
                    }
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boosting::trees::Symbols;
    use crf_core::Seed;
    use crf_testing::cases;
    use crf_testing::problems::{Draw, Encoded, data};
    use proptest::prelude::*;

    const LABELS: u16 = 3;

    fn encoded(seed: u64) -> Encoded {
        let draw = Draw { sequences: 3, length: 12, labels: usize::from(LABELS), unlabelled: 0, seed };
        Encoded::new(r#"["transition", {"state": "value"}, {"state": "equals"}]"#, data(&draw))
    }

    /// Cells with a random target for each label before, or for one of them.
    fn cells(n_positions: usize, seed: u64) -> Cells {
        let mut cells = Cells::default();
        let mut rng = Seed::new(seed).rng();
        for _ in 0..n_positions {
            let all = rng.random::<bool>();
            let one = rng.random_range(0..=LABELS);
            for before in (0..LABELS).filter(|&before| all || before == one) {
                cells.push(before, 2.0 * rng.random::<f64>() - 1.0, 0.1 + rng.random::<f64>());
            }
            if !all && one == LABELS {
                cells.push(one, rng.random::<f64>(), 1.0);
            }
            cells.end_position();
        }
        cells
    }

    /// The value that a tree has for each cell.
    fn values(tree: &Tree, grower: &Grower<'_>, cells: &Cells) -> Vec<f64> {
        let mut row = Row::new(grower.attributes);
        let mut values = vec![f64::NAN; cells.g.len()];
        for t in 0..cells.n_positions() {
            row.read(grower.binned.row(t));
            let range = cells.starts[t]..cells.starts[t + 1];
            let mut previous = cells.previous[range.clone()].to_vec();
            tree.walk(&row, grower.attributes.len() as u32, &mut previous, &mut |labels, value| {
                for c in range.clone().filter(|&c| labels.contains(&cells.previous[c])) {
                    values[c] = value;
                }
            });
        }
        values
    }

    /// Σ h (g/h − value)² + λ Σ over leaves of value², each leaf having the best value.
    fn loss(cells: &Cells, side: impl Fn(usize) -> bool, weighing: &Weighing) -> f64 {
        let mut sums = [Sum::default(); 2];
        let mut loss = 0.0;
        for c in 0..cells.g.len() {
            let sum = Sum { g: f64::from(cells.g[c]), h: f64::from(cells.h[c]) };
            loss += sum.g * sum.g / sum.h;
            sums[usize::from(side(c))].add(sum);
        }
        loss - sums.iter().map(|&sum| sum.g * weighing.value(sum)).sum::<f64>()
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// A tree of one question is the best there is, and its leaves have the best values.
        #[test]
        fn a_stump_is_the_best_of_all(seed in 0_u64..1000, single: bool) {
            let symbols = if single { Symbols::Single } else { Symbols::Sets };
            let encoded = encoded(seed);
            let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 8);
            let binned = Binned::new(&attributes, &encoded.corpus);
            let weighing = Weighing { l2: 0.5, min_weight: 0.0, symbols };
            let n_previous = usize::from(LABELS) + 1;
            let grower = Grower { attributes: &attributes, binned: &binned, n_previous, weighing, depth: 1, leaves: 2 };
            let n_positions = encoded.corpus.data().n_positions();
            let mut memory = Memory { cells: cells(n_positions, seed), ..Memory::default() };
            let asked: Vec<u32> = (0..attributes.len() as u32).collect();
            let tree = grower.grow(&asked, 1.0, &mut memory);
            let cells = &memory.cells;
            let values = values(&tree, &grower, cells);
            let got = loss(cells, |c| values[c] == values[0], &weighing);
            // Every set of bins of every attribute, of numbers those below one.
            let position = |c: usize| cells.starts.partition_point(|&start| start <= c) - 1;
            let mut row = Row::new(&attributes);
            let rows: Vec<Vec<u32>> = (0..n_positions).map(|t| {
                row.read(binned.row(t));
                (0..attributes.len() as u32).map(|a| row.bin(a)).collect()
            }).collect();
            let mut best = f64::INFINITY;
            for a in 0..=attributes.len() {
                let (n_bins, number) = match a == attributes.len() {
                    true => (n_previous, false),
                    false => (attributes.n_bins(a), attributes.is_number(a)),
                };
                for set in 1..(1_u32 << n_bins) - 1 {
                    if (number && set & (set + 1) != 0) || (!number && single && set.count_ones() > 1) {
                        continue;
                    }
                    let bin = |c: usize| match a == attributes.len() {
                        true => u32::from(cells.previous[c]),
                        false => rows[position(c)][a],
                    };
                    best = best.min(loss(cells, |c| set >> bin(c) & 1 == 1, &weighing));
                }
            }
            prop_assert!((got - best).abs() < 1e-6 * (1.0 + best), "{} vs {}", got, best);
            // Leaves: values of each side.
            for side in [true, false] {
                let mut sum = Sum::default();
                for c in (0..cells.g.len()).filter(|&c| (values[c] == values[0]) == side) {
                    sum.add(Sum { g: f64::from(cells.g[c]), h: f64::from(cells.h[c]) });
                    let value = values[c];
                    prop_assert!(value.is_finite());
                }
                let one = (0..values.len()).find(|&c| (values[c] == values[0]) == side);
                if let Some(c) = one {
                    prop_assert!((values[c] - weighing.value(sum)).abs() < 1e-6);
                }
            }
        }

        /// All labels before at once, or one after the other: the same values; and a deeper tree
        /// fits better.
        #[test]
        fn a_set_of_labels_walks_as_each_of_them(seed in 0_u64..1000, depth in 2_u32..6, leaves in 3_usize..12) {
            let encoded = encoded(seed);
            let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 8);
            let binned = Binned::new(&attributes, &encoded.corpus);
            let weighing = Weighing { l2: 0.0, min_weight: 0.2, symbols: Symbols::Sets };
            let n_previous = usize::from(LABELS) + 1;
            let n_positions = encoded.corpus.data().n_positions();
            let asked: Vec<u32> = (0..attributes.len() as u32).collect();
            let mut memory = Memory { cells: cells(n_positions, seed), ..Memory::default() };
            let mut before = f64::INFINITY;
            for depth in [1, depth] {
                let grower = Grower { attributes: &attributes, binned: &binned, n_previous, weighing, depth, leaves };
                let tree = grower.grow(&asked, 1.0, &mut memory);
                prop_assert!(tree.is_sound(&attributes));
                let n_leaves = tree.nodes.iter().filter(|node| matches!(node, Node::Leaf(_))).count();
                prop_assert!(n_leaves <= leaves);
                let cells = &memory.cells;
                let together = values(&tree, &grower, cells);
                let mut row = Row::new(&attributes);
                let mut square = 0.0;
                for t in 0..n_positions {
                    row.read(binned.row(t));
                    for c in cells.starts[t]..cells.starts[t + 1] {
                        let mut alone = f64::NAN;
                        let mut one = [cells.previous[c]];
                        tree.walk(&row, attributes.len() as u32, &mut one, &mut |_, value| alone = value);
                        prop_assert_eq!(alone, together[c]);
                        let h = f64::from(cells.h[c]);
                        square += h * (f64::from(cells.g[c]) / h - alone).powi(2);
                    }
                }
                prop_assert!(square <= before * (1.0 + 1e-6), "{} after {}", square, before);
                before = square;
            }
        }
    }
}
