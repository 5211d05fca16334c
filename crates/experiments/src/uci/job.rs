//! Methods, jobs and experiments.

use super::{Peer, Set};
use crate::error::{ExperimentError, by_name};
use reticent_core::budget::Adjacency;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A way to fit a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Mean-field variational inference for a network.
    Vi,
    /// Probabilistic backpropagation by assumed density filtering.
    Adf,
    /// The same by expectation propagation, with a site for each record.
    Ep,
    /// The same by stochastic expectation propagation, with the step of Li et al.
    Sep,
    /// SEP with the site of each record clipped to norm 1, as in the text of the paper, and without noise.
    SepClipped,
    /// Private regression: a linear part and random features.
    Regression,
    /// Private networks: a linear part, and probabilistic backpropagation by DP-SEP.
    DpSep,
    /// The linear part alone.
    Linear,
    /// The peer: a network by DP-SGD, its settings chosen by the test error.
    DpSgd,
    /// The middle of the public bounds of the target, which needs no records.
    Middle,
}

impl Method {
    /// All methods, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Vi,
        Self::Adf,
        Self::Ep,
        Self::Sep,
        Self::SepClipped,
        Self::DpSep,
        Self::Regression,
        Self::Linear,
        Self::DpSgd,
        Self::Middle,
    ];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vi => "vi",
            Self::Adf => "adf",
            Self::Ep => "ep",
            Self::Sep => "sep",
            Self::SepClipped => "sep-clipped",
            Self::Regression => "regression",
            Self::DpSep => "dp-sep",
            Self::Linear => "linear",
            Self::DpSgd => "dp-sgd",
            Self::Middle => "middle",
        }
    }

    /// Name in the table.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Vi => "VI",
            Self::Adf => "ADF",
            Self::Ep => "EP",
            Self::Sep => "SEP",
            Self::SepClipped => "SEP, really clipped",
            Self::Regression => "private regression",
            Self::DpSep => "DP-SEP",
            Self::Linear => "private linear",
            Self::DpSgd => "DP-SGD",
            Self::Middle => "middle of the bounds",
        }
    }

    /// Whether it spends a budget.
    #[must_use]
    pub fn is_private(self) -> bool {
        matches!(self, Self::DpSep | Self::Regression | Self::Linear | Self::DpSgd)
    }

    /// Whether it makes passes over the records with a network of a given size.
    fn has_network(self) -> bool {
        matches!(self, Self::Vi | Self::Adf | Self::Ep | Self::Sep | Self::SepClipped)
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

/// Budget of a private method, and the public information it may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// $\varepsilon$.
    pub epsilon: f64,
    /// $\delta$.
    pub delta: f64,
    /// The adjacency.
    pub adjacency: Adjacency,
    /// Whether the moments of the training part are assumed to be public, and used instead of bounds.
    pub public_moments: bool,
}

/// One fit: everything that its result depends on, apart from fresh noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The data set.
    pub set: Set,
    /// The method.
    pub method: Method,
    /// The split, from 0.
    pub split: usize,
    /// Budget of a private method.
    pub budget: Option<Budget>,
    /// Passes over the records, of methods that make them.
    pub passes: Option<usize>,
    /// Hidden units of their networks.
    pub hidden: Option<usize>,
    /// The settings of DP-SGD.
    pub dp_sgd: Option<Peer>,
}

/// Settings of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Data sets.
    pub sets: Vec<Set>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Number of splits of each set.
    pub splits: usize,
    /// Passes of methods without privacy. Variational inference makes five times as many, as its steps are small.
    pub passes: usize,
    /// Hidden units of their networks, if not those of the paper.
    pub hidden: Option<usize>,
    /// Budgets of private methods.
    pub budgets: Vec<Budget>,
}

impl Experiment {
    /// The columns of the table: each method, or each budget of a private one.
    #[must_use]
    pub fn columns(&self) -> Vec<(Method, Option<Budget>)> {
        let column = |&method: &Method| -> Vec<_> {
            if method.is_private() {
                self.budgets.iter().map(|&budget| (method, Some(budget))).collect()
            } else {
                vec![(method, None)]
            }
        };
        self.methods.iter().flat_map(column).collect()
    }

    /// All jobs, split by split, so that an interrupted run has results of every kind.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for split in 0..self.splits {
            for &set in &self.sets {
                jobs.extend(
                    self.columns().into_iter().map(|(method, budget)| self.job(set, method, budget, split)),
                );
            }
        }
        jobs
    }

    /// One job.
    #[must_use]
    pub fn job(&self, set: Set, method: Method, budget: Option<Budget>, split: usize) -> Job {
        let network = method.has_network();
        let dp_sgd = (method == Method::DpSgd).then(|| Peer::of(set));
        Job {
            set,
            method,
            split,
            budget,
            passes: network.then_some(self.passes),
            hidden: network.then_some(self.hidden.unwrap_or(set.hidden())),
            dp_sgd,
        }
    }
}
