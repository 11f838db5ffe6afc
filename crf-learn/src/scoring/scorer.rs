use crf_core::kernel_support::{ConstantScores, EdgeScores, OwnTables};
use crf_core::simd::{Kernel, dispatch};
use crf_core::{
    Aligned, EdgeBeliefs, EncodedDataset, FeatureMap, FeatureSet, Label, Potentials, Result, Scratch,
    SparseRows,
};

use crate::scoring::dense_runs::{DenseRuns, MAX_LEN};
use crate::scoring::padded_rows::padded;
use crate::scoring::weight_layout::WeightLayout;

/// Memory for the potentials of one sequence.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    rows: Vec<f64>, // padded scores of the nodes that are handled together
    tables: OwnTables,
}

/// Sparse products of features and weights, on which all likelihood, margin and selection code is
/// built: scores of a sequence as potentials, features of a labelling, and expected features under
/// beliefs.
///
/// A scorer is made for many weight vectors on one encoded dataset. State weights are copied into a
/// layout made for reading; expectations are summed in the same layout, and [`Scorer::unpack`]
/// brings them into the order of features. A trained model is not scored by it, as the layout only
/// pays off over many weight vectors; `LogLinear::bind` reads weights in the order of features.
#[derive(Debug)]
pub struct Scorer<'a> {
    map: &'a FeatureMap,
    x: &'a EncodedDataset,
    layout: WeightLayout,
    runs: DenseRuns,
    state: Aligned, // weights of the state features in the order of `layout`
    base: ConstantScores,
    widest: usize, // length of the longest padded row of labels
    edges: EdgeScores<'a>,
}

impl<'a> Scorer<'a> {
    /// Creates a scorer for the features of `map` on an encoded dataset; call [`Scorer::update`]
    /// before anything else.
    pub fn new(map: &'a FeatureMap, x: &'a EncodedDataset) -> Result<Self> {
        Scorer::with(WeightLayout::new, map, x)
    }

    /// Creates a scorer with bundles: slower to create and to [update](Scorer::update), and up to
    /// twice as fast in between. The scores of functions that occur together are summed once. Its
    /// weights cannot be [shifted](Scorer::shift).
    pub fn bundled(map: &'a FeatureMap, x: &'a EncodedDataset) -> Result<Self> {
        Scorer::with(WeightLayout::bundled, map, x)
    }

    fn with(
        new_layout: fn(&FeatureSet, &[usize], &SparseRows) -> Result<WeightLayout>,
        map: &'a FeatureMap,
        x: &'a EncodedDataset,
    ) -> Result<Self> {
        let schema = map.schema();
        x.require(schema)?;
        let n_labels: Vec<usize> =
            (0..schema.kinds().len()).map(|kind| schema.n_labels(kind as u16)).collect();
        let layout = new_layout(map.state(), &n_labels, x.nodes())?;
        let runs = DenseRuns::find(x, |g| layout.whole_row(g, n_labels[map.state().scope(g) as usize]));
        Ok(Scorer {
            map,
            x,
            runs,
            state: Aligned::zeros(layout.len()),
            layout,
            base: ConstantScores::new(map),
            widest: n_labels.iter().copied().map(padded).max().unwrap_or(0),
            edges: EdgeScores::new(map, x),
        })
    }

