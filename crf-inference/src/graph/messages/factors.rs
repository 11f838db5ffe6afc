use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Incidence, Potentials, Shape, Tables};

use crate::graph::messages::semiring::Semiring;

/// Potentials further than this below the maximum of their node or table are left to the log domain.
const RANGE: f64 = 150.0;

/// Potentials as messages need them: shifted by the maximum of each node and table, exponentiated unless in the log domain.
#[derive(Debug, Default)]
pub(crate) struct Factors {
    node: Vec<f64>,        // [nodes × labels]
    node_shift: f64,       // Σ_n max_n
    node_safe: bool,       // all within RANGE
    weights: [Weights; 2], // among probabilities, among logarithms
    by_edge: Weights,      // where every edge has an exponent of its own
}

/// exp((table − max) / ρ), or its logarithm.
#[derive(Debug, Default)]
struct Weights {
    version: u64,
    values: Vec<f64>, // laid out as the tables, or as the edges
    shift: Vec<f64>,  // [tables or edges] the maximum
    safe: bool,
}

/// What messages are computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageFactors<'a> {
    pub(crate) shape: Shape<'a>,
    /// The labels of every node, or 0 when nodes differ.
    pub(crate) labels: usize,
    tables: Tables<'a>,
    node: &'a [f64],
    weights: &'a [f64],
    /// How often each edge counts; empty when once.
    rho: &'a [f64],
    /// Weight of the old message in a new one.
    pub(crate) damping: f64,
    /// What the shifts took out of log Z.
    pub(crate) shift: f64,
}

impl Factors {
    /// Prepares one instance; `None` when its potentials are too far apart for `S`.
    ///
    /// `rho` is empty, or has for each edge how often it counts (Wainwright et al. 2005); its table is divided by that.
    pub(crate) fn fill<'a, S: Semiring>(
        &'a mut self,
        p: &'a Potentials<'_>,
        rho: &'a [f64],
        damping: f64,
    ) -> Option<MessageFactors<'a>> {
        let (shape, tables) = (p.shape(), *p.tables());
        self.node.resize(p.node().len(), 0.0);
        (self.node_shift, self.node_safe) = (0.0, true);
        for n in 0..shape.n_nodes() {
            let range = shape.node_offset(n)..shape.node_offset(n + 1);
            let row =
                Shifted { from: &p.node()[range.clone()], to: &mut self.node[range], rho: 1.0, log: S::LOG };
            let (max, safe) = row.run::<false>();
            self.node_shift += max;
            self.node_safe &= safe;
        }
        let weights = match rho {
            [] => {
                let weights = &mut self.weights[usize::from(S::LOG)];
                if weights.version != tables.version {
                    weights.version = tables.version;
                    let pieces = tables.starts.windows(2).map(|k| (k[0], &tables.values[k[0]..k[1]], 1.0));
                    weights.fill(tables.values.len(), tables.starts.len().saturating_sub(1), pieces, S::LOG);
                }
                weights
            }
            rho => {
                let n_edges = shape.n_edges();
                let pieces = (0..n_edges).map(|e| (shape.edge_offset(e), tables.of(e), rho[e]));
                self.by_edge.fill(shape.edge_offset(n_edges), n_edges, pieces, S::LOG);
                &self.by_edge
            }
        };
        let edge_shift = |e: usize| weights.shift[if rho.is_empty() { tables.of_edge.table(e) } else { e }];
        let shift = self.node_shift + (0..shape.n_edges()).map(edge_shift).sum::<f64>();
        let safe = S::LOG || (self.node_safe && (weights.safe || shape.n_edges() == 0));
        let (node, weights) = (&self.node[..], &weights.values[..]);
        let first = if shape.n_nodes() == 0 { 0 } else { shape.card(0) };
        let labels = if (0..shape.n_nodes()).all(|n| shape.card(n) == first) { first } else { 0 };
        safe.then_some(MessageFactors { shape, labels, tables, node, weights, rho, damping, shift })
    }
}

impl Weights {
    fn fill<'a>(
        &mut self,
        size: usize,
        n_pieces: usize,
        pieces: impl Iterator<Item = (usize, &'a [f64], f64)>,
        log: bool,
    ) {
        self.values.resize(size, 0.0);
        self.shift.resize(n_pieces, 0.0);
        self.safe = true;
        for ((at, from, rho), shift) in pieces.zip(&mut self.shift) {
            let to = &mut self.values[at..at + from.len()];
            let safe;
            (*shift, safe) = dispatch(Shifted { from, to, rho, log });
            self.safe &= safe;
        }
    }
}

/// exp((x − max) / ρ) of a row; its maximum, and whether all are in range. A row of −∞ has the maximum 0.
struct Shifted<'a> {
    from: &'a [f64],
    to: &'a mut [f64],
    rho: f64,
    log: bool,
}

impl Kernel for Shifted<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn run<const FMA: bool>(self) -> (f64, bool) {
        let Shifted { from, to, rho, log } = self;
        let max = from.iter().fold(f64::NEG_INFINITY, |max, &x| if x > max { x } else { max });
        let (max, per_rho) = (if max == f64::NEG_INFINITY { 0.0 } else { max }, 1.0 / rho);
        let mut safe = true;
        for (to, from) in to.iter_mut().zip(from) {
            let below = (from - max) * per_rho;
            safe &= (below >= -RANGE) | (below == f64::NEG_INFINITY);
            *to = if log { below } else { exp_nonpositive::<FMA>(below) };
        }
        (max, safe)
    }
}

impl<'a> MessageFactors<'a> {
    /// The same without damping.
    pub(crate) fn undamped(&self) -> MessageFactors<'a> {
        MessageFactors { damping: 0.0, ..*self }
    }

    /// The shifted potentials of node `n`.
    #[inline(always)]
    pub(crate) fn node(&self, n: usize) -> &'a [f64] {
        &self.node[self.shape.node_offset(n)..self.shape.node_offset(n + 1)]
    }

    /// The shifted table of an edge, which has `size` entries.
    #[inline(always)]
    pub(crate) fn table(&self, edge: u32, size: usize) -> &'a [f64] {
        let at = match self.rho {
            [] => self.tables.starts[self.tables.of_edge.table(edge as usize)],
            _ => self.shape.edge_offset(edge as usize),
        };
        &self.weights[at..at + size]
    }

    /// Whether edges count other than once.
    #[inline(always)]
    pub(crate) fn is_reweighted(&self) -> bool {
        !self.rho.is_empty()
    }

    /// How often an edge counts.
    #[inline(always)]
    pub(crate) fn rho(&self, end: Incidence) -> f64 {
        if self.rho.is_empty() { 1.0 } else { self.rho[end.edge as usize] }
    }
}
