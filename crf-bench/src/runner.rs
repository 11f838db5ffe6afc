use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::cell::{Cell, run_methods};
use crate::config::Plan;
use crate::error::{Error, Result};
use crate::summary::Summary;

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
/// Results do not depend on the number of threads. The first job that fails, in the order of jobs, ends the
/// run with its error; a panic goes on in the caller.
pub fn run(plan: &Plan, threads: NonZeroUsize, done: &(dyn Fn() + Sync)) -> Result<Results> {
    let began = Instant::now();
    let n_jobs = n_jobs(plan);
    let workers = threads.get().min(n_jobs);
    let (next, stop, answers) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
    let work = |pool: &rayon::ThreadPool| {
        while !stop.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= n_jobs {
                return;
            }
            // Trial by trial, so that all points progress together and the time left can be told early.
            let (trial, point) = (job / plan.points.len(), job % plan.points.len());
            let run = || pool.install(|| run_methods(plan, point, trial as u32 + 1));
            let answer = catch_unwind(AssertUnwindSafe(run));
            if !matches!(answer, Ok(Ok(_))) {
                stop.store(true, Ordering::Relaxed);
            }
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((job, answer));
            done();
        }
    };
    // One pool per worker: were jobs stolen from one pool, a cell's time would contain that of others.
    let pools = (0..workers).map(|worker| {
        let share = threads.get() / workers + usize::from(worker < threads.get() % workers);
        rayon::ThreadPoolBuilder::new().num_threads(share).build().map_err(Error::format("threads"))
    });
    let pools = pools.collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work(pool));
        }
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Results { cells: in_order(answers)?, seconds: began.elapsed().as_secs_f64() })
}

/// What a job gave: cells, an error, or a panic.
type Answer = std::result::Result<Result<Vec<Cell>>, Box<dyn Any + Send>>;

fn in_order(mut answers: Vec<(usize, Answer)>) -> Result<Vec<Cell>> {
    answers.sort_by_key(|(job, _)| *job);
    let mut cells = Vec::new();
    for (_, answer) in answers {
        match answer {
            Ok(answer) => cells.extend(answer?),
            Err(panic) => resume_unwind(panic),
        }
    }
    cells.sort_by_key(|cell| (cell.method, cell.point, cell.trial));
    Ok(cells)
}
