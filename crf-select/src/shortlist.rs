use std::sync::Arc;

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
/// The list has the candidates with the largest |∂ℓ/∂w| on some of the training sequences, at w = 0 first. At the weights with
/// which the other selector's path ended all candidates are looked at again: those that now have larger derivatives than
/// others of the list take their place, and the path is followed anew. The last path is the one that is shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shortlist {
    /// Whose path it is.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// How many candidates the list has; at least 1. Those that a path ended with stay on it beside these.
    pub keep: usize,
    /// The share of the training sequences on which candidates are compared; above 0 and at most 1.
    pub share: f64,
    /// How often a list is made; at least 1.
    pub stages: u32,
}

impl Default for Shortlist {
    fn default() -> Self {
        Shortlist { of: Box::new(Grafting::default()), keep: 1000, share: 1.0, stages: 2 }
    }
}

crf_core::plugin!("selector", Shortlist, "shortlist");

#[typetag::serde(name = "shortlist")]
impl Selector for Shortlist {
    fn check(&self) -> Result<()> {
        require(self.keep >= 1, "keep", "at least 1", self.keep)?;
        require(self.share > 0.0 && self.share <= 1.0, "share", "above 0 and at most 1", self.share)?;
        require(self.stages >= 1, "stages", "at least 1", self.stages)?;
        self.of.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut Run<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let some = self.sample(problem, run);
        let of = Problem { train: some.as_ref().unwrap_or(problem.train), ..*problem };
        let mut field = Field::new(&of, &likelihood)?;
        let mut list = self.list(&field);
        let mut left = self.stages;
        loop {
            let map = Arc::new(narrow(problem.map, &list));
            let inner = Problem { map: &map, ..*problem };
            let named = |features: &[usize]| features.iter().map(|&k| list[k]).collect::<Vec<usize>>();
            if left == 1 || list.len() == problem.map.len() {
                return self.of.path(&inner, run, &mut |candidate: Candidate<'_>| {
                    emit(Candidate { features: &named(candidate.features), ..candidate })
                });
            }
            let mut end = None;
            self.of.path(&inner, run, &mut |candidate: Candidate<'_>| {
                end = candidate.weights.map(|weights| (named(candidate.features), weights.to_vec()));
                Ok(Next::Continue)
            })?;
            left -= 1;
            match end {
                Some((features, weights)) => {
                    field.w.fill(0.0);
                    field.move_to(&features, &weights);
                    field.look()?;
                    list = self.list(&field);
                }
                // Without weights there is nothing to look from, and no other list.
                None => left = 1,
            }
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
