//! Tables 2 and 3 of the DP-SEP paper: root mean squared error and log-likelihood of regressions on five data sets, over splits.
//!
//! A [`Set`] is a data set with its public bounds, a [`Method`] a way to fit it, and a [`Job`] one fit with all that it depends on.
//! [`Experiment`] lists the jobs, [`run`] does those that a [`Store`] does not have yet, and [`Report`] shows them beside the
//! paper's figures.
//!
//! Methods without privacy standardise by the moments of the training part, as the papers do. Private ones see data scaled by public
//! bounds alone.

mod fit;
mod job;
mod network;
mod peer;
mod report;
mod scaling;
mod set;
mod store;

pub use fit::{Figures, evaluate};
pub use job::{Budget, Experiment, Job, Method};
pub use peer::Peer;
pub use report::{Measure, NOTE, PAPER, Printed, Report};
pub use set::{Bounds, Data, Set, Split, splits};
pub use store::{Outcome, Store};

use crate::table::TableError;
use rayon::ThreadPoolBuilder;
use reticent_core::budget::PrivacyError;
use reticent_core::model::{DefinitionError, FitError};
use reticent_core::wall::{NoiseError, PlanError, WallError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thiserror::Error;

/// Why a table cannot be had.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum UciError {
    #[error("{file}.parquet is not in {}", folder.display())]
    NoData { file: &'static str, folder: PathBuf },
    #[error("there is no data set {name}; hint: use naval, kin8nm, power, wine or protein")]
    NoSet { name: String },
    #[error("there is no method {name}; hint: use one of {}", Method::names())]
    NoMethod { name: String },
    #[error("{} cannot be read or written: {kind}", file.display())]
    File { file: PathBuf, kind: std::io::ErrorKind },
    #[error("{set} has {records} records, too few to split")]
    TooFew { set: Set, records: usize },
    #[error("a private method has a budget, and no other has one")]
    Budget,
    #[error("no threads can be started")]
    NoThreads,
    #[error(transparent)]
    Columns(#[from] reticent_tables::SchemaError),
    #[error(transparent)]
    Data(#[from] reticent_tables::TableError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The least records that a set may have: the splits need both parts, and regression more records than inputs.
const MIN_RECORDS: usize = 50;

/// Does the jobs that the store does not have, each on one core, as many at a time as there are cores, and stores each when it is done.
/// `progress` is told how many of these are done, and of how many.
///
/// # Errors
/// The first that any job meets; those that are running then are finished and stored.
pub fn run(
    jobs: &[Job],
    folder: &Path,
    store: &mut Store,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<(), UciError> {
    let missing: Vec<&Job> = jobs.iter().filter(|job| store.find(job).is_none()).collect();
    let sets = read_sets(&missing, folder)?;
    let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let store = Mutex::new(store);
    progress(0, missing.len());
    let work = || {
        // A pool of its own, so that a job is never made to wait for another that its thread has taken up.
        let pool = ThreadPoolBuilder::new().num_threads(1).build().map_err(|_| UciError::NoThreads)?;
        while let Some(job) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let Some((data, splits)) = sets.iter().find(|(data, _)| data.set == job.set) else { continue };
            let figures = pool.install(|| evaluate(data, &splits[job.split], job))?;
            let outcome = Outcome { job: (*job).clone(), figures };
            store.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(outcome)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, missing.len());
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len().max(1));
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

/// The sets of some jobs, with as many splits as these need.
fn read_sets(jobs: &[&Job], folder: &Path) -> Result<Vec<(Data, Vec<Split>)>, UciError> {
    let mut sets = Vec::new();
    for set in Set::ALL {
        let Some(last) = jobs.iter().filter(|job| job.set == set).map(|job| job.split).max() else {
            continue;
        };
        let data = set.read(folder)?;
        let records = data.records();
        if records < MIN_RECORDS {
            return Err(UciError::TooFew { set, records });
        }
        sets.push((data, splits(records, last + 1)));
    }
    Ok(sets)
}

#[cfg(test)]
mod tests;
