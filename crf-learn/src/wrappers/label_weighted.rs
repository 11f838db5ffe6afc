use std::collections::BTreeMap;

use crf_core::plugin::{Named, named};
use crf_core::{Dataset, Error, Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A learner with training sequences weighted by their labels.
///
/// The weight of a sequence is multiplied by the mean weight of its known labels. If sequences are
/// single positions these are the usual class weights. In longer sequences no learner of whole
/// labellings can weigh a position apart from its neighbours (large margins can: see `costs` of the
/// `ssvm` learners). Validation data stay as they are. The encoded training data are held twice
/// while training lasts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelWeighted {
    /// Learner of the weighted data.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub learner: Box<dyn Learner>,
    /// Weight of each label: `"balanced"`, or a table such as `{ fall = 20, walk = 0.5 }`, in which
    /// omitted labels have the weight 1.
    pub labels: LabelWeights,
}

/// Weight of each label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LabelWeights {
    /// Weights by a rule.
    By(Rule),
    /// Given weights; finite and at least 0.
    Each(BTreeMap<String, f64>),
}

/// Rule for the weights of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Inversely proportional to the frequency of the label, and 1 on average over the positions.
    Balanced,
}

crf_core::plugin!(
    "learner",
    LabelWeighted,
    "label-weighted",
    example = r#"
labels = "balanced"
learner = { type = "mle", l2 = 0.1 }
"#
);

#[typetag::serde(name = "label-weighted")]
impl Learner for LabelWeighted {
    fn check(&self) -> Result<()> {
        if let LabelWeights::Each(weights) = &self.labels {
            for (label, &weight) in weights {
                require(weight.is_finite() && weight >= 0.0, label, "a finite number of at least 0", weight)?;
            }
        }
        self.learner.check()
    }

    fn fits_probabilities(&self) -> bool {
        self.learner.fits_probabilities()
    }

    fn watches_validation(&self) -> bool {
        self.learner.watches_validation()
    }

    fn heeds_sizes(&self) -> bool {
        self.learner.heeds_sizes()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let data = problem.train.data();
        let weights = self.labels.resolve(data)?;
        let train = problem.train.reweighted(|i| data.weight(i) * mean_weight(data, i, &weights))?;
        self.learner.fit(&Problem { train: &train, ..*problem }, run)
    }
}

impl LabelWeights {
    /// Weight of each label of each kind of node.
    fn resolve(&self, data: &Dataset) -> Result<Vec<Vec<f64>>> {
        let kinds = data.schema().kinds();
        match self {
            LabelWeights::By(Rule::Balanced) => {
                let mut counts: Vec<Vec<f64>> =
                    kinds.iter().map(|kind| vec![0.0; kind.labels.len()]).collect();
                for i in 0..data.len() {
                    known_labels(data, i).for_each(|(kind, label)| counts[kind][label] += data.weight(i));
                }
                for counts in &mut counts {
                    let (all, n_seen) =
                        (counts.iter().sum::<f64>(), counts.iter().filter(|&&n| n > 0.0).count());
                    counts
                        .iter_mut()
                        .for_each(|n| *n = if *n > 0.0 { all / (n_seen as f64 * *n) } else { 1.0 });
                }
                Ok(counts)
            }
            LabelWeights::Each(given) => {
                let names = || kinds.iter().flat_map(|kind| kind.labels.names().iter());
                if let Some(name) = given.keys().find(|name| !names().any(|known: &str| known == *name)) {
                    return Err(Error::unknown("label", name, names()));
                }
                let weight = |name: &str| given.get(name).copied().unwrap_or(1.0);
                let of_kind = |kind: &crf_core::NodeKind| kind.labels.names().iter().map(weight).collect();
                Ok(kinds.iter().map(of_kind).collect())
            }
        }
    }
}

/// Kinds and labels of the nodes of a sequence whose labels are known.
fn known_labels(data: &Dataset, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let shape = data.shape(i);
    let labels = data.labels()[data.range(i)].iter().enumerate();
    labels.filter_map(move |(n, label)| {
        let label = label.filter(|&label| !Dataset::is_foreign(label))?;
        Some((shape.kind(n) as usize, label as usize))
    })
}

/// Mean weight of the known labels of a sequence; 1 if none is known.
fn mean_weight(data: &Dataset, i: usize, weights: &[Vec<f64>]) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for (kind, label) in known_labels(data, i) {
        sum += weights[kind][label];
        n += 1.0;
    }
    if n == 0.0 { 1.0 } else { sum / n }
}
