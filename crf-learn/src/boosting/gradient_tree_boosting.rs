pub(crate) mod likelihood_loss;
pub(crate) mod loss;
pub(crate) mod model;
pub(crate) mod pseudo_likelihood_loss;

use std::sync::Mutex;

use crf_core::{Error, Fit, FitContext, Learner, Problem, Result, Seed, Trace, require};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::gradient_tree_boosting::likelihood_loss::LikelihoodLoss;
use crate::boosting::gradient_tree_boosting::loss::{BoostingLoss, Leaf};
use crate::boosting::gradient_tree_boosting::model::TreeModel;
use crate::boosting::gradient_tree_boosting::pseudo_likelihood_loss::{Ahead, PseudoLikelihoodLoss};
use crate::boosting::rounds::{Ensemble, Round, boost};
use crate::boosting::trees::{Attributes, Binned, Grower, Memory, Symbols, Tree, Weighing};

/// Gradient tree boosting: chains whose scores are sums of regression trees (Dietterich,
/// Ashenfelter & Bulatov 2004).
///
/// In each round one tree for each label is fitted to the gradient of the loss with respect to the
/// scores F(y′, y, X), by weighted least squares. Trees ask about the observation functions of
/// state features, of which those that exclude each other are one symbol: `{ type = "lag", of =
/// "equals", by = [-1, 0, 1] }` is a window of three symbols. If there is any transition feature,
/// whatever its function, trees may ask for the previous label too; without, they classify single
/// positions. Numbers are cut into bins of about the same number of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GradientTreeBoosting {
    /// Loss that is minimised.
    pub gradient: Gradient,
    /// Maximum number of trees of each label; at least 1.
    pub rounds: u32,
    /// Factor of the values of leaves; above 0 and at most 1.
    pub shrinkage: f64,
    /// Values of leaves, given the gradient.
    pub leaf: Leaf,
    /// λ of the penalty (λ/2)·value² on each leaf; at least 0.
    pub l2: f64,
    /// Maximum number of questions on the way to a leaf; from 1 to 64.
    pub depth: u32,
    /// Maximum number of leaves of a tree; at least 2. Of the splits of one level, the best are
    /// made.
    pub leaves: usize,
    /// Minimum weight of a leaf: sum of its curvatures, or number of its pairs of a position and a
    /// previous label; at least 0.
    pub min_weight: f64,
    /// Questions about symbols, and about the previous label.
    pub symbols: Symbols,
    /// Maximum number of bins that the values of a number are cut into; from 2 to 65536.
    pub bins: usize,
    /// Fraction of the positions that a round uses, drawn anew; above 0 and at most 1.
    pub rows: f64,
    /// Fraction of the attributes that a tree may ask about, drawn anew; above 0 and at most 1.
    pub columns: f64,
    /// Early stopping: rounds without improvement on the validation data (in the loss) before
    /// stopping; the rounds up to the best one are kept. 0 disables it.
    pub patience: u32,
}

/// Loss of gradient tree boosting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gradient {
    /// −log p(Y | X); a round costs forward-backward and L² numbers per position.
    #[default]
    Likelihood,
    /// −Σ_t log p(y_t | y_{t−1}, y_{t+1}, X); a round costs L numbers per position.
    PseudoLikelihood,
    /// The same with the gradient of the poster of Dietterich and Ashenfelter, which omits that
    /// F_t(y′, y_t) is also part of the patch of t − 1; it is not the gradient of any loss.
    Poster,
    /// −Σ_t log p(y_t | y_{t−1}, X), which does not look ahead. With the inference
    /// `forward-backward` and `beam = 1`, which decides one label after the other, this is the
    /// recurrent sliding window that the poster compares with.
    Recurrent,
}

impl Default for GradientTreeBoosting {
    fn default() -> Self {
        GradientTreeBoosting {
            gradient: Gradient::default(),
            rounds: 100,
            shrinkage: 0.3,
            leaf: Leaf::default(),
            l2: 1.0,
            depth: 6,
            leaves: 32,
            min_weight: 1e-3,
            symbols: Symbols::default(),
            bins: 64,
            rows: 1.0,
            columns: 1.0,
            patience: 0,
        }
    }
}

crf_core::plugin!("learner", GradientTreeBoosting, "gradient-tree-boosting", example = "rounds = 20");

const TAG: &str = "gradient-tree-boosting";

#[typetag::serde(name = "gradient-tree-boosting")]
impl Learner for GradientTreeBoosting {
    fn check(&self) -> Result<()> {
        let share = |x: f64| x > 0.0 && x <= 1.0;
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        require(self.rounds > 0, "rounds", "at least 1", self.rounds)?;
        require(share(self.shrinkage), "shrinkage", "above 0 and at most 1", self.shrinkage)?;
        require(finite(self.l2), "l2", "a finite number of at least 0", self.l2)?;
        require((1..=64).contains(&self.depth), "depth", "from 1 to 64", self.depth)?;
        require(self.leaves >= 2, "leaves", "at least 2", self.leaves)?;
        require(finite(self.min_weight), "min_weight", "a finite number of at least 0", self.min_weight)?;
        require((2..=1 << 16).contains(&self.bins), "bins", "from 2 to 65536", self.bins)?;
        require(share(self.rows), "rows", "above 0 and at most 1", self.rows)?;
        require(share(self.columns), "columns", "above 0 and at most 1", self.columns)
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let (map, train) = (problem.map, problem.train);
        let refuse = |what: &str| Err(Error::Unsupported { tag: TAG, what: what.into() });
        if !train.data().is_chains() {
            return refuse("grows trees for chains; `virtual-evidence-boosting` takes other graphs");
        }
        if map.schema().n_labels(0) >= usize::from(u16::MAX) {
            return refuse("takes fewer than 65535 labels");
        }
        if problem.start.is_some() {
            return refuse("begins without any tree; leave out the model to start from");
        }
        if problem.forbidden.is_some() && self.gradient != Gradient::Likelihood {
            return refuse("takes constraints with `gradient = \"likelihood\"` only");
        }
        let attributes = Attributes::new(map.state(), train, self.bins);
        let asks = !map.transition().is_empty();
        let (trace, trees) = self.grow(problem, &attributes, asks, run)?;
        Ok(Fit { model: Box::new(TreeModel::new(map.clone(), attributes, asks, trees)), trace })
    }
}

