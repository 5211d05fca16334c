//! Independent jobs on all cores, with their outcomes in a file, so that an interrupted run can be resumed.

use crate::error::ExperimentError;
use rayon::ThreadPoolBuilder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A finished job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome<J, F> {
    /// The fit and all that it depends on.
    pub job: J,
    /// Its scores.
    pub figures: F,
}

/// Outcomes in a file, one line of JSON each.
#[derive(Debug)]
pub struct Store<J, F> {
    path: PathBuf,
    file: File,
    outcomes: Vec<Outcome<J, F>>,
}

impl<J, F> Store<J, F>
where
    J: PartialEq + Serialize + DeserializeOwned,
    F: Serialize + DeserializeOwned,
{
    /// Opens a file of outcomes, or creates one. Lines that do not parse, such as a truncated last one, are skipped.
    ///
    /// # Errors
    /// [`ExperimentError::File`].
    pub fn open(path: &Path) -> Result<Self, ExperimentError> {
        let failed = |error: std::io::Error| file_error(path, &error);
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        let text = std::fs::read_to_string(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        let outcomes = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { path: path.to_owned(), file, outcomes })
    }

    /// The outcome of a job, if it is finished.
    #[must_use]
    pub fn find(&self, job: &J) -> Option<&Outcome<J, F>> {
        self.outcomes.iter().find(|outcome| outcome.job == *job)
    }

    /// All outcomes, in the order in which jobs finished.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome<J, F>] {
        &self.outcomes
    }

    /// Appends an outcome, to the file first.
    ///
    /// # Errors
    /// [`ExperimentError::File`].
    pub fn push(&mut self, outcome: Outcome<J, F>) -> Result<(), ExperimentError> {
        let failed = |error: std::io::Error| file_error(&self.path, &error);
        let mut line = serde_json::to_vec(&outcome).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)?;
        self.outcomes.push(outcome);
        Ok(())
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> ExperimentError {
    ExperimentError::File { file: path.to_owned(), kind: error.kind() }
}

/// Runs jobs, one per core at a time and each on one core, and stores the outcome of each. `progress` gets the number of finished jobs.
///
/// # Errors
/// The first error of any job; jobs that are running then are finished and stored.
pub(crate) fn run<J, F>(
    jobs: &[&J],
    store: &mut Store<J, F>,
    evaluate: impl Fn(&J) -> Result<F, ExperimentError> + Sync,
    progress: impl Fn(usize) + Sync,
) -> Result<(), ExperimentError>
where
    J: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync,
    F: Serialize + DeserializeOwned + Send,
{
    let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let store = Mutex::new(store);
    progress(0);
    let work = || {
        // A pool per worker, so that a job never waits for another one that its thread has taken up.
        let pool = ThreadPoolBuilder::new().num_threads(1).build().map_err(|_| ExperimentError::NoThreads)?;
        while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let figures = pool.install(|| evaluate(job))?;
            let outcome = Outcome { job: job.clone(), figures };
            store.lock().unwrap_or_else(PoisonError::into_inner).push(outcome)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len().max(1));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| scope.spawn(|| work().inspect_err(|_| failed.store(true, Ordering::Relaxed))))
            .collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
