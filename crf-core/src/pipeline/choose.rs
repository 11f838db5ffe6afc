use std::ops::ControlFlow;
use std::sync::Arc;

use crate::Seed;
use crate::data::alphabet::Label;
use crate::data::dataset::Dataset;
use crate::error::{Error, Result};
use crate::evaluation::metric::Metric as _;
use crate::evaluation::metrics::ErrorRate;
use crate::evaluation::predict::Decode;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::units::{feature_units, warn_of_units};
use crate::inference::answers::Stop;
use crate::learning::learner::{FitContext, Learner, Problem};
use crate::learning::selector::{Candidate, Selector};
use crate::models::log_linear::LogLinear;
use crate::models::model::Model;

/// Chosen candidate of a path, and all candidates that took part.
#[derive(Debug)]
pub struct Chosen {
    /// Features of the candidate, ascending indices into the problem's map.
    pub features: Vec<usize>,
    /// Map of these features.
    pub map: Arc<FeatureMap>,
    /// Model that the selector fitted to these features, if it did.
    pub model: Option<LogLinear>,
    /// All candidates of the path.
    pub tried: Vec<TriedCandidate>,
    /// Index of the candidate in `tried`; `None` if the path is empty, since no feature was worth
    /// it.
    pub best: Option<usize>,
    /// Reason for the end of the path.
    pub stop: Stop,
    /// True if the learner took part: some candidate came without weights and was trained.
    pub by_learner: bool,
    /// Number of training sequences that were set aside in place of validation data.
    pub set_aside: usize,
}

/// Candidate that took part in a choice.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedCandidate {
    /// Number of features.
    pub features: usize,
    /// Selector's objective on the training data, if it has one.
    pub objective: Option<f64>,
    /// Error on the validation data, by which candidates were compared; `None` if there was no
    /// other candidate to compare it with.
    pub score: Option<f64>,
    /// Seconds of selection until the candidate was found.
    pub seconds: f64,
}

