use crf_core::{
    Beliefs, Convergence, Decoded, EdgeBeliefs, Inference, KBest, Label, Labelling, LogZ, Marginals,
    MessagePassing, Messages, Potentials, Result, Rng, Sampler, Scratch, Shape, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chain::lattice::{Lattice, chain_size};
use crate::chain::{k_best, scaled, viterbi};
use crate::errors::{finite_log_z, impossible};
use crate::graph::messages::passing::{Memory, Passing};

/// Forward-backward and Viterbi: exact inference on chains.
///
/// Computes marginals, log Z, the best labelling and draws in O(T·L²) for T positions and L labels,
/// and the n best labellings in O(T·L²·n); passes messages, step by step. The recursions are those
/// of Rabiner (1989) in the probability domain, with each step scaled to sum to one, and those of
/// Vail (2008), §2.5, in the log domain. With a beam of B labels, Viterbi takes O(T·B·L) and is
/// approximate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForwardBackward {
    /// Domain of the numbers in the recursions for marginals and log Z.
    pub domain: Domain,
    /// Beam width of Viterbi: the number of labels kept per position, those with the best scores so
    /// far. All labels are kept if omitted. At least 1, which is greedy search from left to right.
    /// Where no kept label can be continued, the search is repeated with all labels.
    pub beam: Option<usize>,
}

/// Domain of the numbers in the forward-backward recursions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// Probabilities; logarithms for sequences whose potentials are too far apart for
    /// probabilities.
    #[default]
    Auto,
    /// Logarithms always: the slow reference.
    Log,
}

crf_core::plugin!("inference", ForwardBackward, "forward-backward");

#[typetag::serde(name = "forward-backward")]
impl Inference for ForwardBackward {
    fn check(&self) -> Result<()> {
        require(self.beam != Some(0), "beam", "at least 1", 0)
    }

    fn supports(&self, shape: &Shape<'_>) -> Result<()> {
        chain_size(shape).map(|_| ())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let (len, n_labels) = chain_size(&p.shape())?;
        assert_eq!(labels.len(), len, "one label per position");
        if let Some(beam) = self.beam.filter(|&beam| beam < n_labels)
            && let Some(score) = viterbi::decode(p, len, n_labels, beam, labels, scratch.get())?
        {
            return Ok(Decoded { upper: None, ..Decoded::exact(score) });
        }
        let score = viterbi::decode(p, len, n_labels, n_labels, labels, scratch.get())?;
        score.map(Decoded::exact).ok_or_else(|| impossible(p))
    }

    fn as_k_best(&self) -> Option<&dyn KBest> {
        Some(self)
    }

    fn as_sampler(&self) -> Option<&dyn Sampler> {
        Some(self)
    }

    fn as_message_passing(&self) -> Option<&dyn MessagePassing> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for ForwardBackward {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let (len, n_labels) = chain_size(&p.shape())?;
        assert_eq!(out.node.len(), len * n_labels, "one belief per position and label");
        if self.domain == Domain::Auto
            && let Some(log_z) = scaled::infer(p, len, n_labels, out, scratch.get())
        {
            return finite_log_z(log_z).map(LogZ::exact);
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

impl MessagePassing for ForwardBackward {
    /// After as many sweeps as the chain has positions, λ to the right are the forward vectors and
    /// μ from the right the backward vectors, each divided by its sum.
    fn pass(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        scratch: &mut Scratch,
    ) -> Result<Convergence> {
        chain_size(&p.shape())?;
        let memory: &mut Memory = scratch.get();
        Passing::default().pass(&memory.shift.shift(p)?, sweeps, messages, &mut memory.workspace)
    }
}

impl KBest for ForwardBackward {
    fn k_best(&self, p: &Potentials<'_>, k: usize, scratch: &mut Scratch) -> Result<Vec<Labelling>> {
        let (len, n_labels) = chain_size(&p.shape())?;
        k_best::k_best(p, len, n_labels, k, scratch.get())
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
