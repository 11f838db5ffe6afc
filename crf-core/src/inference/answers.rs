use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inference::potentials::Potentials;

/// Output of inference: marginals, in memory of the caller, who decides how much is computed.
#[derive(Debug)]
pub struct Beliefs<'a> {
    /// Node marginals; overwritten. `[nodes × labels]`
    pub node: &'a mut [f64],
    /// Edge marginals.
    pub edge: EdgeBeliefs<'a>,
}

/// Destination of edge marginals.
#[derive(Debug)]
pub enum EdgeBeliefs<'a> {
    /// Not wanted.
    None,
    /// Edge marginals times `weight` are added to the sums of the table that the edge uses: all
    /// that a likelihood needs.
    PerTable {
        /// Sums, in the layout of the tables' values.
        sums: &'a mut [f64],
        /// Weight of the instance.
        weight: f64,
    },
    /// Edge marginals are written one edge after the other.
    PerEdge(&'a mut [f64]),
}

impl EdgeBeliefs<'_> {
    /// Writes the marginals of edge `e`, pair by pair, to their destination.
    pub fn put(&mut self, p: &Potentials<'_>, e: usize, beliefs: impl IntoIterator<Item = f64>) {
        match self {
            EdgeBeliefs::None => {}
            EdgeBeliefs::PerEdge(each) => {
                let each = &mut each[p.shape().edge_offset(e)..p.shape().edge_offset(e + 1)];
                each.iter_mut().zip(beliefs).for_each(|(each, belief)| *each = belief);
            }
            EdgeBeliefs::PerTable { sums, weight } => {
                let table = p.tables().of_edge.table(e);
                let sums = &mut sums[p.tables().starts[table]..p.tables().starts[table + 1]];
                sums.iter_mut().zip(beliefs).for_each(|(sum, belief)| *sum += *weight * belief);
            }
        }
    }
}

/// Log normaliser, with its quality and how the algorithm ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogZ {
    /// Value of log Σ_y exp(score(y)).
    pub value: f64,
    /// Relation of `value` to the true log Z.
    pub bound: Bound,
    /// End of the algorithm: reason, sweeps, residual.
    pub convergence: Convergence,
}

impl LogZ {
    /// Answer of an algorithm that computes the sum itself.
    pub fn exact(value: f64) -> Self {
        LogZ { value, bound: Bound::Exact, convergence: Convergence::DIRECT }
    }
}

/// Score of a decoded labelling, with an upper bound and how the algorithm ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decoded {
    /// Log potential of the labelling.
    pub score: f64,
    /// Upper bound on the score of any labelling; `None` if the algorithm does not know one.
    pub upper: Option<f64>,
    /// End of the algorithm: reason, sweeps, residual.
    pub convergence: Convergence,
}

impl Decoded {
    /// Answer of an algorithm that finds the best labelling.
    pub fn exact(score: f64) -> Self {
        Decoded { score, upper: Some(score), convergence: Convergence::DIRECT }
    }
}

/// End of an inference: the reason, the number of sweeps, and the residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Reason for stopping.
    pub stop: Stop,
    /// Number of sweeps over the graph.
    pub sweeps: u32,
    /// Change in the last sweep; of a sampler, the largest standard error of a node marginal.
    pub residual: f64,
}

impl Convergence {
    /// End of an algorithm that does not iterate.
    pub const DIRECT: Convergence = Convergence { stop: Stop::Direct, sweeps: 1, residual: 0.0 };
}

/// Relation of an answer to the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Equal to the true value, up to rounding.
    Exact,
    /// At most the true value.
    Lower,
    /// At least the true value.
    Upper,
    /// Approximation without a bound.
    Estimate,
}

/// Reason for which an algorithm stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The algorithm does not iterate.
    Direct,
    /// The change fell below the tolerance.
    Converged,
    /// The limit of iterations was reached first.
    Budget,
    /// No step made progress at the precision of the numbers.
    NoProgress,
    /// The objective hardly fell over the last iterations.
    Plateau,
    /// The objective falls without end: the data are separable and nothing penalises large weights.
    Diverging,
    /// The loss on the validation data no longer fell.
    Holdout,
    /// The observer asked to stop.
    Observer,
    /// The mean of the objective over the last epochs hardly fell; the best weights were kept.
    Wavering,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Direct => "computed directly",
            Stop::Converged => "converged",
            Stop::Budget => "reached its limit of iterations",
            Stop::NoProgress => "no step made progress at the precision of the numbers",
            Stop::Plateau => "converged (plateau)",
            Stop::Diverging => "diverging: the data are separable and nothing penalises large weights",
            Stop::Holdout => "the loss on the validation data no longer fell",
            Stop::Observer => "stopped by the observer",
            Stop::Wavering => "the mean objective of the last epochs hardly fell; the best weights are kept",
        })
    }
}
