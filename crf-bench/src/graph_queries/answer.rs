use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Inference, Label, OwnedPotentials, Result, Scratch,
    Shape, Stop,
};
use serde::Serialize;

/// All that an inference says about one graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// log Z; nothing where the algorithm finds labellings only.
    pub log_z: Option<f64>,
    /// What `log_z` is worth.
    pub log_z_is: Option<Bound>,
    /// The probability of each label of each node.
    pub marginals: Option<Vec<Vec<f64>>>,
    /// The probability of each pair of labels of each edge, if it was asked for; rows are the tail's labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge_marginals: Option<Vec<Vec<Vec<f64>>>>,
    /// The most likely labelling that was found.
    pub map: Vec<Label>,
    /// Its log potential.
    pub map_score: f64,
    /// No labelling scores more than this; nothing where the algorithm does not know.
    pub map_upper: Option<f64>,
    /// Whether the algorithm came to its end.
    pub converged: bool,
    /// Why it stopped: on the way to marginals, or to the labelling where it gives no marginals.
    pub stop: Stop,
    /// How often it went over the graph.
    pub sweeps: u32,
    /// How much the last sweep still changed.
    pub residual: f64,
}

/// Asks an inference everything about a graph; edge marginals only if they are wanted.
///
/// An algorithm that finds labellings only leaves log Z and marginals out; asked for edge marginals it refuses.
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
        map_score: score,
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
