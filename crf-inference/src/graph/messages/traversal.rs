use crf_core::{Incidence, Shape};

/// Order in which nodes are visited.
///
/// On a forest it is breadth first from the first node of each tree, so that each node follows its
/// only neighbour nearer to the root. On other graphs it is that of the nodes themselves, where
/// neighbours are mostly close to each other in memory.
#[derive(Debug, Default)]
pub(crate) struct NodeOrder {
    nodes: Vec<u32>,
    is_seen: Vec<bool>, // [nodes]
    is_forest: bool,
}

impl NodeOrder {
    /// Traverses a graph along the edges that couple their ends.
    pub(crate) fn fill(&mut self, shape: &Shape<'_>, couples: impl Fn(usize) -> bool) {
        let n_nodes = shape.n_nodes();
        self.nodes.clear();
        self.is_seen.clear();
        self.is_seen.resize(n_nodes, false);
        let mut n_components = 0;
        let mut n_ends = 0; // each edge has two
        let mut next = 0;
        for root in 0..n_nodes {
            if self.is_seen[root] {
                continue;
            }
            self.is_seen[root] = true;
            self.nodes.push(root as u32);
            n_components += 1;
            while next < self.nodes.len() {
                let n = self.nodes[next] as usize;
                next += 1;
                for k in 0..shape.degree(n) {
                    let Incidence { edge, other, .. } = shape.incidence(n, k);
                    if !couples(edge as usize) {
                        continue;
                    }
                    n_ends += 1;
                    if !std::mem::replace(&mut self.is_seen[other as usize], true) {
                        self.nodes.push(other);
                    }
                }
            }
        }
        self.is_forest = n_ends / 2 + n_components == n_nodes;
        if !self.is_forest {
            self.nodes.clear();
            self.nodes.extend(0..n_nodes as u32);
        }
    }

    /// Nodes in this order.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// True if no edge that couples closes a cycle; then each node follows at most one of its
    /// neighbours.
    pub(crate) fn is_forest(&self) -> bool {
        self.is_forest
    }
}