/// Chooses among the candidates of a path by their error on the problem's validation data. Of equal
/// candidates the smallest wins.
///
/// Without validation data, a fifth of the labelled training sequences, drawn by the seed of the
/// run, is set aside for the choice, and the selector sees the rest. The objective cannot choose:
/// it falls from candidate to candidate, as does the error on the data that the path was made of.
/// A selector that proposes one candidate sees all sequences.
///
/// Candidates without weights are trained by `learner`, each from the weights of the one before.
pub fn choose(
    selector: &dyn Selector,
    learner: &dyn Learner,
    decode: Decode,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<Chosen> {
    choose_observed(selector, learner, decode, problem, run, None)
}

/// [`choose`], and shows every candidate with its model to `observer`.
pub fn choose_with(
    selector: &dyn Selector,
    learner: &dyn Learner,
    decode: Decode,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
    observer: &mut CandidateObserver<'_>,
) -> Result<Chosen> {
    choose_observed(selector, learner, decode, problem, run, Some(observer))
}

/// Observer of candidates and their models.
type CandidateObserver<'s> = dyn FnMut(&TriedCandidate, &dyn Model) -> Result<()> + 's;

fn choose_observed(
    selector: &dyn Selector,
    learner: &dyn Learner,
    decode: Decode,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
    mut observer: Option<&mut CandidateObserver<'_>>,
) -> Result<Chosen> {
    let seed = run.seed.child("candidates");
    let proposes_one = selector.proposes_one();
    if !proposes_one || learner.heeds_sizes() {
        warn_of_units(problem.map, &feature_units(problem.map, problem.train));
    }
    let parts = match problem.valid {
        None if !proposes_one => {
            let set_aside = draw(problem.train.data(), selector, &run.seed.child("set aside"))?;
            Some(split(problem.train, &set_aside))
        }
        _ => None,
    };
    if let Some(valid) = problem.valid.filter(|_| !proposes_one)
        && !(0..valid.len()).any(|i| has_label(valid.data(), i))
    {
        let tag = selector.typetag_name();
        return Err(Error::data(format!(
            "the holdout data have no labels, by which `{tag}` is to choose among its candidates"
        )));
    }
    let set_aside = parts.as_ref().map_or(0, |[_, valid]| valid.len());
    let split_problem;
    let problem = match &parts {
        None => problem,
        Some([train, valid]) => {
            tracing::warn!(
                "there are no holdout data: `{}` chooses by {set_aside} of {} training sequences, drawn by the seed",
                selector.typetag_name(),
                problem.train.len(),
            );
            split_problem = Problem { train, valid: Some(valid), ..*problem };
            &split_problem
        }
    };
    let mut tried: Vec<TriedCandidate> = Vec::new();
    let mut best: Option<(f64, usize, Vec<usize>, Option<LogLinear>)> = None;
    let mut by_learner = false;
    let mut warm_start = WarmStart::default();
    let stop = selector.path(problem, run, &mut |candidate: Candidate<'_>| {
        let Candidate { features, weights, objective, seconds } = candidate;
        let map = Arc::new(problem.map.narrow_to(features));
        let model = weights.map(|weights| LogLinear::new(map.clone(), weights.to_vec())).transpose()?;
        let mut trained = None;
        let shown: Option<&dyn Model> = match &model {
            Some(model) => Some(model),
            None if proposes_one && observer.is_none() => None,
            None => {
                let start = warm_start.carry_over(features, &map)?;
                let start = start.as_ref().map(|model| model as &dyn Model);
                let train = problem.train.restricted(&map);
                let narrow = Problem { map: &map, train: &train, valid: None, start, ..*problem };
                let fit =
                    learner.fit(&narrow, &mut FitContext::new(seed, &mut |_| ControlFlow::Continue(())))?;
                warm_start.keep(features, &*fit.model);
                by_learner = true;
                Some(&**trained.insert(fit.model))
            }
        };
        let score = match (shown, problem.valid) {
            (Some(shown), Some(valid)) => Some(problem.error(shown, valid, decode)?),
            _ => None,
        };
        let tried_candidate = TriedCandidate { features: features.len(), objective, score, seconds };
        if let (Some(observer), Some(shown)) = (&mut observer, shown) {
            observer(&tried_candidate, shown)?;
        }
        let score = score.unwrap_or(f64::INFINITY);
        if best.as_ref().is_none_or(|(lowest, ..)| score.total_cmp(lowest).is_lt()) {
            best = Some((score, tried.len(), features.to_vec(), model));
        }
        tried.push(tried_candidate);
        Ok(if proposes_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let (best, features, model) = match best {
        Some((_, best, features, model)) => (Some(best), features, model),
        // A model without features has no weights to find.
        None => {
            let map = Arc::new(problem.map.narrow_to(&[]));
            (None, Vec::new(), Some(LogLinear::new(map, Vec::new())?))
        }
    };
    let narrowed = || Arc::new(problem.map.narrow_to(&features));
    let map = model.as_ref().map_or_else(narrowed, |model| model.map().clone());
    tracing::info!(
        candidates = tried.len(),
        features = features.len(),
        of = problem.map.len(),
        %stop,
        "selected by `{}`",
        selector.typetag_name(),
    );
    Ok(Chosen { features, map, model, tried, best, stop, by_learner, set_aside })
}

/// One in this many labelled training sequences is set aside where there are no validation data.
const ONE_IN: usize = 5;

/// Draws the training sequences that take the place of validation data, ascending; an error if
/// there are too few of them.
fn draw(data: &Dataset, selector: &dyn Selector, seed: &Seed) -> Result<Vec<usize>> {
    let tells = |&i: &usize| data.weight(i) > 0.0 && has_label(data, i);
    let mut sequences: Vec<usize> = data.shuffled(seed).into_iter().filter(tells).collect();
    let n = sequences.len();
    if n < ONE_IN {
        let tag = selector.typetag_name();
        return Err(Error::data(format!(
            "there are no holdout data by which to choose among the candidates of `{tag}`, and {n} labelled \
             sequences are too few to set a fifth aside: give holdout data, or take the last candidate by \
             {{ type = \"last\", of = \"{tag}\" }}"
        )));
    }
    sequences.truncate(n / ONE_IN);
    sequences.sort_unstable();
    Ok(sequences)
}

/// True if a position of a sequence has a label that models can have.
fn has_label(data: &Dataset, sequence: usize) -> bool {
    let is_known = |&label: &Label| !Dataset::is_foreign(label);
    data.labels()[data.range(sequence)].iter().flatten().any(is_known)
}

/// The sequences that are not set aside, and those that are.
fn split(train: &EncodedDataset, set_aside: &[usize]) -> [EncodedDataset; 2] {
    let rest: Vec<usize> = (0..train.len()).filter(|i| set_aside.binary_search(i).is_err()).collect();
    [train.subset(&rest), train.subset(set_aside)]
}

/// Weights of the candidate that was trained last, to start the next one from.
#[derive(Default)]
struct WarmStart {
    features: Vec<usize>, // ascending
    weights: Vec<f64>,    // [features]; empty if the model has no weights
}

impl WarmStart {
    /// Keeps the weights of a trained candidate.
    fn keep(&mut self, features: &[usize], model: &dyn Model) {
        let weights = model.log_linear().map(LogLinear::weights);
        self.features = features.to_vec();
        self.weights = weights.filter(|w| w.len() == features.len()).unwrap_or_default().to_vec();
    }

    /// Start model of some features: known features have their weights, new ones 0.
    fn carry_over(&self, features: &[usize], map: &Arc<FeatureMap>) -> Result<Option<LogLinear>> {
        if self.weights.is_empty() {
            return Ok(None);
        }
        let weight = |k: &usize| self.features.binary_search(k).map_or(0.0, |index| self.weights[index]);
        LogLinear::new(map.clone(), features.iter().map(weight).collect()).map(Some)
    }
}

impl Problem<'_> {
    /// Error rate of a model, by the problem's inference and under its constraints.
    pub fn error(&self, model: &dyn Model, encoded: &EncodedDataset, decode: Decode) -> Result<f64> {
        ErrorRate {}.measure(&self.evaluate(model, encoded, decode)?.into())
    }
}
