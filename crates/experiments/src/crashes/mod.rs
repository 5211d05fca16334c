//! The case study of Foulds et al. (2016), section 5, on public data: a private hidden Markov model of fatal crashes by region and month.
//!
//! [`Crashes`] are the data, a [`Method`] is a way to fit them, and a [`Job`] one fit with all that it depends on. [`Experiment`] lists the jobs,
//! [`run`] does those that a file does not have yet, [`Report`] shows them, and [`picture`] draws the figures.
//!
//! A tenth of the cells is held out, and scored by the log-likelihood of its events.
//!
//! Methods that release counts sample 200 draws, as the paper does, of which the first half is not used, by each of four chains. The number of passes of the method that pays for each update, and the numbers that
//! [`ExponentialGibbs`](reticent_core::model::hmm::ExponentialGibbs) fixes, were chosen on scores of the held-out cells: they flatter what the counts
//! are compared with.

mod data;
mod fit;
pub mod picture;
mod report;

pub use data::{Crashes, FIELDS, MONTHS, Regions};
pub use fit::{Figures, evaluate, paid_assignments, posterior};
pub use report::Report;

use crate::table::TableError;
use reticent_core::budget::PrivacyError;
use reticent_core::model::FitError;
use reticent_core::wall::WallError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum CrashError {
    #[error("fars_2013_2015.parquet is not in {}", folder.display())]
    NoData { folder: PathBuf },
    #[error("there are no regions {name}; hint: use division or state")]
    NoRegions { name: String },
    #[error("there is no method {name}; hint: use naive-bayes, naive, noise-aware or exponential")]
    NoMethod { name: String },
    #[error("{} cannot be read or written: {kind}", file.display())]
    File { file: PathBuf, kind: std::io::ErrorKind },
    #[error("updates that are paid for need a budget")]
    Budget,
    #[error(transparent)]
    Columns(#[from] reticent_tables::SchemaError),
    #[error(transparent)]
    Data(#[from] reticent_tables::TableError),
    #[error(transparent)]
    Model(#[from] FitError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A way to fit crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One state, by the counts of all cells together.
    NaiveBayes,
    /// Noisy counts taken for the true ones, as in the paper.
    Naive,
    /// Noisy counts and what is known of the noise. Without privacy both are the same.
    NoiseAware,
    /// Every update from an exponential mechanism.
    Exponential,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::NaiveBayes, Self::Naive, Self::NoiseAware, Self::Exponential];

    /// As the command line has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NaiveBayes => "naive-bayes",
            Self::Naive => "naive",
            Self::NoiseAware => "noise-aware",
            Self::Exponential => "exponential",
        }
    }

    /// As tables and figures have it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NaiveBayes => "naive Bayes",
            Self::Naive => "HMM, counts, naive",
            Self::NoiseAware => "HMM, counts, noise-aware",
            Self::Exponential => "HMM, exponential mechanism",
        }
    }

    /// Whether it can do without a budget, and is not the same as another then.
    fn has_open_version(self) -> bool {
        matches!(self, Self::NaiveBayes | Self::NoiseAware)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = CrashError;

    fn from_str(name: &str) -> Result<Self, CrashError> {
        let known = Self::ALL.into_iter().find(|method| method.name() == name);
        known.ok_or_else(|| CrashError::NoMethod { name: name.to_owned() })
    }
}

/// One fit, with all that it depends on but fresh noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What a region is.
    pub regions: Regions,
    /// The method.
    pub method: Method,
    /// What a private method may spend.
    pub epsilon: Option<f64>,
    /// Beside epsilon.
    pub delta: f64,
    /// The split, from 0.
    pub split: usize,
    /// States of a hidden Markov model.
    pub states: usize,
    /// Chains of methods that release counts.
    pub chains: usize,
    /// Draws of each; the first half is not used.
    pub iterations: usize,
    /// Passes of the method that pays for each update.
    pub passes: u64,
}

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// What regions are.
    pub regions: Vec<Regions>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Budgets.
    pub epsilons: Vec<f64>,
    /// Beside each epsilon.
    pub delta: f64,
    /// How many splits.
    pub splits: usize,
    /// States.
    pub states: usize,
    /// Chains.
    pub chains: usize,
    /// Draws of each.
    pub iterations: usize,
}

impl Experiment {
    /// The rows of the table: each method without a budget if it can, and with each.
    #[must_use]
    pub fn rows(&self) -> Vec<(Method, Option<f64>)> {
        let row = |&method: &Method| {
            let open = method.has_open_version().then_some((method, None));
            open.into_iter().chain(self.epsilons.iter().map(move |&epsilon| (method, Some(epsilon))))
        };
        self.methods.iter().flat_map(row).collect()
    }

    /// One fit.
    #[must_use]
    pub fn job(&self, regions: Regions, method: Method, epsilon: Option<f64>, split: usize) -> Job {
        let &Self { delta, states, chains, iterations, .. } = self;
        Job { regions, method, epsilon, delta, split, states, chains, iterations, passes: fit::PASSES }
    }

    /// All of them, one split after the other, so that a run that is stopped has something of everything.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let of_split = |split| {
            let both = self
                .regions
                .iter()
                .flat_map(|&regions| self.rows().into_iter().map(move |row| (regions, row)));
            both.map(move |(regions, (method, epsilon))| self.job(regions, method, epsilon, split))
                .collect::<Vec<_>>()
        };
        (0..self.splits).flat_map(of_split).collect()
    }
}

/// A job that is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What was fitted.
    pub job: Job,
    /// How well.
    pub figures: Figures,
}

/// Does the jobs that a file of outcomes does not have, as many at a time as there are cores, and adds each when it is done. All outcomes, and
/// `progress` is told how many jobs are done.
///
/// # Errors
/// The first that any job meets.
pub fn run(
    jobs: &[Job],
    folder: &Path,
    file: &Path,
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>, CrashError> {
    let failed = |error: std::io::Error| CrashError::File { file: file.to_owned(), kind: error.kind() };
    let mut writer = OpenOptions::new().create(true).append(true).open(file).map_err(failed)?;
    let text = std::fs::read_to_string(file).map_err(failed)?;
    if !text.is_empty() && !text.ends_with('\n') {
        writer.write_all(b"\n").map_err(failed)?;
    }
    // A line that was cut short is none.
    let known: Vec<Outcome> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let missing: Vec<&Job> =
        jobs.iter().filter(|job| known.iter().all(|outcome| outcome.job != **job)).collect();
    let crashes = Regions::ALL
        .into_iter()
        .filter(|regions| missing.iter().any(|job| job.regions == *regions))
        .map(|regions| Crashes::read(folder, regions))
        .collect::<Result<Vec<_>, _>>()?;
    let (before, next) = (jobs.len() - missing.len(), AtomicUsize::new(0));
    let found = Mutex::new((known, writer));
    progress(before);
    let work = || {
        while let Some(job) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(crashes) = crashes.iter().find(|crashes| crashes.regions == job.regions) else {
                continue;
            };
            let outcome = Outcome { job: **job, figures: evaluate(crashes, job)? };
            let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut line = serde_json::to_vec(&outcome).map_err(|error| failed(error.into()))?;
            line.push(b'\n');
            found.1.write_all(&line).map_err(failed)?;
            found.0.push(outcome);
            progress((before + next.load(Ordering::Relaxed)).min(jobs.len()));
        }
        Ok::<(), CrashError>(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len().max(1));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).0)
}
