use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{EncodedDataset, FeatureMap, Incidence, Label, SparseRows};
use rayon::prelude::*;

/// Centred features of all true patches as one sparse matrix: row t holds F_t(y_t) − Σ_k ρ(k)
/// F_t(k), with one distribution ρ over the labels of each kind of node.
///
/// A *family* is the set of features that compete at a node, of which its label selects one given
/// everything else: those of one observation function at the node, or those of one function on an
/// edge whose other end has a given label. A family with members (k, ρ_k) has one column per member
/// and one more for all labels without a feature. The weight of a member's column is w_k − mean,
/// that of the last column −mean, with mean = Σ_k ρ_k w_k over the family. So an iteration computes
/// each mean once, and a position costs as much as it has functions, whatever the number of labels.
///
/// Columns are ranked by frequency, the most frequent first: these are then close to each other in
/// memory, and the ends of loops over columns are predicted well. Columns that do not occur share
/// the rank behind all others.
///
/// Consecutive positions with equal patches, as slow sensors under tests have them, are one row.
///
/// The matrix is stored twice: products with weights read it by position, products with positions
/// by column. Reading is cheaper than adding to numbers all over a vector, and each number has one
/// writer.
#[derive(Debug)]
pub(crate) struct CentredPatches {
    rows: SparseRows,      // [patches]
    by_column: SparseRows, // [columns]
    starts: Vec<usize>,    // [sequences + 1] first patch of each
    n_positions: Vec<f64>, // [patches] number of positions that have it
    families: Families,
    ranks: Vec<u32>,   // of the columns, family by family, the one without a member last
    weights: Vec<f64>, // [columns + 1] by rank
    sums: Vec<f64>,    // [columns + 1] by rank, the last always zero
}

/// Number of columns summed at a time: few, as the first columns have most of the entries.
const STRIPE: usize = 1 << 7;
/// Minimum number of entries for summing columns on several threads.
const MIN_PARALLEL_ENTRIES: usize = 100_000;

impl CentredPatches {
    /// Patches of a dataset at its true labels; `rho` is the distribution over the labels of each
    /// kind of node.
    pub(crate) fn new(map: &FeatureMap, x: &EncodedDataset, truth: &[Label], rho: &[Vec<f64>]) -> Self {
        let (families, edge_offset) = Families::new(map, rho);
        let data = x.data();
        let mut rows = SparseRows::default();
        let mut entries = Vec::new();
        let mut starts = vec![0];
        let mut n_positions = Vec::new();
        let mut previous = Vec::new();
        let (state, transition) = (map.state(), map.transition());
        for i in 0..data.len() {
            let (shape, truth) = (data.shape(i), &truth[data.range(i)]);
            for (n, t) in data.range(i).enumerate() {
                let mut add = |g, value| {
                    let column = families.find(g as usize, state.find(g, truth[n]));
                    entries.extend(column.map(|column| (column, value)));
                };
                x.nodes().for_each(t, &mut add);
                let base = x.constant_state().iter().filter(|(g, _)| state.scope(*g) == shape.kind(n));
                base.for_each(|&(g, value)| add(g, value));
                for k in 0..shape.degree(n) {
                    let Incidence { edge, other, is_head, .. } = shape.incidence(n, k);
                    let (u, v) = shape.ends(edge as usize);
                    let pair = truth[u] * shape.card(v) as u32 + truth[v];
                    // Families of the tail come first, one for each label of the head.
                    let family = truth[other as usize] as usize + if is_head { shape.card(v) } else { 0 };
                    let mut add = |g, value| {
                        let feature = transition.find(g, pair).map(|k| state.len() + k);
                        let column = families.find(edge_offset[g as usize] + family, feature);
                        entries.extend(column.map(|column| (column, value)));
                    };
                    x.edge_rows().for_each(x.edge_row_indices(i)[edge as usize] as usize, &mut add);
                    let relation = shape.relation(edge as usize);
                    let base =
                        x.constant_transition().iter().filter(|(g, _)| transition.scope(*g) == relation);
                    base.for_each(|&(g, value)| add(g, value));
                }
                if n > 0 && entries == previous {
                    *n_positions.last_mut().expect("a position stands before this one") += 1.0;
                } else {
                    rows.push(entries.iter().map(|&(column, value)| (column as u32, value)));
                    n_positions.push(1.0);
                }
                std::mem::swap(&mut entries, &mut previous);
                entries.clear();
            }
            starts.push(rows.len());
        }
        let (ranks, n_columns) = rank(&rows, families.members.len() + families.starts.len() - 1);
        rows.rename_columns(|column| ranks[column as usize]);
        let by_column = rows.transposed(n_columns);
        let (weights, sums) = (vec![0.0; n_columns + 1], vec![0.0; n_columns + 1]);
        CentredPatches { rows, by_column, starts, n_positions, families, ranks, weights, sums }
    }

