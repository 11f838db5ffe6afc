use crf_core::{
    Beliefs, Decoded, Error, Inference, Label, LogZ, Marginals, Potentials, Result, Rng, Sampler, Scratch,
    Shape, require, require_memory,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{finite_log_z, finite_score};
use crate::graph::exact::clique_tree::{CliqueTables, CliqueTree};
use crate::graph::exact::elimination::Elimination;
use crate::log_domain::{best_label, draw, normalise};
use crate::shifted::ShiftMemory;

/// Junction tree: exact inference on any graph that is not too densely connected.
///
/// Computes marginals, log Z, the best labelling and draws. Nodes are eliminated in min-fill order
/// (Koller and Friedman 2009, ch. 9 and 10), which makes a tree of cliques. Time and memory grow
/// with the number of labellings of the largest clique; both are known before anything is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JunctionTree {
    /// Memory limit in MiB; graphs whose clique tables would take more are rejected.
    pub memory: f64,
}

impl Default for JunctionTree {
    fn default() -> Self {
        JunctionTree { memory: 1024.0 }
    }
}

/// Number of `f64` per MiB.
const NUMBERS_PER_MIB: f64 = (1 << 17) as f64;

impl JunctionTree {
    /// The elimination of a graph; an error if its tables exceed the memory limit.
    fn eliminate(&self, shape: &Shape<'_>) -> Result<Elimination> {
        let limit = self.memory * NUMBERS_PER_MIB;
        let elimination = Elimination::min_fill(shape, limit).map_err(|too_large| Error::Unsupported {
            tag: "junction-tree",
            what: format!(
                "needs {:.0} MiB or more for cliques of up to {} nodes, `memory` allows {}; \
                 `belief-propagation` and `tree-reweighted` are approximate and need little",
                too_large.n_entries / NUMBERS_PER_MIB,
                too_large.n_clique_nodes,
                self.memory
            ),
        })?;
        let advice = "`belief-propagation` and `tree-reweighted` are approximate and need little";
        require_memory(elimination.n_bytes(), "the clique tables of `junction-tree`", advice)?;
        Ok(elimination)
    }

    /// The clique tree of one instance, with sums or maxima (`MAX`).
    fn clique_tree<const MAX: bool>(&self, p: &Potentials<'_>, memory: &mut Memory) -> Result<CliqueTree> {
        let elimination = self.eliminate(&p.shape())?;
        let Memory { shift, tables } = memory;
        CliqueTree::new::<MAX>(&shift.shift(p)?, elimination, std::mem::take(tables))
    }
}

/// Memory of a worker.
#[derive(Debug, Default)]
struct Memory {
    shift: ShiftMemory,
    tables: CliqueTables,
}

crf_core::plugin!("inference", JunctionTree, "junction-tree");

#[typetag::serde(name = "junction-tree")]
impl Inference for JunctionTree {
    fn check(&self) -> Result<()> {
        require(self.memory > 0.0, "memory", "above 0", self.memory)
    }

    fn supports(&self, shape: &Shape<'_>) -> Result<()> {
        self.eliminate(shape).map(|_| ())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let memory: &mut Memory = scratch.get();
        let tree = self.clique_tree::<true>(p, memory)?;
        tree.choose_labels(labels, best_label);
        memory.tables = tree.into_tables();
        finite_score(p, labels).map(Decoded::exact)
    }

    fn as_sampler(&self) -> Option<&dyn Sampler> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for JunctionTree {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        assert_eq!(out.node.len(), p.node().len(), "one belief per node and label");
        let memory: &mut Memory = scratch.get();
        let mut tree = self.clique_tree::<false>(p, memory)?;
        tree.distribute();
        tree.write_beliefs(p, out);
        let log_z = tree.log_z();
        memory.tables = tree.into_tables();
        finite_log_z(log_z).map(LogZ::exact)
    }
}

impl Sampler for JunctionTree {
    fn sample(
        &self,
        p: &Potentials<'_>,
        rng: &mut Rng,
        labellings: &mut [Vec<Label>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let memory: &mut Memory = scratch.get();
        let tree = self.clique_tree::<false>(p, memory)?;
        let mut probabilities = Vec::new();
        for labels in labellings {
            labels.clear();
            labels.resize(p.shape().n_nodes(), 0);
            tree.choose_labels(labels, |scores| {
                probabilities.clear();
                probabilities.extend_from_slice(scores);
                normalise(&mut probabilities);
                draw(&probabilities, rng)
            });
        }
        memory.tables = tree.into_tables();
        Ok(())
    }
}
