use crf_core::Shape;

/// How likely each edge is to be in a spanning forest that is drawn from a few of them.
///
/// Forests are built one after the other, each of those edges first that the ones before used least, until there are
/// `at_least` and every edge is in one. Frequencies of edges in forests lie in the spanning tree polytope by construction, which
/// is what makes a bound of the tree-reweighted free energy (Wainwright et al. 2005, §IV). Edges that tie nothing are in no forest
/// and count once.
#[derive(Debug, Default)]
pub(crate) struct EdgeAppearance {
    pub(crate) rho: Vec<f64>, // [edges]
    edges: Vec<u32>,
    root: Vec<u32>,
}

impl EdgeAppearance {
    /// The frequencies for one graph.
    pub(crate) fn fill(&mut self, shape: &Shape<'_>, ties: impl Fn(usize) -> bool, at_least: u32) {
        let n_edges = shape.n_edges();
        self.rho.clear();
        self.rho.resize(n_edges, 0.0);
        self.edges.clear();
        self.edges.extend((0..n_edges as u32).filter(|&e| ties(e as usize)));
        let mut forests = 0_u32;
        while !self.edges.is_empty() && (forests < at_least || self.rho[self.edges[0] as usize] == 0.0) {
            self.root.clear();
            self.root.extend(0..shape.n_nodes() as u32);
            for &e in &self.edges {
                let (u, v) = shape.ends(e as usize);
                let (u, v) = (find(&mut self.root, u as u32), find(&mut self.root, v as u32));
                if u != v {
                    self.root[u as usize] = v;
                    self.rho[e as usize] += 1.0;
                }
            }
            forests += 1;
            let rho = &self.rho;
            self.edges.sort_unstable_by(|&a, &b| rho[a as usize].total_cmp(&rho[b as usize]).then(a.cmp(&b)));
        }
        // An edge that ties is in some forest by now.
        let frequency = |count: f64| if count == 0.0 { 1.0 } else { count / f64::from(forests) };
        self.rho.iter_mut().for_each(|count| *count = frequency(*count));
    }
}

/// The root of a node's tree; the way there is shortened.
fn find(root: &mut [u32], mut n: u32) -> u32 {
    while root[n as usize] != n {
        root[n as usize] = root[root[n as usize] as usize];
        n = root[n as usize];
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
        let mut spanning = EdgeAppearance::default();
        spanning.fill(&Shape::Graph(&graph), |_| true, 10);
        let rho = &spanning.rho;
        assert!(rho.iter().all(|&rho| rho > 0.0 && rho <= 1.0), "{rho:?}");
        assert!((rho[..21].iter().sum::<f64>() - 6.0).abs() < 1e-12);
        assert!((rho[21] + rho[22] - 1.0).abs() < 1e-12 && rho[23] == 1.0);
        spanning.fill(&Shape::Graph(&graph), |e| e != 22, 10);
        assert_eq!(spanning.rho[21..], [1.0; 3]);
    }
}
