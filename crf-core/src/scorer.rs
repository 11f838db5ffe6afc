use crate::Label;
use crate::aligned::Aligned;
use crate::beliefs::EdgeBeliefs;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::feature_map::FeatureMap;
use crate::graph::offsets;
use crate::packed::{Packed, padded};
use crate::potentials::{EdgeTables, Potentials, Tables};
use crate::scratch::Scratch;
use crate::simd::{Kernel, dispatch};

/// Memory for one sequence's potentials.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    row: Vec<f64>,    // a node's scores, padded
    tables: Vec<f64>, // when they are not shared by the whole corpus
    starts: Vec<usize>,
    of_edge: Vec<u32>,
}

/// No more numbers than this stand in shared tables: every worker keeps what it makes of them, every shard their sums.
const MOST_POOLED: usize = 1 << 19;

/// The operations on which all likelihood, margin and selection code is built: add scores to potentials, add the
/// features of a labelling to a vector, and add expected features under beliefs to a vector.
///
/// Edges with equal rows share a table. When few rows are distinct, the tables are made once per weight vector
/// ([`Scorer::update`]); otherwise each sequence makes its own. State weights are copied into a layout that is made
/// for reading; expectations are summed in the same layout, and [`Scorer::unpack`] puts them in the order of features.
#[derive(Debug)]
pub struct Scorer<'a> {
    map: &'a FeatureMap,
    x: &'a Corpus,
    packed: Packed,
    state: Aligned,       // packed weights of the state features
    transition: Vec<f64>, // weights of the transition features
    node_at: Vec<usize>,  // [kinds + 1] where each kind starts in `node_base`
    node_base: Vec<f64>,  // scores of the constant state functions, by kind and label
    widest: usize,        // the longest padded row of labels
    base_at: Vec<usize>,  // [relations + 1] where each relation starts in `edge_base`
    edge_base: Vec<f64>,  // scores of the constant transition functions, by relation and pair
    pooled: bool,         // whether `tables` holds one table per distinct row
    tables: Vec<f64>,
    table_at: Vec<usize>, // [distinct rows + 1]
    version: u64,
}

impl<'a> Scorer<'a> {
    /// A scorer for the features of `map` on an encoded corpus; call [`Scorer::update`] before anything else.
    pub fn new(map: &'a FeatureMap, x: &'a Corpus) -> Result<Self> {
        let schema = map.schema();
        if schema != x.data().schema() {
            return Err(Error::data("the model was made for other channels or labels than the data have"));
        }
        let table_len = |relation: u16| {
            let (rows, columns) = schema.table_shape(relation);
            rows * columns
        };
        let n_labels: Vec<usize> =
            (0..schema.kinds().len()).map(|kind| schema.n_labels(kind as u16)).collect();
        let node_at = offsets(n_labels.iter().copied());
        let base_at = offsets((0..schema.relations().len()).map(|relation| table_len(relation as u16)));
        let table_at = offsets(x.relation_of_row().iter().map(|&relation| table_len(relation)));
        let n_rows = x.edge_rows().len();
        let pooled = n_rows <= 64 || (n_rows * 4 <= x.n_edges() && table_at[n_rows] <= MOST_POOLED);
        let packed = Packed::new(map.state(), &n_labels, x.nodes())?;
        Ok(Scorer {
            map,
            x,
            state: Aligned::zeros(packed.len()),
            packed,
            transition: vec![0.0; map.transition().len()],
            node_base: vec![0.0; node_at[node_at.len() - 1]],
            edge_base: vec![0.0; base_at[base_at.len() - 1]],
            tables: vec![0.0; if pooled { table_at[n_rows] } else { 0 }],
            node_at,
            widest: n_labels.iter().copied().map(padded).max().unwrap_or(0),
            base_at,
            pooled,
            table_at,
            version: 0,
        })
    }

