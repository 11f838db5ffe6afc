use std::ops::ControlFlow;
mod exponential_sum;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crf_core::{Candidate, FitContext, Problem, Result, Selector, Stop, require};
use crf_learn::{Objective, ReferenceDistribution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::candidates::warm_steps::WarmSteps;
use crate::candidates::working_list::WorkingList;
use crate::penalty_path::lambda_path::LambdaPath;
use crate::penalty_path::m_estimator_path::exponential_sum::ExponentialSum;

/// The ℓ1 path of the M-estimator over patches, which needs no inference (Vail 2008, chapter 5; Jeon & Lin 2006).
///
/// It is there to choose features; the survivors are then to be trained by `mle`. All candidates are looked at now and then
/// only, so a feature may enter some values of λ late. For sets that are too large even so, `keep` makes two stages of it. Candidates
/// are shown when the paths of all pieces have been followed to their ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MEstimatorPath {
    /// What features are chosen to explain.
    pub patches: Patches,
    /// How many candidates take part at a time: those with the largest derivatives, at w = 0 and again when the number of
    /// features has doubled or the path has come to its end, beside intercepts and the features of the model; all when left out. Of
    /// `pieces` the same share of the state and of the transition features, rounded up: derivatives of the one kind are no
    /// measure of the other's.
    pub keep: Option<usize>,
    /// By what the number of features is multiplied, at least, from one candidate that is shown to the next; at least 1. These
    /// come without weights, so that they are compared after the learner has trained them.
    pub growth: f64,
    /// Whether every λ is shown in place of that, with the weights of the M-estimator.
    pub weights: bool,
    /// All candidates are looked at when λ has fallen to this share of the one before; above 0, and 1 looks at every λ.
    pub look: f64,
    /// The penalties of the path.
    #[serde(flatten)]
    pub penalties: LambdaPath,
}

/// What the features of a patch are chosen to explain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Patches {
    /// State features explain labels without their neighbours, and transition features those with true neighbours (after the
    /// piecewise training of Sutton & McCallum 2005). The penalty of state features is λ times the mean number of positions
    /// in a row that have the same label: to a model of single positions each of them is evidence of its own, which to
    /// a chain is evidence once.
    #[default]
    Pieces,
    /// All features of a position explain its label, its neighbours having their true ones, as the thesis has it. Where
    /// labels seldom change, true neighbours tell nearly all and hardly a state feature is chosen.
    Positions,
}

/// By what the number of features is multiplied before those that take part are chosen anew.
const LIST_GROWTH: f64 = 2.0;

impl Default for MEstimatorPath {
    fn default() -> Self {
        let (patches, penalties) = (Patches::default(), LambdaPath::default());
        MEstimatorPath { patches, keep: None, growth: 1.2, weights: false, look: 0.8, penalties }
    }
}

crf_core::plugin!("selector", MEstimatorPath, "m-estimator-path");

#[typetag::serde(name = "m-estimator-path")]
impl Selector for MEstimatorPath {
    fn check(&self) -> Result<()> {
        require(self.keep != Some(0), "keep", "at least 1", 0)?;
        let grows = self.growth.is_finite() && self.growth >= 1.0;
        require(grows, "growth", "a finite number of at least 1", self.growth)?;
        require(self.look > 0.0 && self.look <= 1.0, "look", "above 0 and at most 1", self.look)?;
        self.penalties.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut largest = 0;
        let emit: &mut Emit<'_> = &mut |candidate: Candidate<'_>| {
            if self.weights {
                return emit(candidate);
            }
            let size = candidate.features.len();
            if size <= largest || (size as f64) < self.growth * largest as f64 {
                return Ok(ControlFlow::Continue(()));
            }
            largest = size;
            emit(Candidate { weights: None, objective: None, ..candidate })
        };
        let (all, n_state) = (problem.map.len(), problem.map.state().len());
        if self.patches == Patches::Positions || n_state == 0 || n_state == all {
            return self.along(problem, 0..all, None, run, &mut |candidate, _| emit(candidate));
        }
        let pieces = [Piece::new(0..n_state, run_length(problem)), Piece::new(n_state..all, 1.0)];
        self.in_pieces(problem, pieces, run, emit)
    }
}

/// Features that are chosen by themselves.
struct Piece {
    features: Range<usize>,
    factor: f64, // of λ
    points: Vec<Point>,
}

impl Piece {
    fn new(features: Range<usize>, factor: f64) -> Self {
        Piece { features, factor, points: Vec::new() }
    }

    /// The piece's last point whose λ is not below that of the path.
    fn at(&self, lambda: f64) -> Option<&Point> {
        let least = lambda * (1.0 - 1e-9);
        self.points.iter().rfind(|point| point.lambda / self.factor >= least)
    }
}

/// A candidate of a piece.
struct Point {
    lambda: f64,
    features: Vec<usize>,
    weights: Vec<f64>,
    objective: f64,
    seconds: f64, // since the path of its piece began
}

/// The mean number of positions in a row that have the same label.
fn run_length(problem: &Problem<'_>) -> f64 {
    let data = problem.train.data();
    let (mut n_positions, mut n_runs) = (0.0, 0.0);
    for i in 0..data.len() {
        let (shape, labels) = (data.shape(i), &data.labels()[data.range(i)]);
        let ends = (0..shape.n_edges()).map(|e| shape.ends(e));
        n_positions += data.weight(i) * labels.len() as f64;
        n_runs += data.weight(i) * (1 + ends.filter(|&(u, v)| labels[u] != labels[v]).count()) as f64;
    }
    if n_runs > 0.0 { n_positions / n_runs } else { 1.0 }
}

