//! The choice among the candidates of a path where there are no validation data.

use std::ops::ControlFlow;

use crf_core::{Candidate, Chosen, Decode, FitContext, Problem, Result, Selector, Stop, choose};
use crf_learn::{Minimisation, Mle};
use serde::{Deserialize, Serialize};

use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};

const FEATURES: &str =
    r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}, {"transition": "equals"}]"#;

fn encoded(sequences: usize, length: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences, length, labels: 3, unlabelled: 0, seed: 17 }))
}

fn chosen(selector: &str, problem: &Problem<'_>) -> Result<Chosen> {
    let selector: Box<dyn Selector> = serde_json::from_str(selector).unwrap();
    let learner = Mle(Minimisation { l2: 0.1, ..Minimisation::default() });
    quiet(1, |run| choose(&*selector, &learner, Decode::Posterior, problem, run))
}

#[test]
fn without_holdout_data_the_end_of_the_path_is_not_taken_in_silence() {
    let encoded = encoded(20, 12);
    for selector in [r#"{"type": "l1-path"}"#, r#"{"type": "grafting"}"#, r#"{"type": "mutual-information"}"#]
    {
        let chosen = chosen(selector, &encoded.problem(&INFERENCE)).unwrap();
        let last = chosen.tried.last().unwrap().features;
        assert_eq!(chosen.set_aside, 4, "{selector}");
        assert!(chosen.features.len() < last, "{selector}: {} of {last}", chosen.features.len());
        let lowest = chosen.tried.iter().map(|tried| tried.score.unwrap()).fold(f64::INFINITY, f64::min);
        assert_eq!(chosen.tried[chosen.best.unwrap()].score, Some(lowest), "{selector}");
    }
}

/// A selector whose one candidate tells how many sequences it saw to train and to choose by.
#[derive(Debug, Serialize, Deserialize)]
struct Counting {
    one: bool,
}

#[typetag::serde(name = "counting")]
impl Selector for Counting {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn proposes_one(&self) -> bool {
        self.one
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        let counts = [problem.train.len(), problem.valid.map_or(0, |valid| valid.len())];
        let weights = Some(&counts.map(|n| n as f64)[..]);
        let _ = emit(Candidate { features: &[0, 1], weights, objective: None, seconds: run.seconds() })?;
        Ok(Stop::Direct)
    }
}

fn counts(chosen: &Chosen) -> [f64; 2] {
    chosen.model.as_ref().unwrap().weights().try_into().unwrap()
}

#[test]
fn a_fifth_of_the_labelled_sequences_is_set_aside_unless_there_is_one_candidate() {
    // A third of the sequences says nothing about labels.
    let draw = data(&Draw { sequences: 15, length: 8, labels: 3, unlabelled: 0, seed: 3 });
    let draw = draw.reweighted(|i| if i % 3 == 0 { 0.0 } else { 1.0 }).unwrap();
    let encoded = Encoded::new(FEATURES, draw);
    let problem = encoded.problem(&INFERENCE);
    let many = chosen(r#"{"type": "counting", "one": false}"#, &problem).unwrap();
    assert_eq!((counts(&many), many.set_aside), ([13.0, 2.0], 2));
    let one = chosen(r#"{"type": "counting", "one": true}"#, &problem).unwrap();
    assert_eq!((counts(&one), one.set_aside, one.tried[0].score), ([15.0, 0.0], 0, None));
    let valid = Problem { valid: Some(&encoded.corpus), ..problem };
    let given = chosen(r#"{"type": "counting", "one": false}"#, &valid).unwrap();
    assert_eq!((counts(&given), given.set_aside), ([15.0, 15.0], 0));
}

#[test]
fn too_few_sequences_for_a_choice_are_refused_with_what_would_do() {
    let encoded = encoded(4, 30);
    let problem = encoded.problem(&INFERENCE);
    let message = chosen(r#"{"type": "grafting", "most": 5}"#, &problem).unwrap_err().to_string();
    assert!(message.contains("4 labelled sequences") && message.contains("`grafting`"), "{message}");
    assert!(message.contains(r#"{ type = "last", of = "grafting" }"#), "{message}");
    let last = chosen(r#"{"type": "last", "of": {"type": "grafting", "most": 5}}"#, &problem).unwrap();
    assert_eq!((last.features.len(), last.tried.len(), last.tried[0].score), (5, 1, None));
    assert!(last.model.is_some() && !last.by_learner);
    // What chooses by itself needs no validation data.
    for selector in [r#"{"type": "logit-boost", "rounds": 3}"#, r#"{"type": "cross-validated", "folds": 2}"#]
    {
        assert!(!chosen(selector, &problem).unwrap().by_learner, "{selector}");
    }
}

#[test]
fn the_last_candidate_is_that_of_the_path() {
    let encoded = encoded(6, 20);
    let problem = encoded.problem(&INFERENCE);
    for of in [r#"{"type": "l1-path", "floor": 0.05}"#, r#"{"type": "relief"}"#] {
        let mut end = None;
        let selector: Box<dyn Selector> = serde_json::from_str(of).unwrap();
        let stop = quiet(1, |run| {
            selector.path(&problem, run, &mut |candidate| {
                end = Some((candidate.features.to_vec(), candidate.weights.map(<[f64]>::to_vec)));
                Ok(ControlFlow::Continue(()))
            })
        });
        let last = chosen(&format!(r#"{{"type": "last", "of": {of}}}"#), &problem).unwrap();
        let weights = last.model.as_ref().map(|model| model.weights().to_vec());
        assert_eq!((Some((last.features, weights)), last.stop), (end, stop.unwrap()), "{of}");
    }
}

#[test]
fn holdout_data_without_labels_choose_nothing() {
    let encoded = encoded(6, 10);
    let unlabelled = data(&Draw { sequences: 3, length: 8, labels: 3, unlabelled: 10, seed: 1 });
    let unlabelled = Encoded::new(FEATURES, unlabelled).corpus;
    let problem = Problem { valid: Some(&unlabelled), ..encoded.problem(&INFERENCE) };
    let message = chosen(r#"{"type": "grafting"}"#, &problem).unwrap_err().to_string();
    assert!(message.contains("holdout data have no labels"), "{message}");
    assert!(chosen(r#"{"type": "last", "of": "grafting"}"#, &problem).is_ok());
}
