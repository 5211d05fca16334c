//! The number of records with a known target.
//!
//! A record without a target is absent: it contributes nothing to any sum. The number of absent records is private,
//! so a model that needs the number of the others gets it by a release. Under add/remove adjacency the number of
//! records itself is private, and the count also replaces the guess in the plan.

use crate::budget::Adjacency;
use crate::jobs::Named;
use crate::math::normal::Tail;
use crate::wall::{Geometry, Query, QuerySpec, Released, Sampler, Sums};
use serde::{Deserialize, Serialize};

/// The share of the budget, as a share of $\mu^2$: it raises all other noise by half a per cent.
pub(crate) const SHARE: f64 = 0.01;
/// Prior mean of the share of records without a target, which has an exponential prior.
const PRIOR_MISSING_SHARE: f64 = 0.02;

/// Each record with a target contributes 1.
#[derive(Serialize, Deserialize)]
pub(crate) struct KnownTargets;

impl KnownTargets {
    /// The planned release.
    ///
    /// # Privacy
    /// A count between 0 and 1 for each record: its sensitivity is 1 under both adjacencies.
    pub(crate) fn sums(noise_multiplier: f64) -> Sums {
        Sums {
            what: "records with a known target".into(),
            width: 1,
            geometry: Geometry::Box { lower: vec![0.0], upper: vec![1.0] },
            sampler: Sampler::Full,
            noise_multiplier,
            steps: 1,
        }
    }

    /// The number of records with a known target: the posterior mean given a noisy count. Under replace-one adjacency
    /// there are at most `records`, and few are missing a priori; under add/remove `records` is a guess that may be
    /// wrong by a factor of about two.
    pub(crate) fn estimate(count: f64, noise_sd: f64, records: usize, adjacency: Adjacency) -> f64 {
        let records_total = records as f64;
        match adjacency {
            Adjacency::AddRemove => {
                let (noise, prior) = (noise_sd * noise_sd, records_total * records_total);
                ((count * prior + records_total * noise) / (prior + noise)).max(1.0)
            }
            Adjacency::ReplaceOne => {
                let at = records_total - count - noise_sd * noise_sd / (PRIOR_MISSING_SHARE * records_total);
                // The mean of a truncated normal distribution.
                let missing =
                    if noise_sd > 0.0 { at + noise_sd * Tail::at(at / noise_sd).hazard } else { at };
                (records_total - missing).clamp(1.0, records_total)
            }
        }
    }

    /// The estimate from a release.
    pub(crate) fn read(released: &Released, records: usize, adjacency: Adjacency) -> f64 {
        Self::estimate(released.values[0], released.noise_sd[0], records, adjacency)
    }
}

impl Named for KnownTargets {
    const NAME: &'static str = "known-targets";
}

impl Query for KnownTargets {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, _: &[f64], out: &mut [f64]) {
        out[0] = 1.0;
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without noise it is the count; with little noise it is near the count; with much noise it is the prior mean.
    #[test]
    fn the_count_of_known_targets_is_a_posterior_mean() {
        let replace = |count, sd| KnownTargets::estimate(count, sd, 1000, Adjacency::ReplaceOne);
        assert_eq!(replace(800.0, 0.0), 800.0);
        assert_eq!(replace(1000.0, 0.0), 1000.0);
        // The prior moves the mean by the variance over its own mean.
        assert!((replace(800.0, 5.0) - 801.25).abs() < 1e-9);
        // No record is missing: the estimate is a half-normal mean, slightly less because of the prior.
        let missing = 1000.0 - replace(1000.0, 5.0);
        assert!((missing / (5.0 * (2.0 / std::f64::consts::PI).sqrt()) - 0.9).abs() < 0.02, "{missing}");
        // A noise of 1e5 and half of the count: the exponential prior dominates, whose mean is 20.
        assert!((1000.0 - replace(500.0, 1e5) - 20.0).abs() < 0.5);
        for count in [-1e9, -5.0, 0.0, 1e9] {
            assert!((1.0..=1000.0).contains(&replace(count, 30.0)));
        }
        let add = |count, sd| KnownTargets::estimate(count, sd, 1000, Adjacency::AddRemove);
        assert_eq!(add(5000.0, 0.0), 5000.0);
        assert!((add(5000.0, 1000.0) - 3000.0).abs() < 1e-9);
        assert!((add(5000.0, 1e7) - 1000.0).abs() < 0.01);
        assert_eq!(add(-5000.0, 1.0), 1.0);
    }
}
