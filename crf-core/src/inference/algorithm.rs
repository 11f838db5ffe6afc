use std::fmt::Debug;

use crate::data::graph::Shape;
use crate::error::{Error, Result};
use crate::inference::answers::{Beliefs, Decoded, LogZ};
use crate::inference::messages::MessagePassing;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::{Label, Rng};

/// Answers questions about p(y) ∝ exp(score(y)) for one instance.
///
/// `self` is the config and never changes; what a run must remember lives in `scratch`. An instance without any
/// possible labelling is an [`Infeasible`](crate::Error::Infeasible) error, never a NaN.
#[typetag::serde(tag = "type")]
pub trait Inference: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// Says whether graphs of this shape can be answered, and what could answer them if not.
    fn supports(&self, shape: &Shape<'_>) -> Result<()>;
    /// Fills `labels` with the most likely labelling it can find.
    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded>;
    /// Marginals and log Z, if the algorithm computes them.
    fn as_marginals(&self) -> Option<&dyn Marginals> {
        None
    }
    /// The k most likely labellings, if the algorithm can list them.
    fn as_k_best(&self) -> Option<&dyn KBest> {
        None
    }
    /// Draws of labellings, if the algorithm can make them.
    fn as_sampler(&self) -> Option<&dyn Sampler> {
        None
    }
    /// Messages between neighbours, if the algorithm passes any.
    fn as_message_passing(&self) -> Option<&dyn MessagePassing> {
        None
    }
    /// [`Inference::as_marginals`], or an error that says that this algorithm finds labellings only.
    fn require_marginals(&self) -> Result<&dyn Marginals> {
        self.as_marginals().ok_or_else(|| Error::Unsupported {
            tag: self.typetag_name(),
            what: "finds a labelling, not marginals; `belief-propagation`, `mean-field` and `gibbs` estimate them, \
                   `junction-tree` is exact"
                .to_owned(),
        })
    }
    /// Marginals and log Z, or an error if the algorithm finds labellings only.
    fn infer(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        self.require_marginals()?.marginals(p, out, scratch)
    }
}

/// Computes the marginals of p(y).
pub trait Marginals {
    /// Fills `out` with marginals and returns log Z.
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ>;
}

/// A labelling with its log potential.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelling {
    /// The label of each node.
    pub labels: Vec<Label>,
    /// Its log potential; minus log Z it is the log probability.
    pub score: f64,
}

/// Lists the most likely labellings.
pub trait KBest {
    /// The `k` labellings with the highest scores, best first; fewer when there are not that many possible ones.
    fn k_best(&self, p: &Potentials<'_>, k: usize, scratch: &mut Scratch) -> Result<Vec<Labelling>>;
}

/// Draws labellings from p(y).
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
