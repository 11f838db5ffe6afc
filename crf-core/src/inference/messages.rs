use crate::data::graph::Shape;
use crate::error::Result;
use crate::inference::answers::Convergence;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;

/// The messages of belief propagation on one instance, which the caller keeps between calls.
///
/// Both kinds are laid out by [`Shape::message_offset`], and each message sums to one. Liao et al. (2007) tell them apart:
///
/// ```text
/// λ_{n→k}(y_n) ∝ exp(node(n, y_n)) Π_{j ≠ k} μ_{j→n}(y_n)       μ_{k→n}(y_n) ∝ Σ_{y_k} exp(table(y_k, y_n)) λ_{k→n}(y_k)
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages {
    /// What a node tells about itself: at node `n`, the `k`-th is λ towards the node's `k`-th neighbour.
    pub lambda: Vec<f64>,
    /// What a node is told to be: at node `n`, the `k`-th is μ from the node's `k`-th neighbour.
    pub mu: Vec<f64>,
}

impl Messages {
    /// What the `k`-th neighbour of node `n` tells about itself, over the neighbour's labels: n's virtual evidence.
    pub fn evidence(&self, shape: &Shape<'_>, n: usize, k: usize) -> &[f64] {
        let end = shape.incidence(n, k);
        &self.lambda[end.opposite..][..shape.card(end.other as usize)]
    }
}

/// Passes messages a few steps at a time.
pub trait MessagePassing {
    /// Makes all λ from the present μ and then all μ from these λ, `sweeps` times.
    ///
    /// Empty messages start out uniform. Potentials may have changed since the last call; messages of a graph with other
    /// sizes are refused. An entry of zero is taken for impossible and stays so.
    fn pass(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        scratch: &mut Scratch,
    ) -> Result<Convergence>;
}
