//! Potentials shifted to a maximum of 0 at each node and in each table: the form in which all
//! algorithms read them.
//!
//! A constant added to all potentials of a node, or of a table, changes log Z and nothing else. In
//! sums of logarithms it costs digits: beside 10¹⁷ every number below 16 is rounded away, at all
//! nodes. So the maxima are taken out first and kept in a compensated sum, the *height*, which is
//! added to log Z at the end. What is left are distances from the best label, and an absurd
//! potential only matters where it stands.
//!
//! The maximum is that of the possible labels (`possible_labels.rs`). Tables are shifted once for
//! each version, so that no instance costs more than its own edges. NaN and +∞ are refused here,
//! and so are finite potentials that overflow when they are added.

use crf_core::{CompensatedSum, Potentials, Result, TableVersion, Tables};

use crate::errors::{finite_log_z, impossible, overflow};
use crate::log_domain::maximum;
use crate::possible_labels::PossibleLabels;

/// What an algorithm has to know about a table before it uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableFacts {
    /// Largest entry; 0 if all are −∞.
    pub(crate) max: f64,
    /// Distance of the smallest finite entry from the largest one.
    pub(crate) spread: f64,
    /// True if an entry is −∞.
    pub(crate) forbids: bool,
}

impl TableFacts {
    fn of(table: &[f64]) -> Self {
        let (max, spread) = extent(table);
        TableFacts {
            max: if max == f64::NEG_INFINITY { 0.0 } else { max },
            spread,
            forbids: table.contains(&f64::NEG_INFINITY),
        }
    }
}

/// Largest of some potentials, and how far the smallest finite one lies below it.
fn extent(potentials: &[f64]) -> (f64, f64) {
    let max = maximum(potentials.iter().copied());
    let finite = potentials.iter().filter(|x| x.is_finite());
    (max, finite.fold(0.0, |spread, x| f64::max(spread, max - x)))
}

/// The facts about all tables of one version.
#[derive(Debug, Default)]
pub(crate) struct AllTableFacts {
    version: TableVersion,
    facts: Vec<TableFacts>, // [tables]
}

impl AllTableFacts {
    /// Reads the tables unless that was done for their version; true if it was not.
    pub(crate) fn update(&mut self, tables: &Tables<'_>) -> bool {
        let is_new = self.version != tables.version;
        if is_new {
            self.version = tables.version;
            self.facts.clear();
            self.facts.extend(tables.starts.windows(2).map(|k| TableFacts::of(&tables.values[k[0]..k[1]])));
        }
        is_new
    }

    /// Facts about the table of edge `e`.
    #[inline]
    pub(crate) fn of(&self, tables: &Tables<'_>, e: usize) -> &TableFacts {
        &self.facts[tables.of_edge.table(e)]
    }

    /// Facts about all tables.
    fn all(&self) -> &[TableFacts] {
        &self.facts
    }
}

/// Memory of shifted potentials, for one worker.
#[derive(Debug, Default)]
pub(crate) struct ShiftMemory {
    node: Vec<f64>,   // [nodes × labels]
    tables: Vec<f64>, // laid out as the tables
    facts: AllTableFacts,
    version: TableVersion, // of the shifted tables
    possible: PossibleLabels,
}

/// Potentials of one instance, shifted.
#[derive(Debug)]
pub(crate) struct Shifted<'a> {
    /// The shifted potentials; labels that arc consistency excludes are −∞.
    pub(crate) p: Potentials<'a>,
    /// Sum of all that was subtracted.
    pub(crate) height: CompensatedSum,
    /// True if a label or a pair of labels is forbidden.
    pub(crate) forbids: bool,
    /// Largest distance of a finite entry from the maximum of its table.
    pub(crate) table_spread: f64,
    facts: &'a AllTableFacts,
}

