//! Graphs in JSON, and their exact answers: sums of scores in integers, whatever their size.

use serde_json::{Value, json};

/// A score is a whole number of 2⁻⁴⁰, so that sums of scores up to 10²⁶ are exact.
const UNIT: f64 = (1u64 << 40) as f64;

/// Ends of an edge, and its table.
pub(crate) type Edge = (usize, usize, Vec<Vec<Option<f64>>>);

/// Graph as `crf infer` reads it; `None` is −∞.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    pub(crate) node: Vec<Vec<Option<f64>>>,
    pub(crate) edges: Vec<Edge>,
}

/// Exact answer of a graph with at least one possible labelling.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) log_z: f64,
    pub(crate) marginals: Vec<Vec<f64>>,
    pub(crate) edge_marginals: Vec<Vec<Vec<f64>>>,
    /// The largest score, in units.
    pub(crate) best: i128,
}

impl Graph {
    /// The graph as a line of JSON.
    pub(crate) fn line(&self) -> String {
        let cards: Vec<usize> = self.node.iter().map(Vec::len).collect();
        let edges: Vec<Value> =
            self.edges.iter().map(|(u, v, table)| json!({"u": u, "v": v, "table": table})).collect();
        json!({"cards": cards, "node": self.node, "edges": edges}).to_string()
    }

    /// The score of a labelling in units; none if it is forbidden.
    pub(crate) fn score(&self, y: &[usize]) -> Option<i128> {
        let nodes = self.node.iter().zip(y).map(|(row, &label)| row[label]);
        let edges = self.edges.iter().map(|(u, v, table)| table[y[*u]][y[*v]]);
        nodes.chain(edges).map(|score| score.map(|score| (score * UNIT).round() as i128)).sum()
    }

    /// True if each edge leads from a position to the next, and all nodes have the same labels.
    pub(crate) fn is_chain(&self) -> bool {
        let next = |(t, (u, v, _)): (usize, &Edge)| *u == t && *v == t + 1;
        self.edges.iter().enumerate().all(next)
            && self.edges.len() + 1 == self.node.len()
            && self.node.iter().all(|row| row.len() == self.node[0].len())
    }

    /// True if no edges make a cycle.
    pub(crate) fn is_forest(&self) -> bool {
        let mut part: Vec<usize> = (0..self.node.len()).collect();
        self.edges.iter().all(|(u, v, _)| {
            let (from, to) = (part[*u], part[*v]);
            part.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
            from != to
        })
    }

    /// The exact answer; none if every labelling is forbidden.
    pub(crate) fn solve(&self) -> Option<Exact> {
        let labellings = self.labellings();
        let scores: Vec<Option<i128>> = labellings.iter().map(|y| self.score(y)).collect();
        let best = scores.iter().flatten().copied().max()?;
        let weights: Vec<f64> = scores
            .iter()
            .map(|score| score.map_or(0.0, |score| ((score - best) as f64 / UNIT).exp()))
            .collect();
        let total: f64 = weights.iter().sum();
        let mut marginals: Vec<Vec<f64>> = self.node.iter().map(|row| vec![0.0; row.len()]).collect();
        let mut edge_marginals: Vec<Vec<Vec<f64>>> = self
            .edges
            .iter()
            .map(|(_, _, table)| table.iter().map(|row| vec![0.0; row.len()]).collect())
            .collect();
        for (y, weight) in labellings.iter().zip(&weights) {
            for (row, &label) in marginals.iter_mut().zip(y) {
                row[label] += weight / total;
            }
            for (table, (u, v, _)) in edge_marginals.iter_mut().zip(&self.edges) {
                table[y[*u]][y[*v]] += weight / total;
            }
        }
        Some(Exact { log_z: best as f64 / UNIT + total.ln(), marginals, edge_marginals, best })
    }

    fn labellings(&self) -> Vec<Vec<usize>> {
        self.node.iter().fold(vec![Vec::new()], |all, row| {
            let longer = |y: &Vec<usize>, label: usize| y.iter().copied().chain([label]).collect();
            all.iter().flat_map(|y| (0..row.len()).map(move |label| longer(y, label))).collect()
        })
    }
}

/// A score in units as a number.
pub(crate) fn number(units: i128) -> f64 {
    units as f64 / UNIT
}
