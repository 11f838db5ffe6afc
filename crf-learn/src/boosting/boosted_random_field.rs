pub(crate) mod model;

use crf_core::{Error, Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::boosted_random_field::model::{BoostedRound, BrfModel};
use crate::boosting::candidate_pool::CandidatePool;
use crate::boosting::node_scores::{NeighbourTerm, NodeScores, RelationTables};
use crate::boosting::rounds::{Ensemble, Round, boost};
use crate::boosting::trees::{Attributes, Binned};
use crate::boosting::weak_learner::{WeakLearner, finite, symmetrise};

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
    /// How many rounds there are at most; at least 1.
    pub rounds: u32,
    /// Into how many bins the values of a number are cut at most, which gives the thresholds of stumps; from 2 to 65536.
    pub bins: usize,
    /// With validation data: stop after so many rounds in a row in which the loss did not fall there, and keep the rounds
    /// up to the one where it was lowest; 0 does not look at them.
    pub patience: u32,
}

impl Default for BoostedRandomField {
    fn default() -> Self {
        BoostedRandomField { rounds: 50, bins: 64, patience: 0 }
    }
}

crf_core::plugin!("learner", BoostedRandomField, "boosted-random-field", example = "rounds = 10");

const TAG: &str = "boosted-random-field";

#[typetag::serde(name = "boosted-random-field")]
impl Learner for BoostedRandomField {
    fn check(&self) -> Result<()> {
        require(self.rounds > 0, "rounds", "at least 1", self.rounds)?;
        require((2..=1 << 16).contains(&self.bins), "bins", "from 2 to 65536", self.bins)
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let refuse = |what: &str| Err(Error::Unsupported { tag: TAG, what: what.into() });
        if problem.start.is_some() || problem.forbidden.is_some() {
            return refuse("takes neither a model to start from nor constraints; `mle` does");
        }
        let attributes = Attributes::new(problem.map.state(), problem.train, self.bins);
        let binned = Binned::new(&attributes, problem.train);
        let pool = CandidatePool::new(&attributes, &binned, problem.map, true);
        let field = |x| Ok::<_, Error>(Side { field: NodeScores::new(x, None, 1, TAG)?, before: Vec::new() });
        let valid = problem.valid.filter(|_| self.patience > 0);
        let mut growing = Growing {
            train: field(problem.train)?,
            valid: valid.map(|x| Ok::<_, Error>((field(x)?, Binned::new(&attributes, x)))).transpose()?,
            tables: RelationTables::new(problem.map),
            steps: Vec::new(),
            pool,
        };
        growing.train.field.evaluate(&growing.tables)?;
        if let Some((side, _)) = &mut growing.valid {
            side.field.evaluate(&growing.tables)?;
        }
        let (trace, best) = boost(&mut growing, self.rounds, self.patience, run)?;
        let mut steps = growing.steps;
        steps.truncate(best);
        Ok(Fit { model: Box::new(BrfModel::new(problem.map.clone(), attributes, steps)), trace })
    }
}

/// Some data, and what was believed about them before the round.
struct Side<'a> {
    field: NodeScores<'a>,
    before: Vec<f64>,
}

impl Side<'_> {
    /// Begins a round with a weak learner that looks at an attribute.
    fn look(
        &mut self,
        weak: &WeakLearner,
        pool: &CandidatePool<'_>,
        binned: &Binned,
        tables: &RelationTables,
    ) -> Result<()> {
        let Side { field, before } = self;
        before.clear();
        before.extend_from_slice(field.beliefs());
        field.add(weak, pool.attributes, binned, pool.kind(weak.looks));
        field.evaluate(tables).map(|_| ())
    }

    /// Ends it with a function of what neighbours believed, and gives the loss.
    fn tie(&mut self, tie: Option<&NeighbourTerm>, tables: &RelationTables) -> Result<f64> {
        let Side { field, before } = self;
        tie.into_iter().for_each(|tie| field.add_tie(tie, before));
        field.evaluate(tables)
    }
}

/// The rounds so far, and all that the next one needs.
struct Growing<'a> {
    train: Side<'a>,
    valid: Option<(Side<'a>, Binned)>,
    tables: RelationTables, // which tie nothing
    pool: CandidatePool<'a>,
    steps: Vec<BoostedRound>,
}

impl Ensemble for Growing<'_> {
    fn round(&mut self, round: u32) -> Result<Round> {
        let Growing { train, valid, tables, pool, steps } = self;
        let none = || Error::data("there is no attribute to learn from");
        let locally = CandidatePool { ends: Vec::new(), ..*pool };
        let local = finite(locally.best(&train.field).ok_or_else(none)?, round)?;
        train.look(&local, pool, pool.binned, tables)?;
        let tie = best_tie(pool, &train.field, &train.before);
        let objective = train.tie(tie.as_ref(), tables)?;
        let holdout = valid.as_mut().map(|(side, binned)| {
            side.look(&local, pool, binned, tables)?;
            side.tie(tie.as_ref(), tables)
        });
        steps.push(BoostedRound { looks: local.looks, values: local.values, tie });
        Ok(Round {
            objective,
            gradient_norm: local.gain.sqrt(),
            size: steps.len(),
            holdout: holdout.transpose()?,
            done: false,
        })
    }
}

/// The function of neighbours' beliefs that comes nearest to the working responses.
fn best_tie(pool: &CandidatePool<'_>, field: &NodeScores<'_>, beliefs: &[f64]) -> Option<NeighbourTerm> {
    let mut best: Option<(f64, NeighbourTerm)> = None;
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
                best = Some((gain, NeighbourTerm { relation, head, label: label as u32, slopes, constants }));
            }
        }
    }
    best.map(|(_, tie)| tie)
}
