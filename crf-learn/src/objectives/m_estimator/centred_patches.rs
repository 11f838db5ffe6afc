use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{EncodedDataset, FeatureMap, Incidence, Label, SparseRows};
use rayon::prelude::*;

/// The features of all true patches, less what they are on average under a distribution ρ over the labels of each kind of
/// node, as one sparse matrix: F_t(y_t) − Σ_k ρ(k) F_t(k).
///
/// The features that a node's label chooses among, given all else, are a *family*: those of one observation function at the
/// node, and those of one on an edge whose other end has one label. A column is a member of a family, or stands for
/// labels with which the family has none. Its weight is the member's, less the family's mean: so an iteration makes each
/// mean once, and a position costs as much as it has functions, however many labels there are. Columns that occur often
/// stand first: they are near each other, and where loops over columns end is foreseen. What never occurs shares
/// the place behind them, which no position has.
///
/// Positions that follow each other and have the same patch, as those of slow sensors do where functions are tests, are one row.
///
/// The matrix is kept twice. Products with weights read it by position and products with positions by column: reading is
/// cheaper than adding to numbers all over a vector, and each number has one writer.
#[derive(Debug)]
pub(crate) struct CentredPatches {
    rows: SparseRows,   // [patches]
    turned: SparseRows, // [columns]
    starts: Vec<usize>, // [sequences + 1] where the patches of each start
    times: Vec<f64>,    // [patches] how many positions have it
    families: Families,
    places: Vec<u32>,  // of the columns of each family in turn, that of no member last
    weights: Vec<f64>, // [columns + 1] by place
    sums: Vec<f64>,    // [columns + 1] by place, the last always zero
}

/// How many columns are summed up at a time: few, as the first have most of the entries.
const STRIPE: usize = 1 << 7;
/// Entries below which one thread sums up all columns.
const WORTH_SHARING: usize = 100_000;

impl CentredPatches {
    /// The patches of a corpus at its true labels; `rho` are the shares of the labels of each kind of node.
    pub(crate) fn new(map: &FeatureMap, x: &EncodedDataset, truth: &[Label], rho: &[Vec<f64>]) -> Self {
        let (families, edge_offset) = Families::new(map, rho);
        let (data, mut rows, mut entries) = (x.data(), SparseRows::default(), Vec::new());
        let (mut starts, mut times, mut before) = (vec![0], Vec::new(), Vec::new());
        let (state, transition) = (map.state(), map.transition());
        for i in 0..data.len() {
            let (shape, truth) = (data.shape(i), &truth[data.range(i)]);
            for (n, t) in data.range(i).enumerate() {
                let mut see = |g, value| {
                    let column = families.find(g as usize, state.find(g, truth[n]));
                    entries.extend(column.map(|column| (column, value)));
                };
                x.nodes().for_each(t, &mut see);
                let base = x.constant_state().iter().filter(|(g, _)| state.scope(*g) == shape.kind(n));
                base.for_each(|&(g, value)| see(g, value));
                for k in 0..shape.degree(n) {
                    let Incidence { edge, other, is_head, .. } = shape.incidence(n, k);
                    let (u, v) = shape.ends(edge as usize);
                    let pair = truth[u] * shape.card(v) as u32 + truth[v];
                    // Families of the tail come first, one for each label of the head.
                    let at = truth[other as usize] as usize + if is_head { shape.card(v) } else { 0 };
                    let mut see = |g, value| {
                        let feature = transition.find(g, pair).map(|k| state.len() + k);
                        let column = families.find(edge_offset[g as usize] + at, feature);
                        entries.extend(column.map(|column| (column, value)));
                    };
                    x.edge_rows().for_each(x.edge_row_indices(i)[edge as usize] as usize, &mut see);
                    let relation = shape.relation(edge as usize);
                    let base =
                        x.constant_transition().iter().filter(|(g, _)| transition.scope(*g) == relation);
                    base.for_each(|&(g, value)| see(g, value));
                }
                if n > 0 && entries == before {
                    *times.last_mut().expect("a position stands before this one") += 1.0;
                } else {
                    rows.push(entries.iter().map(|&(column, value)| (column as u32, value)));
                    times.push(1.0);
                }
                std::mem::swap(&mut entries, &mut before);
                entries.clear();
            }
            starts.push(rows.len());
        }
        let (places, n_columns) = rank(&rows, families.members.len() + families.starts.len() - 1);
        rows.rename_columns(|column| places[column as usize]);
        let turned = rows.transposed(n_columns);
        let (weights, sums) = (vec![0.0; n_columns + 1], vec![0.0; n_columns + 1]);
        CentredPatches { rows, turned, starts, times, families, places, weights, sums }
    }

    /// How many patches there are, of which no two neighbours are the same.
    pub(crate) fn n_patches(&self) -> usize {
        self.rows.len()
    }

    /// The patches of a sequence.
    pub(crate) fn patches(&self, i: usize) -> Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// How many positions have a patch.
    pub(crate) fn times(&self, patch: usize) -> f64 {
        self.times[patch]
    }