impl GradientTreeBoosting {
    /// Grows the trees of all rounds.
    fn grow(
        &self,
        problem: &Problem<'_>,
        attributes: &Attributes,
        asks: bool,
        run: &mut FitContext<'_>,
    ) -> Result<(Trace, Vec<Tree>)> {
        let n_labels = problem.map.schema().n_labels(0);
        let valid = problem.valid.filter(|_| self.patience > 0);
        let valid = valid.map(|valid| self.loss(&Problem { train: valid, ..*problem }, attributes, asks));
        let grower = Grower {
            attributes,
            binned: &Binned::new(attributes, problem.train),
            n_previous: if asks { n_labels + 1 } else { 0 },
            weighing: Weighing { l2: self.l2, min_weight: self.min_weight, symbols: self.symbols },
            depth: self.depth,
            leaves: self.leaves,
        };
        let mut growing = Trees {
            learner: self,
            seed: run.seed,
            grower,
            train: self.loss(problem, attributes, asks)?,
            valid: valid.transpose()?,
            n_labels,
            sampled: vec![true; problem.train.data().n_positions()],
            trees: Vec::new(),
            size: 0,
            memories: Mutex::default(),
        };
        growing.train.evaluate()?;
        let (trace, best) = boost(&mut growing, self.rounds, self.patience, run)?;
        growing.trees.truncate(best * n_labels);
        Ok((trace, growing.trees))
    }

    /// Loss of a problem, with all scores 0.
    fn loss<'a>(
        &self,
        problem: &Problem<'a>,
        attributes: &'a Attributes,
        asks: bool,
    ) -> Result<Box<dyn BoostingLoss + 'a>> {
        let patches = |ahead| PseudoLikelihoodLoss::new(problem, attributes, asks, ahead, TAG);
        Ok(match self.gradient {
            Gradient::Likelihood => Box::new(LikelihoodLoss::new(problem, attributes, asks, self.leaf, TAG)?),
            Gradient::PseudoLikelihood => Box::new(patches(Ahead::Known)?),
            Gradient::Poster => Box::new(patches(Ahead::Poster)?),
            Gradient::Recurrent => Box::new(patches(Ahead::Unknown)?),
        })
    }
}

/// Trees so far, and all that the next ones need.
struct Trees<'a> {
    learner: &'a GradientTreeBoosting,
    seed: Seed,
    grower: Grower<'a>,
    train: Box<dyn BoostingLoss + 'a>,
    valid: Option<Box<dyn BoostingLoss + 'a>>,
    n_labels: usize,
    sampled: Vec<bool>,           // [positions]
    trees: Vec<Tree>,             // [rounds × labels]
    size: usize,                  // leaves of all trees
    memories: Mutex<Vec<Memory>>, // those not in use
}

impl Trees<'_> {
    /// Grows the tree of label `k`; also returns the squared norm of its gradient.
    fn grow(&self, seed: &Seed, k: usize) -> (Tree, f64) {
        let taken = self.memories.lock().expect("no thread fails with the lock").pop();
        let mut memory = taken.unwrap_or_default();
        self.train.cells(k, &self.sampled, self.learner.leaf, &mut memory.cells);
        let square = memory.cells.g.iter().map(|&g| f64::from(g) * f64::from(g)).sum();
        let n = self.grower.attributes.len();
        let n_asked = ((self.learner.columns * n as f64).ceil() as usize).min(n);
        let mut asked: Vec<u32> = (0..n as u32).collect();
        if n_asked < n {
            let mut rng = seed.child(&format!("label {k}")).rng();
            asked = asked.partial_shuffle(&mut rng, n_asked).0.to_vec();
            asked.sort_unstable();
        }
        let tree = self.grower.grow(&asked, self.learner.shrinkage, &mut memory);
        self.memories.lock().expect("no thread fails with the lock").push(memory);
        (tree, square)
    }
}

impl Ensemble for Trees<'_> {
    fn round(&mut self, round: u32) -> Result<Round> {
        let seed = self.seed.child(&format!("round {round}"));
        if self.learner.rows < 1.0 {
            let mut rng = seed.child("rows").rng();
            self.sampled.fill_with(|| rng.random::<f64>() < self.learner.rows);
        }
        let grown: Vec<(Tree, f64)> =
            (0..self.n_labels).into_par_iter().map(|k| self.grow(&seed, k)).collect();
        let square: f64 = grown.iter().map(|(_, square)| square).sum();
        let start = self.trees.len();
        self.trees.extend(grown.into_iter().map(|(tree, _)| tree));
        let new = &self.trees[start..];
        self.size += new.iter().map(|tree| tree.nodes.len().div_ceil(2)).sum::<usize>();
        self.train.add(new);
        let holdout = self.valid.as_mut().map(|valid| {
            valid.add(new);
            valid.evaluate()
        });
        Ok(Round {
            objective: self.train.evaluate()?,
            gradient_norm: square.sqrt(),
            size: self.size,
            holdout: holdout.transpose()?,
            done: false,
        })
    }
}
