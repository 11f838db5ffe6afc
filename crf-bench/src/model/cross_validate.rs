//! Cross-validation over candidate settings, for `crf train --tune`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Error as CoreError, EvaluationContext, Metric, Seed};
use serde::Serialize;
use toml::Value;

use crate::config::{Candidates, ConfigRoot as _, SweepValues, Training, number, same, show};
use crate::error::{Error, Result};
use crate::model::train::{Seconds, train};
use crate::results::mean_interval::MeanInterval;
use crate::support::worker_pools::in_parallel;

/// The result of a cross-validation over candidates.
#[derive(Debug, Serialize)]
pub(crate) struct Tuning {
    /// The metric that compares them.
    by: String,
    folds: usize,
    candidates: Vec<CandidateScore>,
    /// The index of the chosen candidate.
    best: usize,
}

/// A candidate with its scores.
#[derive(Debug, Serialize)]
struct CandidateScore {
    settings: SweepValues,
    #[serde(flatten)]
    estimate: MeanInterval,
    /// The metric on each fold.
    scores: Vec<f64>,
}

/// Compares all candidates by cross-validation over whole sequences, and calls `done` after each
/// training.
///
/// Each fold is labelled by a model that was trained on the other folds, including the fit of its
/// features; only the names of labels and symbols are shared. The folds depend on `seed` alone, and
/// are the same for all candidates.
pub(crate) fn tune(
    candidates: &Candidates,
    data: &Dataset,
    holdout: Option<&Arc<Dataset>>,
    seed: &Seed,
    threads: NonZeroUsize,
    done: &(dyn Fn() + Sync),
) -> Result<Tuning> {
    let Candidates { points, by, .. } = candidates;
    let folds = deal(data, candidates.folds, seed)?;
    let scores = in_parallel(folds.len() * points.len(), threads, done, |job| {
        let fold = job / points.len();
        let (settings, config) = &points[job % points.len()];
        score(config, data, &folds[fold], holdout.cloned(), &**by).map_err(|error| match error {
            Error::Core(source) => Error::Cell { cell: format!("{settings}, fold {}", fold + 1), source },
            other => other,
        })
    })?;
    let candidate = |(point, (settings, _)): (usize, &(SweepValues, Value))| {
        let scores: Vec<f64> = scores.iter().skip(point).step_by(points.len()).copied().collect();
        CandidateScore { settings: settings.clone(), estimate: MeanInterval::from_trials(&scores), scores }
    };
    let scored: Vec<CandidateScore> = points.iter().enumerate().map(candidate).collect();
    let best = best(&scored, by.higher_is_better());
    Ok(Tuning { by: by.name(), folds: folds.len(), candidates: scored, best })
}

impl Tuning {
    /// The index of the chosen candidate.
    pub(crate) fn best(&self) -> usize {
        self.best
    }

    /// The title of the table: metric, candidates and folds.
    pub(crate) fn title(&self) -> String {
        format!("{} of {} candidates, mean of {} folds", self.by, self.candidates.len(), self.folds)
    }

    /// The column names and rows of a table of all candidates.
    pub(crate) fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let keys = self.candidates.iter().take(1).flat_map(|candidate| candidate.settings.iter());
        let mut head: Vec<String> = keys.map(|(key, _)| key.to_owned()).collect();
        head.extend([self.by.clone(), String::new()]);
        let row = |(i, candidate): (usize, &CandidateScore)| {
            let mut row: Vec<String> = candidate.settings.iter().map(|(_, value)| show(value)).collect();
            row.extend([candidate.estimate.to_string(), if i == self.best { "best" } else { "" }.to_owned()]);
            row
        };
        (head, self.candidates.iter().enumerate().map(row).collect())
    }

    /// Notes on keys whose chosen number is the smallest or largest of its list, so that better
    /// ones may lie beyond.
    pub(crate) fn at_the_edge(&self) -> Vec<String> {
        let chosen = &self.candidates[self.best].settings;
        let edge = |(key, value): (&str, &Value)| {
            let all = self.candidates.iter().filter_map(|candidate| number(candidate.settings.get(key)?));
            let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            let end = match number(value)? {
                value if value == low => "smallest",
                value if value == high => "largest",
                _ => return None,
            };
            Some(format!("{key} = {value} is the {end} of its list: there may be better ones beyond"))
        };
        chosen.iter().filter_map(edge).collect()
    }
}

/// The indices of the sequences of each fold, in order; the sizes of folds differ by at most 1.
fn deal(data: &Dataset, folds: usize, seed: &Seed) -> Result<Vec<Vec<usize>>> {
    if data.len() < folds {
        let message = format!("{folds} folds need as many sequences, got {}", data.len());
        return Err(CoreError::data(message).into());
    }
    let order = data.shuffled(&seed.child("folds"));
    let fold = |first| {
        let mut fold: Vec<usize> = order.iter().skip(first).step_by(folds).copied().collect();
        fold.sort_unstable();
        fold
    };
    Ok((0..folds).map(fold).collect())
}

