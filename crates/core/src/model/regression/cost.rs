//! Resources of fits by moments, random features and networks.

use crate::model::Estimate;
use crate::model::regression::FeaturesPlan;

/// Resources of rounds of moments: squares of inputs of each record, and eigenvectors.
pub(crate) fn linear_estimate(inputs: usize, records: usize, rounds: usize) -> Estimate {
    let (d, rounds) = (inputs as f64, rounds as f64);
    let width = 0.5 * (d + 2.0) * (d + 3.0);
    let start = Estimate::new(
        (14.0 + 8.0 * rounds) * d * d,
        rounds * (40.0 + 20.0 * rounds) * d.powi(3),
        2.0 * d * d + 8.0 * d,
    );
    start.releases(rounds, width, records as f64, 3.0 * d * d + 20.0 * d + 100.0)
}

/// Resources of random features: products of matrices of their size, and a factor for each step.
pub(super) fn features_estimate(
    start: Estimate,
    plan: &FeaturesPlan,
    inputs: usize,
    records: usize,
) -> Estimate {
    let (d, m, steps) = (inputs as f64, plan.frequencies as f64, plan.steps as f64);
    let mut all = start.releases(steps, 2.0 * m, records as f64, d * d + d * m + 60.0 * m);
    all.memory += 8.0 * (14.0 * m * m + 300.0 * m + d * m);
    all.operations += (steps + 12.0) * m.powi(3) + 20.0 * m * m * d;
    all.file_bytes += 8.0 * (d * m + 202.0 * m);
    all
}

/// Resources of a network of this many weights: releases of sites, each twice as wide.
pub(crate) fn network_estimate(start: Estimate, weights: f64, steps: u64, records: usize) -> Estimate {
    let mut all = start.releases(steps as f64, 2.0 * weights, records as f64, 60.0 * weights + 200.0);
    all.memory += 8.0 * 40.0 * weights;
    all.operations += steps as f64 * 60.0 * weights;
    all.file_bytes += 8.0 * 3.0 * weights;
    all
}

/// Number of weights of a network of these inputs and hidden layers, with the biases.
pub(crate) fn weights(inputs: usize, hidden: &[usize]) -> f64 {
    let below = std::iter::once(&inputs).chain(hidden);
    let above = hidden.iter().chain(std::iter::once(&1));
    below.zip(above).map(|(below, above)| (*below as f64 + 1.0) * *above as f64).sum()
}
