use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{Incidence, Shape, TableVersion, Tables};

use crate::graph::messages::semiring::Semiring;
use crate::shifted::Shifted;

/// Largest distance of a potential from the maximum of its node or table; others are left to the
/// log domain.
const RANGE: f64 = 150.0;

/// Memory of the factors: shifted potentials, exponentiated unless in the log domain.
#[derive(Debug, Default)]
pub(crate) struct FactorMemory {
    node: ExpRows,                // [nodes × labels]
    shared_tables: ExpRows,       // for ρ = 1, laid out as the tables
    shared_version: TableVersion, // of these tables
    reweighted_tables: ExpRows,   // for any ρ: a table per edge
}

/// exp(x / ρ) of some potentials, or x / ρ.
#[derive(Debug, Default)]
struct ExpRows {
    values: Vec<f64>,
    is_safe: bool, // all within RANGE
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
}

impl FactorMemory {
    /// Prepares the factors of one instance; `None` if its potentials are too far apart for `S`.
    ///
    /// `rho` is empty, or has the edge appearance probability of each edge (Wainwright et al.
    /// 2005), by which the logarithms of its table are divided.
    pub(crate) fn fill<'a, S: Semiring>(
        &'a mut self,
        shifted: &'a Shifted<'_>,
        rho: &'a [f64],
        damping: f64,
    ) -> Option<MessageFactors<'a>> {
        let FactorMemory { node, shared_tables, shared_version, reweighted_tables } = self;
        let shape = shifted.p.shape();
        let tables = *shifted.p.tables();
        node.reset(shifted.p.node().len());
        node.fill(0, shifted.p.node(), 1.0, S::LOG);
        let (table_values, are_tables_safe) = match rho {
            [] if S::LOG => (tables.values, true),
            [] => {
                if *shared_version != tables.version {
                    *shared_version = tables.version;
                    shared_tables.reset(tables.values.len());
                    shared_tables.fill(0, tables.values, 1.0, false);
                }
                // Only the tables that the instance uses matter.
                (&shared_tables.values[..], shifted.table_spread <= RANGE)
            }
            rho => {
                let n_edges = shape.n_edges();
                reweighted_tables.reset(shape.edge_offset(n_edges));
                for e in 0..n_edges {
                    reweighted_tables.fill(shape.edge_offset(e), tables.of(e), rho[e], S::LOG);
                }
                (&reweighted_tables.values[..], reweighted_tables.is_safe)
            }
        };
        let is_safe = S::LOG || (node.is_safe && are_tables_safe);
        let first_card = if shape.n_nodes() == 0 { 0 } else { shape.card(0) };
        let n_labels = if (0..shape.n_nodes()).all(|n| shape.card(n) == first_card) { first_card } else { 0 };
        let node = &node.values[..];
        is_safe.then_some(MessageFactors { shape, n_labels, tables, node, table_values, rho, damping })
    }
}

impl ExpRows {
    /// Makes room for `size` values.
    fn reset(&mut self, size: usize) {
        self.values.resize(size, 0.0);
        self.is_safe = true;
    }

    /// Writes the values of some potentials.
    fn fill(&mut self, offset: usize, source: &[f64], rho: f64, log: bool) {
        let out = &mut self.values[offset..offset + source.len()];
        self.is_safe &= dispatch(ExpRow { source, out, rho, log });
    }
}

/// exp(x / ρ) of some potentials, or x / ρ; returns true if all are in range.
struct ExpRow<'a> {
    source: &'a [f64],
    out: &'a mut [f64],
    rho: f64,
    log: bool,
}

impl Kernel for ExpRow<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let ExpRow { source, out, rho, log } = self;
        let inverse_rho = 1.0 / rho;
        let mut is_safe = true;
        for (out, x) in out.iter_mut().zip(source) {
            let x = x * inverse_rho;
            is_safe &= (x >= -RANGE) | (x == f64::NEG_INFINITY);
            *out = if log { x } else { exp_nonpositive::<FMA>(x) };
        }
        is_safe
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