    /// How many entries a patch has.
    pub(crate) fn n_entries(&self, patch: usize) -> usize {
        self.rows.ones(patch).len() + self.rows.valued(patch).0.len()
    }

    /// Takes on the weights of features; unless `centred`, means are left out.
    pub(crate) fn update(&mut self, w: &[f64], centred: bool) {
        let CentredPatches { families, places, weights, .. } = self;
        families.for_each(places, |members, places| {
            let mut mean = 0.0;
            for &(feature, rho) in members.iter().filter(|_| centred) {
                mean += rho * w[feature as usize];
            }
            let own = members.iter().map(|&(feature, _)| w[feature as usize]).chain([0.0]);
            places.iter().zip(own).for_each(|(&place, own)| weights[place as usize] = own - mean);
        });
    }

    /// Writes −w·(row) to `out` for each of some patches.
    pub(crate) fn multiply(&self, patches: Range<usize>, out: &mut [f64]) {
        dispatch(Multiply { rows: &self.rows, by: &self.weights, start: patches.start, out });
        out.iter_mut().for_each(|product| *product = -*product);
    }

    /// Sums up the rows of all patches, each times its factor.
    pub(crate) fn sum(&mut self, factors: &[f64]) {
        let CentredPatches { turned, sums, .. } = self;
        let sums = &mut sums[..turned.len()];
        let sum = |(stripe, out): (usize, &mut [f64])| {
            dispatch(Multiply { rows: turned, by: factors, start: stripe * STRIPE, out });
        };
        if turned.n_entries() < WORTH_SHARING {
            sums.chunks_mut(STRIPE).enumerate().for_each(sum);
        } else {
            sums.par_chunks_mut(STRIPE).enumerate().for_each(sum);
        }
    }

    /// Sums up the rows of some sequences' patches, each times its factor among those of all.
    pub(crate) fn sum_some(&mut self, items: &[usize], factors: &[f64]) {
        let CentredPatches { rows, starts, sums, .. } = self;
        sums.fill(0.0);
        for patch in items.iter().flat_map(|&i| starts[i]..starts[i + 1]) {
            rows.for_each(patch, |column, value| sums[column as usize] += factors[patch] * value);
        }
    }

    /// Adds to features what the sums over columns come to: `own` times that of their column, and `mean` times what they have
    /// in the mean of their family.
    pub(crate) fn unpack(&self, own: f64, mean: f64, out: &mut [f64]) {
        self.families.for_each(&self.places, |members, places| {
            let total = mean * places.iter().map(|&place| self.sums[place as usize]).sum::<f64>();
            for (&(feature, rho), &place) in members.iter().zip(places) {
                out[feature as usize] += own * self.sums[place as usize] + rho * total;
            }
        });
    }
}

/// The places of columns, the most frequent first, and how many occur at all.
fn rank(rows: &SparseRows, n_columns: usize) -> (Vec<u32>, usize) {
    let mut counts = vec![0_u32; n_columns];
    (0..rows.len()).for_each(|t| rows.for_each(t, |column, _| counts[column as usize] += 1));
    let mut order: Vec<u32> = (0..n_columns as u32).filter(|&column| counts[column as usize] > 0).collect();
    order.sort_by_key(|&column| std::cmp::Reverse(counts[column as usize]));
    let mut places = vec![order.len() as u32; n_columns];
    (0..).zip(&order).for_each(|(place, &column)| places[column as usize] = place);
    (places, order.len())
}

/// The families: one for each state function, then for each transition function one for each label of the head, of
/// features among which the tail's label chooses, and one for each label of the tail.
#[derive(Debug)]
struct Families {
    starts: Vec<usize>,       // [families + 1] where the members of each start
    members: Vec<(u32, f64)>, // features, ascending, each with ρ of the label that it has at the node
}

impl Families {
    /// All families, and the number of each transition function's first.
    fn new(map: &FeatureMap, rho: &[Vec<f64>]) -> (Self, Vec<usize>) {
        let (schema, state, transition) = (map.schema(), map.state(), map.transition());
        let (mut families, mut edge_offset) = (Families { starts: vec![0], members: Vec::new() }, Vec::new());
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

    /// The column of a feature in a family, if the family has any.
    fn find(&self, family: usize, feature: Option<usize>) -> Option<usize> {
        let members = &self.members[self.starts[family]..self.starts[family + 1]];
        let place = feature.and_then(|k| members.binary_search_by_key(&(k as u32), |member| member.0).ok());
        let column = self.starts[family] + family + place.unwrap_or(members.len());
        (!members.is_empty()).then_some(column)
    }

    /// Calls `f` with the members of each family and the places of its columns.
    fn for_each(&self, places: &[u32], mut f: impl FnMut(&[(u32, f64)], &[u32])) {
        for (family, range) in self.starts.windows(2).enumerate() {
            let columns = range[0] + family..=range[1] + family;
            f(&self.members[range[0]..range[1]], &places[columns]);
        }
    }
}

/// The products of rows with a vector.
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
            // Sums of their own, so that additions need not wait for each other.
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
