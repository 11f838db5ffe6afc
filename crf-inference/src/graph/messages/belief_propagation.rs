use crf_core::{
    Beliefs, Bound, Convergence, Decoded, Inference, Label, LogZ, Marginals, MessagePassing, Messages,
    Potentials, Result, Scratch, Shape,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::finite_score;
use crate::graph::messages::passing::{Memory, Passing};
use crate::graph::messages::schedule::{MessageSchedule, Plan};

/// Belief propagation: exact on forests, a fast and good estimate on graphs with cycles and
/// moderate couplings.
///
/// Sum-product gives marginals and the Bethe estimate of log Z (Pearl 1988; Yedidia et al. 2005);
/// max-product gives a good labelling. Forests are recognised and take two sweeps. On other graphs
/// the answer states if the messages converged. Parallel edges are a cycle too. Edges with constant
/// tables, as those of a relation without features, close no cycle. Forbidden labels and pairs are
/// respected; contradictions along cycles, which messages do not see, are found by a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BeliefPropagation {
    /// Order in which messages are updated.
    pub schedule: MessageSchedule,
    /// Damping: weight of the old message in `damping · old + (1 − damping) · new`, in `[0, 1)`. 0
    /// disables it.
    pub damping: f64,
    /// Convergence tolerance: messages have converged when no entry changes by more than this,
    /// relative to itself.
    pub tolerance: f64,
    /// Maximum number of sweeps over all messages.
    pub max_sweeps: u32,
}

impl Default for BeliefPropagation {
    fn default() -> Self {
        let Plan { schedule, damping, tolerance, max_sweeps } = Plan::default();
        BeliefPropagation { schedule, damping, tolerance, max_sweeps }
    }
}

impl BeliefPropagation {
    /// The settings shared with other plugins.
    fn plan(&self) -> Plan {
        let BeliefPropagation { schedule, damping, tolerance, max_sweeps } = *self;
        Plan { schedule, damping, tolerance, max_sweeps }
    }

    /// Message passing with ρ = 1.
    fn passing(&self) -> Passing<'static> {
        Passing { plan: self.plan(), rho: &[] }
    }
}

crf_core::plugin!("inference", BeliefPropagation, "belief-propagation");

#[typetag::serde(name = "belief-propagation")]
impl Inference for BeliefPropagation {
    fn check(&self) -> Result<()> {
        self.plan().check()
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let Memory { shift, workspace } = scratch.get();
        let (is_best, convergence) = self.passing().decode(&shift.shift(p)?, labels, workspace)?;
        let score = finite_score(p, labels)?;
        Ok(Decoded { score, upper: is_best.then_some(score), convergence })
    }

    fn as_message_passing(&self) -> Option<&dyn MessagePassing> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for BeliefPropagation {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let Memory { shift, workspace } = scratch.get();
        let result = self.passing().infer(&shift.shift(p)?, out, workspace)?;
        let bound = if result.is_forest { Bound::Exact } else { Bound::Estimate };
        Ok(LogZ { value: result.log_z, bound, convergence: result.convergence })
    }
}

impl MessagePassing for BeliefPropagation {
    fn pass(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        scratch: &mut Scratch,
    ) -> Result<Convergence> {
        let Memory { shift, workspace } = scratch.get();
        self.passing().pass(&shift.shift(p)?, sweeps, messages, workspace)
    }
}
