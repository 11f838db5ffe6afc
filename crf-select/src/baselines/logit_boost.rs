use crf_core::{FitContext, Learner as _, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, PathReporter};

/// Boosting as a filter: the one candidate has the observation functions that LogitBoost chooses,
/// each with all labels ("ML + boosting" and "MPL + boosting" of Liao et al. 2007, §5.2).
///
/// Good for many functions of which few matter, such as the stumps of `{ type = "threshold", … }`.
/// LogitBoost classifies positions by themselves, so intercepts and transitions take no part in the
/// choice and are all kept. The candidate comes without weights: the learner of the method trains
/// it. The settings are those of the learner `logit-boost`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogitBoost(pub crf_learn::LogitBoost);

crf_core::plugin!("selector", LogitBoost, "logit-boost", example = "rounds = 10");

#[typetag::serde(name = "logit-boost")]
impl Selector for LogitBoost {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn proposes_one(&self) -> bool {
        true
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let chosen = self.0.select(problem, run)?;
        let map = problem.map;
        let state = map.state();
        let is_kept = |g: &u32| state.is_constant(*g) || chosen.binary_search(g).is_ok();
        let functions = (0..state.n_observations() as u32).filter(is_kept);
        let mut features: Vec<usize> = functions.flat_map(|g| state.range(g)).collect();
        features.extend(state.len()..map.len());
        let _ = PathReporter::new(emit).report(&features, None, None, run)?;
        Ok(Stop::Direct)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use std::ops::ControlFlow;

    use crf_core::{Features, Seed, Source as _};
    use crf_datasets::{Size, WeakObservations};
    use crf_inference::ForwardBackward;
    use std::sync::Arc;

    #[test]
    fn it_keeps_the_chosen_functions_and_all_that_take_no_part_in_the_choice() {
        let size = Size { sequences: 4, length: 200 };
        let source = WeakObservations {
            observations: 12,
            lowest: 0.1,
            highest: 0.9,
            train: size,
            test: size,
            ..WeakObservations::default()
        };
        let data = source.load(&Seed::new(1)).unwrap().train;
        let features: Features =
            serde_json::from_str(r#"["intercept", "transition", {"state": "value"}]"#).unwrap();
        let fitted = features.fit(&data).unwrap();
        let corpus = fitted.encode(Arc::new(data)).unwrap();
        let map = Arc::new(fitted.map(&corpus).unwrap());
        let inference = ForwardBackward::default();
        let problem = Problem::new(&corpus, &map, &inference);
        let boosting = crf_learn::LogitBoost { rounds: 3, ..crf_learn::LogitBoost::default() };
        let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
        let mut run = FitContext::new(Seed::new(1), &mut go_on);
        let chosen = boosting.select(&problem, &mut run).unwrap();
        assert!((1..=3).contains(&chosen.len()), "{chosen:?}");
        let mut shown = Vec::new();
        let mut emit = |candidate: crf_core::Candidate<'_>| {
            shown.push(candidate.features.to_vec());
            Ok(ControlFlow::Continue(()))
        };
        LogitBoost(boosting).path(&problem, &mut run, &mut emit).unwrap();
        let [features] = &shown[..] else { panic!("one candidate, not {}", shown.len()) };
        assert!(features.is_sorted());
        for feature in 0..map.len() {
            let state = feature < map.state().len();
            let (g, _) = map.feature(feature);
            let want = !state || map.state().is_constant(g) || chosen.contains(&g);
            assert_eq!(features.contains(&feature), want, "{}", map.name(feature));
        }
    }
}
