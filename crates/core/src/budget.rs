//! Privacy budgets, and the ledger that records spending.

use crate::receipt::Receipt;
use reticent_accounting::Event;
pub use reticent_accounting::{Adjacency, Cost};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use thiserror::Error;

/// The budget of a run: $(\varepsilon, \delta)$ and the adjacency.
///
/// # Privacy
/// A delta of $1/N$ or more would allow publishing a record picked at random; [`check`](Self::check) refuses it.
/// Attacked by `budgets_adjacencies_and_deltas_are_checked`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Privacy {
    epsilon: f64,
    delta: f64,
    adjacency: Adjacency,
    any_delta: bool,
}

/// Why a budget is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
pub enum PrivacyError {
    #[error("epsilon must be positive and finite, not {0}")]
    Epsilon(f64),
    #[error("delta must be at least 0 and below 1, not {0}")]
    Delta(f64),
    #[error(
        "a delta of {delta} could reveal one of {records} records outright; \
         hint: choose one far below {limit:.1e}, or allow it explicitly",
        limit = 1.0 / *records as f64
    )]
    LargeDelta { delta: f64, records: usize },
    #[error("the plan is for {plan} adjacency, and the budget is for {privacy} adjacency")]
    Adjacency { plan: Adjacency, privacy: Adjacency },
}

impl Privacy {
    /// A budget of $(\varepsilon, \delta)$ under an adjacency. A delta of 0 is possible for Laplace sums and draws.
    ///
    /// # Errors
    /// [`PrivacyError::Epsilon`] and [`PrivacyError::Delta`].
    pub fn new(epsilon: f64, delta: f64, adjacency: Adjacency) -> Result<Self, PrivacyError> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(PrivacyError::Epsilon(epsilon));
        }
        if !(0.0..1.0).contains(&delta) {
            return Err(PrivacyError::Delta(delta));
        }
        Ok(Self { epsilon, delta, adjacency, any_delta: false })
    }

    /// Accepts a delta of $1/N$ or more, to compare with work that used one.
    #[must_use]
    pub fn allow_large_delta(self) -> Self {
        Self { any_delta: true, ..self }
    }

    /// $\varepsilon$.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// $\delta$.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The neighbour relation of data sets.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// Checks that delta is below $1/N$ for a public number of records $N$, and that the adjacency agrees.
    ///
    /// # Errors
    /// [`PrivacyError::LargeDelta`] and [`PrivacyError::Adjacency`].
    pub fn check(&self, records: usize, adjacency: Adjacency) -> Result<(), PrivacyError> {
        if self.adjacency != adjacency {
            return Err(PrivacyError::Adjacency { plan: adjacency, privacy: self.adjacency });
        }
        if !self.any_delta && self.delta * records as f64 >= 1.0 {
            return Err(PrivacyError::LargeDelta { delta: self.delta, records });
        }
        Ok(())
    }
}

/// The privacy guarantee of a run. A run without one has no epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// The cost of all releases of the plan together.
    Private(Cost),
    /// There is no guarantee, for this reason.
    None(NotPrivate),
}

/// Why a run is not private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPrivate {
    /// The run was requested without noise.
    NoNoise,
    /// Anyone who has the seed can remove the noise.
    FixedSeed,
}

impl Guarantee {
    /// The cost, if there is a guarantee.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        match self {
            Self::Private(cost) => Some(*cost),
            Self::None(_) => None,
        }
    }
}

impl fmt::Display for NotPrivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNoise => "NOT PRIVATE: no noise",
            Self::FixedSeed => "NOT PRIVATE: fixed seed",
        })
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None(reason) => reason.fmt(f),
            Self::Private(cost) => cost.fmt(f),
        }
    }
}

impl Serialize for Guarantee {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Private(cost) => cost.serialize(serializer),
            Self::None(reason) => serializer.collect_str(reason),
        }
    }
}

impl<'de> Deserialize<'de> for Guarantee {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Private(Cost),
            None(Reason),
        }
        #[derive(Deserialize)]
        enum Reason {
            #[serde(rename = "NOT PRIVATE: no noise")]
            NoNoise,
            #[serde(rename = "NOT PRIVATE: fixed seed")]
            FixedSeed,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Private(cost) => Self::Private(cost),
            Written::None(Reason::NoNoise) => Self::None(NotPrivate::NoNoise),
            Written::None(Reason::FixedSeed) => Self::None(NotPrivate::FixedSeed),
        })
    }
}

/// A request to reserve the cost of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// The cost of the whole plan, or why there is no guarantee; the ledger decides whether to allow such a run.
    pub guarantee: Guarantee,
    /// The accounting event of all releases.
    pub event: Event,
    /// Total variation between the noise of all releases and the noise of the event. Part of the cost, and not of the stored plan.
    #[serde(skip)]
    pub deviation: f64,
    /// Descriptions of the releases.
    pub releases: Vec<String>,
}

/// A ledger's identifier of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket(pub String);

/// The outcome of a run.
#[derive(Debug, Clone, Copy)]
pub struct Spent<'a> {
    /// `None` if there was no release or no guarantee, otherwise the whole reservation: when to stop may depend on
    /// the releases, so stopping early does not make them cheaper.
    pub cost: Option<Cost>,
    /// The receipt to record.
    pub receipt: &'a Receipt,
}

/// Why a ledger refused or failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
pub enum LedgerError {
    #[error("{0}")]
    Refused(String),
    #[error("the ledger failed: {0}")]
    Failed(String),
}

/// A store where budget is reserved before it is spent.
///
/// # Privacy
/// `reserve` and `start` must be durable before they return, and `start` must fail unless the reservation holds: the
/// first release follows at once. A reservation that is never settled stays spent.
pub trait Ledger: Send {
    /// The name on the receipt.
    fn name(&self) -> String;
    /// Reserves the whole cost, or refuses.
    ///
    /// # Errors
    /// [`LedgerError::Refused`] if the cost exceeds the remaining budget; the message states what is spent, requested
    /// and remaining.
    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError>;
    /// Marks the reservation as no longer refundable.
    ///
    /// # Errors
    /// [`LedgerError::Failed`] if the ledger cannot be written.
    fn start(&mut self, ticket: &Ticket) -> Result<(), LedgerError>;
    /// Closes the reservation.
    ///
    /// # Errors
    /// [`LedgerError::Failed`] if the ledger cannot be written; the reservation then stays spent.
    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError>;
}

/// No ledger: every request is granted, and the receipt states that there is no ledger.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

impl Ledger for Unlimited {
    fn name(&self) -> String {
        "no ledger".into()
    }
    fn reserve(&mut self, _: &Request) -> Result<Ticket, LedgerError> {
        Ok(Ticket(String::new()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        Ok(())
    }
    fn settle(&mut self, _: Ticket, _: Spent<'_>) -> Result<(), LedgerError> {
        Ok(())
    }
}
