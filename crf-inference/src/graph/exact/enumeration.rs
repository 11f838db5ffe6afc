use crf_core::{
    Beliefs, Decoded, EdgeBeliefs, Error, Inference, KBest, Label, Labelling, LogZ, Marginals, Potentials,
    Result, Scratch, Shape, oracle, require, require_memory,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{finite_score, impossible};
use crate::shifted::ShiftMemory;

/// Enumeration: exact inference on any graph by listing all labellings, for tiny graphs and to
/// check other algorithms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Enumeration {
    /// Maximum number of labellings; graphs with more are rejected.
    pub max_labellings: u64,
}

impl Default for Enumeration {
    fn default() -> Self {
        Enumeration { max_labellings: 1 << 20 }
    }
}

crf_core::plugin!("inference", Enumeration, "enumeration");

#[typetag::serde(name = "enumeration")]
impl Inference for Enumeration {
    fn check(&self) -> Result<()> {
        require(self.max_labellings > 0, "max_labellings", "at least 1", self.max_labellings)
    }

    fn supports(&self, shape: &Shape<'_>) -> Result<()> {
        let log_count: f64 = (0..shape.n_nodes()).map(|n| (shape.card(n) as f64).log2()).sum();
        if log_count <= (self.max_labellings as f64).log2() {
            return Ok(());
        }
        Err(Error::Unsupported {
            tag: "enumeration",
            what: format!(
                "would have to list 2^{log_count:.1} labellings, more than `max_labellings` = {}; \
                 `junction-tree` is exact too, `belief-propagation` is fast",
                self.max_labellings
            ),
        })
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        self.supports(&p.shape())?;
        let shifted = scratch.get::<ShiftMemory>().shift(p)?;
        let mut best = f64::NEG_INFINITY;
        oracle::for_each_labelling(&shifted.p, |candidate, score| {
            if score > best {
                best = score;
                labels.copy_from_slice(candidate);
            }
        });
        if best == f64::NEG_INFINITY {
            Err(impossible(p))
        } else {
            finite_score(p, labels).map(Decoded::exact)
        }
    }

    fn as_k_best(&self) -> Option<&dyn KBest> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for Enumeration {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        self.supports(&p.shape())?;
        let shifted = scratch.get::<ShiftMemory>().shift(p)?;
        let shape = p.shape();
        let mut max = f64::NEG_INFINITY;
        oracle::for_each_labelling(&shifted.p, |_, score| max = max.max(score));
        if max == f64::NEG_INFINITY {
            return Err(impossible(p));
        }
        out.node.fill(0.0);
        let n_edges = if matches!(out.edge, EdgeBeliefs::None) { 0 } else { shape.n_edges() };
        let mut pairs = vec![0.0; shape.edge_offset(n_edges)];
        let mut sum = 0.0;
        oracle::for_each_labelling(&shifted.p, |labels, score| {
            let weight = (score - max).exp();
            sum += weight;
            for (n, &y) in labels.iter().enumerate() {
                out.node[shape.node_offset(n) + y as usize] += weight;
            }
            for e in 0..n_edges {
                let (u, v) = shape.ends(e);
                let pair = labels[u] as usize * shape.card(v) + labels[v] as usize;
                pairs[shape.edge_offset(e) + pair] += weight;
            }
        });
        let log_z = shifted.log_z(max + sum.ln())?;
        out.node.iter_mut().for_each(|x| *x /= sum);
        for e in 0..n_edges {
            let pairs = &pairs[shape.edge_offset(e)..shape.edge_offset(e + 1)];
            out.edge.put(p, e, pairs.iter().map(|x| x / sum));
        }
        Ok(LogZ::exact(log_z))
    }
}

impl KBest for Enumeration {
    fn k_best(&self, p: &Potentials<'_>, k: usize, scratch: &mut Scratch) -> Result<Vec<Labelling>> {
        let shape = p.shape();
        self.supports(&shape)?;
        let n_labellings: f64 = (0..shape.n_nodes()).map(|n| shape.card(n) as f64).product();
        let n_bytes = size_of::<Labelling>() + shape.n_nodes() * size_of::<Label>();
        require_memory(n_labellings * n_bytes as f64, "a list of all labellings", "use `junction-tree`")?;
        let shifted = scratch.get::<ShiftMemory>().shift(p)?;
        let mut all = oracle::all_labellings(&shifted.p);
        all.retain(|labelling| labelling.score > f64::NEG_INFINITY);
        if all.is_empty() {
            return Err(impossible(p));
        }
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all.truncate(k);
        for labelling in &mut all {
            labelling.score = shifted.log_z(labelling.score)?;
        }
        Ok(all)
    }
}
