use crf_core::{
    Beliefs, Bound, Decoded, Inference, Label, LogZ, Marginals, Potentials, Result, Scratch, Shape, Stop,
    require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::finite_score;
use crate::graph::messages::edge_appearance::EdgeAppearance;
use crate::graph::messages::passing::{Memory, Passing};
use crate::graph::messages::schedule::{MessageSchedule, Plan};
use crate::shifted::Shifted;

/// Tree-reweighted belief propagation: an upper bound on log Z on any graph, exact on forests.
///
/// Wainwright, Jaakkola and Willsky (2005): each edge is weighted by its frequency in a few
/// spanning forests. These frequencies are fixed, not optimised. log Z is a bound once the messages
/// have converged, and an estimate before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TreeReweighted {
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
    /// Number of spanning forests from which the frequencies of edges are computed; more are used
    /// if these do not cover all edges.
    pub forests: u32,
}

impl Default for TreeReweighted {
    fn default() -> Self {
        let schedule = MessageSchedule::Sequential;
        TreeReweighted { schedule, damping: 0.3, tolerance: 1e-9, max_sweeps: 1000, forests: 20 }
    }
}

impl TreeReweighted {
    /// The settings shared with other plugins.
    fn plan(&self) -> Plan {
        let TreeReweighted { schedule, damping, tolerance, max_sweeps, .. } = *self;
        Plan { schedule, damping, tolerance, max_sweeps }
    }

    /// Message passing on one instance, with the ρ of its graph in `appearance`.
    fn passing<'a>(&self, shifted: &Shifted<'_>, appearance: &'a mut EdgeAppearance) -> Passing<'a> {
        appearance.fill(&shifted.p.shape(), |e| shifted.couples(e), self.forests);
        Passing { plan: self.plan(), rho: &appearance.rho }
    }
}

crf_core::plugin!("inference", TreeReweighted, "tree-reweighted");

/// Memory of a worker.
#[derive(Debug, Default)]
struct ReweightedMemory {
    appearance: EdgeAppearance,
    memory: Memory,
}

#[typetag::serde(name = "tree-reweighted")]
impl Inference for TreeReweighted {
    fn check(&self) -> Result<()> {
        self.plan().check()?;
        require(self.forests > 0, "forests", "at least 1", self.forests)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let ReweightedMemory { appearance, memory: Memory { shift, workspace } } = scratch.get();
        let shifted = shift.shift(p)?;
        let (is_best, convergence) =
            self.passing(&shifted, appearance).decode(&shifted, labels, workspace)?;
        let score = finite_score(p, labels)?;
        Ok(Decoded { score, upper: is_best.then_some(score), convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for TreeReweighted {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let ReweightedMemory { appearance, memory: Memory { shift, workspace } } = scratch.get();
        let shifted = shift.shift(p)?;
        let result = self.passing(&shifted, appearance).infer(&shifted, out, workspace)?;
        let bound = match (result.is_forest, result.convergence.stop) {
            (true, _) => Bound::Exact,
            (false, Stop::Converged) => Bound::Upper,
            _ => Bound::Estimate,
        };
        Ok(LogZ { value: result.log_z, bound, convergence: result.convergence })
    }
}
