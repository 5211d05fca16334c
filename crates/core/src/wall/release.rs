//! What the wall is asked for, and what comes out of it. All of it is public.

use super::{Geometry, Sampler};
use crate::budget::Guarantee;
use serde::Serialize;
use std::sync::Arc;

/// A number of noisy sums of the same kind.
#[derive(Debug, Clone)]
pub struct Sums {
    /// What is summed, for the receipt.
    pub what: String,
    /// Coordinates of a contribution.
    pub width: usize,
    /// What contributions are clipped to. An [`L1Ball`](Geometry::L1Ball) gets Laplace noise, all others Gaussian.
    pub geometry: Geometry,
    /// Which records take part.
    pub sampler: Sampler,
    /// The standard deviation (Laplace: the scale) of the noise over the sensitivity under the plan's adjacency. For
    /// Poisson samples under replace-one, over twice the reach of the geometry.
    pub noise_multiplier: f64,
    /// How many sums.
    pub steps: u64,
}

/// A number of draws from exponential mechanisms of the same kind, each about all records.
#[derive(Debug, Clone)]
pub struct Draws {
    /// What is drawn, for the receipt.
    pub what: String,
    /// How many candidates there are.
    pub candidates: usize,
    /// The least score of a record for a candidate.
    pub lower: f64,
    /// The greatest score of a record for a candidate.
    pub upper: f64,
    /// The width of the range of log probability ratios between neighbours, for one draw.
    pub epsilon: f64,
    /// How many draws.
    pub draws: u64,
}

/// A noisy sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Released {
    /// The sums.
    pub values: Vec<f64>,
    /// The standard deviation of the noise in each.
    pub noise_sd: Arc<[f64]>,
    /// How many records take part in such a sum on average. How many did in a Poisson sample stays secret.
    pub expected_batch: f64,
    /// Which release of its group it was charged as, from 1.
    pub step: u64,
    /// What can be said about the whole plan.
    pub guarantee: Guarantee,
}

/// A tempered draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drawn {
    /// The candidate.
    pub index: usize,
    /// The power that the scores were tempered with, at most 1.
    pub power: f64,
    /// Which release of its group it was charged as, from 1.
    pub step: u64,
    /// What can be said about the whole plan.
    pub guarantee: Guarantee,
}