    /// Number of distinct patches: no two neighbours in a sequence are equal.
    pub(crate) fn n_patches(&self) -> usize {
        self.rows.len()
    }

    /// Patches of sequence `i`.
    pub(crate) fn patches(&self, i: usize) -> Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// Number of positions that have a patch.
    pub(crate) fn n_positions(&self, patch: usize) -> f64 {
        self.n_positions[patch]
    }

    /// Number of entries of a patch.
    pub(crate) fn n_entries(&self, patch: usize) -> usize {
        self.rows.ones(patch).len() + self.rows.valued(patch).0.len()
    }

    /// Sets the weights of the features; means are subtracted only if `centred`.
    pub(crate) fn update(&mut self, w: &[f64], centred: bool) {
        let CentredPatches { families, ranks, weights, .. } = self;
        families.for_each(ranks, |members, ranks| {
            let mut mean = 0.0;
            for &(feature, rho) in members.iter().filter(|_| centred) {
                mean += rho * w[feature as usize];
            }
            let own = members.iter().map(|&(feature, _)| w[feature as usize]).chain([0.0]);
            ranks.iter().zip(own).for_each(|(&rank, own)| weights[rank as usize] = own - mean);
        });
    }

    /// Writes −w·(row) of some patches to `out`.
    pub(crate) fn multiply(&self, patches: Range<usize>, out: &mut [f64]) {
        dispatch(Multiply { rows: &self.rows, by: &self.weights, start: patches.start, out });
        out.iter_mut().for_each(|product| *product = -*product);
    }

    /// Sums the rows of all patches, each times its factor.
    pub(crate) fn sum(&mut self, factors: &[f64]) {
        let CentredPatches { by_column, sums, .. } = self;
        let sums = &mut sums[..by_column.len()];
        let sum = |(stripe, out): (usize, &mut [f64])| {
            dispatch(Multiply { rows: by_column, by: factors, start: stripe * STRIPE, out });
        };
        if by_column.n_entries() < MIN_PARALLEL_ENTRIES {
            sums.chunks_mut(STRIPE).enumerate().for_each(sum);
        } else {
            sums.par_chunks_mut(STRIPE).enumerate().for_each(sum);
        }
    }

    /// Sums the rows of the patches of some sequences, each times its factor; `factors` has one for
    /// each patch of the dataset.
    pub(crate) fn sum_some(&mut self, items: &[usize], factors: &[f64]) {
        let CentredPatches { rows, starts, sums, .. } = self;
        sums.fill(0.0);
        for patch in items.iter().flat_map(|&i| starts[i]..starts[i + 1]) {
            rows.for_each(patch, |column, value| sums[column as usize] += factors[patch] * value);
        }
    }

    /// Adds the column sums to features: `own` times the sum of their column, and `mean` times
    /// their part in the mean of their family.
    pub(crate) fn unpack(&self, own: f64, mean: f64, out: &mut [f64]) {
        self.families.for_each(&self.ranks, |members, ranks| {
            let total = mean * ranks.iter().map(|&rank| self.sums[rank as usize]).sum::<f64>();
            for (&(feature, rho), &rank) in members.iter().zip(ranks) {
                out[feature as usize] += own * self.sums[rank as usize] + rho * total;
            }
        });
    }
}

