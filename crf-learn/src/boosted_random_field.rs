use crf_core::{Error, Fit, Learner, Problem, Result, Run, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::{Ensemble, Round, boost};
use crate::brf_model::{BrfModel, Step, Tie};
use crate::evidence::{Field, RelationTables};
use crate::trees::{Attributes, Binned};
use crate::weak::{Pool, finite, symmetrise};

/// Boosted random fields (Torralba, Murphy & Freeman 2004).
///
/// Each round adds a weak learner that looks at an attribute, and one that is linear in the beliefs of neighbours: z ≈ a·Σ b(d) + c,
/// summed over the neighbours by one relation and end, for the label d that fits best. Beliefs are those before the round, so
/// that the field is not one of pairs of labels: the model replays the rounds on new data (its own inference, as the paper
/// has it) and gives the beliefs they end with. Graphs are taken to be dense and single neighbours to say little. Of the
/// paper's local and graph-wide steps, which it interleaves as it likes, there is one each in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedRandomField {
    /// How many rounds there are; at least 1.
    pub rounds: u32,
    /// Into how many bins the values of a number are cut at most, which gives the thresholds of stumps; from 2 to 65536.
    pub bins: usize,
}

impl Default for BoostedRandomField {
    fn default() -> Self {
        BoostedRandomField { rounds: 50, bins: 64 }
    }
}

crf_core::plugin!("learner", BoostedRandomField, "boosted-random-field");

const TAG: &str = "boosted-random-field";

#[typetag::serde(name = "boosted-random-field")]
impl Learner for BoostedRandomField {
    fn check(&self) -> Result<()> {
        require(self.rounds > 0, "rounds", "at least 1", self.rounds)?;
        require((2..=1 << 16).contains(&self.bins), "bins", "from 2 to 65536", self.bins)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let refuse = |what: &str| Err(Error::Unsupported { tag: TAG, what: what.into() });
        if problem.start.is_some() || problem.forbidden.is_some() {
            return refuse("takes neither a model to start from nor constraints; `mle` does");
        }
        let attributes = Attributes::new(problem.map.state(), problem.train, self.bins);
        let binned = Binned::new(&attributes, problem.train);
        let pool = Pool::new(&attributes, &binned, problem.map, true);
        let mut growing = Growing {
            field: Field::new(problem.train, None, 1, TAG)?,
            tables: RelationTables::new(problem.map),
            before: Vec::new(),
            steps: Vec::new(),
            pool,
        };
        growing.field.evaluate(&growing.tables)?;
        let (trace, _) = boost(&mut growing, self.rounds, 0, run)?;
        let steps = growing.steps;
        Ok(Fit { model: Box::new(BrfModel::new(problem.map.clone(), attributes, steps)), trace })
    }
}

/// The rounds so far, and all that the next one needs.
struct Growing<'a> {
    field: Field<'a>,
    tables: RelationTables, // which tie nothing
    before: Vec<f64>,       // beliefs before the round
    pool: Pool<'a>,
    steps: Vec<Step>,
}

impl Ensemble for Growing<'_> {
    fn round(&mut self, round: u32) -> Result<Round> {
        let Growing { field, tables, before, pool, steps } = self;
        before.clear();
        before.extend_from_slice(field.beliefs());
        let none = || Error::data("there is no attribute to learn from");
        let locally = Pool { ends: Vec::new(), ..*pool };
        let local = finite(locally.best(field).ok_or_else(none)?, round)?;
        let gain = local.gain;
        let kind = pool.kind(local.looks);
        field.add(&local, pool.attributes, pool.binned, kind);
        field.evaluate(tables)?;
        let tie = best_tie(pool, field, before);
        if let Some(tie) = &tie {
            field.add_tie(tie, before);
        }
        steps.push(Step { looks: local.looks, values: local.values, tie });
        Ok(Round {
            objective: field.evaluate(tables)?,
            gradient_norm: gain.sqrt(),
            size: steps.len(),
            holdout: None,
            done: false,
        })
    }
}

/// The function of neighbours' beliefs that comes nearest to the working responses.
fn best_tie(pool: &Pool<'_>, field: &Field<'_>, beliefs: &[f64]) -> Option<Tie> {
    let mut best: Option<(f64, Tie)> = None;
    for &(relation, head) in &pool.ends {
        let (outcomes, n) = pool.end_sides(relation, head);
        for label in 0..outcomes {
            // Σ w, Σ w m, Σ w m², Σ w z, Σ w z m of each label.
            let mut sums = vec![[0.0; 5]; n];
            field.for_each_count(relation, head, label, beliefs, |t, m| {
                for (sums, of) in sums.iter_mut().zip(field.working(t)) {
                    let terms = [of.h, of.h * m, of.h * m * m, of.g, of.g * m];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
            });
            let (mut gain, mut slopes, mut constants) = (0.0, vec![0.0; n], vec![0.0; n]);
            for (k, &[w, wm, wmm, wz, wzm]) in sums.iter().enumerate() {
                let determinant = w * wmm - wm * wm;
                if determinant > 1e-9 * w * w {
                    slopes[k] = (w * wzm - wm * wz) / determinant;
                    constants[k] = (wmm * wz - wm * wzm) / determinant;
                    gain += slopes[k] * wzm + constants[k] * wz;
                }
            }
            if gain > best.as_ref().map_or(0.0, |(gain, _)| *gain) {
                symmetrise(&mut slopes, n);
                symmetrise(&mut constants, n);
                best = Some((gain, Tie { relation, head, label: label as u32, slopes, constants }));
            }
        }
    }
    best.map(|(_, tie)| tie)
}
