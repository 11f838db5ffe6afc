use crf_core::{
    Beliefs, Decoded, EdgeBeliefs, Inference, KBest, Label, Labelling, LogZ, Marginals, Potentials, Result,
    Rng, Sampler, Scratch, Shape, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chain::lattice::Lattice;
use crate::chain::{k_best, scaled, viterbi};
use crate::errors::impossible;

/// Exact marginals, Viterbi, n-best and draws on chains, in O(T·L²); Viterbi with a beam of B labels, in O(T·B·L).
///
/// Rabiner (1989) in the probability domain, each step scaled to sum to one; Vail (2008), §2.5, in the log domain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForwardBackward {
    /// Where the recursions run.
    pub domain: Domain,
    /// How many labels of a position the search for the most likely labelling goes on with, those with the best scores so
    /// far; all when left out. At least 1, which takes one label after the other. Where none of them can be followed, all
    /// labels are tried.
    pub beam: Option<usize>,
}

/// Where the recursions run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// Among probabilities, and among logarithms when a sequence's potentials are too far apart for that.
    #[default]
    Auto,
    /// Among logarithms always: the slow reference.
    Log,
}

crf_core::plugin!("inference", ForwardBackward, "forward-backward");

#[typetag::serde(name = "forward-backward")]
impl Inference for ForwardBackward {
    fn check(&self) -> Result<()> {
        require(self.beam != Some(0), "beam", "at least 1", 0)
    }

    fn supports(&self, shape: &Shape<'_>) -> Result<()> {
        crate::chain::chain(shape).map(|_| ())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let (len, n_labels) = crate::chain::chain(&p.shape())?;
        assert_eq!(labels.len(), len, "one label per position");
        if let Some(beam) = self.beam.filter(|&beam| beam < n_labels)
            && let Some(score) = viterbi::decode(p, len, n_labels, beam, labels, scratch.get())
        {
            return Ok(Decoded { upper: None, ..Decoded::exact(score) });
        }
        let score = viterbi::decode(p, len, n_labels, n_labels, labels, scratch.get());
        score.map(Decoded::exact).ok_or_else(|| impossible(p))
    }

    fn as_k_best(&self) -> Option<&dyn KBest> {
        Some(self)
    }

    fn as_sampler(&self) -> Option<&dyn Sampler> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for ForwardBackward {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let (len, labels) = crate::chain::chain(&p.shape())?;
        assert_eq!(out.node.len(), len * labels, "one belief per position and label");
        if self.domain == Domain::Auto
            && let Some(log_z) = scaled::infer(p, len, labels, out, scratch.get())
        {
            return Ok(LogZ::exact(log_z));
        }
        let lattice: &mut Lattice = scratch.get();
        lattice.fill(p)?;
        lattice.node_marginals(out.node);
        if !matches!(out.edge, EdgeBeliefs::None) {
            (0..len.saturating_sub(1)).for_each(|e| out.edge.put(p, e, lattice.edge_marginals(p, e)));
        }
        Ok(LogZ::exact(lattice.log_z()))
    }
}

impl KBest for ForwardBackward {
    fn k_best(&self, p: &Potentials<'_>, k: usize, _scratch: &mut Scratch) -> Result<Vec<Labelling>> {
        let (len, labels) = crate::chain::chain(&p.shape())?;
        k_best::k_best(p, len, labels, k)
    }
}

impl Sampler for ForwardBackward {
    fn sample(
        &self,
        p: &Potentials<'_>,
        rng: &mut Rng,
        labellings: &mut [Vec<Label>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let lattice: &mut Lattice = scratch.get();
        lattice.fill(p)?;
        labellings.iter_mut().for_each(|labels| lattice.sample(p, rng, labels));
        Ok(())
    }
}
