//! Graphs in JSON: every inference that accepts one gives probabilities, or a reason why not.

use crf_bench::{answer, graph_from_json};
use crf_core::{Bound, Inference, Plugin, Scratch};

use crate::choice;

/// Limits beyond which a graph is not answered: inference on it is slow, not wrong.
const MAX_NODES: usize = 12;
const MAX_LABELS: usize = 6;
const MAX_EDGES: usize = 24;

pub(crate) fn graph(bytes: &[u8]) {
    let (choice, json) = choice(bytes);
    let Ok(mut graph) = graph_from_json("fuzzed", json) else { return };
    let shape = graph.shape();
    let n_nodes = shape.n_nodes();
    let is_large = n_nodes > MAX_NODES || shape.n_edges() > MAX_EDGES;
    if is_large || (0..n_nodes).any(|n| shape.card(n) > MAX_LABELS) {
        return;
    }
    let inferences: Vec<_> = Plugin::all().into_iter().filter(|plugin| plugin.kind == "inference").collect();
    let tag = inferences[choice % inferences.len()].tag;
    let list = serde_json::json!({ "type": tag });
    let inference: Box<dyn Inference> = serde_json::from_value(list).expect("an inference by default");
    let Ok(answer) = answer(&*inference, &mut graph, false, &mut Scratch::new()) else { return };
    if let Some(log_z) = answer.log_z {
        assert!(log_z.is_finite(), "{tag}: log Z is {log_z}");
        if answer.log_z_is != Some(Bound::Lower) && answer.log_z_is != Some(Bound::Estimate) {
            let slack = 1e-9 * (1.0 + log_z.abs().max(answer.map_score.abs()));
            assert!(log_z >= answer.map_score - slack, "{tag}: {log_z} below {}", answer.map_score);
        }
    }
    for row in answer.marginals.iter().flatten() {
        let sum: f64 = row.iter().sum();
        assert!(row.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)), "{tag}: {row:?}");
        assert!((sum - 1.0).abs() < 1e-9, "{tag}: {row:?} sums to {sum}");
    }
    assert!(answer.map_score.is_finite(), "{tag}: the labelling is impossible");
    if let Some(upper) = answer.map_upper {
        assert!(upper >= answer.map_score - 1e-9 * (1.0 + upper.abs()), "{tag}: upper bound {upper}");
    }
}
