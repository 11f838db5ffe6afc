use crf_core::Shape;

/// An order of nodes: on a forest breadth first from the first node of each tree, so that each follows its only neighbour
/// nearer to the root; on other graphs their own, in which neighbours mostly stand near to each other in memory.
#[derive(Debug, Default)]
pub(super) struct Order {
    nodes: Vec<u32>,
    seen: Vec<bool>,
    forest: bool,
}

impl Order {
    /// Walks through a graph.
    pub(super) fn fill(&mut self, shape: &Shape<'_>) {
        let n_nodes = shape.n_nodes();
        self.nodes.clear();
        self.seen.clear();
        self.seen.resize(n_nodes, false);
        let (mut components, mut at) = (0, 0);
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
                    let other = shape.incidence(n, k).other;
                    if !std::mem::replace(&mut self.seen[other as usize], true) {
                        self.nodes.push(other);
                    }
                }
            }
        }
        self.forest = shape.n_edges() + components == n_nodes;
        if !self.forest {
            self.nodes.clear();
            self.nodes.extend(0..n_nodes as u32);
        }
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Whether no edge closes a cycle; then each node follows at most one of its neighbours.
    pub(super) fn is_forest(&self) -> bool {
        self.forest
    }
}