    /// The feature map.
    pub fn map(&self) -> &'a FeatureMap {
        self.map
    }

    /// The encoded dataset.
    pub fn encoded(&self) -> &'a EncodedDataset {
        self.x
    }

    /// Sets the weights to `w`, and computes what all sequences share under them. Allocates
    /// nothing.
    pub fn update(&mut self, w: &[f64]) {
        let (state, transition) = w.split_at(self.map.state().len());
        self.layout.pack(self.map.state(), state, &mut self.state);
        self.base.update(self.map, self.x, state);
        self.edges.update(transition);
    }

    /// Potentials of sequence `i` under the current weights.
    pub fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let shape = self.x.data().shape(i);
        let buffer: &mut Buffer = scratch.get();
        buffer.node.resize(shape.node_offset(shape.n_nodes()), 0.0);
        buffer.rows.resize(MAX_LEN * self.widest, 0.0);
        dispatch(Score { scorer: self, i, rows: &mut buffer.rows, node: &mut buffer.node });
        Potentials::new(shape, &mut buffer.node, self.edges.tables(i, &mut buffer.tables))
    }

    /// Calls `f` with each non-zero feature of a labelling of sequence `i`, and its value. A
    /// feature of several positions is reported once per position.
    pub fn for_each_feature(&self, i: usize, labels: &[Label], f: impl FnMut(usize, f64)) {
        self.for_each_where(i, labels, |_| true, f);
    }

    /// Calls `f` with each feature that differs between `from` and `to` on sequence `i`, and F(to)
    /// − F(from). A feature of several positions is reported once per position.
    pub fn for_each_difference(&self, i: usize, from: &[Label], to: &[Label], mut f: impl FnMut(usize, f64)) {
        let differ = |n: usize| from[n] != to[n];
        self.for_each_where(i, from, differ, |k, value| f(k, -value));
        self.for_each_where(i, to, differ, f);
    }

    /// Calls `f` with the features of a labelling at the nodes that are `wanted`, and of edges that
    /// have a wanted end.
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
            let mut emit =
                |g, value| state.find(g, label).into_iter().for_each(|k| f(k, value * state.factor(g)));
            x.nodes().for_each(start + n, &mut emit);
            let base = x.constant_state().iter().filter(|(g, _)| state.scope(*g) == kind);
            base.for_each(|&(g, value)| emit(g, value));
        }
        for (e, &row) in x.edge_row_indices(i).iter().enumerate() {
            let (u, v) = shape.ends(e);
            if !(wanted(u) || wanted(v)) {
                continue;
            }
            let pair = labels[u] * shape.card(v) as u32 + labels[v];
            let relation = shape.relation(e);
            let mut emit =
                |g, value| transition.find(g, pair).into_iter().for_each(|k| f(state.len() + k, value));
            x.edge_rows().for_each(row as usize, &mut emit);
            let base = x.constant_transition().iter().filter(|(g, _)| transition.scope(*g) == relation);
            base.for_each(|&(g, value)| emit(g, value));
        }
    }

    /// Adds `scale` times the features of a labelling of sequence `i` to `out`.
    pub fn add_features(&self, i: usize, labels: &[Label], scale: f64, out: &mut [f64]) {
        self.for_each_feature(i, labels, |k, value| out[k] += scale * value);
    }

    /// Adds `step(k)` times F_k(x_i, to) − F_k(x_i, from) to each weight `k`; calls `changed` with
    /// each summand that is added to a weight.
    ///
    /// The step of a weight must not depend on what was changed before in the same call. The cost
    /// is that of the positions where the labellings differ, and of the few shared tables that hold
    /// a changed function; many tables are shared no longer until the next update.
    pub fn shift(
        &mut self,
        i: usize,
        from: &[Label],
        to: &[Label],
        step: impl Fn(usize) -> f64,
        mut changed: impl FnMut(usize, f64),
    ) {
        assert!(self.layout.is_plain(), "the weights of a bundled scorer cannot be shifted");
        let (x, shape) = (self.x, self.x.data().shape(i));
        let start = x.data().range(i).start;
        let state = self.map.state();
        for n in (0..shape.n_nodes()).filter(|&n| from[n] != to[n]) {
            let kind = shape.kind(n);
            for (label, sign) in [(from[n], -1.0), (to[n], 1.0)] {
                let (layout, weights) = (&self.layout, &mut self.state);
                x.nodes().for_each(start + n, |g, value| {
                    if let Some(k) = state.find(g, label) {
                        let change = sign * step(k) * value * state.factor(g);
                        weights[layout.offset(state, g, label)] += change * state.factor(g);
                        changed(k, change);
                    }
                });
                let range = self.base.range(kind);
                let base = &mut self.base.scores[range];
                for &(g, value) in x.constant_state().iter().filter(|(g, _)| state.scope(*g) == kind) {
                    if let Some(k) = state.find(g, label) {
                        let step = sign * step(k);
                        base[label as usize] += step * value * value;
                        changed(k, step * value);
                    }
                }
            }
        }
        let first = state.len(); // transition weights follow those of state features
        self.edges.shift(i, from, to, |k| step(first + k), |k, change| changed(first + k, change));
    }

    /// Length of the packed sums of [`Scorer::add_expected`].
    pub fn n_packed(&self) -> usize {
        self.layout.len() + self.base.scores.len() + self.map.transition().len()
    }

    /// Length of the edge marginals of [`Scorer::edge_beliefs`] that are summed over the whole
    /// dataset.
    pub fn n_sums(&self) -> usize {
        self.edges.n_shared()
    }

    /// Destination of the edge marginals of sequence `i`: `sums` over the whole dataset if tables
    /// are shared, otherwise `own`, which [`Scorer::add_expected`] reads.
    pub fn edge_beliefs<'s>(
        &self,
        i: usize,
        weight: f64,
        sums: &'s mut [f64],
        own: &'s mut Vec<f64>,
    ) -> EdgeBeliefs<'s> {
        if self.edges.are_shared() {
            return EdgeBeliefs::PerTable { sums, weight };
        }
        let shape = self.x.data().shape(i);
        own.clear();
        own.resize(shape.edge_offset(shape.n_edges()), 0.0);
        EdgeBeliefs::PerTable { sums: own, weight }
    }

    /// Adds `weight` times the expected features of sequence `i` to packed sums, except those that
    /// are computed from the edge marginals summed over the whole dataset; `own` comes from
    /// [`Scorer::edge_beliefs`].
    pub fn add_expected(
        &self,
        i: usize,
        node: &[f64],
        own: &[f64],
        weight: f64,
        packed: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let buffer: &mut Buffer = scratch.get();
        buffer.rows.resize(MAX_LEN * self.widest, 0.0);
        let (state, rest) = packed.split_at_mut(self.layout.len());
        let (base, transition) = rest.split_at_mut(self.base.scores.len());
        dispatch(Expect { scorer: self, i, node, weight, rows: &mut buffer.rows, state, base });
        self.edges.add_own(i, own, transition);
    }

    /// Writes the packed sums and the summed edge marginals to `out`, in the order of features.
    pub fn unpack(&self, packed: &[f64], sums: &[f64], out: &mut [f64]) {
        let (features, (state, rest)) = (self.map.state(), packed.split_at(self.layout.len()));
        let (base, transition) = rest.split_at(self.base.scores.len());
        let (out, out_transition) = out.split_at_mut(features.len());
        self.layout.unpack(features, state, out);
        for &(g, value) in self.x.constant_state() {
            features.add_expectation(g, value, &base[self.base.range(features.scope(g))], out);
        }
        out_transition.copy_from_slice(transition);
        self.edges.add_shared(sums, out_transition);
    }
}

