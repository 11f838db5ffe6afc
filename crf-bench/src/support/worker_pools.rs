//! Parallel jobs.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// The outcome of a job: its answer, an error, or a panic.
type Outcome<T> = std::result::Result<Result<T>, Box<dyn Any + Send>>;

/// Runs jobs `0..n_jobs` on `threads` threads, and calls `done` after each; the answers are in the
/// order of jobs.
///
/// A job that is itself parallel has a share of the threads. The first job that fails, in the order
/// of jobs, ends the run with its error; a panic resumes in the caller.
pub(crate) fn in_parallel<T: Send>(
    n_jobs: usize,
    threads: NonZeroUsize,
    done: &(dyn Fn() + Sync),
    job: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let workers = threads.get().min(n_jobs);
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let outcomes = Mutex::new(Vec::new());
    let work = |pool: &rayon::ThreadPool| {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n_jobs {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(|| job(number))));
            if !matches!(outcome, Ok(Ok(_))) {
                stop.store(true, Ordering::Relaxed);
            }
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
            done();
        }
    };
    // One pool per worker: with one shared pool, work stealing would add the time of other jobs to
    // a job's time, and more jobs than workers would be in memory.
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
    in_order(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn in_order<T>(mut outcomes: Vec<(usize, Outcome<T>)>) -> Result<Vec<T>> {
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}
