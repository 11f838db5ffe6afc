use std::fmt;

use serde::{Deserialize, Serialize};

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

/// The log normaliser, what it is worth, and why the algorithm stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogZ {
    /// log Σ_y exp(score(y)).
    pub value: f64,
    /// Whether `value` is exact.
    pub bound: Bound,
    /// How the algorithm ended.
    pub stop: Stop,
}

impl LogZ {
    /// The answer of an algorithm that computes the sum itself.
    pub fn exact(value: f64) -> Self {
        LogZ { value, bound: Bound::Exact, stop: Stop::Direct }
    }
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
            Stop::Plateau => "the objective hardly fell over the last iterations",
            Stop::Diverging => "diverging: the data are separable and nothing penalises large weights",
            Stop::Observer => "stopped by the observer",
        })
    }
}
