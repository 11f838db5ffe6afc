use crf_core::{Convergence, Decoded, Inference, Label, Potentials, Result, Scratch, Shape, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::finite_score;
use crate::graph::feasible::LabellingSearch;
use crate::shifted::ShiftMemory;

/// Iterated conditional modes (ICM): a labelling that no change of a single label improves (Besag
/// 1986).
///
/// Finds labels only, neither marginals nor log Z.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Icm {
    /// Maximum number of sweeps over all nodes.
    pub max_sweeps: u32,
}

impl Default for Icm {
    fn default() -> Self {
        Icm { max_sweeps: 1000 }
    }
}

crf_core::plugin!("inference", Icm, "icm");

/// Memory of a worker.
#[derive(Debug, Default)]
struct Memory {
    shift: ShiftMemory,
    search: LabellingSearch,
}

#[typetag::serde(name = "icm")]
impl Inference for Icm {
    fn check(&self) -> Result<()> {
        require(self.max_sweeps > 0, "max_sweeps", "at least 1", self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        assert_eq!(labels.len(), p.shape().n_nodes(), "one label per node");
        let Memory { shift, search } = scratch.get();
        let shifted = shift.shift(p)?;
        search.find(&shifted, labels)?;
        let (sweeps, has_converged) = search.improve(&shifted.p, labels, self.max_sweeps);
        let stop = if has_converged { Stop::Converged } else { Stop::Budget };
        Ok(Decoded {
            score: finite_score(p, labels)?,
            upper: None,
            convergence: Convergence { stop, sweeps, residual: 0.0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_out_of_range_are_named() {
        let message = Icm { max_sweeps: 0 }.check().map_err(|error| error.to_string());
        assert_eq!(message, Err("`max_sweeps` must be at least 1, got 0".to_owned()));
    }
}
