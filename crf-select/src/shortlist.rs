use std::sync::Arc;
use std::time::Instant;

use crf_core::plugin::{Named, named};
use crf_core::{Candidate, Corpus, Next, Problem, Result, Run, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::{Field, likelihood};
use crate::forward::best_of;
use crate::grafting::Grafting;
use crate::trail::{Emit, narrow};

/// Another selector on a short list of candidates, for sets that are too large for it.
///
/// The list has the candidates with the largest |∂ℓ/∂w| on some of the training sequences, at w = 0 first. Those say much the same,
/// as nested thresholds do; so all candidates are looked at again whenever the model has grown, those that now have larger
/// derivatives than others of the list take their place, and the path is followed anew from its beginning. Each of its
/// models is shown once it is larger than those before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shortlist {
    /// Whose path it is.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// How many candidates the list has; at least 1. The features of the model stay on it beside these.
    pub keep: usize,
    /// The share of the training sequences on which candidates are compared; above 0 and at most 1.
    pub share: f64,
    /// A new list is made when a model has so many times the features of the one at which the last was made; above 1.
    pub growth: f64,
}

impl Default for Shortlist {
    fn default() -> Self {
        Shortlist { of: Box::new(Grafting::default()), keep: 1000, share: 1.0, growth: 2.0 }
    }
}

crf_core::plugin!("selector", Shortlist, "shortlist");

#[typetag::serde(name = "shortlist")]
impl Selector for Shortlist {
    fn check(&self) -> Result<()> {
        require(self.keep >= 1, "keep", "at least 1", self.keep)?;
        require(self.share > 0.0 && self.share <= 1.0, "share", "above 0 and at most 1", self.share)?;
        let grows = self.growth.is_finite() && self.growth > 1.0;
        require(grows, "growth", "a finite number above 1", self.growth)?;
        self.of.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut Run<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let some = self.sample(problem, run);
        let of = Problem { train: some.as_ref().unwrap_or(problem.train), ..*problem };
        let mut field = Field::new(&of, &likelihood)?;
        let (mut list, mut shown) = (self.list(&field), 0);
        let mut away = 0.0; // seconds that others spent on candidates
        loop {
            let map = Arc::new(narrow(problem.map, &list));
            let (inner, is_whole) = (Problem { map: &map, ..*problem }, list.len() == problem.map.len());
            let (listed, away_before, mut larger) = (shown, away, None);
            let stop = self.of.path(&inner, run, &mut |candidate: Candidate<'_>| {
                if candidate.features.len() <= shown {
                    return Ok(Next::Continue);
                }
                shown = candidate.features.len();
                let features: Vec<usize> = candidate.features.iter().map(|&k| list[k]).collect();
                let (began, seconds) = (Instant::now(), candidate.seconds - away_before);
                let next = emit(Candidate { features: &features, seconds, ..candidate })?;
                away += began.elapsed().as_secs_f64();
                if next == Next::Stop {
                    return Ok(Next::Stop);
                }
                // Without weights there is nothing to look from.
                let Some(weights) = candidate.weights.filter(|_| !is_whole) else {
                    return Ok(Next::Continue);
                };
                if (shown as f64) < self.growth * listed as f64 {
                    return Ok(Next::Continue);
                }
                larger = Some((features, weights.to_vec()));
                Ok(Next::Stop)
            })?;
            let Some((features, weights)) = larger else { return Ok(stop) };
            field.w.fill(0.0);
            field.move_to(&features, &weights);
            field.look()?;
            list = self.list(&field);
        }
    }
}

impl Shortlist {
    /// The sequences on which candidates are compared; all when there is nothing to leave out.
    fn sample(&self, problem: &Problem<'_>, run: &Run<'_>) -> Option<Corpus> {
        let data = problem.train.data();
        let n = ((self.share * data.len() as f64).round() as usize).max(1);
        if n >= data.len() {
            return None;
        }
        let mut some = data.shuffled(&run.seed.child("sample"));
        some.truncate(n);
        some.sort_unstable();
        Some(problem.train.subset(&some))
    }

    /// The candidates with weights and the best of the others, ascending.
    fn list(&self, field: &Field<'_>) -> Vec<usize> {
        let slopes: Vec<f64> = field.gradient.iter().map(|slope| slope.abs()).collect();
        let mut list = best_of(&slopes, |k| field.w[k] == 0.0, self.keep);
        list.extend(field.support());
        list.sort_unstable();
        list
    }
}
