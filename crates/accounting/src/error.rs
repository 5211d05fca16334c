//! Errors of the accountants, each with the parameters of a useful message.

use crate::{Adjacency, Method};

/// Why an accountant returned no cost.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its domain (NaN counts as outside).
    #[error("{name} must be {expected}, but it is {value}")]
    Domain {
        /// The parameter, as it appears in the message.
        name: &'static str,
        /// The domain, to complete "must be ...".
        expected: &'static str,
        /// The rejected value, a public parameter.
        value: f64,
    },
    /// The batch is larger than the data set it is drawn from.
    #[error("a batch of {batch} records cannot be drawn without replacement from {records}")]
    BatchTooLarge {
        /// Records in a batch.
        batch: u64,
        /// Records in the data set.
        records: u64,
    },
    /// The number of releases does not fit in 64 bits.
    #[error("the event repeats more than 2^64 releases")]
    TooManyReleases,
    /// The accountant has no sound bound for this sampler under this adjacency.
    #[error("{method} has no sound bound for {what} under {adjacency} adjacency; {hint}")]
    Unsupported {
        /// The accountant that has no bound.
        method: Method,
        /// The sampler and mechanism without one.
        what: &'static str,
        /// The requested adjacency.
        adjacency: Adjacency,
        /// What to use instead.
        hint: &'static str,
    },
    /// No parameter in the search range meets the target under this accountant.
    #[error("{method} cannot reach epsilon {target}: {reason}; {hint}")]
    Unreachable {
        /// The accountant of the search.
        method: Method,
        /// The requested epsilon.
        target: f64,
        /// The bound's limit.
        reason: String,
        /// What to use instead.
        hint: &'static str,
    },
}

/// `Ok(value)` when `ok`, else a [`Error::Domain`].
pub(crate) fn check(ok: bool, name: &'static str, expected: &'static str, value: f64) -> Result<f64, Error> {
    if ok { Ok(value) } else { Err(Error::Domain { name, expected, value }) }
}

/// A target delta: strictly between 0 and 1.
pub(crate) fn check_delta(delta: f64) -> Result<f64, Error> {
    check(delta > 0.0 && delta < 1.0, "delta", "between 0 and 1, both excluded", delta)
}

/// A target epsilon: positive and finite.
pub(crate) fn check_epsilon(epsilon: f64) -> Result<f64, Error> {
    check(epsilon > 0.0 && epsilon.is_finite(), "epsilon", "positive and finite", epsilon)
}
