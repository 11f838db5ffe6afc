use std::collections::HashMap;

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

/// Total weight of each label or label pair of the data, and of all.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    of: HashMap<u32, f64>,
    pub(crate) all: f64,
}

impl Totals {
    fn add(&mut self, target: u32, weight: f64) {
        *self.of.entry(target).or_default() += weight;
        self.all += weight;
    }

    /// Total weight of a label or label pair.
    pub(crate) fn of(&self, target: u32) -> f64 {
        self.of.get(&target).copied().unwrap_or(0.0)
    }
}

/// Scores all features, function by function, in the order of the map.
///
/// `score` gets the non-zero values of a function, sorted by target, the total weights of the
/// labels or label pairs among all positions or edges of the function's kind, and the targets whose
/// features it is to score. Its cost must be linear in these: there are far more pairs of labels
/// than pairs at which a function is not zero.
pub(crate) fn score_functions(
    map: &FeatureMap,
    encoded: &EncodedDataset,
    score: impl Fn(NonZeros, &Totals, &[u32]) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let columns = FunctionColumns::new(map, encoded);
    let (data, schema) = (encoded.data(), map.schema());
    let labels = data.labels();
    let weights = weights(data);
    let totals = |n: usize| (0..n).map(|_| Totals::default()).collect::<Vec<Totals>>();
    let mut label_totals = totals(schema.kinds().len());
    let mut pair_totals = totals(schema.relations().len());
    let n_heads: Vec<u32> =
        (0..schema.relations().len()).map(|r| schema.table_shape(r as u16).1 as u32).collect();
    let label_pair = |relation: u16, tail: usize, head: usize| {
        Some(known(labels[tail])? * n_heads[relation as usize] + known(labels[head])?)
    };
    for i in 0..data.len() {
        let shape = data.shape(i);
        let start = data.range(i).start;
        for n in 0..shape.n_nodes() {
            if let Some(label) = known(labels[start + n]) {
                label_totals[shape.kind(n) as usize].add(label, data.weight(i));
            }
        }
        for e in 0..shape.n_edges() {
            let ((u, v), relation) = (shape.ends(e), shape.relation(e));
            if let Some(pair) = label_pair(relation, start + u, start + v) {
                pair_totals[relation as usize].add(pair, data.weight(i));
            }
        }
    }
    let state = (0..map.state().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let mut non_zeros = Vec::new();
        columns.for_each_position(g, |t, value| {
            non_zeros.extend(known(labels[t]).map(|label| (label, value, weights[t])));
        });
        non_zeros.sort_by_key(|(label, ..)| *label);
        score(non_zeros, &label_totals[map.state().scope(g) as usize], map.state().targets(g))
    });
    let transition = (0..map.transition().n_observations() as u32).into_par_iter().flat_map_iter(|g| {
        let relation = map.transition().scope(g);
        let mut non_zeros = Vec::new();
        columns.for_each_edge(g, |edge, value| {
            let pair = label_pair(relation, edge.tail as usize, edge.head as usize);
            non_zeros.extend(pair.map(|pair| (pair, value, weights[edge.tail as usize])));
        });
        non_zeros.sort_by_key(|(pair, ..)| *pair);
        score(non_zeros, &pair_totals[relation as usize], map.transition().targets(g))
    });
    state.chain(transition).collect()
}
