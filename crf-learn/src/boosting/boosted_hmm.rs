use crf_core::{FeatureMap, Fit, FitContext, Label, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::logit_boost::LogitBoost;
use crate::boosting::node_scores::modelled_relations;
use crate::objectives::labels::all_labels;

/// A hidden Markov model over a boosted classifier of positions (Subramanya, Raj, Bilmes & Fox
/// 2006, with LogitBoost).
///
/// The p(y | x) of LogitBoost takes the place of emissions, p(x | y) ∝ p(y | x)/p(y), and
/// transitions are counted. On a chain the joint score is then Σ_t log p(y_t | x_t) + Σ_t log
/// [p(y_{t−1}, y_t)/(p(y_{t−1}) p(y_t))]: the pointwise mutual information of neighbours, which has
/// no direction. So on any graph each relation with a transition feature has that as its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedHmm {
    /// Classifier of positions.
    pub local: LogitBoost,
    /// Pseudo-count, added to the count of each pair of labels; above 0.
    pub smoothing: f64,
}

impl Default for BoostedHmm {
    fn default() -> Self {
        BoostedHmm { local: LogitBoost::default(), smoothing: 1.0 }
    }
}

crf_core::plugin!("learner", BoostedHmm, "boosted-hmm", example = "local = { rounds = 10 }");

#[typetag::serde(name = "boosted-hmm")]
impl Learner for BoostedHmm {
    fn check(&self) -> Result<()> {
        let counts = self.smoothing.is_finite() && self.smoothing > 0.0;
        require(counts, "smoothing", "a finite number above 0", self.smoothing)?;
        self.local.check().map_err(|error| error.at("`local`"))
    }

    fn watches_validation(&self) -> bool {
        self.local.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        const TAG: &str = "boosted-hmm";
        let (model, trace) = self.local.boost(TAG, problem, run)?;
        let truth = all_labels(problem.train.data(), TAG)?;
        Ok(Fit { model: Box::new(model.with_tables(self.tables(problem, &truth))), trace })
    }
}

impl BoostedHmm {
    /// Table log [p(y′, y)/(p(y′) p(y))] of each relation, by counting.
    fn tables(&self, problem: &Problem<'_>, truth: &[Label]) -> Vec<Vec<f64>> {
        let (map, data): (&FeatureMap, _) = (problem.map, problem.train.data());
        let shape = |relation: usize| map.schema().table_shape(relation as u16);
        let n_relations = map.schema().relations().len();
        let mut tables: Vec<Vec<f64>> =
            (0..n_relations).map(shape).map(|(tails, heads)| vec![self.smoothing; tails * heads]).collect();
        for i in 0..data.len() {
            let (graph, truth) = (data.shape(i), &truth[data.range(i)]);
            for e in 0..graph.n_edges() {
                let ((u, v), relation) = (graph.ends(e), usize::from(graph.relation(e)));
                tables[relation][truth[u] as usize * shape(relation).1 + truth[v] as usize] += data.weight(i);
            }
        }
        let modelled: Vec<u16> = modelled_relations(map).collect();
        for (relation, table) in tables.iter_mut().enumerate() {
            let (tails, heads) = shape(relation);
            if !modelled.contains(&(relation as u16)) {
                table.fill(0.0);
                continue;
            }
            let tail_counts: Vec<f64> = table.chunks(heads).map(|row| row.iter().sum()).collect();
            let head_counts: Vec<f64> =
                (0..heads).map(|k| (0..tails).map(|d| table[d * heads + k]).sum()).collect();
            let all: f64 = tail_counts.iter().sum();
            for (pair, count) in table.iter_mut().enumerate() {
                *count = (*count * all / (tail_counts[pair / heads] * head_counts[pair % heads])).ln();
            }
        }
        tables
    }
}
