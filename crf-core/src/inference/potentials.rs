use std::sync::atomic::{AtomicU64, Ordering};

use crate::data::graph::{Graph, Shape, offsets};
use crate::error::{Error, Result};
use crate::{Label, Seed};

/// Log potentials of one instance: p(y) ∝ exp(Σ_n node(n, y_n) + Σ_e table(e, y_u, y_v)).
///
/// They may be edited before inference: clamping, loss augmentation and forbidden labels are edits
/// of `node`, not features of every algorithm. An entry of −∞ forbids; [`Potentials::find_bad`]
/// looks for +∞ and NaN.
#[derive(Debug)]
pub struct Potentials<'a> {
    shape: Shape<'a>,
    node: &'a mut [f64], // [nodes × labels]
    tables: Tables<'a>,
}

/// Edge tables, each stored once, however many edges use it.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Values of all tables, one table after the other, each row by row: tail label, then head
    /// label.
    pub values: &'a [f64],
    /// Offset of each table, and the end of the last one.
    pub starts: &'a [usize],
    /// Table that each edge uses.
    pub of_edge: EdgeTables<'a>,
    /// Relation of the edges that use each table; empty if all edges are of the first relation.
    pub relations: &'a [u16],
    /// Version of the values.
    pub version: TableVersion,
}

/// Version of the values of a set of tables.
///
/// Two sets of tables with one version hold the same numbers, so a kernel can cache what it
/// computed from them. What every inference asks of the numbers first is found when the version is
/// made, so that no sequence pays for the tables of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableVersion {
    number: u64,
    forbids: bool, // some value may be −∞
    is_bad: bool,  // some value may be NaN or +∞
}

impl TableVersion {
    /// New version, which no other set of tables has, of the given values of all tables.
    pub fn of(values: &[f64]) -> Self {
        TableVersion::default().after(values)
    }

    /// New version after a change of some values, given their new numbers.
    ///
    /// What the values could hold before counts as possible still.
    pub fn after(self, changed: &[f64]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A fold without an early end is compiled to vector instructions.
        if changed.iter().fold(true, |finite, x| finite & x.is_finite()) {
            return TableVersion { number, ..self };
        }
        TableVersion {
            number,
            forbids: self.forbids || changed.contains(&f64::NEG_INFINITY),
            is_bad: self.is_bad || changed.iter().any(is_bad),
        }
    }

    /// True if some value may be −∞, and so forbid a pair of labels.
    pub fn may_forbid(&self) -> bool {
        self.forbids
    }

    /// True if some value may be NaN or +∞.
    pub fn may_be_bad(&self) -> bool {
        self.is_bad
    }
}

/// True for a value that no potential may have.
fn is_bad(x: &f64) -> bool {
    x.is_nan() || *x == f64::INFINITY
}

/// Assignment of tables to edges.
#[derive(Debug, Clone, Copy)]
pub enum EdgeTables<'a> {
    /// All edges use the first table.
    Shared,
    /// Edge `e` uses table `[e]`.
    Each(&'a [u32]),
}

impl EdgeTables<'_> {
    /// Table of edge `e`.
    #[inline]
    pub fn table(&self, e: usize) -> usize {
        match self {
            EdgeTables::Shared => 0,
            EdgeTables::Each(of_edge) => of_edge[e] as usize,
        }
    }
}

impl<'a> Tables<'a> {
    /// Table of edge `e`.
    #[inline]
    pub fn of(&self, e: usize) -> &'a [f64] {
        let table = self.of_edge.table(e);
        &self.values[self.starts[table]..self.starts[table + 1]]
    }
}

