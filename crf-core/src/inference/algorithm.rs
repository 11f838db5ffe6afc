use std::fmt::Debug;

use crate::data::graph::Shape;
use crate::error::{Error, Result};
use crate::inference::answers::{Beliefs, Decoded, LogZ};
use crate::inference::messages::MessagePassing;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::{Label, Rng};

/// Inference algorithm: answers questions about p(y) ∝ exp(score(y)) for one instance.
///
/// `self` is the config and never changes; memory between calls is in `scratch`. An instance
/// without any possible labelling is an [`Infeasible`](crate::Error::Infeasible) error, never a
/// NaN.
#[typetag::serde(tag = "type")]
pub trait Inference: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// Rejects graphs of a shape that the algorithm cannot answer, and names algorithms that can.
    fn supports(&self, shape: &Shape<'_>) -> Result<()>;
    /// Fills `labels` with the most likely labelling that the algorithm finds.
    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded>;
    /// Capability to compute marginals and log Z, if the algorithm has it.
    fn as_marginals(&self) -> Option<&dyn Marginals> {
        None
    }
    /// Capability to list the k most likely labellings, if the algorithm has it.
    fn as_k_best(&self) -> Option<&dyn KBest> {
        None
    }
    /// Capability to draw labellings, if the algorithm has it.
    fn as_sampler(&self) -> Option<&dyn Sampler> {
        None
    }
    /// Capability to pass messages between neighbours, if the algorithm has it.
    fn as_message_passing(&self) -> Option<&dyn MessagePassing> {
        None
    }
    /// [`Inference::as_marginals`], or an error if the algorithm finds labellings only.
    fn require_marginals(&self) -> Result<&dyn Marginals> {
        self.as_marginals().ok_or_else(|| Error::Unsupported {
            tag: self.typetag_name(),
            what: "finds a labelling, not marginals; `belief-propagation`, `mean-field` and `gibbs` estimate them, \
                   `junction-tree` is exact"
                .to_owned(),
        })
    }
    /// Computes marginals and log Z, or returns an error if the algorithm finds labellings only.
    fn infer(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        self.require_marginals()?.marginals(p, out, scratch)
    }
}

/// Capability of an inference: the marginals of p(y).
pub trait Marginals {
    /// Fills `out` with marginals and returns log Z.
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ>;
}

/// Labelling with its log potential.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelling {
    /// Label of each node.
    pub labels: Vec<Label>,
    /// Log potential; minus log Z it is the log probability.
    pub score: f64,
}

/// Capability of an inference: the most likely labellings.
pub trait KBest {
    /// Returns the `k` labellings with the highest scores, best first; fewer if fewer are possible.
    fn k_best(&self, p: &Potentials<'_>, k: usize, scratch: &mut Scratch) -> Result<Vec<Labelling>>;
}

/// Capability of an inference: draws from p(y).
pub trait Sampler {
    /// Fills each of `labellings` with an independent draw.
    fn sample(
        &self,
        p: &Potentials<'_>,
        rng: &mut Rng,
        labellings: &mut [Vec<Label>],
        scratch: &mut Scratch,
    ) -> Result<()>;
}
