//! Selection on parts of what there is: of the data, and of the candidates.

use crf_core::{Candidate, Decode, Learner as _, LogLinear, Next, Problem};
use crf_learn::{Mle, Pairing};
use crf_select::{AsSelected, Grafting, Rounds, Shortlist, Transfer, choose};

use crate::common::{Draw, Encoded, INFERENCE, data, quiet};

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}]"#;

fn encoded(sequences: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences, length: 30, labels: 3, unlabelled: 0, seed: 9 }))
}

fn grafting(most: usize) -> Grafting {
    Grafting { rounds: Rounds { l2: 0.1, most: Some(most), ..Rounds::default() }, ..Grafting::default() }
}

fn mle() -> Mle {
    Mle(Pairing { l2: 0.5, ..Pairing::default() })
}

fn weights(model: &dyn crf_core::Model) -> (Vec<String>, Vec<f64>) {
    let model: &LogLinear = model.log_linear().unwrap();
    ((0..model.map().len()).map(|k| model.map().name(k)).collect(), model.weights().to_vec())
}

#[test]
fn features_of_one_part_are_trained_in_another() {
    let all = encoded(8);
    let parts = [0..4, 4..8].map(|part| all.corpus.subset(&part.collect::<Vec<_>>()));
    let problem = Problem { valid: Some(&all.corpus), ..all.problem(&INFERENCE) };
    let in_part = |k: usize| Problem { train: &parts[k], valid: Some(&parts[k]), ..problem };
    let transfer = |select_in, train_in, learner: Option<Mle>| {
        let learner = learner.map(|learner| Box::new(learner) as _);
        let selector = Box::new(grafting(6));
        let transfer =
            Transfer { parts: 2, select_in, selector, train_in, learner, ..Transfer::default() };
        transfer.check().unwrap();
        weights(&*quiet(1, |run| transfer.fit(&problem, run)).unwrap().model)
    };
    for (select, train) in [(0, 0), (0, 1), (1, 0)] {
        let chosen =
            quiet(1, |run| choose(&grafting(6), &mle(), Decode::Posterior, &in_part(select), run)).unwrap();
        let start = chosen.model.as_ref().filter(|_| select == train).map(|model| model as _);
        let there = Problem { map: &chosen.map, start, ..in_part(train) };
        let want = weights(&*quiet(1, |run| mle().fit(&there, run)).unwrap().model);
        assert_eq!(transfer(select + 1, train + 1, Some(mle())), want, "{select} to {train}");
        let kept = AsSelected { selector: Box::new(grafting(6)), ..AsSelected::default() };
        let kept = weights(&*quiet(1, |run| kept.fit(&in_part(select), run)).unwrap().model);
        assert_eq!(transfer(select + 1, train + 1, None), kept);
        // A method's own selector leaves the weights to the learner, which keeps them.
        let started = AsSelected::default();
        let there = Problem { map: &chosen.map, start: chosen.model.as_ref().map(|m| m as _), ..in_part(select) };
        assert_eq!(weights(&*quiet(1, |run| started.fit(&there, run)).unwrap().model), kept);
    }
    assert!(Transfer { parts: 2, train_in: 3, ..Transfer::default() }.check().is_err());
    let uneven = Transfer { parts: 3, ..Transfer::default() };
    assert!(quiet(1, |run| uneven.fit(&problem, run)).is_err());
}

#[test]
fn a_short_list_finds_what_the_whole_list_has_once_it_has_looked_again() {
    let all = encoded(8);
    let problem = all.problem(&INFERENCE);
    let last = |selector: &dyn crf_core::Selector| {
        let mut end = Vec::new();
        quiet(1, |run| {
            selector.path(&problem, run, &mut |candidate: Candidate<'_>| {
                assert!(candidate.features.iter().all(|&k| k < all.map.len()));
                end = candidate.features.to_vec();
                Ok(Next::Continue)
            })
        })
        .unwrap();
        end
    };
    let whole = last(&grafting(5));
    let short = |keep, share, stages| {
        let shortlist = Shortlist { of: Box::new(grafting(5)), keep, share, stages };
        last(&shortlist)
    };
    assert_eq!(short(1000, 1.0, 1), whole);
    assert_eq!(short(all.map.len() / 2, 1.0, 3), whole);
    assert_eq!(short(4, 0.5, 1).len(), 4);
    assert_eq!(short(8, 0.5, 2).len(), 5);
}