impl ShiftMemory {
    /// Shifts the potentials of one instance.
    ///
    /// The errors are `NotFinite` for NaN and ±∞ and for potentials that overflow when they are
    /// added, and `Infeasible` if arc consistency shows that no labelling is possible.
    pub(crate) fn shift<'a>(&'a mut self, p: &'a Potentials<'_>) -> Result<Shifted<'a>> {
        let ShiftMemory { node, tables: shifted_tables, facts, version, possible } = self;
        p.check_finite()?;
        let (shape, tables) = (p.shape(), *p.tables());
        if facts.update(&tables) {
            shifted_tables.clear();
            shifted_tables.extend_from_slice(tables.values);
            for (k, facts) in tables.starts.windows(2).zip(facts.all()) {
                shifted_tables[k[0]..k[1]].iter_mut().for_each(|x| *x -= facts.max);
            }
            *version = TableVersion::of(shifted_tables);
        }
        let facts = &*facts;
        node.clear();
        node.extend_from_slice(p.node());
        let (mut forbids_pairs, mut table_spread, mut height) = (false, 0.0, CompensatedSum::default());
        for e in 0..shape.n_edges() {
            let facts = facts.of(&tables, e);
            forbids_pairs |= facts.forbids;
            table_spread = f64::max(table_spread, facts.spread);
            height.add(facts.max);
        }
        if forbids_pairs {
            possible.forbid_others(&shape, &tables, |e| facts.of(&tables, e).forbids, node);
        }
        let mut spread = table_spread;
        for n in 0..shape.n_nodes() {
            let own = &mut node[shape.node_offset(n)..shape.node_offset(n + 1)];
            let (max, own_spread) = extent(own);
            if max == f64::NEG_INFINITY {
                return Err(impossible(p));
            }
            own.iter_mut().for_each(|x| *x -= max);
            spread = f64::max(spread, own_spread);
            height.add(max);
        }
        // Half of the range, because messages and bounds add some potentials twice.
        if spread > 0.5 * f64::MAX / (shape.n_nodes() + shape.n_edges()) as f64 {
            return Err(overflow("the score of a labelling"));
        }
        let tables = Tables { values: shifted_tables, version: *version, ..tables };
        let forbids = forbids_pairs || node.contains(&f64::NEG_INFINITY);
        Ok(Shifted { p: Potentials::new(shape, node, tables)?, height, forbids, table_spread, facts })
    }

    /// Node potentials of the instance that was shifted last. `[nodes × labels]`
    pub(crate) fn node(&self) -> &[f64] {
        &self.node
    }

    /// Table of edge `e` of the instance `p` that was shifted last.
    pub(crate) fn table(&self, p: &Potentials<'_>, e: usize) -> &[f64] {
        let (starts, table) = (p.tables().starts, p.tables().of_edge.table(e));
        &self.tables[starts[table]..starts[table + 1]]
    }
}

impl Shifted<'_> {
    /// log Z of the potentials as they were, of that of the shifted ones.
    pub(crate) fn log_z(&self, shifted: f64) -> Result<f64> {
        finite_log_z(self.height.plus(shifted).value())
    }

    /// True if the table of edge `e` holds −∞.
    #[inline]
    pub(crate) fn forbids_pairs(&self, e: usize) -> bool {
        self.facts.of(self.p.tables(), e).forbids
    }

    /// True if edge `e` couples its ends: a table of equal numbers only adds to log Z.
    #[inline]
    pub(crate) fn couples(&self, e: usize) -> bool {
        let facts = self.facts.of(self.p.tables(), e);
        facts.spread > 0.0 || facts.forbids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::{Graph, OwnedPotentials, Seed};

    #[test]
    fn tables_are_read_once_for_each_version_and_not_for_each_sequence() {
        let mut x = OwnedPotentials::random(5, 2, 1.0, &Seed::new(1));
        let mut facts = AllTableFacts::default();
        let p = x.view();
        let n_readings = (0..100).filter(|_| facts.update(p.tables())).count();
        assert_eq!(n_readings, 1);
        assert!(facts.update(x.view().tables()), "another version");
    }

    #[test]
    fn the_height_is_the_sum_of_all_maxima() {
        let graph = Graph::bare(vec![2, 3], [(0, 1)]).unwrap();
        let node = vec![1e17, 1e17 - 32.0, 0.5, f64::NEG_INFINITY, 0.25];
        let table = [[-1e17, -1e17, -1e17 - 16.0, -1e17, -1e17, -1e17]];
        let mut x = OwnedPotentials::graph(graph, node, &table, vec![]).unwrap();
        let (p, mut memory) = (x.view(), ShiftMemory::default());
        let shifted = memory.shift(&p).unwrap();
        assert_eq!(shifted.p.node(), [0.0, -32.0, 0.0, f64::NEG_INFINITY, -0.25]);
        assert_eq!(shifted.p.tables().of(0), [0.0, 0.0, -16.0, 0.0, 0.0, 0.0]);
        assert_eq!((shifted.height.value(), shifted.log_z(0.25).unwrap()), (0.5, 0.75));
        assert!(shifted.forbids && !shifted.forbids_pairs(0) && shifted.couples(0));
        assert_eq!(shifted.table_spread, 16.0);
    }

    #[test]
    fn a_label_without_support_does_not_set_the_maximum() {
        let no = f64::NEG_INFINITY;
        let graph = Graph::bare(vec![2, 2], [(1, 0)]).unwrap();
        let mut x =
            OwnedPotentials::graph(graph, vec![0.0, no, 1e17, 0.5], &[[no, 0.0, 0.0, 0.0]], vec![]).unwrap();
        let (p, mut memory) = (x.view(), ShiftMemory::default());
        let shifted = memory.shift(&p).unwrap();
        assert_eq!(shifted.p.node(), [0.0, no, no, 0.0]);
        assert_eq!(shifted.height.value(), 0.5);
    }
}
