//! Queries as data: the registry of queries that other processes can evaluate.
//!
//! A release about records in this process needs no description. A release about records elsewhere is a [`Job`](crate::wall::Job), whose
//! query is a [`QuerySpec`]: the name of a query, and its public state. Whoever reads the job makes the query again from both.
//!
//! None of this is trusted: a query may be any function of a record, since the wall clips what it returns.

use crate::baseline::perceptron::Perceptron;
use crate::bounds;
use crate::engine::conjugate::Cells;
use crate::engine::{OwnedClippedSites, OwnedSites};
use crate::model::linear::Linear;
use crate::model::logistic::frame::Frame;
use crate::model::network::Network;
use crate::model::regression::rounds;
use crate::model::{
    bernoulli, conjugate, dirichlet, hmm, known_targets, logistic, mixture, multivariate_normal, naive_bayes,
    network_sgd, normal, poisson, regression, sigmoid_belief, topics,
};
use crate::wall::{Contributor, Geometry, Job, Partial, Query, WallError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A query that can be sent: the registry has one line for each.
pub(crate) trait Named {
    /// Its name in the registry.
    const NAME: &'static str;
}

/// A query as data: its name in the registry, and its public state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuerySpec {
    name: String,
    /// JSON, in which numbers are exact. A job whose query has a number that is not finite is refused.
    state: String,
}

impl QuerySpec {
    /// A query with its state.
    pub(crate) fn of<Q: Named + Serialize>(query: &Q) -> Option<Self> {
        Some(Self { name: Q::NAME.into(), state: serde_json::to_string(query).ok()? })
    }

    /// The name of the query in the registry.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

type Made = Box<dyn Contributor + Send>;

/// The name of a query, and what makes it from its state.
struct Registered {
    name: &'static str,
    make: fn(&str) -> Option<Made>,
}

const fn line<Q: Query + Named + DeserializeOwned + Send + 'static>() -> Registered {
    Registered { name: Q::NAME, make: |state| Some(Box::new(serde_json::from_str::<Q>(state).ok()?)) }
}

static QUERIES: &[Registered] = &[
    line::<bounds::Below<Vec<bounds::Grid>, Vec<[usize; 2]>>>(),
    line::<known_targets::KnownTargets>(),
    line::<logistic::query::ClassSums<Vec<usize>>>(),
    line::<logistic::query::Products<Frame>>(),
    line::<logistic::query::CentredScores<Vec<f64>, Frame>>(),
    line::<logistic::query::Curvatures<Vec<f64>>>(),
    line::<logistic::query::Scores<Vec<f64>>>(),
    line::<regression::query::Moments<rounds::Frame>>(),
    line::<regression::query::ResidualFeatures<rounds::Frame, regression::features::Features>>(),
    line::<regression::query::Losses<regression::posterior::Predictor>>(),
    line::<regression::query::Histogram<regression::posterior::RegressionPosterior>>(),
    line::<regression::query::Squares<regression::posterior::RegressionPosterior>>(),
    line::<OwnedSites<regression::network::Residual<rounds::Frame, Network>>>(),
    line::<OwnedSites<Linear>>(),
    line::<OwnedClippedSites<Linear>>(),
    line::<OwnedSites<Network>>(),
    line::<mixture::sketch::Sketch>(),
    line::<mixture::query::WeightedResiduals<mixture::MixtureCavity>>(),
    line::<network_sgd::query::Gradients<Perceptron, Vec<f64>, Geometry>>(),
    line::<network_sgd::query::Residuals<Perceptron, Vec<f64>>>(),
    line::<topics::statistics::DocumentStatistics<topics::Expected>>(),
    line::<sigmoid_belief::statistics::BeliefStatistics<sigmoid_belief::Beliefs>>(),
    line::<bernoulli::query::Signs>(),
    line::<poisson::query::Centred>(),
    line::<normal::query::Squares>(),
    line::<multivariate_normal::query::Products>(),
    line::<conjugate::mean::Centred>(),
    line::<Cells<dirichlet::plan::Levels<Vec<usize>>>>(),
    line::<Cells<naive_bayes::plan::LevelsByClass<Vec<usize>>>>(),
    line::<Cells<hmm::query::Events<hmm::Layout, hmm::Coding>>>(),
];

/// The query that a job names; `None` if there is none, or if the state is not that of one.
pub(crate) fn query(spec: &QuerySpec) -> Option<Made> {
    let registered = QUERIES.iter().find(|registered| registered.name == spec.name)?;
    (registered.make)(&spec.state)
}

/// The canonical bytes of a description.
pub(crate) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("numbers, texts and lists")
}

/// Why bytes are neither a job nor a partial sum.
const DAMAGED: &str = "it cannot be parsed";

impl Job {
    /// The job that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// [`WallError::Job`] and [`WallError::Plan`] if it is damaged, or of another version.
    pub fn read(job: &[u8]) -> Result<Self, WallError> {
        let description = serde_json::from_slice(job).map_err(|_| WallError::Job { fault: DAMAGED })?;
        Self::new(description)
    }

    /// The job in bytes. The key of a sample is secret: whoever has it can tell which units were sampled.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        to_json(&self.description)
    }
}

impl Partial {
    /// The partial sum in bytes. It has no noise: protect it as the records.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        to_json(self)
    }

    /// The partial sum that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// [`WallError::Job`] if it is damaged.
    pub fn read(part: &[u8]) -> Result<Self, WallError> {
        serde_json::from_slice(part).map_err(|_| WallError::Job { fault: DAMAGED })
    }
}
