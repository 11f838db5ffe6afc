use std::num::NonZeroUsize;
use std::time::Instant;

use crate::cell::{Cell, run_methods};
use crate::config::Plan;
use crate::error::Result;
use crate::summary::Summary;
use crate::workers::in_parallel;

/// All cells of an experiment.
#[derive(Debug)]
pub struct Results {
    /// By method, then point, then trial.
    pub cells: Vec<Cell>,
    /// How long the run took.
    pub seconds: f64,
}

impl Results {
    /// The values of all metrics, ready for reports and claims.
    pub fn summary(&self, plan: &Plan) -> Summary {
        let (n_points, n_trials) = (plan.points.len(), plan.experiment.trials as usize);
        Summary::of(plan, |method, point, metric, trial| {
            self.cells[(method * n_points + point) * n_trials + trial].metrics[metric]
        })
    }
}

/// How many jobs a plan has: each runs all methods on the data of one point and trial.
pub fn n_jobs(plan: &Plan) -> usize {
    plan.points.len() * plan.experiment.trials as usize
}

/// Runs all cells of a plan on so many threads, and calls `done` after each job.
///
/// Results do not depend on the number of threads.
pub fn run(plan: &Plan, threads: NonZeroUsize, done: &(dyn Fn() + Sync)) -> Result<Results> {
    let began = Instant::now();
    // Trial by trial, so that all points progress together and the time left can be told early.
    let cells = in_parallel(n_jobs(plan), threads, done, |job| {
        let (trial, point) = (job / plan.points.len(), job % plan.points.len());
        run_methods(plan, point, trial as u32 + 1)
    });
    let mut cells: Vec<Cell> = cells?.into_iter().flatten().collect();
    cells.sort_by_key(|cell| (cell.method, cell.point, cell.trial));
    Ok(Results { cells, seconds: began.elapsed().as_secs_f64() })
}
