//! The jobs of an experiment, on several threads.

use std::num::NonZeroUsize;

use crate::config::Plan;
use crate::error::Result;
use crate::experiment::cell::{Cell, Seconds, run_methods};
use crate::experiment::shard::Shard;
use crate::results::summary::Summary;
use crate::support::worker_pools::in_parallel;

/// All cells of an experiment.
#[derive(Debug)]
pub struct Results {
    /// The cells, by method, then point, then trial.
    pub cells: Vec<Cell>,
}

impl Results {
    /// The results of cells in that order. Their indices are set anew, since a journal may be that
    /// of an older plan.
    pub(crate) fn new(plan: &Plan, cells: Vec<Cell>) -> Self {
        let numbered = cells.into_iter().enumerate().map(|(number, cell)| {
            let (method, point, trial) = cell_coordinates(plan, number);
            Cell { method, point, trial, ..cell }
        });
        Results { cells: numbered.collect() }
    }

    /// The values of all metrics, ready for reports and claims.
    pub fn summary(&self, plan: &Plan) -> Summary {
        Summary::from_plan(plan, |method, point, metric, trial| {
            self.cells[cell_index(plan, method, point, trial as u32 + 1)].metrics[metric]
        })
    }

    /// Total seconds of work, over all runs that contributed cells.
    pub fn seconds(&self) -> f64 {
        let work = |cell: &Cell| {
            let shared = if cell.method == 0 { cell.seconds.data } else { 0.0 };
            let Seconds { encode, train, shared: known, evaluate, .. } = cell.seconds;
            shared + encode + train - known + evaluate
        };
        self.cells.iter().map(work).sum()
    }
}

/// Number of cells of a plan.
fn n_cells(plan: &Plan) -> usize {
    plan.experiment.methods.len() * plan.points.len() * plan.experiment.trials as usize
}

/// The index of a cell.
fn cell_index(plan: &Plan, method: usize, point: usize, trial: u32) -> usize {
    (method * plan.points.len() + point) * plan.experiment.trials as usize + trial as usize - 1
}

/// The method, point and trial of a cell by its index.
pub(crate) fn cell_coordinates(plan: &Plan, number: usize) -> (usize, usize, u32) {
    let (n_points, n_trials) = (plan.points.len(), plan.experiment.trials as usize);
    (number / n_trials / n_points, number / n_trials % n_points, (number % n_trials) as u32 + 1)
}

/// The point and trial of a job, which runs all methods on the same data.
///
/// Trial by trial, so that all points progress together and the time left is known early.
fn job_coordinates(plan: &Plan, job: usize) -> (usize, u32) {
    (job % plan.points.len(), (job / plan.points.len()) as u32 + 1)
}

/// The jobs of a shard with a missing cell.
pub(crate) fn open_jobs(plan: &Plan, cells: &[Option<Cell>], shard: Shard) -> Vec<usize> {
    let is_open = |&job: &usize| {
        let (point, trial) = job_coordinates(plan, job);
        (0..plan.experiment.methods.len())
            .any(|method| cells[cell_index(plan, method, point, trial)].is_none())
    };
    let n_jobs = plan.points.len() * plan.experiment.trials as usize;
    (0..n_jobs).filter(|&job| shard.has(job)).filter(is_open).collect()
}

/// Runs jobs on several threads and fills in missing cells. `keep` receives each with its index as
/// soon as it is finished; `done` is called after each job.
pub(crate) fn complete(
    plan: &Plan,
    cells: &mut [Option<Cell>],
    jobs: &[usize],
    threads: NonZeroUsize,
    keep: &(dyn Fn(usize, &Cell) -> Result<()> + Sync),
    done: &(dyn Fn() + Sync),
) -> Result<()> {
    let known = &*cells;
    let new = in_parallel(jobs.len(), threads, done, |job| {
        let (point, trial) = job_coordinates(plan, jobs[job]);
        let is_missing = |method| known[cell_index(plan, method, point, trial)].is_none();
        let keep = |cell: &Cell| keep(cell_index(plan, cell.method, point, trial), cell);
        run_methods(plan, point, trial, &is_missing, &keep)
    });
    for cell in new?.into_iter().flatten() {
        let index = cell_index(plan, cell.method, cell.point, cell.trial);
        cells[index] = Some(cell);
    }
    Ok(())
}

/// Runs all cells of a plan on `threads` threads, without writing files.
///
/// Results do not depend on the number of threads.
pub fn run(plan: &Plan, threads: NonZeroUsize) -> Result<Results> {
    let mut cells = vec![None; n_cells(plan)];
    let jobs = open_jobs(plan, &cells, Shard::WHOLE);
    complete(plan, &mut cells, &jobs, threads, &|_, _| Ok(()), &|| {})?;
    Ok(Results::new(plan, cells.into_iter().flatten().collect()))
}