/// Ranks of columns, the most frequent first, and the number of columns that occur.
fn rank(rows: &SparseRows, n_columns: usize) -> (Vec<u32>, usize) {
    let mut counts = vec![0_u32; n_columns];
    (0..rows.len()).for_each(|t| rows.for_each(t, |column, _| counts[column as usize] += 1));
    let mut order: Vec<u32> = (0..n_columns as u32).filter(|&column| counts[column as usize] > 0).collect();
    order.sort_by_key(|&column| std::cmp::Reverse(counts[column as usize]));
    let mut ranks = vec![order.len() as u32; n_columns];
    (0..).zip(&order).for_each(|(rank, &column)| ranks[column as usize] = rank);
    (ranks, order.len())
}

/// All families: one for each state function; then, for each transition function, one for each
/// label of the head, whose features the label of the tail selects from, and one for each label of
/// the tail.
#[derive(Debug)]
struct Families {
    starts: Vec<usize>,       // [families + 1] first member of each
    members: Vec<(u32, f64)>, // features, ascending, each with ρ of its label at the node
}

impl Families {
    /// Creates all families; also returns the index of the first family of each transition
    /// function.
    fn new(map: &FeatureMap, rho: &[Vec<f64>]) -> (Self, Vec<usize>) {
        let (schema, state, transition) = (map.schema(), map.state(), map.transition());
        let mut families = Families { starts: vec![0], members: Vec::new() };
        let mut edge_offset = Vec::new();
        for g in 0..state.n_observations() as u32 {
            let rho = &rho[state.scope(g) as usize];
            let members = state.range(g).zip(state.targets(g));
            families.push(members.map(|(k, &label)| (k as u32, rho[label as usize])));
        }
        for g in 0..transition.n_observations() as u32 {
            edge_offset.push(families.starts.len() - 1);
            let relation = &schema.relations()[transition.scope(g) as usize];
            let (tails, heads) = schema.table_shape(transition.scope(g));
            let features = || (state.len() + transition.range(g).start..).zip(transition.targets(g));
            let pairs =
                || features().map(|(k, &pair)| (k as u32, pair as usize / heads, pair as usize % heads));
            for head in 0..heads {
                let members = pairs().filter(|&(_, _, v)| v == head);
                families.push(members.map(|(k, u, _)| (k, rho[relation.tail as usize][u])));
            }
            for tail in 0..tails {
                let members = pairs().filter(|&(_, u, _)| u == tail);
                families.push(members.map(|(k, _, v)| (k, rho[relation.head as usize][v])));
            }
        }
        (families, edge_offset)
    }

    fn push(&mut self, members: impl Iterator<Item = (u32, f64)>) {
        self.members.extend(members);
        self.starts.push(self.members.len());
    }

    /// Column of a feature in a family; `None` if the family has no members.
    fn find(&self, family: usize, feature: Option<usize>) -> Option<usize> {
        let members = &self.members[self.starts[family]..self.starts[family + 1]];
        let member =
            feature.and_then(|k| members.binary_search_by_key(&(k as u32), |&(feature, _)| feature).ok());
        let column = self.starts[family] + family + member.unwrap_or(members.len());
        (!members.is_empty()).then_some(column)
    }

    /// Calls `f` with the members of each family and the ranks of its columns.
    fn for_each(&self, ranks: &[u32], mut f: impl FnMut(&[(u32, f64)], &[u32])) {
        for (family, range) in self.starts.windows(2).enumerate() {
            let columns = range[0] + family..=range[1] + family;
            f(&self.members[range[0]..range[1]], &ranks[columns]);
        }
    }
}

/// Products of rows with a vector.
struct Multiply<'k> {
    rows: &'k SparseRows,
    by: &'k [f64],
    start: usize,
    out: &'k mut [f64],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        const LANES: usize = 8;
        let Multiply { rows, by, start, out } = self;
        for (n, out) in out.iter_mut().enumerate() {
            // Separate sums, so that no addition waits for the one before.
            let (whole, rest) = rows.ones(start + n).as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for columns in whole {
                for k in 0..LANES {
                    sums[k] += by[columns[k] as usize];
                }
            }
            for k in 0..rest.len() {
                sums[k] += by[rest[k] as usize];
            }
            let (columns, values) = rows.valued(start + n);
            for k in 0..values.len() {
                sums[k % LANES] = fma::<FMA>(values[k], by[columns[k] as usize], sums[k % LANES]);
            }
            let mut sum = 0.0;
            for k in 0..LANES {
                sum += sums[k];
            }
            *out = sum;
        }
    }
}