impl<'a> Potentials<'a> {
    /// Builds potentials on a graph; sizes are checked here, so that inner loops need not.
    pub fn new(shape: Shape<'a>, node: &'a mut [f64], tables: Tables<'a>) -> Result<Self> {
        let n_nodes = shape.n_nodes();
        let want = shape.node_offset(n_nodes);
        if node.len() != want {
            return Err(Error::data(format!("expected {want} node potentials, got {}", node.len())));
        }
        if let EdgeTables::Each(of_edge) = tables.of_edge
            && of_edge.len() != shape.n_edges()
        {
            return Err(Error::data(format!(
                "expected tables for {} edges, got {}",
                shape.n_edges(),
                of_edge.len()
            )));
        }
        for e in 0..shape.n_edges() {
            let (u, v) = shape.ends(e);
            let (table, want) = (tables.of_edge.table(e), shape.card(u) * shape.card(v));
            let range = tables.starts.get(table).zip(tables.starts.get(table + 1));
            if range.is_none_or(|(&start, &end)| end > tables.values.len() || start + want != end) {
                return Err(Error::data(format!(
                    "edge {e} needs a table of {want} numbers, table {table} is not one"
                )));
            }
            if !tables.relations.is_empty() && tables.relations.get(table) != Some(&shape.relation(e)) {
                return Err(Error::data(format!(
                    "edge {e} is of relation {}, table {table} is for another one",
                    shape.relation(e)
                )));
            }
            if matches!((shape, tables.of_edge), (Shape::Chain { .. }, EdgeTables::Shared)) {
                break;
            }
        }
        Ok(Potentials { shape, node, tables })
    }

    /// Takes the potentials apart, to build other ones.
    pub(crate) fn into_parts(self) -> (Shape<'a>, &'a mut [f64], Tables<'a>) {
        (self.shape, self.node, self.tables)
    }

    /// Graph of the instance.
    pub fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// Node potentials, node by node.
    pub fn node(&self) -> &[f64] {
        self.node
    }

    /// Node potentials for editing.
    pub fn node_mut(&mut self) -> &mut [f64] {
        self.node
    }

    /// Edge tables.
    pub fn tables(&self) -> &Tables<'a> {
        &self.tables
    }

    /// Clamps nodes to known labels: their other labels become impossible.
    pub fn clamp(&mut self, known: &[Option<Label>]) {
        assert_eq!(known.len(), self.shape.n_nodes(), "one entry per node");
        for (n, label) in known.iter().enumerate() {
            if let Some(label) = label {
                let range = self.shape.node_offset(n)..self.shape.node_offset(n + 1);
                for (y, potential) in self.node[range].iter_mut().enumerate() {
                    if y != *label as usize {
                        *potential = f64::NEG_INFINITY;
                    }
                }
            }
        }
    }

    /// Log potential of a labelling.
    pub fn score(&self, labels: &[Label]) -> f64 {
        assert_eq!(labels.len(), self.shape.n_nodes(), "one label per node");
        let node = labels.iter().enumerate().map(|(n, &y)| self.node[self.shape.node_offset(n) + y as usize]);
        let edge = (0..self.shape.n_edges()).map(|e| {
            let (u, v) = self.shape.ends(e);
            self.tables.of(e)[labels[u] as usize * self.shape.card(v) + labels[v] as usize]
        });
        // The sum of no numbers is −0.
        0.0 + node.sum::<f64>() + edge.sum::<f64>()
    }

    /// Returns an error if a potential is NaN or +∞; reads the tables only if one may be.
    pub fn check_finite(&self) -> Result<()> {
        if self.tables.version.may_be_bad() || self.node.iter().any(is_bad) {
            // A table that no edge uses may hold any number.
            let bad = self.find_bad().map(|bad| Error::NotFinite(bad + "; scale the features"));
            return bad.map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Describes the first potential that is NaN or +∞, if there is one.
    pub fn find_bad(&self) -> Option<String> {
        if let Some(at) = self.node.iter().position(is_bad) {
            let n = (0..self.shape.n_nodes()).rfind(|&n| self.shape.node_offset(n) <= at).unwrap_or(0);
            return Some(format!("potential {} of position {}", self.node[at], n + 1));
        }
        (0..self.shape.n_edges()).find_map(|e| {
            let bad = self.tables.of(e).iter().find(|x| is_bad(x))?;
            Some(format!("potential {bad} on the edge into position {}", self.shape.ends(e).1 + 1))
        })
    }
}

/// Potentials that own their memory, for tests, benches and callers outside of training.
#[derive(Debug, Clone)]
pub struct OwnedPotentials {
    shape: OwnedShape,
    /// Node potentials.
    pub node: Vec<f64>,
    /// Values of all tables, one after the other.
    pub tables: Vec<f64>,
    /// Table of each edge; empty if all use the first.
    pub of_edge: Vec<u32>,
    starts: Vec<usize>,
    relations: Vec<u16>, // [tables], or empty if all edges are of the first relation
}

#[derive(Debug, Clone)]
enum OwnedShape {
    Chain { len: usize, labels: usize },
    Graph(Graph),
}

impl OwnedShape {
    fn view(&self) -> Shape<'_> {
        match self {
            OwnedShape::Chain { len, labels } => Shape::Chain { len: *len, labels: *labels },
            OwnedShape::Graph(graph) => Shape::Graph(graph),
        }
    }
}

