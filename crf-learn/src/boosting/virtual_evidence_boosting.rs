use crf_core::{Error, Fit, FitContext, Learner, Problem, Result, Trace, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::additive_model::AdditiveModel;
use crate::boosting::candidate_pool::CandidatePool;
use crate::boosting::node_scores::{NodeScores, RelationTables};
use crate::boosting::rounds::{Ensemble, Round, boost};
use crate::boosting::trees::{Attributes, Binned};
use crate::boosting::weak_learner::{Question, WeakLearner, finite};

/// Virtual evidence boosting: boosting of fields on any graph, with messages of neighbours as
/// evidence (Liao, Choudhury, Fox & Kautz 2007).
///
/// Each round adds one weak learner: a stump on a number, a value for each symbol, or a table of
/// scores for the pairs of labels that a relation joins. All are in one pool, and the one with the
/// least weighted squared error enters, neighbours being counted by the λ messages of belief
/// propagation; so it learns which relations matter. Relations take part if there is a transition
/// feature for them, each from both ends. With more than two labels a weak learner has a value for
/// each (Friedman, Hastie & Tibshirani 2000, algorithm 6).
///
/// Deviations from the paper: what is learnt from several neighbours by one relation is divided by
/// their number, since they share a table; by eq. 9 alone steps go too far, and on graphs with
/// several relations the loss ends up rising. With an intercept, each round first adds the best
/// constant, so that no weak learner is chosen for what is the same everywhere. Where messages are
/// passed, the rounds up to the lowest loss are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VirtualEvidenceBoosting {
    /// Maximum number of weak learners; at least 1.
    pub rounds: u32,
    /// Passes of messages per round; at least 1.
    pub sweeps: u32,
    /// Factor of the values of weak learners; above 0 and at most 1.
    pub shrinkage: f64,
    /// Maximum number of bins that the values of a number are cut into, which gives the thresholds
    /// of stumps; from 2 to 65536.
    pub bins: usize,
    /// Minimum gain: stop when no weak learner is expected to lower the loss by this much, in units
    /// of log likelihood; at least 0. With 0 rounds go on with weak learners that fit chance; with
    /// some tens of attributes, chance hardly reaches 5.
    pub min_gain: f64,
    /// Early stopping: rounds without improvement on the validation data (in the loss) before
    /// stopping; the rounds up to the best one are kept. 0 disables it.
    pub patience: u32,
}

impl Default for VirtualEvidenceBoosting {
    fn default() -> Self {
        VirtualEvidenceBoosting {
            rounds: 50,
            sweeps: 1,
            shrinkage: 1.0,
            bins: 64,
            min_gain: 0.0,
            patience: 0,
        }
    }
}

crf_core::plugin!("learner", VirtualEvidenceBoosting, "virtual-evidence-boosting", example = "rounds = 10");

#[typetag::serde(name = "virtual-evidence-boosting")]
impl Learner for VirtualEvidenceBoosting {
    fn check(&self) -> Result<()> {
        require(self.sweeps > 0, "sweeps", "at least 1", self.sweeps)?;
        check(self)
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let (model, trace) = fit(self, "virtual-evidence-boosting", true, problem, run)?;
        Ok(Fit { model: Box::new(model), trace })
    }
}

/// Rejects settings that can never work.
pub(crate) fn check(settings: &VirtualEvidenceBoosting) -> Result<()> {
    require(settings.rounds > 0, "rounds", "at least 1", settings.rounds)?;
    let share = settings.shrinkage > 0.0 && settings.shrinkage <= 1.0;
    require(share, "shrinkage", "above 0 and at most 1", settings.shrinkage)?;
    let gain = settings.min_gain.is_finite() && settings.min_gain >= 0.0;
    require(gain, "min_gain", "a finite number of at least 0", settings.min_gain)?;
    require((2..=1 << 16).contains(&settings.bins), "bins", "from 2 to 65536", settings.bins)
}

