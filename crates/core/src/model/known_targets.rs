//! The number of records with a known target.
//!
//! A record without a target is absent: it contributes nothing to any sum. The number of absent records is private,
//! so a model that needs the number of the others gets it by a release. Under add/remove adjacency the number of
//! records itself is private, and the count also replaces the guess in the plan.
//!
//! Where a privacy unit counts as at least $k$ rows, one of $m < k$ rows contributes $m/k$, so that the count may be anywhere between 0 and the
//! number of units: only where each unit counts once are few of them missing a priori.

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
    /// there are at most `records`, and few are missing a priori, or any number of them if a unit counts as several rows; under
    /// add/remove `records` is a guess that may be wrong by a factor of about two.
    pub(crate) fn estimate(
        (count, noise_sd): (f64, f64),
        records: usize,
        adjacency: Adjacency,
        rows_per_unit: usize,
    ) -> f64 {
        let records_total = records as f64;
        match adjacency {
            Adjacency::ReplaceOne if rows_per_unit > 1 => {
                mean_within(count, noise_sd, records_total).clamp(1.0, records_total)
            }
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
    pub(crate) fn read(
        released: &Released,
        records: usize,
        adjacency: Adjacency,
        rows_per_unit: usize,
    ) -> f64 {
        Self::estimate((released.values[0], released.noise_sd[0]), records, adjacency, rows_per_unit)
    }
}

/// The mean of a normal distribution that is truncated to $[0, b]$: of $x > 0$, less the part of $x > b$.
fn mean_within(mean: f64, sd: f64, b: f64) -> f64 {
    if sd == 0.0 {
        return mean;
    } else if sd > 1e4 * b {
        // The density is constant there, but for less than a ten-thousandth.
        return 0.5 * b;
    } else if 2.0 * mean > b {
        return b - mean_within(b - mean, sd, b);
    }
    let [above, beyond] = [mean, mean - b].map(|x| Tail::at(x / sd));
    let part = (beyond.log - above.log).exp();
    (mean + sd * above.hazard - part * (mean + sd * beyond.hazard)) / (1.0 - part)
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
    use crate::budget::{Privacy, Unlimited};
    use crate::wall::{NoiseSource, Plan, Records, Wall};

    /// Without noise it is the count; with little noise it is near the count; with much noise it is the prior mean.
    #[test]
    fn the_count_of_known_targets_is_a_posterior_mean() {
        let replace = |count, sd| KnownTargets::estimate((count, sd), 1000, Adjacency::ReplaceOne, 1);
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
        let add = |count, sd| KnownTargets::estimate((count, sd), 1000, Adjacency::AddRemove, 1);
        assert_eq!(add(5000.0, 0.0), 5000.0);
        assert!((add(5000.0, 1000.0) - 3000.0).abs() < 1e-9);
        assert!((add(5000.0, 1e7) - 1000.0).abs() < 0.01);
        assert_eq!(add(-5000.0, 1.0), 1.0);
    }

    /// 500 persons of one row that count as a fifth each: a count of 100 is no sign of missing targets.
    #[test]
    fn units_that_count_as_several_rows_have_a_flat_prior() {
        let estimate = |count, sd| KnownTargets::estimate((count, sd), 500, Adjacency::ReplaceOne, 5);
        assert_eq!(estimate(100.0, 0.0), 100.0);
        // Two standard deviations from 0, which moves the mean by phi(2) / Phi(2) = 0.0553 of one.
        assert!((estimate(100.0, 50.0) - 100.0 - 50.0 * 0.055_248).abs() < 1e-3);
        assert!((estimate(400.0, 50.0) - 400.0 + 50.0 * 0.055_248).abs() < 1e-3);
        // Against sums over the density, for all sizes of noise.
        for sd in [10.0, 75.0, 300.0, 1e4, 1e6] {
            for count in [-300.0, 0.0, 130.0, 250.0, 420.0, 900.0f64] {
                let (mut total, mut sum) = (0.0, 0.0);
                for k in 0..50_000 {
                    let x = (f64::from(k) + 0.5) / 100.0;
                    // Relative to the largest density within the bounds, so that it does not vanish.
                    let near = count.clamp(0.0, 500.0) - count;
                    let density = (0.5 * (near * near - (x - count).powi(2)) / (sd * sd)).exp();
                    (total, sum) = (total + density, sum + x * density);
                }
                let (found, expected) = (estimate(count, sd), f64::max(1.0, sum / total));
                assert!((found - expected).abs() < 1e-3 * expected, "{count} {sd}: {found} {expected}");
            }
        }
        // Through a wall: on average over 20 releases, with the noise of epsilon 1, it is the count but for the boundary at 0.
        let estimates = (0..20).map(|seed| {
            let mut plan = Plan::new(500, Adjacency::ReplaceOne);
            let id = plan.sums(KnownTargets::sums(37.0)).unwrap();
            let records = Records::new(vec![0.5; 500], 1).unwrap().counting_at_least(5);
            let (privacy, source) =
                (Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne), NoiseSource::insecure_from_seed(seed));
            let mut wall = Wall::new(records, source, plan, &privacy.unwrap(), Box::new(Unlimited)).unwrap();
            let released = wall.sum(id, &KnownTargets).unwrap();
            KnownTargets::read(&released, 500, Adjacency::ReplaceOne, wall.rows_per_unit())
        });
        // Five standard errors.
        let mean = estimates.sum::<f64>() / 20.0;
        assert!((mean - 100.0).abs() < 5.0 * 37.0 / 20f64.sqrt(), "{mean}");
        for (count, sd) in [(-1e9, 30.0), (1e9, 30.0), (100.0, 1e12), (-1e9, 1e6)] {
            assert!((1.0..=500.0).contains(&estimate(count, sd)), "{count} {sd}");
        }
    }
}