/// Computes the node potentials of one sequence.
struct Score<'k, 'a> {
    scorer: &'k Scorer<'a>,
    i: usize,
    rows: &'k mut [f64],
    node: &'k mut [f64],
}

impl Kernel for Score<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Score { scorer, i, rows, node } = self;
        let (features, layout, runs) = (scorer.map.state(), &scorer.layout, &scorer.runs);
        let (x, shape) = (scorer.x, scorer.x.data().shape(i));
        let start = x.data().range(i).start;
        let mut first = 0;
        while first < shape.n_nodes() {
            let base = scorer.base.of(shape.kind(first));
            let (width, run_len) = (padded(base.len()), runs.run_len(start + first));
            let n_together = run_len.unwrap_or(1);
            let rows = &mut rows[..n_together * width];
            rows.fill(0.0);
            for k in 0..n_together {
                let (r, row) = (start + first + k, &mut rows[k * width..(k + 1) * width]);
                layout.prefetch(&scorer.state, r + 1, width);
                layout.add_scores_of_ones::<FMA>(&scorer.state, r, row);
            }
            let r = start + first;
            match run_len {
                Some(_) => runs.add_scores::<FMA>(r, &scorer.state, width, rows),
                None => layout.add_scores_of_values::<FMA>(features, &scorer.state, x.nodes(), r, rows),
            }
            for k in 0..n_together {
                let node = &mut node[shape.node_offset(first + k)..shape.node_offset(first + k + 1)];
                for ((node, base), row) in node.iter_mut().zip(base).zip(&rows[k * width..]) {
                    *node = base + row;
                }
            }
            first += n_together;
        }
    }
}

/// Adds the expected state features of one sequence to packed sums.
struct Expect<'k, 'a> {
    scorer: &'k Scorer<'a>,
    i: usize,
    node: &'k [f64],
    weight: f64,
    rows: &'k mut [f64],
    state: &'k mut [f64],
    base: &'k mut [f64], // sums of beliefs per node kind, for the constant functions
}

impl Kernel for Expect<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Expect { scorer, i, node, weight, rows, state, base } = self;
        let (features, layout, runs) = (scorer.map.state(), &scorer.layout, &scorer.runs);
        let (x, shape) = (scorer.x, scorer.x.data().shape(i));
        let start = x.data().range(i).start;
        let mut first = 0;
        while first < shape.n_nodes() {
            let base = &mut base[scorer.base.range(shape.kind(first))];
            let (width, run_len) = (padded(base.len()), runs.run_len(start + first));
            let n_together = run_len.unwrap_or(1);
            let rows = &mut rows[..n_together * width];
            for k in 0..n_together {
                let (r, row) = (start + first + k, &mut rows[k * width..(k + 1) * width]);
                row[base.len()..].fill(0.0);
                let beliefs = &node[shape.node_offset(first + k)..shape.node_offset(first + k + 1)];
                for ((belief, base), row) in beliefs.iter().zip(&mut *base).zip(&mut *row) {
                    *row = weight * belief;
                    *base += *row;
                }
                layout.prefetch(state, r + 1, width);
                layout.add_beliefs_of_ones::<FMA>(row, r, state);
            }
            let r = start + first;
            match run_len {
                Some(_) => runs.add_beliefs::<FMA>(r, rows, width, state),
                None => layout.add_beliefs_of_values::<FMA>(features, rows, x.nodes(), r, state),
            }
            first += n_together;
        }
    }
}
