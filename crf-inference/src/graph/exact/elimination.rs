use std::collections::BTreeSet;

use crf_core::Shape;

/// The cliques that appear when nodes are eliminated one by one, each time one whose neighbours lack the fewest edges.
///
/// Koller and Friedman (2009), §9.4.3: min-fill. The clique of a node holds the node and those of its neighbours that
/// are left; all but the node itself are also in the clique of that neighbour which is eliminated next.
#[derive(Debug)]
pub(crate) struct Elimination {
    /// The cliques in the order of elimination.
    pub(crate) cliques: Vec<Clique>,
    /// When each node is eliminated. `[nodes]`
    pub(crate) turn: Vec<usize>,
    /// How many numbers the tables of all cliques have.
    pub(crate) size: usize,
}

/// A node with its neighbours at the time it is eliminated.
#[derive(Debug)]
pub(crate) struct Clique {
    /// The neighbours by turn, then the node.
    pub(crate) nodes: Vec<u32>,
    /// Labels of each.
    pub(crate) cards: Vec<usize>,
    /// Where its table starts: row by row, the node's labels side by side.
    pub(crate) at: usize,
    /// Where the sums over the node's labels start.
    pub(crate) separator_offset: usize,
}

/// What made an elimination too large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooLarge {
    /// Nodes of the clique at which it was given up.
    pub(crate) clique: usize,
    /// Numbers in all tables so far.
    pub(crate) numbers: f64,
}

impl Elimination {
    /// Eliminates all nodes, unless the tables would have more than `limit` numbers.
    pub(crate) fn min_fill(shape: &Shape<'_>, limit: f64) -> Result<Self, TooLarge> {
        let n_nodes = shape.n_nodes();
        let mut rest = Rest::new(shape);
        let mut cliques: Vec<Clique> = Vec::with_capacity(n_nodes);
        let mut turn = vec![0; n_nodes];
        let (mut at, mut separator_offset, mut numbers) = (0, 0, 0.0);
        while let Some((node, neighbours)) = rest.eliminate() {
            turn[node as usize] = cliques.len();
            let mut nodes = neighbours;
            nodes.push(node);
            let product =
                |nodes: &[u32]| nodes.iter().map(|&n| shape.card(n as usize) as f64).product::<f64>();
            numbers += product(&nodes) + product(&nodes[..nodes.len() - 1]);
            if numbers > limit {
                return Err(TooLarge { clique: nodes.len(), numbers });
            }
            let (size, separator) = (product(&nodes) as usize, product(&nodes[..nodes.len() - 1]) as usize);
            cliques.push(Clique { nodes, cards: Vec::new(), at, separator_offset });
            at += size;
            separator_offset += separator;
        }
        for clique in &mut cliques {
            let last = clique.nodes.len() - 1;
            clique.nodes[..last].sort_by_key(|&n| turn[n as usize]);
            clique.cards = clique.nodes.iter().map(|&n| shape.card(n as usize)).collect();
        }
        Ok(Elimination { cliques, turn, size: at })
    }

    /// How many numbers the sums of all cliques have.
    pub(crate) fn separators(&self) -> usize {
        self.cliques.last().map_or(0, |last| last.separator_offset + last.separator())
    }
}

impl Clique {
    /// How many labellings the clique has.
    pub(crate) fn size(&self) -> usize {
        self.cards.iter().product()
    }

    /// How many labellings its neighbours have.
    pub(crate) fn separator(&self) -> usize {
        self.cards[..self.cards.len() - 1].iter().product()
    }

    /// The node that is eliminated here.
    pub(crate) fn node(&self) -> usize {
        self.nodes[self.nodes.len() - 1] as usize
    }

    /// The neighbour whose clique comes next on the way to the root.
    pub(crate) fn parent(&self) -> Option<usize> {
        (self.nodes.len() > 1).then(|| self.nodes[0] as usize)
    }

