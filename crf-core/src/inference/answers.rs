use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inference::potentials::Potentials;

/// Where inference writes marginals; the caller owns the memory and says how much it wants to know.
#[derive(Debug)]
pub struct Beliefs<'a> {
    /// Node marginals, written over what was there. `[nodes × labels]`
    pub node: &'a mut [f64],
    /// Edge marginals.
    pub edge: EdgeBeliefs<'a>,
}

/// What becomes of edge marginals.
#[derive(Debug)]
pub enum EdgeBeliefs<'a> {
    /// Nobody asks.
    None,
    /// Each edge's marginals, times `weight`, are added to the sums of the table it uses: all a likelihood needs.
    PerTable {
        /// Laid out as the tables' values.
        sums: &'a mut [f64],
        /// How much the instance counts.
        weight: f64,
    },
    /// Each edge's marginals are written one behind the other.
    PerEdge(&'a mut [f64]),
}

impl EdgeBeliefs<'_> {
    /// Puts the marginals of edge `e`, pair by pair, where they are wanted.
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

/// The log normaliser, what it is worth, and how the algorithm came to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogZ {
    /// log Σ_y exp(score(y)).
    pub value: f64,
    /// Whether `value` is exact.
    pub bound: Bound,
    /// How the algorithm ended.
    pub convergence: Convergence,
}

impl LogZ {
    /// The answer of an algorithm that computes the sum itself.
    pub fn exact(value: f64) -> Self {
        LogZ { value, bound: Bound::Exact, convergence: Convergence::DIRECT }
    }
}

/// The score of a decoded labelling, how far from the best it may be, and how the algorithm came to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decoded {
    /// The log potential of the labelling.
    pub score: f64,
    /// No labelling scores more than this; `None` when the algorithm does not know.
    pub upper: Option<f64>,
    /// How the algorithm ended.
    pub convergence: Convergence,
}

impl Decoded {
    /// The answer of an algorithm that finds the best labelling.
    pub fn exact(score: f64) -> Self {
        Decoded { score, upper: Some(score), convergence: Convergence::DIRECT }
    }
}

/// How an inference ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Why it stopped.
    pub stop: Stop,
    /// How often it went over the graph.
    pub sweeps: u32,
    /// How much the last sweep still changed; of a sampler, the largest standard error of a node marginal.
    pub residual: f64,
}

impl Convergence {
    /// Of an algorithm that does not iterate.
    pub const DIRECT: Convergence = Convergence { stop: Stop::Direct, sweeps: 1, residual: 0.0 };
}

/// How an answer relates to the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// It is the truth, up to rounding.
    Exact,
    /// It is at most the truth.
    Lower,
    /// It is at least the truth.
    Upper,
    /// It may be anything near.
    Estimate,
}

/// Why an algorithm stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// It does not iterate.
    Direct,
    /// What it iterates changed less than its tolerance.
    Converged,
    /// It reached its limit of iterations first.
    Budget,
    /// No step made progress at the precision of the numbers.
    NoProgress,
    /// The objective hardly fell over the last iterations.
    Plateau,
    /// The objective falls without end: the data are separable and nothing penalises large weights.
    Diverging,
    /// The loss on the validation data no longer fell.
    Holdout,
    /// The observer asked it to.
    Observer,
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
        })
    }
}