/// The M-estimator, as an objective among others.
fn centred(
    rho: &ReferenceDistribution,
) -> impl for<'b> Fn(&Problem<'b>) -> Result<Box<dyn Objective + 'b>> + Sync {
    |problem| Ok(Box::new(ExponentialSum::new(rho, problem)?))
}

impl MEstimatorPath {
    /// Follows the paths of all pieces, one after the other, and shows together what they have under the same λ.
    fn in_pieces(
        &self,
        problem: &Problem<'_>,
        mut pieces: [Piece; 2],
        run: &mut FitContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Stop> {
        let rho = ReferenceDistribution::uniform(problem.map);
        let of = centred(&rho);
        let mut field = CandidateObjective::new(problem, &of)?;
        if self.penalties.begin(&mut field, &mut WarmSteps::new(self.penalties.dense), run)? == Stop::Observer
        {
            return Ok(Stop::Observer);
        }
        let steepest = |piece: &Piece| self.penalties.steepest(&field, piece.features.clone());
        let first = pieces.iter().map(|piece| steepest(piece) / piece.factor).fold(0.0, f64::max);
        let mut stop = Stop::Converged;
        for piece in &mut pieces {
            let (own, began) = (steepest(piece), run.seconds());
            let floor = self.penalties.floor * first * piece.factor / own;
            if floor >= 1.0 || own == 0.0 {
                continue;
            }
            let (features, points) = (piece.features.clone(), &mut piece.points);
            let end = self.along(problem, features, Some((own, floor)), run, &mut |candidate, falls| {
                points.push(Point {
                    lambda: own * self.penalties.decay.powi(falls),
                    features: candidate.features.to_vec(),
                    weights: candidate.weights.unwrap_or_default().to_vec(),
                    objective: candidate.objective.unwrap_or_default(),
                    seconds: candidate.seconds - began,
                });
                Ok(ControlFlow::Continue(()))
            })?;
            if end == Stop::Observer {
                return Ok(end);
            }
            if end != Stop::Converged {
                stop = end;
            }
        }
        let mut lambda = first * self.penalties.decay;
        while lambda >= first * self.penalties.floor * (1.0 - 1e-9) && lambda > 0.0 {
            let points: Vec<&Point> = pieces.iter().filter_map(|piece| piece.at(lambda)).collect();
            let features: Vec<usize> = points.iter().flat_map(|point| &point.features).copied().collect();
            let weights: Vec<f64> = points.iter().flat_map(|point| &point.weights).copied().collect();
            if self.penalties.most.is_some_and(|most| features.len() > most) {
                return Ok(Stop::Budget);
            }
            let objective = Some(points.iter().map(|point| point.objective).sum());
            let seconds = points.iter().map(|point| point.seconds).sum();
            let weights = Some(&weights[..]);
            if emit(Candidate { features: &features, weights, objective, seconds })?.is_break() {
                return Ok(Stop::Observer);
            }
            lambda *= self.penalties.decay;
        }
        Ok(stop)
    }

    /// Follows the path of some candidates, from another λ_0 and to another floor than the settings say if these are `given`;
    /// shows each with how often λ had fallen.
    fn along(
        &self,
        problem: &Problem<'_>,
        features: Range<usize>,
        given: Option<(f64, f64)>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>, i32) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        let (first, floor) = given.unzip();
        let penalties = LambdaPath { floor: floor.unwrap_or(self.penalties.floor), ..self.penalties.clone() };
        let falls = Cell::new(0);
        let follow = |problem: &Problem<'_>, first, run: &mut FitContext<'_>, emit: &mut Emit<'_>| {
            falls.set(0);
            let emit = &mut |candidate: Candidate<'_>| {
                falls.set(falls.get() + 1);
                emit(candidate)
            };
            let rho = ReferenceDistribution::uniform(problem.map);
            let of = centred(&rho);
            let mut field = CandidateObjective::new(problem, &of)?;
            penalties.follow(&mut field, first, self.look, &mut PathReporter::new(emit), run)
        };
        let map = Arc::new(problem.map.narrow(|k| features.contains(&k)).0);
        let piece = Problem { map: &map, ..*problem };
        let emit = &mut |candidate: Candidate<'_>| {
            let own: Vec<usize> = candidate.features.iter().map(|&k| features.start + k).collect();
            emit(Candidate { features: &own, ..candidate }, falls.get())
        };
        let share =
            |keep: usize| (keep.min(problem.map.len()) * features.len()).div_ceil(problem.map.len().max(1));
        let Some(keep) = self.keep.map(share).filter(|&keep| keep < features.len()) else {
            return follow(&piece, first, run, emit);
        };
        let rho = ReferenceDistribution::uniform(&map);
        let of = centred(&rho);
        let mut field = CandidateObjective::new(&piece, &of)?;
        if penalties.begin(&mut field, &mut WarmSteps::new(penalties.dense), run)? == Stop::Observer {
            return Ok(Stop::Observer);
        }
        // Every list begins with the same λ, so that a λ means the same on all of them.
        let first = first.or_else(|| Some(penalties.steepest(&field, 0..map.len())));
        let lists = WorkingList { keep, growth: LIST_GROWTH };
        lists.follow(
            &piece,
            &mut field,
            &mut |problem, run, emit| follow(problem, first, run, emit),
            run,
            emit,
        )
    }
}
