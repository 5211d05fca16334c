//! Requests to the wall and releases from it. All of them are public.

use super::{Geometry, Sampler};
use crate::budget::Guarantee;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A number of noisy sums of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sums {
    /// Description of the sum on the receipt.
    pub what: String,
    /// Coordinates of the sum: those of a contribution, or $m(m+1)/2$ for outer products of vectors of $m$ coordinates.
    pub width: usize,
    /// What contributions are clipped to. An [`L1Ball`](Geometry::L1Ball) gets Laplace noise, all others Gaussian.
    pub geometry: Geometry,
    /// Which records take part.
    pub sampler: Sampler,
    /// Standard deviation (Laplace: scale) of the noise over the sensitivity under the plan's adjacency. For Poisson
    /// samples under replace-one adjacency, over twice the largest norm of the geometry.
    pub noise_multiplier: f64,
    /// Number of sums.
    pub steps: u64,
}

/// A number of draws from exponential mechanisms of the same kind, each over all records.
#[derive(Debug, Clone)]
pub struct Draws {
    /// Description of the draws on the receipt.
    pub what: String,
    /// Number of candidates.
    pub candidates: usize,
    /// Lower bound of a record's score for a candidate.
    pub lower: f64,
    /// Upper bound of a record's score for a candidate.
    pub upper: f64,
    /// The width of the range of log probability ratios between neighbours, for one draw.
    pub epsilon: f64,
    /// Number of draws.
    pub draws: u64,
}

/// A noisy sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Released {
    /// The noisy sum of each coordinate.
    pub values: Vec<f64>,
    /// Standard deviation of the noise in each coordinate.
    pub noise_sd: Arc<[f64]>,
    /// Expected number of records in the batch. The actual size of a Poisson sample stays secret.
    pub expected_batch: f64,
    /// Number of this release within its group, from 1.
    pub step: u64,
    /// The guarantee of the whole plan.
    pub guarantee: Guarantee,
}

/// A draw from a tempered posterior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drawn {
    /// Index of the candidate.
    pub index: usize,
    /// The power that the likelihood was tempered with, at most 1.
    pub power: f64,
    /// Number of this release within its group, from 1.
    pub step: u64,
    /// The guarantee of the whole plan.
    pub guarantee: Guarantee,
}
