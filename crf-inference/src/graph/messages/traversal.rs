use crf_core::{Incidence, Potentials, Shape};

/// Whether an edge ties its ends: a table of equal numbers only moves log Z, so that it closes no cycle.
pub(crate) fn ties(p: &Potentials<'_>, e: usize) -> bool {
    let table = p.tables().of(e);
    table.iter().any(|&x| x != table[0]) || table[0] == f64::NEG_INFINITY
}

/// An order of nodes: on a forest breadth first from the first node of each tree, so that each follows its only neighbour
/// nearer to the root; on other graphs their own, in which neighbours mostly stand near to each other in memory.
#[derive(Debug, Default)]
pub(crate) struct Order {
    nodes: Vec<u32>,
    seen: Vec<bool>,
    forest: bool,
}

impl Order {
    /// Walks through a graph along the edges that tie.
    pub(crate) fn fill(&mut self, shape: &Shape<'_>, ties: impl Fn(usize) -> bool) {
        let n_nodes = shape.n_nodes();
        self.nodes.clear();
        self.seen.clear();
        self.seen.resize(n_nodes, false);
        let (mut components, mut ends, mut at) = (0, 0, 0);
        for root in 0..n_nodes {
            if self.seen[root] {
                continue;
            }
            self.seen[root] = true;
            self.nodes.push(root as u32);
            components += 1;
            while at < self.nodes.len() {
                let n = self.nodes[at] as usize;
                at += 1;
                for k in 0..shape.degree(n) {
                    let Incidence { edge, other, .. } = shape.incidence(n, k);
                    if !ties(edge as usize) {
                        continue;
                    }
                    ends += 1;
                    if !std::mem::replace(&mut self.seen[other as usize], true) {
                        self.nodes.push(other);
                    }
                }
            }
        }
        self.forest = ends / 2 + components == n_nodes;
        if !self.forest {
            self.nodes.clear();
            self.nodes.extend(0..n_nodes as u32);
        }
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Whether no edge that ties closes a cycle; then each node follows at most one of its neighbours.
    pub(crate) fn is_forest(&self) -> bool {
        self.forest
    }
}
