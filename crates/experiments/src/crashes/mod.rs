//! The case study of Foulds et al. (2016), section 5, on public data: a private hidden Markov model of fatal crashes by region and month.
//!
//! [`Crashes`] are the data, a [`Method`] is a way to fit them, and a [`Job`] one fit with all that it depends on. [`Experiment`] lists the jobs,
//! [`run`] runs those that a file does not have yet, [`Report`] tabulates them, and [`picture`] draws the figures.
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

use crate::error::{ExperimentError, by_name};
use crate::jobs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A way to fit crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// One state, by the counts of all cells together.
    NaiveBayes,
    /// Noisy counts treated as exact, as in the paper.
    Naive,
    /// Noisy counts with the distribution of the noise. Without privacy both are equal.
    NoiseAware,
    /// Every update from an exponential mechanism.
    Exponential,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::NaiveBayes, Self::Naive, Self::NoiseAware, Self::Exponential];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NaiveBayes => "naive-bayes",
            Self::Naive => "naive",
            Self::NoiseAware => "noise-aware",
            Self::Exponential => "exponential",
        }
    }

    /// Name in tables and figures.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NaiveBayes => "naive Bayes",
            Self::Naive => "HMM, counts, naive",
            Self::NoiseAware => "HMM, counts, noise-aware",
            Self::Exponential => "HMM, exponential mechanism",
        }
    }

    /// Whether it has a version without privacy that differs from the other methods.
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
    type Err = ExperimentError;

    fn from_str(name: &str) -> Result<Self, ExperimentError> {
        by_name("method", name, &Self::ALL, Self::name)
    }
}

/// One fit: everything that its result depends on, apart from fresh noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Kind of region.
    pub regions: Regions,
    /// The method.
    pub method: Method,
    /// Budget of a private method.
    pub epsilon: Option<f64>,
    /// Delta of the budget.
    pub delta: f64,
    /// The split, from 0.
    pub split: usize,
    /// States of a hidden Markov model.
    pub states: usize,
    /// Chains of methods that release counts.
    pub chains: usize,
    /// Draws of each; the first half is not used.
    pub iterations: usize,
    /// Passes of the method that charges every update.
    pub passes: u64,
}

/// Settings of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Kinds of region.
    pub regions: Vec<Regions>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Budgets.
    pub epsilons: Vec<f64>,
    /// Delta of every budget.
    pub delta: f64,
    /// Number of splits.
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

    /// All jobs, split by split, so that an interrupted run has results of every kind.
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

/// A finished job.
pub type Outcome = jobs::Outcome<Job, Figures>;

/// Runs the jobs without an outcome in `file`, one per core at a time, and stores the outcome of each. Returns all outcomes; `progress` gets
/// the number of finished jobs.
///
/// # Errors
/// The first error of any job.
pub fn run(
    jobs: &[Job],
    folder: &Path,
    file: &Path,
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>, ExperimentError> {
    let mut store = jobs::Store::<Job, Figures>::open(file)?;
    let missing: Vec<&Job> = jobs.iter().filter(|job| store.find(job).is_none()).collect();
    let crashes = Regions::ALL
        .into_iter()
        .filter(|regions| missing.iter().any(|job| job.regions == *regions))
        .map(|regions| Crashes::read(folder, regions))
        .collect::<Result<Vec<_>, _>>()?;
    let evaluate = |job: &Job| {
        let of_job = crashes.iter().find(|crashes| crashes.regions == job.regions);
        evaluate(of_job.expect("the data of every missing job are read"), job)
    };
    let before = jobs.len() - missing.len();
    jobs::run(&missing, &mut store, evaluate, |done| progress(before + done))?;
    Ok(store.outcomes().to_vec())
}
