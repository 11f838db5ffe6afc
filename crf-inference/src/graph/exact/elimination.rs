use std::collections::BTreeSet;

use crf_core::Shape;

/// Elimination of all nodes by min-fill: each time a node whose neighbours lack the fewest edges,
/// which are then added.
///
/// Koller and Friedman (2009), §9.4.3. The clique of a node is the node with its neighbours at that
/// time. All of them but the node itself are also in the clique of the neighbour that is eliminated
/// next, its parent in the clique tree.
#[derive(Debug)]
pub(crate) struct Elimination {
    /// The cliques in order of elimination.
    pub(crate) cliques: Vec<Clique>,
    /// Index of each node's own clique. `[nodes]`
    pub(crate) clique_of_node: Vec<usize>,
    /// Number of entries of all clique tables.
    pub(crate) size: usize,
}

/// Clique of a node: the node and its neighbours at the time of its elimination.
#[derive(Debug)]
pub(crate) struct Clique {
    /// The neighbours in order of elimination, then the node.
    pub(crate) nodes: Vec<u32>,
    /// Number of labels of each.
    pub(crate) cards: Vec<usize>,
    /// Offset of its table, row by row: the labels of the node side by side.
    pub(crate) table_offset: usize,
    /// Offset of its separator: the sums over the labels of the node.
    pub(crate) separator_offset: usize,
}

/// Largest number of entries under any limit, so that offsets do not overflow.
const MAX_ENTRIES: f64 = (1_u64 << 53) as f64;

/// Error of an elimination whose tables exceed the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooLarge {
    /// Number of nodes of the clique that exceeds it.
    pub(crate) n_clique_nodes: usize,
    /// Number of entries of all tables so far.
    pub(crate) n_entries: f64,
}

impl Elimination {
    /// Eliminates all nodes, unless the tables would have more than `limit` entries.
    pub(crate) fn min_fill(shape: &Shape<'_>, limit: f64) -> Result<Self, TooLarge> {
        let n_nodes = shape.n_nodes();
        let mut remaining = RemainingGraph::new(shape);
        let mut cliques: Vec<Clique> = Vec::with_capacity(n_nodes);
        let mut clique_of_node = vec![0; n_nodes];
        let mut table_offset = 0;
        let mut separator_offset = 0;
        let mut n_entries = 0.0;
        while let Some((node, neighbours)) = remaining.eliminate() {
            clique_of_node[node as usize] = cliques.len();
            let mut nodes = neighbours;
            nodes.push(node);
            let n_labellings =
                |nodes: &[u32]| nodes.iter().map(|&n| shape.card(n as usize) as f64).product::<f64>();
            let size = n_labellings(&nodes);
            let separator_size = n_labellings(&nodes[..nodes.len() - 1]);
            n_entries += size + separator_size;
            if n_entries > limit.min(MAX_ENTRIES) {
                return Err(TooLarge { n_clique_nodes: nodes.len(), n_entries });
            }
            cliques.push(Clique { nodes, cards: Vec::new(), table_offset, separator_offset });
            table_offset += size as usize;
            separator_offset += separator_size as usize;
        }
        for clique in &mut cliques {
            let last = clique.nodes.len() - 1;
            clique.nodes[..last].sort_by_key(|&n| clique_of_node[n as usize]);
            clique.cards = clique.nodes.iter().map(|&n| shape.card(n as usize)).collect();
        }
        Ok(Elimination { cliques, clique_of_node, size: table_offset })
    }

    /// Number of bytes of all tables and separators.
    pub(crate) fn n_bytes(&self) -> f64 {
        (self.size + self.separators_size()) as f64 * size_of::<f64>() as f64
    }

    /// Number of entries of all separators.
    pub(crate) fn separators_size(&self) -> usize {
        self.cliques.last().map_or(0, |last| last.separator_offset + last.separator_size())
    }
}

impl Clique {
    /// Number of labellings of the clique.
    pub(crate) fn size(&self) -> usize {
        self.cards.iter().product()
    }

    /// Number of labellings of its separator: of all nodes but its own.
    pub(crate) fn separator_size(&self) -> usize {
        self.cards[..self.cards.len() - 1].iter().product()
    }

    /// The node that is eliminated with this clique.
    pub(crate) fn node(&self) -> usize {
        self.nodes[self.nodes.len() - 1] as usize
    }

    /// The neighbour whose clique is the parent in the clique tree; `None` at a root.
    pub(crate) fn parent(&self) -> Option<usize> {
        (self.nodes.len() > 1).then(|| self.nodes[0] as usize)
    }

    /// Calls `visit` for every labelling with its index and with Σ stride · label over the nodes in
    /// `node_strides`, which is the index in a table over those nodes.
    pub(crate) fn for_each_labelling(
        &self,
        node_strides: &[(u32, usize)],
        mut visit: impl FnMut(usize, usize),
    ) {
        let stride =
            |n: &u32| node_strides.iter().filter(|(m, _)| m == n).map(|(_, stride)| stride).sum::<usize>();
        let strides: Vec<usize> = self.nodes.iter().map(stride).collect();
        let mut labels = vec![0; self.nodes.len()];
        let mut sub_index = 0;
        for index in 0..self.size() {
            visit(index, sub_index);
            for j in (0..labels.len()).rev() {
                labels[j] += 1;
                sub_index += strides[j];
                if labels[j] < self.cards[j] {
                    break;
                }
                sub_index -= self.cards[j] * strides[j];
                labels[j] = 0;
            }
        }
    }

