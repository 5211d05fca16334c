//! Tables 2 and 3 of the DP-SEP paper: root mean squared error and log-likelihood of regressions on five data sets, over splits.
//!
//! A [`Set`] is a data set with its public bounds, a [`Method`] a way to fit it, and a [`Job`] one fit with all that it depends on.
//! [`Experiment`] lists the jobs, [`run`] runs those that a [`Store`] does not have yet, and [`Report`] compares them with the
//! figures of the paper.
//!
//! Methods without privacy standardise by the moments of the training part, as the papers do. Private ones use data scaled by public
//! bounds only.

mod fit;
mod job;
mod network;
mod peer;
mod report;
mod scaling;
mod set;

pub use fit::{Figures, evaluate};
pub use job::{Budget, Experiment, Job, Method};
pub use peer::Peer;
pub use report::{Measure, NOTE, PAPER, Printed, Report};
pub use set::{Bounds, Data, Set, Split, splits};

use crate::error::ExperimentError;
use crate::jobs;
use std::path::Path;

/// A finished job.
pub type Outcome = jobs::Outcome<Job, Figures>;

/// The outcomes of jobs, in a file.
pub type Store = jobs::Store<Job, Figures>;

/// The minimum of records of a set: the splits need both parts, and regression more records than inputs.
const MIN_RECORDS: usize = 50;

/// Runs the jobs that the store does not have, one per core at a time, and stores the outcome of each. `progress` gets the number of these
/// that are finished, and their total.
///
/// # Errors
/// The first error of any job; jobs that are running then are finished and stored.
pub fn run(
    jobs: &[Job],
    folder: &Path,
    store: &mut Store,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<(), ExperimentError> {
    let missing: Vec<&Job> = jobs.iter().filter(|job| store.find(job).is_none()).collect();
    let sets = read_sets(&missing, folder)?;
    let evaluate = |job: &Job| {
        let of_job = sets.iter().find(|(data, _)| data.set == job.set);
        let (data, splits) = of_job.expect("the data of every missing job are read");
        evaluate(data, &splits[job.split], job)
    };
    jobs::run(&missing, store, evaluate, |done| progress(done, missing.len()))
}

/// The sets of some jobs, with as many splits as these need.
fn read_sets(jobs: &[&Job], folder: &Path) -> Result<Vec<(Data, Vec<Split>)>, ExperimentError> {
    let mut sets = Vec::new();
    for set in Set::ALL {
        let Some(last) = jobs.iter().filter(|job| job.set == set).map(|job| job.split).max() else {
            continue;
        };
        let data = set.read(folder)?;
        let records = data.records();
        if records < MIN_RECORDS {
            return Err(ExperimentError::TooFew {
                what: set.to_string(),
                found: records,
                needed: MIN_RECORDS,
            });
        }
        sets.push((data, splits(records, last + 1)));
    }
    Ok(sets)
}

#[cfg(test)]
mod tests;
