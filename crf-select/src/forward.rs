use crf_core::{Next, Result, Run, Stop, require};
use crf_learn::{Penalty, StopRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::Field;
use crate::trail::Trail;

/// How forward selection goes on: the best candidates are added, and the model is trained on from its last weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Rounds {
    /// How many candidates are added before the model is trained again; at least 1.
    pub per_round: usize,
    /// How many features a model has at most.
    pub most: Option<usize>,
    /// λ₁ of λ₁‖w‖₁; at least 0.
    pub l1: f64,
    /// λ₂ of (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// When the training of a round stops.
    pub stop: StopRule,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds { per_round: 1, most: None, l1: 0.0, l2: 0.0, stop: StopRule::default() }
    }
}

/// What forward selection asks of a round.
pub(crate) trait Score {
    /// Writes what each candidate that is not `chosen` promises, and says why selection ends if none promises anything; 0 or
    /// less is not worth adding.
    fn score(&mut self, field: &Field<'_>, chosen: &[bool], scores: &mut [f64]) -> Result<Stop>;
    /// Whether a fall of the objective was worth adding so many features.
    fn is_worth(&self, _fall: f64, _added: usize) -> bool {
        true
    }
}

impl Rounds {
    pub(crate) fn check(&self) -> Result<()> {
        require(self.per_round >= 1, "per_round", "at least 1", self.per_round)?;
        require(self.most != Some(0), "most", "at least 1", 0)?;
        self.penalty().check()?;
        self.stop.check()
    }

    fn penalty(&self) -> Penalty {
        Penalty { l1: self.l1, l2: self.l2, exempt_intercepts: false }
    }

    /// Adds candidates until none is worth it.
    pub(crate) fn forward(
        &self,
        field: &mut Field<'_>,
        score: &mut dyn Score,
        trail: &mut Trail<'_>,
        run: &mut Run<'_>,
    ) -> Result<Stop> {
        let n = field.w.len();
        let (mut chosen, mut scores) = (vec![false; n], vec![0.0; n]);
        let (mut objective, penalty) = (field.value, self.penalty());
        loop {
            let n_chosen = chosen.iter().filter(|&&chosen| chosen).count();
            let room = self.most.map_or(n, |most| most.saturating_sub(n_chosen)).min(self.per_round);
            if room == 0 {
                return Ok(Stop::Budget);
            }
            scores.fill(0.0);
            let end = score.score(field, &chosen, &mut scores)?;
            let best = best(&scores, |k| !chosen[k], room);
            if best.is_empty() {
                return Ok(end);
            }
            best.iter().for_each(|&k| chosen[k] = true);
            let features: Vec<usize> = (0..n).filter(|&k| chosen[k]).collect();
            let now = field.train(&features, &penalty, &self.stop, run)?;
            if now >= objective {
                return Ok(Stop::NoProgress);
            }
            if !score.is_worth(objective - now, best.len()) {
                return Ok(Stop::Converged);
            }
            objective = now;
            // What a penalty drove back to zero is a candidate again.
            (0..n).for_each(|k| chosen[k] = field.w[k] != 0.0);
            let support = field.support();
            let weights = Field::part(&field.w, &support);
            if trail.show(&support, Some(&weights), Some(objective), run)? == Next::Stop {
                return Ok(Stop::Observer);
            }
        }
    }
}

/// The candidates with the largest scores above zero among those that are free, at most `room`; of equal ones the first.
pub(crate) fn best(scores: &[f64], is_free: impl Fn(usize) -> bool, room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&k| is_free(k) && scores[k] > 0.0).collect();
    let descending = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
    if room < order.len() {
        order.select_nth_unstable_by(room, descending);
        order.truncate(room);
    }
    order.sort_unstable_by(descending);
    order
}