    /// The feature map.
    pub fn map(&self) -> &'a FeatureMap {
        self.map
    }

    /// The corpus.
    pub fn corpus(&self) -> &'a Corpus {
        self.x
    }

    /// Takes on the weights `w`, and does what all sequences share under them; allocates nothing.
    pub fn update(&mut self, w: &[f64]) {
        let (state, transition) = (self.map.state(), self.map.transition());
        self.packed.pack(state, w, &mut self.state);
        self.transition.copy_from_slice(&w[state.len()..]);
        self.node_base.fill(0.0);
        for &(g, value) in self.x.node_base() {
            state.add_scores(w, g, value, &mut self.node_base[self.node_at[state.owner(g) as usize]..]);
        }
        self.edge_base.fill(0.0);
        for &(g, value) in self.x.edge_base() {
            let base = &mut self.edge_base[self.base_at[transition.owner(g) as usize]..];
            transition.add_scores(&self.transition, g, value, base);
        }
        if self.pooled {
            self.fill_tables();
        }
    }

    /// Makes the tables of all rows under the weights as they are.
    fn fill_tables(&mut self) {
        let mut tables = std::mem::take(&mut self.tables);
        for row in 0..self.x.edge_rows().len() {
            self.fill_table(row, &mut tables[self.table_at[row]..self.table_at[row + 1]]);
        }
        self.tables = tables;
        self.version = Tables::new_version();
    }

    fn fill_table(&self, row: usize, table: &mut [f64]) {
        let relation = self.x.relation_of_row()[row] as usize;
        table.copy_from_slice(&self.edge_base[self.base_at[relation]..self.base_at[relation + 1]]);
        let add = |g, value| self.map.transition().add_scores(&self.transition, g, value, table);
        self.x.edge_rows().for_each(row, add);
    }

    /// The potentials of sequence `i` under the weights of the last [`Scorer::update`].
    pub fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let (x, shape) = (self.x, self.x.data().shape(i));
        let buffer: &mut Buffer = scratch.of();
        buffer.node.resize(shape.node_at(shape.n_nodes()), 0.0);
        buffer.row.resize(self.widest, 0.0);
        dispatch(Score { scorer: self, i, row: &mut buffer.row, node: &mut buffer.node });
        let rows = x.rows_of_edges(i);
        let tables = if self.pooled {
            let of_edge = if x.edge_rows().len() <= 1 { EdgeTables::Shared } else { EdgeTables::Each(rows) };
            Tables { values: &self.tables, starts: &self.table_at, of_edge, version: self.version }
        } else {
            buffer.tables.clear();
            buffer.starts.clear();
            buffer.of_edge.clear();
            for (e, &row) in rows.iter().enumerate() {
                let (at, row) = (buffer.tables.len(), row as usize);
                buffer.starts.push(at);
                buffer.of_edge.push(e as u32);
                buffer.tables.resize(at + self.table_at[row + 1] - self.table_at[row], 0.0);
                self.fill_table(row, &mut buffer.tables[at..]);
            }
            buffer.starts.push(buffer.tables.len());
            let of_edge = EdgeTables::Each(&buffer.of_edge);
            Tables { values: &buffer.tables, starts: &buffer.starts, of_edge, version: Tables::new_version() }
        };
        Potentials::new(shape, &mut buffer.node, tables)
    }

    /// Calls `f` with every feature of a labelling of sequence `i` that is not zero, and its value; one that comes from
    /// several positions is named by each of them.
    pub fn for_each_feature(&self, i: usize, labels: &[Label], f: impl FnMut(usize, f64)) {
        self.for_each_where(i, labels, |_| true, f);
    }

    /// Calls `f` with every feature by which `to` differs from `from` on sequence `i`, and how much more of it `to` has;
    /// one that comes from several positions is named by each of them.
    pub fn for_each_difference(&self, i: usize, from: &[Label], to: &[Label], mut f: impl FnMut(usize, f64)) {
        let differ = |n: usize| from[n] != to[n];
        self.for_each_where(i, from, differ, |k, value| f(k, -value));
        self.for_each_where(i, to, differ, f);
    }

    /// Calls `f` with the features of a labelling at the nodes that are `wanted`, and on the edges of which an end is.
    fn for_each_where(
        &self,
        i: usize,
        labels: &[Label],
        wanted: impl Fn(usize) -> bool,
        mut f: impl FnMut(usize, f64),
    ) {
        let (x, shape) = (self.x, self.x.data().shape(i));
        let start = x.data().range(i).start;
        let (state, transition) = (self.map.state(), self.map.transition());
        for (n, &label) in labels.iter().enumerate().filter(|&(n, _)| wanted(n)) {
            let kind = shape.kind(n);
            let mut tell = |g, value| state.find(g, label).into_iter().for_each(|k| f(k, value));
            x.nodes().for_each(start + n, &mut tell);
            let base = x.node_base().iter().filter(|(g, _)| state.owner(*g) == kind);
            base.for_each(|&(g, value)| tell(g, value));
        }
        for (e, &row) in x.rows_of_edges(i).iter().enumerate() {
            let (u, v) = shape.ends(e);
            if !(wanted(u) || wanted(v)) {
                continue;
            }
            let pair = labels[u] * shape.card(v) as u32 + labels[v];
            let relation = shape.relation(e);
            let mut tell =
                |g, value| transition.find(g, pair).into_iter().for_each(|k| f(state.len() + k, value));
            x.edge_rows().for_each(row as usize, &mut tell);
            let base = x.edge_base().iter().filter(|(g, _)| transition.owner(*g) == relation);
            base.for_each(|&(g, value)| tell(g, value));
        }
    }

    /// Adds `scale` times the features of a labelling of sequence `i` to `out`.
    pub fn add_features(&self, i: usize, labels: &[Label], scale: f64, out: &mut [f64]) {
        self.for_each_feature(i, labels, |k, value| out[k] += scale * value);
    }

    /// Adds `step` to the weights of the features that `to` has on sequence `i`, and takes it from those that `from` has,
    /// as often as they have them; calls `changed` with each of these weights and its change.
    ///
    /// The cost is that of the places where the labellings differ, and of the shared tables if an edge does.
    pub fn shift(
        &mut self,
        i: usize,
        from: &[Label],
        to: &[Label],
        step: f64,
        mut changed: impl FnMut(usize, f64),
    ) {
        let (x, shape) = (self.x, self.x.data().shape(i));
        let start = x.data().range(i).start;
        let (state, transition) = (self.map.state(), self.map.transition());
        for n in (0..shape.n_nodes()).filter(|&n| from[n] != to[n]) {
            let kind = shape.kind(n);
            for (label, step) in [(from[n], -step), (to[n], step)] {
                let (packed, weights) = (&self.packed, &mut self.state);
                x.nodes().for_each(start + n, |g, value| {
                    if let Some(k) = state.find(g, label) {
                        weights[packed.place(state, g, label)] += step * value;
                        changed(k, step * value);
                    }
                });
                let base = &mut self.node_base[self.node_at[kind as usize]..];
                for &(g, value) in x.node_base().iter().filter(|(g, _)| state.owner(*g) == kind) {
                    if let Some(k) = state.find(g, label) {
                        base[label as usize] += step * value * value;
                        changed(k, step * value);
                    }
                }
            }
        }
        let mut moved = false;
        for (e, &row) in x.rows_of_edges(i).iter().enumerate() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if from[u] == to[u] && from[v] == to[v] {
                continue;
            }
            for (labels, step) in [(from, -step), (to, step)] {
                let pair = labels[u] * shape.card(v) as u32 + labels[v];
                let weights = &mut self.transition;
                let mut add = |g, value: f64| {
                    let k = transition.find(g, pair)?;
                    weights[k] += step * value;
                    changed(state.len() + k, step * value);
                    Some(step * value * value)
                };
                x.edge_rows().for_each(row as usize, |g, value| moved |= add(g, value).is_some());
                let base = &mut self.edge_base[self.base_at[relation as usize]..];
                for &(g, value) in x.edge_base().iter().filter(|(g, _)| transition.owner(*g) == relation) {
                    if let Some(score) = add(g, value) {
                        base[pair as usize] += score;
                        moved = true;
                    }
                }
            }
        }
        if moved && self.pooled {
            self.fill_tables();
        }
    }

    /// How many numbers [`Scorer::add_expected`] needs for its sums.
    pub fn n_packed(&self) -> usize {
        self.packed.len() + self.node_base.len() + self.map.transition().len()
    }

    /// How many numbers [`Scorer::edge_beliefs`] needs to sum edge marginals over the whole corpus.
    pub fn n_sums(&self) -> usize {
        self.tables.len()
    }

    /// Where inference shall put the edge marginals of sequence `i`: in the corpus-wide `sums` when tables are
    /// shared, otherwise in `own`, which [`Scorer::add_expected`] reads.
    pub fn edge_beliefs<'s>(
        &self,
        i: usize,
        weight: f64,
        sums: &'s mut [f64],
        own: &'s mut Vec<f64>,
    ) -> EdgeBeliefs<'s> {
        if self.pooled {
            return EdgeBeliefs::PerTable { sums, weight };
        }
        let shape = self.x.data().shape(i);
        own.clear();
        own.resize(shape.edge_at(shape.n_edges()), 0.0);
        EdgeBeliefs::PerTable { sums: own, weight }
    }

    /// Adds `weight` times the expected features of sequence `i` to packed sums, except for those that stand in
    /// corpus-wide sums of edge marginals; `own` comes from [`Scorer::edge_beliefs`].
    pub fn add_expected(
        &self,
        i: usize,
        node: &[f64],
        own: &[f64],
        weight: f64,
        packed: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let shape = self.x.data().shape(i);
        let buffer: &mut Buffer = scratch.of();
        buffer.row.resize(self.widest, 0.0);
        let (state, rest) = packed.split_at_mut(self.packed.len());
        let (base, transition) = rest.split_at_mut(self.node_base.len());
        dispatch(Expect { scorer: self, i, node, weight, row: &mut buffer.row, state, base });
        if !self.pooled {
            for (e, &row) in self.x.rows_of_edges(i).iter().enumerate() {
                self.add_row(row as usize, &own[shape.edge_at(e)..shape.edge_at(e + 1)], transition);
            }
        }
    }

    /// Writes the packed sums, and the corpus-wide sums of edge marginals, to `out` in the order of features.
    pub fn unpack(&self, packed: &[f64], sums: &[f64], out: &mut [f64]) {
        let (links, (state, rest)) = (self.map.state(), packed.split_at(self.packed.len()));
        let (base, transition) = rest.split_at(self.node_base.len());
        let (out, out_transition) = out.split_at_mut(links.len());
        self.packed.unpack(links, state, out);
        for &(g, value) in self.x.node_base() {
            links.add_expectation(g, value, &base[self.node_at[links.owner(g) as usize]..], out);
        }
        out_transition.copy_from_slice(transition);
        if self.pooled {
            for row in 0..self.x.edge_rows().len() {
                self.add_row(row, &sums[self.table_at[row]..self.table_at[row + 1]], out_transition);
            }
        }
    }

    fn add_row(&self, row: usize, belief: &[f64], out: &mut [f64]) {
        let (x, links) = (self.x, self.map.transition());
        let relation = x.relation_of_row()[row];
        let mut add = |g, value| links.add_expectation(g, value, belief, out);
        x.edge_rows().for_each(row, &mut add);
        x.edge_base()
            .iter()
            .filter(|(g, _)| links.owner(*g) == relation)
            .for_each(|&(g, value)| add(g, value));
    }
}