    /// Calls `see` for every labelling of the clique with its place and with Σ stride · label of the nodes in `of`.
    pub(crate) fn walk(&self, of: &[(u32, usize)], mut see: impl FnMut(usize, usize)) {
        let stride = |n: &u32| of.iter().filter(|(m, _)| m == n).map(|(_, stride)| stride).sum::<usize>();
        let strides: Vec<usize> = self.nodes.iter().map(stride).collect();
        let mut labels = vec![0; self.nodes.len()];
        let mut sub = 0;
        for place in 0..self.size() {
            see(place, sub);
            for j in (0..labels.len()).rev() {
                labels[j] += 1;
                sub += strides[j];
                if labels[j] < self.cards[j] {
                    break;
                }
                sub -= self.cards[j] * strides[j];
                labels[j] = 0;
            }
        }
    }

    /// The strides of the clique's neighbours in its sums.
    pub(crate) fn separator_strides(&self) -> Vec<(u32, usize)> {
        let last = self.nodes.len() - 1;
        (0..last).map(|j| (self.nodes[j], self.cards[j + 1..last].iter().product())).collect()
    }
}

/// The graph of the nodes that are left.
struct Rest {
    neighbours: Vec<BTreeSet<u32>>,
    missing: Vec<usize>, // [nodes] edges that the neighbours of a node lack
    queue: BTreeSet<(usize, u32)>,
}

impl Rest {
    fn new(shape: &Shape<'_>) -> Self {
        let mut neighbours = vec![BTreeSet::new(); shape.n_nodes()];
        for e in 0..shape.n_edges() {
            let (u, v) = shape.ends(e);
            neighbours[u].insert(v as u32);
            neighbours[v].insert(u as u32);
        }
        let mut missing: Vec<usize> =
            neighbours.iter().map(|all| all.len() * all.len().saturating_sub(1) / 2).collect();
        for u in 0..shape.n_nodes() {
            for &v in neighbours[u].range(u as u32 + 1..) {
                common(&neighbours, u as u32, v).for_each(|both| missing[both as usize] -= 1);
            }
        }
        let queue = missing.iter().enumerate().map(|(n, &missing)| (missing, n as u32)).collect();
        Rest { neighbours, missing, queue }
    }

    /// Takes out the node whose neighbours lack the fewest edges, and joins them.
    fn eliminate(&mut self) -> Option<(u32, Vec<u32>)> {
        let (_, node) = self.queue.pop_first()?;
        let around: Vec<u32> = self.neighbours[node as usize].iter().copied().collect();
        for (i, &a) in around.iter().enumerate() {
            for &b in &around[i + 1..] {
                if !self.neighbours[a as usize].contains(&b) {
                    self.join(a, b, node);
                }
            }
        }
        for &other in &around {
            self.neighbours[other as usize].remove(&node);
            // The node's other neighbours are joined with it; all further ones of `other` were not.
            let strangers = self.neighbours[other as usize].len() - (around.len() - 1);
            self.change(other, -(strangers as isize));
        }
        Some((node, around))
    }

    fn join(&mut self, a: u32, b: u32, leaving: u32) {
        let both: Vec<u32> = common(&self.neighbours, a, b).collect();
        for n in [a, b] {
            let strangers = self.neighbours[n as usize].len() - both.len();
            self.change(n, strangers as isize);
        }
        both.into_iter().filter(|&n| n != leaving).for_each(|n| self.change(n, -1));
        self.neighbours[a as usize].insert(b);
        self.neighbours[b as usize].insert(a);
    }

    fn change(&mut self, n: u32, by: isize) {
        let missing = &mut self.missing[n as usize];
        self.queue.remove(&(*missing, n));
        *missing = missing.checked_add_signed(by).expect("no fewer than zero edges are missing");
        self.queue.insert((*missing, n));
    }
}

/// The nodes that are neighbours of both.
fn common(neighbours: &[BTreeSet<u32>], a: u32, b: u32) -> impl Iterator<Item = u32> {
    let (a, b) = (&neighbours[a as usize], &neighbours[b as usize]);
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.iter().copied().filter(|n| many.contains(n))
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
