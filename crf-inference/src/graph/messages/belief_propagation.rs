use crf_core::{
    Beliefs, Bound, Convergence, Decoded, Inference, Label, LogZ, Marginals, MessagePassing, Messages,
    Potentials, Result, Scratch, Shape,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graph::messages::passing::Passing;
use crate::graph::messages::schedule::{MessageSchedule, Plan};

/// Belief propagation: exact on forests, and a good and fast estimate on graphs with cycles that are not too strongly coupled.
///
/// Sum-product for marginals and the Bethe estimate of log Z (Pearl 1988; Yedidia et al. 2005), max-product for the
/// best labelling. Forests are recognised and take two sweeps; on other graphs the answer says whether messages
/// converged. Parallel edges are a cycle too; edges whose tables are constant, as those of a relation without features, close
/// none, and only their own marginals are then not exact. What is forbidden is respected, but contradictions along cycles are found by a
/// search that gives up after a million steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BeliefPropagation {
    /// In which order messages are sent.
    pub schedule: MessageSchedule,
    /// Weight of the old message in `damping · old + (1 − damping) · new`; in `[0, 1)`.
    pub damping: f64,
    /// Messages have converged when none of their entries changes by more than this, relative to itself.
    pub tolerance: f64,
    /// Sweeps over all messages before giving up.
    pub max_sweeps: u32,
}

impl Default for BeliefPropagation {
    fn default() -> Self {
        BeliefPropagation {
            schedule: MessageSchedule::Sequential,
            damping: 0.0,
            tolerance: 1e-9,
            max_sweeps: 1000,
        }
    }
}

impl BeliefPropagation {
    fn passing(&self) -> Passing<'static> {
        let plan = Plan { schedule: self.schedule, tolerance: self.tolerance, max_sweeps: self.max_sweeps };
        Passing { plan, damping: self.damping, rho: &[] }
    }
}

crf_core::plugin!("inference", BeliefPropagation, "belief-propagation");

#[typetag::serde(name = "belief-propagation")]
impl Inference for BeliefPropagation {
    fn check(&self) -> Result<()> {
        crate::graph::check_passing(self.damping, self.tolerance, self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let (is_best, convergence) = self.passing().decode(p, labels, scratch.get())?;
        let score = p.score(labels);
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
        let told = self.passing().infer(p, out, scratch.get())?;
        let bound = if told.is_forest { Bound::Exact } else { Bound::Estimate };
        Ok(LogZ { value: told.log_z, bound, convergence: told.convergence })
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
        self.passing().pass(p, sweeps, messages, scratch.get())
    }
}
