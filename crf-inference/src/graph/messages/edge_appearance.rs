use crf_core::Shape;

/// Edge appearance probabilities ρ of tree-reweighting: the frequency of each edge in a few
/// spanning forests.
///
/// Forests are built one after another, each from the edges that the previous ones used least,
/// until there are `min_forests` and every edge is in one of them. Frequencies of edges in forests
/// lie in the spanning tree polytope by construction, which makes the tree-reweighted free energy a
/// bound (Wainwright et al. 2005, §IV). Edges that couple nothing are in no forest and have ρ = 1.
#[derive(Debug, Default)]
pub(crate) struct EdgeAppearance {
    pub(crate) rho: Vec<f64>, // [edges]
    edges: Vec<u32>,          // the edges that couple, least used first
    parent: Vec<u32>,         // [nodes] union-find of the trees of one forest
}

impl EdgeAppearance {
    /// Computes ρ for one graph, of which `couples` tells the edges that couple their ends.
    pub(crate) fn fill(&mut self, shape: &Shape<'_>, couples: impl Fn(usize) -> bool, min_forests: u32) {
        let n_edges = shape.n_edges();
        self.rho.clear();
        self.rho.resize(n_edges, 0.0);
        self.edges.clear();
        self.edges.extend((0..n_edges as u32).filter(|&e| couples(e as usize)));
        let mut n_forests = 0_u32;
        while !self.edges.is_empty() && (n_forests < min_forests || self.rho[self.edges[0] as usize] == 0.0) {
            self.parent.clear();
            self.parent.extend(0..shape.n_nodes() as u32);
            for &e in &self.edges {
                let (u, v) = shape.ends(e as usize);
                let (u, v) = (find_root(&mut self.parent, u as u32), find_root(&mut self.parent, v as u32));
                if u != v {
                    self.parent[u as usize] = v;
                    self.rho[e as usize] += 1.0;
                }
            }
            n_forests += 1;
            let rho = &self.rho;
            self.edges.sort_unstable_by(|&a, &b| rho[a as usize].total_cmp(&rho[b as usize]).then(a.cmp(&b)));
        }
        // Every edge that couples is in some forest by now, so a count of 0 belongs to one that
        // does not.
        let frequency = |count: f64| if count == 0.0 { 1.0 } else { count / f64::from(n_forests) };
        self.rho.iter_mut().for_each(|count| *count = frequency(*count));
    }
}

/// Root of a node's tree, with path halving.
fn find_root(parent: &mut [u32], mut n: u32) -> u32 {
    while parent[n as usize] != n {
        parent[n as usize] = parent[parent[n as usize] as usize];
        n = parent[n as usize];
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::Graph;

    #[test]
    fn frequencies_sum_to_the_edges_of_a_forest_and_none_is_zero() {
        let all_pairs = (0..7_u32).flat_map(|u| (u + 1..7).map(move |v| (u, v)));
        let parallel_and_bridge = [(7, 8), (7, 8), (8, 9)];
        let graph = Graph::bare(vec![2; 11], all_pairs.chain(parallel_and_bridge)).unwrap();
        let mut appearance = EdgeAppearance::default();
        appearance.fill(&Shape::Graph(&graph), |_| true, 10);
        let rho = &appearance.rho;
        assert!(rho.iter().all(|&rho| rho > 0.0 && rho <= 1.0), "{rho:?}");
        assert!((rho[..21].iter().sum::<f64>() - 6.0).abs() < 1e-12);
        assert!((rho[21] + rho[22] - 1.0).abs() < 1e-12 && rho[23] == 1.0);
        appearance.fill(&Shape::Graph(&graph), |e| e != 22, 10);
        assert_eq!(appearance.rho[21..], [1.0; 3]);
    }
}