    /// Strides of the separator's nodes in the separator.
    pub(crate) fn separator_strides(&self) -> Vec<(u32, usize)> {
        let last = self.nodes.len() - 1;
        (0..last).map(|j| (self.nodes[j], self.cards[j + 1..last].iter().product())).collect()
    }
}

/// Graph of the nodes that are not yet eliminated.
struct RemainingGraph {
    neighbours: Vec<BTreeSet<u32>>, // [nodes]
    fill_in: Vec<usize>,            // [nodes] number of edges that the neighbours of a node lack
    queue: BTreeSet<(usize, u32)>,  // (fill-in, node)
}

impl RemainingGraph {
    fn new(shape: &Shape<'_>) -> Self {
        let mut neighbours = vec![BTreeSet::new(); shape.n_nodes()];
        for e in 0..shape.n_edges() {
            let (u, v) = shape.ends(e);
            neighbours[u].insert(v as u32);
            neighbours[v].insert(u as u32);
        }
        let mut fill_in: Vec<usize> =
            neighbours.iter().map(|all| all.len() * all.len().saturating_sub(1) / 2).collect();
        for u in 0..shape.n_nodes() {
            for &v in neighbours[u].range(u as u32 + 1..) {
                common_neighbours(&neighbours, u as u32, v).for_each(|n| fill_in[n as usize] -= 1);
            }
        }
        let queue = fill_in.iter().enumerate().map(|(n, &fill_in)| (fill_in, n as u32)).collect();
        RemainingGraph { neighbours, fill_in, queue }
    }

    /// Removes the node with the smallest fill-in, connects its neighbours, and returns both.
    fn eliminate(&mut self) -> Option<(u32, Vec<u32>)> {
        let (_, node) = self.queue.pop_first()?;
        let around: Vec<u32> = self.neighbours[node as usize].iter().copied().collect();
        for (i, &a) in around.iter().enumerate() {
            for &b in &around[i + 1..] {
                if !self.neighbours[a as usize].contains(&b) {
                    self.connect(a, b, node);
                }
            }
        }
        for &other in &around {
            self.neighbours[other as usize].remove(&node);
            // The node's other neighbours are connected with `other` now; all further neighbours of
            // `other` lacked an edge to the node.
            let n_unconnected = self.neighbours[other as usize].len() - (around.len() - 1);
            self.change(other, -(n_unconnected as isize));
        }
        Some((node, around))
    }

    /// Adds the edge between `a` and `b`, two neighbours of the node that is being eliminated.
    fn connect(&mut self, a: u32, b: u32, eliminated: u32) {
        let both: Vec<u32> = common_neighbours(&self.neighbours, a, b).collect();
        for n in [a, b] {
            let n_unconnected = self.neighbours[n as usize].len() - both.len();
            self.change(n, n_unconnected as isize);
        }
        both.into_iter().filter(|&n| n != eliminated).for_each(|n| self.change(n, -1));
        self.neighbours[a as usize].insert(b);
        self.neighbours[b as usize].insert(a);
    }

    /// Changes the fill-in of a node.
    fn change(&mut self, n: u32, difference: isize) {
        let fill_in = &mut self.fill_in[n as usize];
        self.queue.remove(&(*fill_in, n));
        *fill_in = fill_in.checked_add_signed(difference).expect("no fewer than zero edges are missing");
        self.queue.insert((*fill_in, n));
    }
}

/// Common neighbours of two nodes.
fn common_neighbours(neighbours: &[BTreeSet<u32>], a: u32, b: u32) -> impl Iterator<Item = u32> {
    let (a, b) = (&neighbours[a as usize], &neighbours[b as usize]);
    let (smaller, larger) = if a.len() < b.len() { (a, b) } else { (b, a) };
    smaller.iter().copied().filter(|n| larger.contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::Graph;

    #[test]
    fn a_grid_is_as_wide_as_it_is() {
        let side = 5_u32;
        let right = (0..side * side).filter(|u| u % side + 1 < side).map(|u| (u, u + 1));
        let down = (0..side * (side - 1)).map(|u| (u, u + side));
        let graph = Graph::bare(vec![2; 25], right.chain(down)).unwrap();
        let found = Elimination::min_fill(&Shape::Graph(&graph), f64::INFINITY).unwrap();
        let widest = found.cliques.iter().map(|clique| clique.nodes.len() - 1).max();
        assert_eq!(widest, Some(5));
    }

    #[test]
    fn a_star_with_many_leaves_is_quick() {
        let graph = Graph::bare(vec![2; 20_001], (1..20_001).map(|leaf| (0, leaf))).unwrap();
        let found = Elimination::min_fill(&Shape::Graph(&graph), f64::INFINITY).unwrap();
        assert!(found.cliques.iter().all(|clique| clique.nodes.len() <= 2));
    }
}
