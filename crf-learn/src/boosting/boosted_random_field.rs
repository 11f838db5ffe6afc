pub(crate) mod model;

use crf_core::{Error, Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::boosted_random_field::model::{BoostedRound, BrfModel};
use crate::boosting::candidate_pool::CandidatePool;
use crate::boosting::node_scores::{NeighbourTerm, NodeScores, RelationTables, merge_term};
use crate::boosting::rounds::{Ensemble, Round, boost};
use crate::boosting::trees::{Attributes, Binned};
use crate::boosting::weak_learner::{WeakLearner, finite, symmetrise};

/// Boosted random fields (Torralba, Murphy & Freeman 2004).
///
/// Each round adds a weak learner that looks at an attribute, and one that is linear in the beliefs
/// of neighbours: z ≈ a·Σ b(d) + c, summed over the neighbours by one relation and end, for the
/// label d that fits best. Beliefs are those before the round, b^{t−1}, and all functions so far
/// are evaluated on them, G^t = Σ_{n ≤ t} gⁿ(b^{t−1}). So the field is not one of pairs of labels:
/// the model replays its rounds on new data (its own inference, as in the paper) and returns the
/// beliefs they end with. Graphs are assumed to be dense and single neighbours to say little. The
/// paper interleaves local and graph-wide steps freely; here each round has one of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedRandomField {
    /// Maximum number of rounds; at least 1.
    pub rounds: u32,
    /// Maximum number of bins that the values of a number are cut into, which gives the thresholds
    /// of stumps; from 2 to 65536.
    pub bins: usize,
    /// Early stopping: rounds without improvement on the validation data (in the loss) before
    /// stopping; the rounds up to the best one are kept. 0 disables it.
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
        let boosted = |x| {
            let scores = NodeScores::new(x, None, 1, TAG)?;
            let (local, previous_beliefs) = (scores.scores().to_vec(), Vec::new());
            Ok::<_, Error>(BoostedData { scores, local, previous_beliefs })
        };
        let valid = problem.valid.filter(|_| self.patience > 0);
        let mut growing = Growing {
            train: boosted(problem.train)?,
            valid: valid.map(|x| Ok::<_, Error>((boosted(x)?, Binned::new(&attributes, x)))).transpose()?,
            tables: RelationTables::new(problem.map),
            terms: Vec::new(),
            steps: Vec::new(),
            pool,
        };
        growing.train.scores.evaluate(&growing.tables)?;
        if let Some((data, _)) = &mut growing.valid {
            data.scores.evaluate(&growing.tables)?;
        }
        let (trace, best) = boost(&mut growing, self.rounds, self.patience, run)?;
        let mut steps = growing.steps;
        steps.truncate(best);
        Ok(Fit { model: Box::new(BrfModel::new(problem.map.clone(), attributes, steps)), trace })
    }
}

/// Training or validation data, with the beliefs before the round.
struct BoostedData<'a> {
    scores: NodeScores<'a>,
    local: Vec<f64>, // scores by attributes alone
    previous_beliefs: Vec<f64>,
}

impl BoostedData<'_> {
    /// Starts a round with a weak learner that looks at an attribute.
    fn add_local(
        &mut self,
        weak: &WeakLearner,
        pool: &CandidatePool<'_>,
        binned: &Binned,
        (terms, tables): (&[NeighbourTerm], &RelationTables),
    ) -> Result<()> {
        let BoostedData { scores, local, previous_beliefs } = self;
        previous_beliefs.clear();
        previous_beliefs.extend_from_slice(scores.beliefs());
        scores.set_scores(local);
        scores.add(weak, pool.attributes, binned, pool.kind(weak.question));
        local.copy_from_slice(scores.scores());
        self.add_neighbours(terms, tables).map(|_| ())
    }

    /// Adds all terms of the beliefs of neighbours, as they were before the round, to the local
    /// scores, and returns the loss.
    fn add_neighbours(&mut self, terms: &[NeighbourTerm], tables: &RelationTables) -> Result<f64> {
        let BoostedData { scores, local, previous_beliefs } = self;
        scores.set_scores(local);
        terms.iter().for_each(|term| scores.add_neighbour_term(term, previous_beliefs));
        scores.evaluate(tables)
    }
}

/// Rounds so far, and all that the next one needs.
struct Growing<'a> {
    train: BoostedData<'a>,
    valid: Option<(BoostedData<'a>, Binned)>,
    tables: RelationTables,    // all zero
    terms: Vec<NeighbourTerm>, // of all rounds so far
    pool: CandidatePool<'a>,
    steps: Vec<BoostedRound>,
}

impl Ensemble for Growing<'_> {
    fn round(&mut self, round: u32) -> Result<Round> {
        let Growing { train, valid, tables, terms, pool, steps } = self;
        let none = || Error::data("there is no attribute to learn from");
        let local_pool = CandidatePool { ends: Vec::new(), ..*pool };
        let local = finite(local_pool.best(&train.scores).ok_or_else(none)?, round)?;
        train.add_local(&local, pool, pool.binned, (&*terms, &*tables))?;
        if let Some((data, binned)) = valid {
            data.add_local(&local, pool, binned, (&*terms, &*tables))?;
        }
        let term = best_neighbour_term(pool, &train.scores, &train.previous_beliefs);
        term.iter().for_each(|term| merge_term(terms, term));
        let objective = train.add_neighbours(terms, tables)?;
        let holdout = valid.as_mut().map(|(data, _)| data.add_neighbours(terms, tables));
        steps.push(BoostedRound { question: local.question, values: local.values, term });
        Ok(Round {
            objective,
            gradient_norm: local.gain.sqrt(),
            size: steps.len(),
            holdout: holdout.transpose()?,
            done: false,
        })
    }
}

/// Term of the beliefs of neighbours that comes nearest to the working responses.
fn best_neighbour_term(
    pool: &CandidatePool<'_>,
    scores: &NodeScores<'_>,
    beliefs: &[f64],
) -> Option<NeighbourTerm> {
    let mut best: Option<(f64, NeighbourTerm)> = None;
    for &(relation, head) in &pool.ends {
        let (outcomes, n) = pool.end_shape(relation, head);
        for label in 0..outcomes {
            // Σ w, Σ w m, Σ w m², Σ w z, Σ w z m of each label.
            let mut sums = vec![[0.0; 5]; n];
            scores.for_each_count(relation, head, label, beliefs, |t, m| {
                for (sums, working) in sums.iter_mut().zip(scores.working(t)) {
                    let terms = [working.h, working.h * m, working.h * m * m, working.g, working.g * m];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
            });
            let mut gain = 0.0;
            let mut slopes = vec![0.0; n];
            let mut constants = vec![0.0; n];
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
    best.map(|(_, term)| term)
}
