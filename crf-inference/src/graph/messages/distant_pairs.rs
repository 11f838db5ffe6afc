use crate::graph::messages::factors::MessageFactors;
use crate::graph::messages::semiring::Semiring;
use crate::graph::messages::sweeps::MessageBuffers;
use crate::graph::messages::traversal::NodeOrder;

/// Joint distributions of nodes that are no neighbours in their tree.
///
/// An edge with a constant table closes no cycle, but its ends depend on each other through the
/// tree that connects them: p(x_u, x_v) is p(x_u) times the transitions along the path from u to v.
/// This takes O(L³) for each step of the path.
#[derive(Debug, Default)]
pub(crate) struct DistantPairs {
    steps: Vec<(u32, u32)>, // node, and number of the edge to the next one
    joint: Vec<f64>,        // [labels of u × labels of the node reached]
    next: Vec<f64>,         // the same for the next node
    row: Vec<f64>,          // [labels of the next node] p(next | x)
}

impl DistantPairs {
    /// Joint distribution of two nodes of one tree, `[labels of u × labels of v]`, from messages
    /// that have converged; `tail` is the distribution of `u`.
    pub(crate) fn joint<S: Semiring>(
        &mut self,
        factors: &MessageFactors<'_>,
        buffers: &MessageBuffers,
        order: &NodeOrder,
        (u, v): (usize, usize),
        tail: &[f64],
    ) -> &[f64] {
        let DistantPairs { steps, joint, next, row } = self;
        let shape = factors.shape;
        joint.clear();
        joint.resize(tail.len() * tail.len(), 0.0);
        tail.iter().enumerate().for_each(|(x, p)| joint[x * tail.len() + x] = *p);
        order.path(&shape, u, v, steps);
        for &(from, k) in steps.iter() {
            let end = shape.incidence(from as usize, k as usize);
            let (n_labels, n_next_labels) = (shape.card(from as usize), shape.card(end.other as usize));
            let lambda = &buffers.lambda[end.opposite..end.opposite + n_next_labels];
            let table = factors.table(end.edge, n_labels * n_next_labels);
            next.clear();
            next.resize(tail.len() * n_next_labels, 0.0);
            for x in 0..n_labels {
                // p(y | x) ∝ exp A(x, y) λ(y)
                row.clear();
                row.extend((0..n_next_labels).map(|y| {
                    let pair = if end.is_head { y * n_labels + x } else { x * n_next_labels + y };
                    S::times(table[pair], lambda[y])
                }));
                S::normalise(row);
                for (joint, next) in joint.chunks_exact(n_labels).zip(next.chunks_exact_mut(n_next_labels)) {
                    next.iter_mut().zip(row.iter()).for_each(|(next, p)| *next += joint[x] * p);
                }
            }
            std::mem::swap(joint, next);
        }
        joint
    }
}
