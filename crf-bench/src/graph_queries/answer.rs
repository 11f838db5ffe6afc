use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Inference, Label, OwnedPotentials, Result, Scratch,
    Shape, Stop,
};
use serde::Serialize;

/// The answer of an inference about one graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// log Z; `None` if the algorithm finds only labellings.
    pub log_z: Option<f64>,
    /// The grade of `log_z`: exact, a bound or an estimate.
    pub log_z_is: Option<Bound>,
    /// The marginals: the probability of each label of each node.
    pub marginals: Option<Vec<Vec<f64>>>,
    /// The edge marginals, if requested: the probability of each pair of labels; a row per label of
    /// the tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge_marginals: Option<Vec<Vec<Vec<f64>>>>,
    /// The most likely labelling that was found.
    pub map: Vec<Label>,
    /// The log potential of `map`.
    pub map_score: f64,
    /// An upper bound of all log potentials; `None` if the algorithm has none.
    pub map_upper: Option<f64>,
    /// True if the algorithm finished.
    pub converged: bool,
    /// The reason why it stopped: computing marginals, or the labelling if it has no marginals.
    pub stop: Stop,
    /// Number of passes over the graph.
    pub sweeps: u32,
    /// The change in the last sweep.
    pub residual: f64,
}

/// Runs an inference on a graph; edge marginals only if requested.
///
/// An algorithm that finds only labellings omits log Z and marginals; a request for edge marginals
/// is then an error.
pub fn answer(
    inference: &dyn Inference,
    graph: &mut OwnedPotentials,
    edge_marginals: bool,
    scratch: &mut Scratch,
) -> Result<Answer> {
    let p = graph.view();
    let shape = p.shape();
    inference.supports(&shape)?;
    let mut node = vec![0.0; p.node().len()];
    let mut edge = vec![0.0; if edge_marginals { shape.edge_offset(shape.n_edges()) } else { 0 }];
    let per_edge = if edge_marginals { EdgeBeliefs::PerEdge(&mut edge) } else { EdgeBeliefs::None };
    let marginals =
        if edge_marginals { Some(inference.require_marginals()?) } else { inference.as_marginals() };
    let mut beliefs = Beliefs { node: &mut node, edge: per_edge };
    let log_z = marginals.map(|marginals| marginals.marginals(&p, &mut beliefs, scratch)).transpose()?;
    let mut map = vec![0; shape.n_nodes()];
    let Decoded { score, upper, convergence } = inference.decode(&p, &mut map, scratch)?;
    let Convergence { stop, sweeps, residual } = log_z.map_or(convergence, |log_z| log_z.convergence);
    Ok(Answer {
        log_z: log_z.map(|log_z| log_z.value),
        log_z_is: log_z.map(|log_z| log_z.bound),
        marginals: log_z.map(|_| by_node(&shape, &node)),
        edge_marginals: edge_marginals.then(|| by_edge(&shape, &edge)),
        map,
        // Without nodes and edges the sum is −0.
        map_score: score + 0.0,
        map_upper: upper,
        converged: matches!(stop, Stop::Direct | Stop::Converged),
        stop,
        sweeps,
        residual,
    })
}

fn by_node(shape: &Shape<'_>, beliefs: &[f64]) -> Vec<Vec<f64>> {
    (0..shape.n_nodes()).map(|n| beliefs[shape.node_offset(n)..shape.node_offset(n + 1)].to_vec()).collect()
}

fn by_edge(shape: &Shape<'_>, beliefs: &[f64]) -> Vec<Vec<Vec<f64>>> {
    let table = |e| {
        let rows =
            beliefs[shape.edge_offset(e)..shape.edge_offset(e + 1)].chunks(shape.card(shape.ends(e).1));
        rows.map(<[f64]>::to_vec).collect()
    };
    (0..shape.n_edges()).map(table).collect()
}
