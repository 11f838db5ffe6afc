use crf_core::{
    Beliefs, ConstrainedTables, EdgeBeliefs, EdgeTables, Forbidden, Inference, Label, Potentials, Problem,
    Result, Scratch, TableVersion, Tables, require_memory,
};
use rayon::prelude::*;

use crate::boosting::gradient_tree_boosting::loss::{BoostingLoss, Leaf, TreeView};
use crate::boosting::trees::{Attributes, Cells, Place, Row, Tree};
use crate::objectives::labels::{all_labels, refuse_foreign};

/// Loss −log p(Y | X) of chains with scores F_t(y′, y) of their own at every position. Its gradient
/// is P(y_{t−1} = y′, y_t = y | X) − 1[y_{t−1} = y′, y_t = y].
///
/// Nearly all of the L² pairs have next to no probability, and so neither slope nor curvature:
/// those that [`Leaf::negligible`] allows are omitted from the least-squares problems, unless they
/// are true.
pub(crate) struct LikelihoodLoss<'a> {
    view: TreeView<'a>,
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    asks: bool, // true if scores depend on the previous label
    least: f64, // minimum probability of a pair of labels that is not negligible
    truth: Vec<Label>,
    chains: Vec<Chain>, // [sequences]
    starts: Vec<usize>, // offsets of tables
    numbers: Vec<u32>,  // indices of tables
    zeros: Vec<f64>,    // the table that ties nothing
}

/// Scores and probabilities of one sequence.
struct Chain {
    node: Vec<f64>,   // [T × L] scores that do not depend on the previous label
    tables: Vec<f64>, // [T − 1 × L × L] scores that do: previous label, then label
    p_node: Vec<f32>, // [T × L]
    pairs: Pairs,
    loss: f64,
}

/// Probabilities of the pairs of labels that are not negligible, by edge, label, and previous
/// label.
#[derive(Default)]
struct Pairs {
    starts: Vec<u32>,        // [(T − 1)·L + 1]
    values: Vec<(u16, f32)>, // previous label, and the probability of both
}

impl Pairs {
    /// Adds the pairs of an edge that are true or have at least the probability `least`.
    fn read(&mut self, beliefs: &[f64], n: usize, truth: [Label; 2], least: f64) {
        for k in 0..n {
            for (before, row) in (0..).zip(beliefs.chunks_exact(n)) {
                if row[k] >= least || truth == [Label::from(before), k as Label] {
                    self.values.push((before, row[k] as f32));
                }
            }
            self.starts.push(self.values.len() as u32);
        }
    }

    /// Pairs of label `k` at the head of edge `e`.
    fn of_label(&self, e: usize, k: usize, n: usize) -> &[(u16, f32)] {
        let start = e * n + k;
        &self.values[self.starts[start] as usize..self.starts[start + 1] as usize]
    }
}

/// Memory for one sequence.
#[derive(Default)]
struct WorkerMemory {
    node: Vec<f64>,
    beliefs: Vec<f64>,
    edges: Vec<f64>,
    constrained: ConstrainedTables,
    inference: Scratch,
}

impl<'a> LikelihoodLoss<'a> {
    /// The training data of a problem, with all scores 0.
    pub(crate) fn new(
        problem: &Problem<'a>,
        attributes: &'a Attributes,
        asks: bool,
        leaf: Leaf,
        tag: &str,
    ) -> Result<Self> {
        let (x, n_labels) = (problem.train, problem.map.schema().n_labels(0));
        let data = x.data();
        let truth = all_labels(data, tag)?;
        refuse_foreign(data)?;
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(data))?;
        let size = if asks { n_labels * n_labels } else { 0 };
        let bytes = 8.0 * data.n_positions() as f64 * size as f64;
        let what =
            format!("a table of {n_labels}² pairs of labels at each of {} positions", data.n_positions());
        require_memory(bytes, &what, "use `gradient = \"pseudo-likelihood\"`, or fewer labels")?;
        let mut longest = 0;
        let chain = |i| {
            let len = data.range(i).len();
            longest = len.max(longest);
            let n_edges = len.saturating_sub(1);
            problem.inference.supports(&data.shape(i))?;
            Ok(Chain {
                node: vec![0.0; len * n_labels],
                tables: vec![0.0; n_edges * size],
                p_node: vec![0.0; len * n_labels],
                pairs: Pairs::default(),
                loss: 0.0,
            })
        };
        let chains = (0..data.len()).map(chain).collect::<Result<_>>()?;
        let Problem { inference, forbidden, .. } = *problem;
        Ok(LikelihoodLoss {
            view: TreeView { attributes, x, n_labels },
            inference,
            forbidden,
            asks,
            least: leaf.negligible() / (n_labels * n_labels) as f64,
            truth,
            chains,
            starts: (0..=longest.max(1)).map(|e| e * n_labels * n_labels).collect(),
            numbers: (0..longest as u32).collect(),
            zeros: vec![0.0; n_labels * n_labels],
        })
    }

    #[cfg(test)]
    pub(crate) fn shift(&mut self, i: usize, t: usize, before: u16, now: usize, by: f64) {
        let n = self.view.n_labels;
        match usize::from(before) {
            before if before < n => self.chains[i].tables[((t - 1) * n + before) * n + now] += by,
            _ => self.chains[i].node[t * n + now] += by,
        }
    }
}

