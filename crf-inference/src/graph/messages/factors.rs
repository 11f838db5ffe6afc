use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Incidence, Potentials, Shape, TableVersion, Tables};

use crate::graph::messages::semiring::Semiring;

/// Largest distance of a potential from the maximum of its node or table; others are left to the
/// log domain.
const RANGE: f64 = 150.0;

/// Memory of the factors: potentials shifted by the maximum of each node and table, and
/// exponentiated unless in the log domain.
#[derive(Debug, Default)]
pub(crate) struct FactorMemory {
    node: Vec<f64>,                    // [nodes × labels]
    node_shift: f64,                   // Σ_n max_n
    is_node_safe: bool,                // all within RANGE
    shared_tables: [ShiftedTables; 2], // for ρ = 1: among probabilities, among logarithms
    reweighted_tables: ShiftedTables,  // for any ρ: a table per edge
}

/// exp((table − max) / ρ), or its logarithm.
#[derive(Debug, Default)]
struct ShiftedTables {
    version: TableVersion,
    values: Vec<f64>, // laid out as the tables, or as the edges
    shift: Vec<f64>,  // [tables or edges] the maximum
    is_safe: bool,
}

/// Factors of one instance, from which messages are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageFactors<'a> {
    pub(crate) shape: Shape<'a>,
    /// Number of labels of every node, or 0 if nodes differ.
    pub(crate) n_labels: usize,
    tables: Tables<'a>,
    node: &'a [f64],
    table_values: &'a [f64],
    rho: &'a [f64], // [edges], or empty if all are 1
    /// Weight of the old message in a new one.
    pub(crate) damping: f64,
    /// Sum of all shifts, which log Z of the factors lacks.
    pub(crate) shift: f64,
}

impl FactorMemory {
    /// Prepares the factors of one instance; `None` if its potentials are too far apart for `S`.
    ///
    /// `rho` is empty, or has the edge appearance probability of each edge (Wainwright et al.
    /// 2005), by which the logarithms of its table are divided.
    pub(crate) fn fill<'a, S: Semiring>(
        &'a mut self,
        p: &'a Potentials<'_>,
        rho: &'a [f64],
        damping: f64,
    ) -> Option<MessageFactors<'a>> {
        let shape = p.shape();
        let tables = *p.tables();
        self.node.resize(p.node().len(), 0.0);
        self.node_shift = 0.0;
        self.is_node_safe = true;
        for n in 0..shape.n_nodes() {
            let own = shape.node_offset(n)..shape.node_offset(n + 1);
            let row =
                ShiftRow { source: &p.node()[own.clone()], out: &mut self.node[own], rho: 1.0, log: S::LOG };
            let (max, is_safe) = row.run::<false>();
            self.node_shift += max;
            self.is_node_safe &= is_safe;
        }
        let shifted = match rho {
            [] => {
                let shifted = &mut self.shared_tables[usize::from(S::LOG)];
                if shifted.version != tables.version {
                    shifted.version = tables.version;
                    let sources = tables.starts.windows(2).map(|k| (k[0], &tables.values[k[0]..k[1]], 1.0));
                    let n_tables = tables.starts.len().saturating_sub(1);
                    shifted.fill(tables.values.len(), n_tables, sources, S::LOG);
                }
                shifted
            }
            rho => {
                let n_edges = shape.n_edges();
                let sources = (0..n_edges).map(|e| (shape.edge_offset(e), tables.of(e), rho[e]));
                self.reweighted_tables.fill(shape.edge_offset(n_edges), n_edges, sources, S::LOG);
                &self.reweighted_tables
            }
        };
        let edge_shift = |e: usize| shifted.shift[if rho.is_empty() { tables.of_edge.table(e) } else { e }];
        let shift = self.node_shift + (0..shape.n_edges()).map(edge_shift).sum::<f64>();
        let is_safe = S::LOG || (self.is_node_safe && (shifted.is_safe || shape.n_edges() == 0));
        let node = &self.node[..];
        let table_values = &shifted.values[..];
        let first_card = if shape.n_nodes() == 0 { 0 } else { shape.card(0) };
        let n_labels = if (0..shape.n_nodes()).all(|n| shape.card(n) == first_card) { first_card } else { 0 };
        is_safe.then_some(MessageFactors { shape, n_labels, tables, node, table_values, rho, damping, shift })
    }
}

impl ShiftedTables {
    /// Fills `size` values from tables given by offset, values and ρ.
    fn fill<'a>(
        &mut self,
        size: usize,
        n_tables: usize,
        sources: impl Iterator<Item = (usize, &'a [f64], f64)>,
        log: bool,
    ) {
        self.values.resize(size, 0.0);
        self.shift.resize(n_tables, 0.0);
        self.is_safe = true;
        for ((offset, source, rho), shift) in sources.zip(&mut self.shift) {
            let out = &mut self.values[offset..offset + source.len()];
            let is_safe;
            (*shift, is_safe) = dispatch(ShiftRow { source, out, rho, log });
            self.is_safe &= is_safe;
        }
    }
}

/// exp((x − max) / ρ) of a row, or its logarithm. Returns the maximum, 0 for a row of −∞, and true
/// if all are in range.
struct ShiftRow<'a> {
    source: &'a [f64],
    out: &'a mut [f64],
    rho: f64,
    log: bool,
}

impl Kernel for ShiftRow<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn run<const FMA: bool>(self) -> (f64, bool) {
        let ShiftRow { source, out, rho, log } = self;
        let max = source.iter().fold(f64::NEG_INFINITY, |max, &x| if x > max { x } else { max });
        let max = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let inverse_rho = 1.0 / rho;
        let mut is_safe = true;
        for (out, x) in out.iter_mut().zip(source) {
            let below = (x - max) * inverse_rho;
            is_safe &= (below >= -RANGE) | (below == f64::NEG_INFINITY);
            *out = if log { below } else { exp_nonpositive::<FMA>(below) };
        }
        (max, is_safe)
    }
}

impl<'a> MessageFactors<'a> {
    /// The same factors without damping.
    pub(crate) fn undamped(&self) -> MessageFactors<'a> {
        MessageFactors { damping: 0.0, ..*self }
    }

    /// Shifted potentials of node `n`.
    #[inline(always)]
    pub(crate) fn node(&self, n: usize) -> &'a [f64] {
        &self.node[self.shape.node_offset(n)..self.shape.node_offset(n + 1)]
    }

    /// Shifted table of an edge, which has `size` entries.
    #[inline(always)]
    pub(crate) fn table(&self, edge: u32, size: usize) -> &'a [f64] {
        let start = match self.rho {
            [] => self.tables.starts[self.tables.of_edge.table(edge as usize)],
            _ => self.shape.edge_offset(edge as usize),
        };
        &self.table_values[start..start + size]
    }

    /// True if edges have appearance probabilities.
    #[inline(always)]
    pub(crate) fn is_reweighted(&self) -> bool {
        !self.rho.is_empty()
    }

    /// Edge appearance probability ρ.
    #[inline(always)]
    pub(crate) fn rho(&self, end: Incidence) -> f64 {
        if self.rho.is_empty() { 1.0 } else { self.rho[end.edge as usize] }
    }
}
