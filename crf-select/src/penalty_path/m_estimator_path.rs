use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crf_core::{Candidate, FitContext, Problem, Result, Selector, Stop, require};
use crf_learn::{Form, MEstimatorObjective, Objective, ReferenceDistribution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::candidates::warm_steps::WarmSteps;
use crate::candidates::working_list::WorkingList;
use crate::penalty_path::lambda_path::LambdaPath;

/// ℓ1 path of the M-estimator over patches, which needs no inference (Vail 2008, chapter 5; Jeon &
/// Lin 2006).
///
/// Made for feature sets that are too large for `l1-path`. It is there to choose features: by
/// default the candidates come without weights, and the learner of the method trains them, usually
/// `mle`. The optimality conditions of all candidates are checked at some values of λ only
/// (`look`), so a feature may enter a few values late. For sets that are too large even so, `keep`
/// makes two stages of it. With `patches = "pieces"` candidates are reported only after the paths
/// of both pieces have ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MEstimatorPath {
    /// Labels that the features are chosen to explain.
    pub patches: Patches,
    /// Number of candidates that take part at a time, beside intercepts and the features of the
    /// model; all if omitted. They are the ones with the largest derivatives, at w = 0 and again
    /// when the number of features has doubled or the path has ended. With `patches = "pieces"`,
    /// state and transition features each keep the same share, rounded up, since their derivatives
    /// cannot be compared.
    pub keep: Option<usize>,
    /// Minimum factor between the numbers of features of one candidate model and the next; at least
    /// 1. The models come without weights, so they are compared after the learner has trained them.
    pub growth: f64,
    /// If true, the model of every λ is a candidate, with the weights of the M-estimator, and
    /// `growth` has no effect.
    pub weights: bool,
    /// All candidates are evaluated when λ has fallen to this share of the λ of the last
    /// evaluation; above 0 and at most 1. With 1 they are evaluated at every λ.
    pub look: f64,
    /// Penalties of the path.
    #[serde(flatten)]
    pub lambda_path: LambdaPath,
}

/// Labels that the features of a patch are chosen to explain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Patches {
    /// State features explain labels without their neighbours, and transition features explain them
    /// with their true neighbours (after the piecewise training of Sutton & McCallum 2005). The
    /// penalty of state features is λ times the mean length of runs of one label: to a model of
    /// single positions each position of a run is separate evidence, to a chain the run is evidence
    /// once.
    #[default]
    Pieces,
    /// All features of a position explain its label, given the true labels of its neighbours, as in
    /// the thesis. Where labels seldom change, true neighbours tell nearly all, and hardly a state
    /// feature is chosen.
    Positions,
}

/// Factor by which the number of features grows before the candidates that take part are chosen
/// anew.
const LIST_GROWTH: f64 = 2.0;

impl Default for MEstimatorPath {
    fn default() -> Self {
        MEstimatorPath {
            patches: Patches::default(),
            keep: None,
            growth: 1.2,
            weights: false,
            look: 0.8,
            lambda_path: LambdaPath::default(),
        }
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
        self.lambda_path.check()
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
            return self.follow_piece(problem, 0..all, None, run, &mut |candidate, _| emit(candidate));
        }
        let pieces = [Piece::new(0..n_state, run_length(problem)), Piece::new(n_state..all, 1.0)];
        self.follow_pieces(problem, pieces, run, emit)
    }
}

/// State or transition features, which have a path of their own.
struct Piece {
    features: Range<usize>,
    factor: f64, // of the penalty: λ of the piece / λ of the path
    points: Vec<PiecePoint>,
}

impl Piece {
    fn new(features: Range<usize>, factor: f64) -> Self {
        Piece { features, factor, points: Vec::new() }
    }

    /// The last point whose λ is not below that of the whole path.
    fn point(&self, lambda: f64) -> Option<&PiecePoint> {
        let least = lambda * (1.0 - 1e-9);
        self.points.iter().rfind(|point| point.lambda / self.factor >= least)
    }
}

/// A candidate on the path of a piece.
struct PiecePoint {
    lambda: f64,
    features: Vec<usize>,
    weights: Vec<f64>,
    objective: f64,
    seconds: f64, // since the path of the piece began
}

/// Mean length of runs of one label.
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

/// The M-estimator of a problem.
fn m_estimator(
    rho: &ReferenceDistribution,
) -> impl for<'b> Fn(&Problem<'b>) -> Result<Box<dyn Objective + 'b>> + Sync {
    |problem| Ok(Box::new(MEstimatorObjective::new(Form::Centred, rho, problem)?))
}