/// The metric on a fold after training on all others by `config`.
fn score(
    config: &Value,
    data: &Dataset,
    fold: &[usize],
    holdout: Option<Arc<Dataset>>,
    by: &dyn Metric,
) -> Result<f64> {
    by.check_labels(data.schema())?;
    let others: Vec<usize> = (0..data.len()).filter(|i| fold.binary_search(i).is_err()).collect();
    let config = Training::read(config).map_err(Error::format("config"))?;
    let mut seconds = Seconds::default();
    let mut observer = |_: &crf_core::Iteration| ControlFlow::Continue(());
    let others = Arc::new(data.subset(&others));
    let file = train(config, others, holdout, None, String::new(), &mut seconds, &mut observer)?;
    let test = file.contents.features.encode(Arc::new(data.subset(fold)))?;
    let settings = &file.settings;
    let context =
        EvaluationContext::new(&*file.contents.model, &test, &*settings.inference, settings.decode)?
            .with_trace(Some(&file.contents.trace));
    Ok(by.measure(&context)?)
}

/// The index of the candidate with the best mean; among equals the one with the larger numbers,
/// which are the stronger penalties, and then the first.
fn best(candidates: &[CandidateScore], higher_is_better: bool) -> usize {
    let quality = |i: usize| match candidates[i].estimate.mean {
        mean if mean.is_nan() => f64::NEG_INFINITY,
        mean if higher_is_better => mean,
        mean => -mean,
    };
    let larger = |i: usize, than: usize| {
        let pairs = candidates[i].settings.iter().zip(candidates[than].settings.iter());
        let differ = pairs.map(|((_, a), (_, b))| (a, b)).find(|(a, b)| !same(a, b));
        differ.and_then(|(a, b)| Some(number(a)? > number(b)?)).unwrap_or(false)
    };
    (1..candidates.len()).fold(0, |best, i| {
        let better = quality(i) > quality(best) || quality(i) == quality(best) && larger(i, best);
        if better { i } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_core::{Alphabet, DatasetBuilder, Schema};

    #[test]
    fn folds_are_a_partition_of_nearly_equal_parts() {
        let schema = Arc::new(Schema::chain(Vec::new(), Alphabet::new(["a"])).expect("a schema"));
        for (n, folds) in [(2, 2), (7, 3), (10, 10), (23, 5)] {
            let mut data = DatasetBuilder::new(schema.clone());
            (0..n).for_each(|_| data.end_chain().expect("an empty chain"));
            let data = data.finish();
            let dealt = deal(&data, folds, &Seed::new(1)).expect("enough sequences");
            let sizes = dealt.iter().map(Vec::len);
            assert!(sizes.clone().max() <= sizes.min().map(|size| size + 1), "{dealt:?}");
            let mut all = dealt.concat();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert!(n < 10 || dealt != deal(&data, folds, &Seed::new(2)).expect("enough sequences"));
        }
    }

    fn candidates(values: &[(f64, f64)]) -> Vec<CandidateScore> {
        let candidate = |&(value, score): &(f64, f64)| CandidateScore {
            settings: SweepValues::default().with("l2", &Value::from(value)),
            estimate: MeanInterval::from_trials(&[score]),
            scores: vec![score],
        };
        values.iter().map(candidate).collect()
    }

    #[test]
    fn of_equal_candidates_the_stronger_penalty_wins() {
        assert_eq!(best(&candidates(&[(1.0, 0.5), (3.0, 0.75), (2.0, 0.75)]), true), 1);
        assert_eq!(best(&candidates(&[(2.0, 0.75), (3.0, 0.75), (1.0, 0.5)]), true), 1);
        assert_eq!(best(&candidates(&[(2.0, 0.75), (3.0, 0.75), (1.0, 0.5)]), false), 2);
        assert_eq!(best(&candidates(&[(2.0, f64::NAN), (3.0, f64::NEG_INFINITY), (1.0, -5.0)]), true), 2);
    }

    #[test]
    fn an_end_of_a_list_is_pointed_out() {
        let at_the_edge = |best| {
            let candidates = candidates(&[(1.0, 0.5), (3.0, 0.75), (2.0, 0.75)]);
            Tuning { by: "accuracy".into(), folds: 1, candidates, best }.at_the_edge()
        };
        assert_eq!(at_the_edge(2), [""; 0]);
        assert!(at_the_edge(1)[0].starts_with("l2 = 3.0 is the largest"), "{:?}", at_the_edge(1));
        assert!(at_the_edge(0)[0].contains("smallest"));
    }
}