/// Writes the node potentials of one sequence.
struct Score<'k, 'a> {
    scorer: &'k Scorer<'a>,
    i: usize,
    row: &'k mut [f64],
    node: &'k mut [f64],
}

impl Kernel for Score<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Score { scorer, i, row, node } = self;
        let (links, packed) = (scorer.map.state(), &scorer.packed);
        let (x, shape) = (scorer.x, scorer.x.data().shape(i));
        let start = x.data().range(i).start;
        for n in 0..shape.n_nodes() {
            let kind = shape.kind(n) as usize;
            let base = &scorer.node_base[scorer.node_at[kind]..scorer.node_at[kind + 1]];
            let row = &mut row[..padded(base.len())];
            row.fill(0.0);
            packed.prefetch(&scorer.state, start + n + 1, row.len());
            packed.add_scores::<FMA>(links, &scorer.state, x.nodes(), start + n, row);
            let node = &mut node[shape.node_at(n)..shape.node_at(n + 1)];
            for ((node, base), &rank) in node.iter_mut().zip(base).zip(packed.ranks_of(kind as u16)) {
                *node = base + row[rank as usize];
            }
        }
    }
}

/// Adds the expected state features of one sequence to packed sums.
struct Expect<'k, 'a> {
    scorer: &'k Scorer<'a>,
    i: usize,
    node: &'k [f64],
    weight: f64,
    row: &'k mut [f64],
    state: &'k mut [f64],
    base: &'k mut [f64], // sums of beliefs by kind, for the constant functions
}

impl Kernel for Expect<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Expect { scorer, i, node, weight, row, state, base } = self;
        let (links, packed) = (scorer.map.state(), &scorer.packed);
        let (x, shape) = (scorer.x, scorer.x.data().shape(i));
        let start = x.data().range(i).start;
        for n in 0..shape.n_nodes() {
            let kind = shape.kind(n) as usize;
            let base = &mut base[scorer.node_at[kind]..scorer.node_at[kind + 1]];
            let row = &mut row[..padded(base.len())];
            row[base.len()..].fill(0.0);
            let beliefs = &node[shape.node_at(n)..shape.node_at(n + 1)];
            for ((belief, base), &rank) in beliefs.iter().zip(base).zip(packed.ranks_of(kind as u16)) {
                row[rank as usize] = weight * belief;
                *base += weight * belief;
            }
            packed.prefetch(state, start + n + 1, row.len());
            packed.add_beliefs::<FMA>(links, row, x.nodes(), start + n, state);
        }
    }
}
