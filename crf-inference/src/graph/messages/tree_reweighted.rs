use crf_core::{
    Beliefs, Bound, Decoded, Inference, Label, LogZ, Marginals, Potentials, Result, Scratch, Shape, Stop,
    require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graph::messages::edge_appearance::EdgeAppearance;
use crate::graph::messages::passing::{Passing, Workspace};
use crate::graph::messages::schedule::{MessageSchedule, Plan};
use crate::graph::messages::traversal::ties;

/// Tree-reweighted belief propagation: an upper bound on log Z once it has converged, exact on forests.
///
/// Wainwright, Jaakkola and Willsky (2005): every edge counts as often as it is in a spanning forest drawn from a few. The
/// frequencies of edges are fixed, not optimised. Before convergence log Z is an estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TreeReweighted {
    /// In which order messages are sent.
    pub schedule: MessageSchedule,
    /// Weight of the old message in `damping · old + (1 − damping) · new`; in `[0, 1)`.
    pub damping: f64,
    /// Messages have converged when none of their entries changes by more than this, relative to itself.
    pub tolerance: f64,
    /// Sweeps over all messages before giving up.
    pub max_sweeps: u32,
    /// Spanning forests that the frequencies of edges come from; more where these do not cover all edges.
    pub forests: u32,
}

impl Default for TreeReweighted {
    fn default() -> Self {
        let schedule = MessageSchedule::Sequential;
        TreeReweighted { schedule, damping: 0.3, tolerance: 1e-9, max_sweeps: 1000, forests: 20 }
    }
}

impl TreeReweighted {
    fn passing<'a>(&self, p: &Potentials<'_>, spanning: &'a mut EdgeAppearance) -> Passing<'a> {
        spanning.fill(&p.shape(), |e| ties(p, e), self.forests);
        let plan = Plan { schedule: self.schedule, tolerance: self.tolerance, max_sweeps: self.max_sweeps };
        Passing { plan, damping: self.damping, rho: &spanning.rho }
    }
}

crf_core::plugin!("inference", TreeReweighted, "tree-reweighted");

/// What a worker keeps between instances.
#[derive(Debug, Default)]
struct Memory {
    spanning: EdgeAppearance,
    workspace: Workspace,
}

#[typetag::serde(name = "tree-reweighted")]
impl Inference for TreeReweighted {
    fn check(&self) -> Result<()> {
        crate::graph::check_passing(self.damping, self.tolerance, self.max_sweeps)?;
        require(self.forests > 0, "forests", "at least 1", self.forests)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let Memory { spanning, workspace } = scratch.get();
        let (is_best, convergence) = self.passing(p, spanning).decode(p, labels, workspace)?;
        let score = p.score(labels);
        Ok(Decoded { score, upper: is_best.then_some(score), convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for TreeReweighted {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let Memory { spanning, workspace } = scratch.get();
        let told = self.passing(p, spanning).infer(p, out, workspace)?;
        let bound = match (told.is_forest, told.convergence.stop) {
            (true, _) => Bound::Exact,
            (false, Stop::Converged) => Bound::Upper,
            _ => Bound::Estimate,
        };
        Ok(LogZ { value: told.log_z, bound, convergence: told.convergence })
    }
}