impl BoostingLoss for LikelihoodLoss<'_> {
    fn add(&mut self, trees: &[Tree]) {
        let LikelihoodLoss { view, chains, asks, .. } = self;
        let (n, size) = (view.n_labels, view.n_labels * view.n_labels);
        let start = || (Row::new(view.attributes), (0..view.none()).collect::<Vec<u16>>());
        chains.par_iter_mut().enumerate().for_each_init(start, |(row, labels), (i, chain)| {
            for (t, position) in view.x.data().range(i).enumerate() {
                view.read(position, row);
                let mut none = [view.none()];
                let node = &mut chain.node[t * n..(t + 1) * n];
                for ((k, tree), each) in trees.iter().enumerate().zip(node) {
                    match t.checked_sub(1).filter(|_| *asks) {
                        None => view.add(tree, k, row, &mut none, each, &mut []),
                        Some(e) => {
                            let table = &mut chain.tables[e * size..(e + 1) * size];
                            view.add(tree, k, row, labels, each, table);
                        }
                    }
                }
            }
        });
    }

    fn evaluate(&mut self) -> Result<f64> {
        let LikelihoodLoss { view, inference, forbidden, asks, least, truth, chains, starts, numbers, zeros } =
            self;
        let data = view.x.data();
        let work = |worker: &mut WorkerMemory, (i, chain): (usize, &mut Chain)| -> Result<()> {
            let (shape, truth) = (data.shape(i), &truth[data.range(i)]);
            let WorkerMemory { node, beliefs, edges, constrained, inference: scratch } = worker;
            node.clear();
            node.extend_from_slice(&chain.node);
            let (values, n_tables, of_edge) = match *asks {
                true => (&chain.tables, shape.n_edges(), EdgeTables::Each(&numbers[..shape.n_edges()])),
                false => (&*zeros, 1, EdgeTables::Shared),
            };
            let starts = &starts[..=n_tables];
            let tables =
                Tables { values, starts, of_edge, relations: &[], version: TableVersion::of(values) };
            let mut p = Potentials::new(shape, node, tables)?;
            if let Some(forbidden) = *forbidden {
                p = forbidden.apply(p, constrained)?;
            }
            beliefs.resize(chain.node.len(), 0.0);
            edges.resize(chain.tables.len(), 0.0);
            let edge = if *asks { EdgeBeliefs::PerEdge(edges) } else { EdgeBeliefs::None };
            let log_z = inference.infer(&p, &mut Beliefs { node: beliefs, edge }, scratch)?;
            chain.loss = data.weight(i) * (log_z.value - p.score(truth));
            chain.p_node.iter_mut().zip(&*beliefs).for_each(|(p, &belief)| *p = belief as f32);
            chain.pairs.values.clear();
            chain.pairs.starts.clear();
            chain.pairs.starts.push(0);
            let n = view.n_labels;
            for (beliefs, truth) in edges.chunks_exact(n * n).zip(truth.windows(2)) {
                chain.pairs.read(beliefs, n, [truth[0], truth[1]], *least);
            }
            Ok(())
        };
        chains.par_iter_mut().enumerate().filter(|(_, chain)| !chain.node.is_empty()).try_for_each_init(
            WorkerMemory::default,
            |worker, (i, chain)| {
                work(worker, (i, chain)).map_err(|error| error.at(format!("sequence {}", i + 1)))
            },
        )?;
        Ok(chains.iter().map(|chain| chain.loss).sum())
    }

    fn cells(&self, k: usize, sampled: &[bool], leaf: Leaf, out: &mut Cells) {
        let (data, n) = (self.view.x.data(), self.view.n_labels);
        out.fill(data, &self.truth, sampled, |out, Place { sequence, t, weight, truth }| {
            let chain = &self.chains[sequence];
            let is_k = truth[t] as usize == k;
            match t.checked_sub(1).filter(|_| self.asks) {
                None => {
                    let p = f64::from(chain.p_node[t * n + k]);
                    let slope = f64::from(u8::from(is_k)) - p;
                    out.push(self.view.none(), weight * slope, weight * leaf.weight(slope, p));
                }
                Some(e) => {
                    for &(before, p) in chain.pairs.of_label(e, k, n) {
                        let p = f64::from(p);
                        let slope = f64::from(u8::from(is_k && truth[e] == u32::from(before))) - p;
                        out.push(before, weight * slope, weight * leaf.weight(slope, p));
                    }
                }
            }
        });
    }
}