impl MEstimatorPath {
    /// Follows the paths of both pieces, one after the other, and emits the unions of their points
    /// at the same λ.
    fn follow_pieces(
        &self,
        problem: &Problem<'_>,
        mut pieces: [Piece; 2],
        run: &mut FitContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Stop> {
        let rho = ReferenceDistribution::uniform(problem.map);
        let build = m_estimator(&rho);
        let mut objective = CandidateObjective::new(problem, &build)?;
        let mut steps = WarmSteps::new(self.lambda_path.dense);
        if self.lambda_path.train_exempt(&mut objective, &mut steps, run)? == Stop::Observer {
            return Ok(Stop::Observer);
        }
        let steepest = |piece: &Piece| self.lambda_path.steepest(&objective, piece.features.clone());
        let lambda_0 = pieces.iter().map(|piece| steepest(piece) / piece.factor).fold(0.0, f64::max);
        let mut stop = Stop::Converged;
        for piece in &mut pieces {
            let own_lambda_0 = steepest(piece);
            let began = run.seconds();
            let floor = self.lambda_path.floor * lambda_0 * piece.factor / own_lambda_0;
            if floor >= 1.0 || own_lambda_0 == 0.0 {
                continue;
            }
            let (features, points) = (piece.features.clone(), &mut piece.points);
            let start = Some((own_lambda_0, floor));
            let end = self.follow_piece(problem, features, start, run, &mut |candidate, falls| {
                points.push(PiecePoint {
                    lambda: own_lambda_0 * self.lambda_path.decay.powi(falls),
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
        let mut lambda = lambda_0 * self.lambda_path.decay;
        while lambda >= lambda_0 * self.lambda_path.floor * (1.0 - 1e-9) && lambda > 0.0 {
            let points: Vec<&PiecePoint> = pieces.iter().filter_map(|piece| piece.point(lambda)).collect();
            let features: Vec<usize> = points.iter().flat_map(|point| &point.features).copied().collect();
            let weights: Vec<f64> = points.iter().flat_map(|point| &point.weights).copied().collect();
            if self.lambda_path.most.is_some_and(|most| features.len() > most) {
                return Ok(Stop::Budget);
            }
            let objective = Some(points.iter().map(|point| point.objective).sum());
            let seconds = points.iter().map(|point| point.seconds).sum();
            let weights = Some(&weights[..]);
            if emit(Candidate { features: &features, weights, objective, seconds })?.is_break() {
                return Ok(Stop::Observer);
            }
            lambda *= self.lambda_path.decay;
        }
        Ok(stop)
    }

    /// Follows the path of a range of the candidates and emits each model with the number of steps
    /// from λ_0 to its λ.
    ///
    /// `start` has a λ_0 and a floor in place of those of the settings.
    fn follow_piece(
        &self,
        problem: &Problem<'_>,
        features: Range<usize>,
        start: Option<(f64, f64)>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>, i32) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        let (lambda_0, floor) = start.unzip();
        let lambda_path =
            LambdaPath { floor: floor.unwrap_or(self.lambda_path.floor), ..self.lambda_path.clone() };
        let falls = Cell::new(0);
        let follow = |problem: &Problem<'_>, lambda_0, run: &mut FitContext<'_>, emit: &mut Emit<'_>| {
            falls.set(0);
            let emit = &mut |candidate: Candidate<'_>| {
                falls.set(falls.get() + 1);
                emit(candidate)
            };
            let rho = ReferenceDistribution::uniform(problem.map);
            let build = m_estimator(&rho);
            let mut objective = CandidateObjective::new(problem, &build)?;
            lambda_path.follow(&mut objective, lambda_0, self.look, &mut PathReporter::new(emit), run)
        };
        let map = Arc::new(problem.map.narrow(|k| features.contains(&k)).0);
        let piece = Problem { map: &map, ..*problem };
        let emit = &mut |candidate: Candidate<'_>| {
            let of_all: Vec<usize> = candidate.features.iter().map(|&k| features.start + k).collect();
            emit(Candidate { features: &of_all, ..candidate }, falls.get())
        };
        let share =
            |keep: usize| (keep.min(problem.map.len()) * features.len()).div_ceil(problem.map.len().max(1));
        let Some(keep) = self.keep.map(share).filter(|&keep| keep < features.len()) else {
            return follow(&piece, lambda_0, run, emit);
        };
        let rho = ReferenceDistribution::uniform(&map);
        let build = m_estimator(&rho);
        let mut objective = CandidateObjective::new(&piece, &build)?;
        let mut steps = WarmSteps::new(lambda_path.dense);
        if lambda_path.train_exempt(&mut objective, &mut steps, run)? == Stop::Observer {
            return Ok(Stop::Observer);
        }
        // The paths of all lists start with the same λ_0, so that they have the values of λ in
        // common.
        let lambda_0 = lambda_0.or_else(|| Some(lambda_path.steepest(&objective, 0..map.len())));
        let working_list = WorkingList { keep, growth: LIST_GROWTH };
        working_list.follow(
            &piece,
            &mut objective,
            &mut |problem, run, emit| follow(problem, lambda_0, run, emit),
            run,
            emit,
        )
    }
}