impl OwnedPotentials {
    /// Chain; an empty `of_edge` means that all edges use the one table.
    pub fn chain(len: usize, labels: usize, node: Vec<f64>, tables: Vec<f64>, of_edge: Vec<u32>) -> Self {
        let size = labels * labels;
        let starts = (0..=tables.len() / size).map(|k| k * size).collect();
        let shape = OwnedShape::Chain { len, labels };
        OwnedPotentials { shape, node, tables, of_edge, starts, relations: Vec::new() }
    }

    /// Chain with potentials drawn uniformly between `-scale` and `scale`.
    pub fn random(len: usize, labels: usize, scale: f64, seed: &Seed) -> Self {
        use rand::RngExt as _;
        let mut rng = seed.rng();
        let mut draw =
            |n: usize| (0..n).map(|_| scale * (2.0 * rng.random::<f64>() - 1.0)).collect::<Vec<_>>();
        let (node, tables) = (draw(len * labels), draw(labels * labels));
        OwnedPotentials::chain(len, labels, node, tables, Vec::new())
    }

    /// Graph with tables of any sizes; an empty `of_edge` means that all edges use the one table.
    ///
    /// Sizes that do not match the graph, NaN and +∞ are errors, and so is a table for edges of two
    /// relations.
    pub fn graph<T: AsRef<[f64]>>(
        graph: Graph,
        node: Vec<f64>,
        tables: &[T],
        of_edge: Vec<u32>,
    ) -> Result<Self> {
        let starts = offsets(tables.iter().map(|table| table.as_ref().len()));
        let mut relations = Vec::new();
        if graph.edges().iter().any(|edge| edge.relation > 0) {
            relations.resize(tables.len(), 0);
            for (e, edge) in graph.edges().iter().enumerate() {
                let table = of_edge.get(e).map_or(0, |&table| table as usize);
                if let Some(relation) = relations.get_mut(table) {
                    *relation = edge.relation;
                }
            }
        }
        let tables = tables.iter().flat_map(|table| table.as_ref()).copied().collect();
        let shape = OwnedShape::Graph(graph);
        let mut owned = OwnedPotentials { shape, node, tables, of_edge, starts, relations };
        owned.try_view()?.check_finite()?;
        Ok(owned)
    }

    /// Graph of the instance.
    pub fn shape(&self) -> Shape<'_> {
        self.shape.view()
    }

    /// View for inference, with a new version, since the tables may have been edited.
    ///
    /// # Panics
    /// If a chain was built with the wrong sizes, or a vector's length was changed.
    pub fn view(&mut self) -> Potentials<'_> {
        self.try_view().expect("owned potentials have matching sizes")
    }

    fn try_view(&mut self) -> Result<Potentials<'_>> {
        let of_edge =
            if self.of_edge.is_empty() { EdgeTables::Shared } else { EdgeTables::Each(&self.of_edge) };
        let (values, starts) = (&self.tables, &self.starts);
        let version = TableVersion::of(values);
        let tables = Tables { values, starts, of_edge, relations: &self.relations, version };
        Potentials::new(self.shape.view(), &mut self.node, tables)
    }
}