/// Boosts with messages of neighbours as evidence, or without.
pub(crate) fn fit(
    settings: &VirtualEvidenceBoosting,
    tag: &'static str,
    neighbours: bool,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<(AdditiveModel, Trace)> {
    let refuse = |what: &str| Err(Error::Unsupported { tag, what: what.into() });
    if problem.start.is_some() {
        return refuse("begins without any weak learner; leave out the model to start from");
    }
    if problem.forbidden.is_some() {
        return refuse("takes no constraints in training; `mle` does");
    }
    let attributes = Attributes::new(problem.map.state(), problem.train, settings.bins);
    let (trace, weak) = grow(settings, tag, neighbours, problem, &attributes, run)?;
    let model = AdditiveModel::new(problem.map.clone(), attributes, &weak);
    for (round, (name, gain)) in (1..).zip(model.entered()) {
        tracing::debug!(tag, round, name, gain, "entered");
    }
    Ok((model, trace))
}

fn grow(
    settings: &VirtualEvidenceBoosting,
    tag: &'static str,
    neighbours: bool,
    problem: &Problem<'_>,
    attributes: &Attributes,
    run: &mut FitContext<'_>,
) -> Result<(Trace, Vec<WeakLearner>)> {
    let binned = Binned::new(attributes, problem.train);
    let pool = CandidatePool::new(attributes, &binned, problem.map, neighbours);
    let passing = (!pool.ends.is_empty()).then_some(problem.inference);
    let node_scores = |x| NodeScores::new(x, passing, settings.sweeps, tag);
    let valid = problem.valid.filter(|_| settings.patience > 0);
    let valid = valid.map(|x| Ok::<_, Error>((node_scores(x)?, Binned::new(attributes, x)))).transpose()?;
    let features = problem.map.state();
    let intercepts = (0..features.n_observations() as u32).filter(|&g| features.is_constant(g));
    let mut kinds: Vec<u16> = intercepts.map(|g| features.scope(g)).collect();
    kinds.dedup();
    let mut stumps = Stumps {
        shrinkage: settings.shrinkage,
        min_gain: settings.min_gain,
        train: node_scores(problem.train)?,
        valid,
        tables: RelationTables::new(problem.map),
        pool,
        kinds,
        weak: Vec::new(),
        ends: Vec::new(),
    };
    let keeps_best_round = passing.is_some() && stumps.valid.is_none();
    stumps.train.evaluate(&stumps.tables)?;
    let (trace, mut best) = boost(&mut stumps, settings.rounds, settings.patience, run)?;
    if keeps_best_round {
        // Messages run in cycles on graphs, and strong potentials can make them undo what was
        // gained.
        let losses = (1..).zip(&trace.iterations).map(|(round, iteration)| (round, iteration.objective));
        best = losses.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(best, |(round, _)| round);
    }
    stumps.weak.truncate(stumps.ends[best - 1]);
    Ok((trace, stumps.weak))
}

/// Weak learners so far, and all that the next one needs.
struct Stumps<'a> {
    shrinkage: f64,
    min_gain: f64,
    train: NodeScores<'a>,
    valid: Option<(NodeScores<'a>, Binned)>,
    tables: RelationTables,
    pool: CandidatePool<'a>,
    kinds: Vec<u16>, // kinds of nodes that have an intercept
    weak: Vec<WeakLearner>,
    ends: Vec<usize>, // [rounds] number of weak learners after each
}

impl Stumps<'_> {
    /// Adds a weak learner to the ensemble.
    fn add(&mut self, mut weak: WeakLearner) {
        let Stumps { train, valid, tables, pool, .. } = self;
        weak.values.iter_mut().for_each(|value| *value *= self.shrinkage);
        if let Question::Relation { relation, head } = weak.question {
            tables.add(relation, head, &weak.values, pool.shape(weak.question));
        }
        let kind = pool.kind(weak.question);
        train.add(&weak, pool.attributes, pool.binned, kind);
        if let Some((scores, binned)) = valid {
            scores.add(&weak, pool.attributes, binned, kind);
        }
        self.weak.push(weak);
    }
}

impl Ensemble for Stumps<'_> {
    fn round(&mut self, round: u32) -> Result<Round> {
        for k in 0..self.kinds.len() {
            let constant = finite(self.pool.constant(self.kinds[k], &self.train), round)?;
            self.train.centre(self.kinds[k]);
            self.add(constant);
        }
        let none = || Error::data("there is neither an attribute nor a relation to learn from");
        let best = finite(self.pool.best(&self.train).ok_or_else(none)?, round)?;
        let gradient_norm = best.gain.sqrt();
        // Half the fall of the squared error, of which symmetric values keep all but one label's
        // share.
        let n = self.pool.shape(best.question).1 as f64;
        let done = (n - 1.0) / n * best.gain / 2.0 < self.min_gain;
        if !done {
            self.add(best);
        }
        self.ends.push(self.weak.len());
        let Stumps { train, valid, tables, weak, .. } = self;
        Ok(Round {
            objective: train.evaluate(tables)?,
            gradient_norm,
            size: weak.len(),
            holdout: valid.as_mut().map(|(scores, _)| scores.evaluate(tables)).transpose()?,
            done,
        })
    }
}
