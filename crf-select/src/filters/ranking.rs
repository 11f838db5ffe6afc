use crf_core::{EncodedDataset, FeatureMap, FitContext, Result, Stop, require};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::function_columns::{Columns, known, weights};
use crate::candidates::path_reporter::PathReporter;
use crate::forward::selection_loop::best_of;

/// How filters make a path of an order: sets of the first features, each larger than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Sizes {
    /// By what the number of features is multiplied from candidate to candidate; it grows by one at least. At least 1.
    pub growth: f64,
    /// How many features a candidate has at most.
    pub most: Option<usize>,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { growth: 1.5, most: None }
    }
}

impl Sizes {
    pub(crate) fn check(&self) -> Result<()> {
        require(
            self.growth.is_finite() && self.growth >= 1.0,
            "growth",
            "a number of at least 1",
            self.growth,
        )?;
        require(self.most != Some(0), "most", "at least 1", 0)
    }

    /// Shows ever more of the features with the largest scores, as far as these are above zero.
    pub(crate) fn show(
        &self,
        scores: &[f64],
        trail: &mut PathReporter<'_>,
        run: &FitContext<'_>,
    ) -> Result<Stop> {
        let order = best_of(scores, |_| true, self.most.unwrap_or(scores.len()));
        let mut size = 0;
        while size < order.len() {
            size = ((size as f64 * self.growth) as usize).max(size + 1).min(order.len());
            let mut features = order[..size].to_vec();
            features.sort_unstable();
            if trail.show(&features, None, None, run)?.is_break() {
                return Ok(Stop::Observer);
            }
        }
        Ok(Stop::Direct)
    }
}

/// What is observed of a function: the label, or pair of labels, the value wherever it is not zero, and how often it counts.
pub(crate) type Seen = Vec<(u32, f64, f64)>;

/// Scores all features, function by function. `score` gets what is seen of a function, how often each label or pair of
/// labels occurs where the function could be seen, and the targets to be scored.
pub(crate) fn score_functions(
    map: &FeatureMap,
    x: &EncodedDataset,
    score: impl Fn(Seen, &[f64], &[u32]) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let (columns, data, schema) = (Columns::new(map, x), x.data(), map.schema());
    let (labels, weights) = (data.labels(), weights(data));
    let mut of_kind: Vec<Vec<f64>> =
        (0..schema.kinds().len()).map(|k| vec![0.0; schema.n_labels(k as u16)]).collect();
    let widths: Vec<usize> = (0..schema.relations().len()).map(|r| schema.table_shape(r as u16).1).collect();
    let sizes = (0..widths.len()).map(|r| schema.table_shape(r as u16).0 * widths[r]);
    let mut of_relation: Vec<Vec<f64>> = sizes.map(|size| vec![0.0; size]).collect();
    let pair = |relation: u16, tail: usize, head: usize| {
        Some(known(labels[tail])? * widths[relation as usize] as u32 + known(labels[head])?)
    };
    for i in 0..data.len() {
        let (shape, start) = (data.shape(i), data.range(i).start);
        for n in 0..shape.n_nodes() {
            known(labels[start + n])
                .into_iter()
                .for_each(|label| of_kind[shape.kind(n) as usize][label as usize] += data.weight(i));
        }
        for e in 0..shape.n_edges() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            let pair = pair(relation, start + u, start + v);
            pair.into_iter().for_each(|pair| of_relation[relation as usize][pair as usize] += data.weight(i));
        }
    }
    let state = (0..map.state().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let mut seen = Vec::new();
        columns.for_each_position(g, |t, value| {
            seen.extend(known(labels[t]).map(|label| (label, value, weights[t])));
        });
        score(seen, &of_kind[map.state().scope(g) as usize], map.state().targets(g))
    });
    let transition = (0..map.transition().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let (mut seen, relation) = (Vec::new(), map.transition().scope(g));
        columns.for_each_edge(g, |edge, value| {
            let pair = pair(relation, edge.tail as usize, edge.head as usize);
            seen.extend(pair.map(|pair| (pair, value, weights[edge.tail as usize])));
        });
        score(seen, &of_relation[relation as usize], map.transition().targets(g))
    });
    state.chain(transition).collect()
}
