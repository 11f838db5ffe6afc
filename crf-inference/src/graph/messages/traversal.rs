use crf_core::{Incidence, Shape};

/// Order in which nodes are visited.
///
/// On a forest it is breadth first from the first node of each tree, so that each node follows its
/// only neighbour nearer to the root. On other graphs it is that of the nodes themselves, where
/// neighbours are mostly close to each other in memory.
#[derive(Debug, Default)]
pub(crate) struct NodeOrder {
    nodes: Vec<u32>,
    tree: Vec<TreePlace>, // [nodes]
    is_forest: bool,
}

/// Place of a node in its tree.
#[derive(Debug, Clone, Copy)]
struct TreePlace {
    root: u32,
    depth: u32,
    parent: u32, // number of the edge towards the root among the node's
}

impl TreePlace {
    const UNSEEN: TreePlace = TreePlace { root: u32::MAX, depth: 0, parent: 0 };
}

impl NodeOrder {
    /// Traverses a graph along the edges that couple their ends.
    pub(crate) fn fill(&mut self, shape: &Shape<'_>, couples: impl Fn(usize) -> bool) {
        let n_nodes = shape.n_nodes();
        self.nodes.clear();
        self.tree.clear();
        self.tree.resize(n_nodes, TreePlace::UNSEEN);
        let mut n_components = 0;
        let mut n_ends = 0; // each edge has two
        let mut next = 0;
        for root in 0..n_nodes {
            if self.is_seen(root) {
                continue;
            }
            self.tree[root].root = root as u32;
            self.nodes.push(root as u32);
            n_components += 1;
            while next < self.nodes.len() {
                let n = self.nodes[next] as usize;
                next += 1;
                for k in 0..shape.degree(n) {
                    let Incidence { edge, other, opposite, .. } = shape.incidence(n, k);
                    if !couples(edge as usize) {
                        continue;
                    }
                    n_ends += 1;
                    if !self.is_seen(other as usize) {
                        let TreePlace { root, depth, .. } = self.tree[n];
                        let other = other as usize;
                        let parent = (opposite - shape.message_offset(other)) / shape.card(other);
                        self.tree[other] = TreePlace { root, depth: depth + 1, parent: parent as u32 };
                        self.nodes.push(other as u32);
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

    fn is_seen(&self, n: usize) -> bool {
        self.tree[n].root != u32::MAX
    }

    /// True if edges that couple connect two nodes.
    pub(crate) fn are_connected(&self, u: usize, v: usize) -> bool {
        self.tree[u].root == self.tree[v].root
    }

    /// Fills `steps` with the path from `u` to `v` along the tree that connects them: each step is
    /// a node and the number of the edge to the next node among its own.
    pub(crate) fn path(&self, shape: &Shape<'_>, mut u: usize, mut v: usize, steps: &mut Vec<(u32, u32)>) {
        let parent = |n: usize| shape.incidence(n, self.tree[n].parent as usize);
        steps.clear();
        let (goal, depth) = (v, |n: usize| self.tree[n].depth);
        while u != v {
            if depth(u) >= depth(v) {
                steps.push((u as u32, self.tree[u].parent));
                u = parent(u).other as usize;
            } else {
                v = parent(v).other as usize;
            }
        }
        // The rest is walked from its end: seen from the parent, an edge is another of its own.
        let first = steps.len();
        v = goal;
        while v != u {
            let end = parent(v);
            let from = end.other as usize;
            steps.push((end.other, ((end.opposite - shape.message_offset(from)) / shape.card(from)) as u32));
            v = from;
        }
        steps[first..].reverse();
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
