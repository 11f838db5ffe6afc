use crf_core::{EncodedDataset, FeatureMap, FitContext, Result, Stop, require};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::function_columns::{FunctionColumns, known, weights};
use crate::candidates::path_reporter::PathReporter;
use crate::candidates::top_scores::top_scores;

/// Sizes of the candidate models of a filter: each has the first features of the ranking, and more
/// of them than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Sizes {
    /// Factor from the number of features of one candidate model to that of the next, which has at
    /// least one more; at least 1.
    pub growth: f64,
    /// Maximum number of features of a model; no maximum if omitted.
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

    /// Reports candidates with the features of the largest scores; those with scores of zero or
    /// less are in none.
    pub(crate) fn report(
        &self,
        scores: &[f64],
        reporter: &mut PathReporter<'_>,
        run: &FitContext<'_>,
    ) -> Result<Stop> {
        let order = top_scores(scores, |_| true, self.most.unwrap_or(scores.len()));
        let mut size = 0;
        while size < order.len() {
            size = ((size as f64 * self.growth) as usize).max(size + 1).min(order.len());
            let mut features = order[..size].to_vec();
            features.sort_unstable();
            if reporter.report(&features, None, None, run)?.is_break() {
                return Ok(Stop::Observer);
            }
        }
        Ok(Stop::Direct)
    }
}

/// Non-zero values of a function at labelled positions or edges: (label or label pair, value,
/// weight).
pub(crate) type NonZeros = Vec<(u32, f64, f64)>;

/// Scores all features, function by function, in the order of the map.
///
/// `score` gets the non-zero values of a function, the total weight of each label or label pair
/// among all positions or edges of the function's kind, and the targets whose features it is to
/// score.
pub(crate) fn score_functions(
    map: &FeatureMap,
    encoded: &EncodedDataset,
    score: impl Fn(NonZeros, &[f64], &[u32]) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let columns = FunctionColumns::new(map, encoded);
    let (data, schema) = (encoded.data(), map.schema());
    let labels = data.labels();
    let weights = weights(data);
    let mut label_totals: Vec<Vec<f64>> =
        (0..schema.kinds().len()).map(|k| vec![0.0; schema.n_labels(k as u16)]).collect();
    let table_shapes: Vec<(usize, usize)> =
        (0..schema.relations().len()).map(|r| schema.table_shape(r as u16)).collect();
    let mut pair_totals: Vec<Vec<f64>> =
        table_shapes.iter().map(|&(n_tails, n_heads)| vec![0.0; n_tails * n_heads]).collect();
    let label_pair = |relation: u16, tail: usize, head: usize| {
        Some(known(labels[tail])? * table_shapes[relation as usize].1 as u32 + known(labels[head])?)
    };
    for i in 0..data.len() {
        let shape = data.shape(i);
        let start = data.range(i).start;
        for n in 0..shape.n_nodes() {
            if let Some(label) = known(labels[start + n]) {
                label_totals[shape.kind(n) as usize][label as usize] += data.weight(i);
            }
        }
        for e in 0..shape.n_edges() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if let Some(pair) = label_pair(relation, start + u, start + v) {
                pair_totals[relation as usize][pair as usize] += data.weight(i);
            }
        }
    }
    let state = (0..map.state().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let mut non_zeros = Vec::new();
        columns.for_each_position(g, |t, value| {
            non_zeros.extend(known(labels[t]).map(|label| (label, value, weights[t])));
        });
        score(non_zeros, &label_totals[map.state().scope(g) as usize], map.state().targets(g))
    });
    let transition = (0..map.transition().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let relation = map.transition().scope(g);
        let mut non_zeros = Vec::new();
        columns.for_each_edge(g, |edge, value| {
            let pair = label_pair(relation, edge.tail as usize, edge.head as usize);
            non_zeros.extend(pair.map(|pair| (pair, value, weights[edge.tail as usize])));
        });
        score(non_zeros, &pair_totals[relation as usize], map.transition().targets(g))
    });
    state.chain(transition).collect()
}
