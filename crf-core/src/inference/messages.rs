use crate::data::graph::Shape;
use crate::error::Result;
use crate::inference::answers::Convergence;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;

/// Messages of belief propagation on one instance, which the caller keeps between calls.
///
/// Both kinds are laid out by [`Shape::message_offset`], and each message sums to one. In the
/// notation of Liao et al. (2007):
///
/// ```text
/// λ_{n→k}(y_n) ∝ exp(node(n, y_n)) Π_{j ≠ k} μ_{j→n}(y_n)
/// μ_{k→n}(y_n) ∝ Σ_{y_k} exp(table(y_k, y_n)) λ_{k→n}(y_k)
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages {
    /// Messages λ, which tell what the sender is: at node `n`, the `k`-th is λ towards the node's
    /// `k`-th neighbour.
    pub lambda: Vec<f64>,
    /// Messages μ, which tell the receiver what to be: at node `n`, the `k`-th is μ from the node's
    /// `k`-th neighbour.
    pub mu: Vec<f64>,
}

impl Messages {
    /// Message λ of the `k`-th neighbour of node `n`, over the neighbour's labels: the virtual
    /// evidence of `n`.
    pub fn evidence(&self, shape: &Shape<'_>, n: usize, k: usize) -> &[f64] {
        let end = shape.incidence(n, k);
        &self.lambda[end.opposite..][..shape.card(end.other as usize)]
    }
}

/// Capability of an inference: a few steps of message passing at a time.
pub trait MessagePassing {
    /// Computes all λ from the current μ and then all μ from these λ, `sweeps` times.
    ///
    /// Empty messages start out uniform. Potentials may have changed since the last call; messages
    /// of a graph with other sizes are an error. An entry of zero means impossible and stays zero.
    fn pass(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        scratch: &mut Scratch,
    ) -> Result<Convergence>;
}
