//! Coverage of private credible regions of the true means, over many data sets.
//!
//! The records are drawn from the model itself with components well apart, so that regions of 95 % should hold 95 % of
//! the means: what is measured is whether the uncertainty is honest. The noise-aware region includes the uncertainty from
//! the privacy noise, the naive one does not.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::family::Covariance;
use reticent_core::model::mixture::{Component, MixturePlan, MixturePosterior};
use reticent_core::wall::{NoiseSource, Records};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::ExperimentError;
use crate::metrics::{self, Moments};
use crate::mixture::{Mixture, Simulation, simulate};
use crate::table::Quartiles;
use crate::table1::{mean, model};

/// Settings of the experiment.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// Number of data sets.
    pub sets: usize,
    /// Settings of the simulation.
    pub simulation: Simulation,
    /// Budgets, under replace-one adjacency.
    pub epsilons: Vec<f64>,
    /// $\delta$.
    pub delta: f64,
    /// The probability that a region has.
    pub level: f64,
    /// Public points are this far from the true means, in each coordinate.
    pub point_sd: f64,
}

/// Initialisation of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At a private sketch.
    Sketch,
    /// At public points.
    Points,
}

/// A share of means that were covered. The data set is the unit of its standard error, as its means share records and noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl Share {
    fn of(shares: &[f64]) -> Self {
        let share = mean(shares);
        let n = shares.len() as f64;
        let square: f64 = shares.iter().map(|x| (x - share).powi(2)).sum();
        Self { share, standard_error: (square / (n - 1.0).max(1.0) / n).sqrt() }
    }
}

/// The result for a budget and a start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// The budget.
    pub epsilon: f64,
    /// Initialisation of the fits.
    pub start: Start,
    /// By regions with the uncertainty from the privacy noise.
    pub noise_aware: Share,
    /// By regions without.
    pub naive: Share,
    /// The standard deviation that a coordinate of a mean is reported with, noise included: its median over means.
    pub reported_sd: f64,
    /// The distance of a coordinate from the truth, as the root of the mean square over a mean's: its median over means.
    pub error: f64,
}

/// One fit.
struct Found {
    noise_aware: f64,
    naive: f64,
    sds: Vec<f64>,
    errors: Vec<f64>,
}

impl Coverage {
    /// Runs all fits on all cores; `progress` gets the number of finished data sets.
    ///
    /// # Errors
    /// The first error of any run.
    pub fn run(&self, progress: impl Fn(usize) + Sync) -> Result<Vec<Row>, ExperimentError> {
        let done = AtomicUsize::new(0);
        let fits: Result<Vec<Vec<Found>>, ExperimentError> = (0..self.sets as u64)
            .into_par_iter()
            .map(|set| {
                let mut rng = ChaCha8Rng::seed_from_u64(set);
                let data = simulate(&mut rng, &self.simulation)?;
                let points = self.points(&data, &mut rng);
                let found = self.cases().map(|(epsilon, start)| {
                    let posterior = self.fit(&data, epsilon, start, &points)?;
                    self.compare(&data, &posterior)
                });
                let found = found.collect();
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                found
            })
            .collect();
        let fits = fits?;
        let row = |(k, (epsilon, start)): (usize, (f64, Start))| {
            let all = || fits.iter().map(|set| &set[k]);
            let median = |of: fn(&Found) -> &[f64]| -> Result<f64, ExperimentError> {
                Ok(Quartiles::of(&all().flat_map(|found| of(found).iter().copied()).collect::<Vec<_>>())?
                    .median)
            };
            Ok(Row {
                epsilon,
                start,
                noise_aware: Share::of(&all().map(|found| found.noise_aware).collect::<Vec<_>>()),
                naive: Share::of(&all().map(|found| found.naive).collect::<Vec<_>>()),
                reported_sd: median(|found| &found.sds)?,
                error: median(|found| &found.errors)?,
            })
        };
        self.cases().enumerate().map(row).collect()
    }

    fn cases(&self) -> impl Iterator<Item = (f64, Start)> {
        self.epsilons.iter().flat_map(|&epsilon| [(epsilon, Start::Sketch), (epsilon, Start::Points)])
    }

    /// Prior knowledge: public points near the true means.
    fn points(&self, data: &Mixture, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let mut near = |x: &f64| x + self.point_sd * Distribution::<f64>::sample(&StandardNormal, rng);
        data.means.iter().map(|mean| mean.iter().map(&mut near).collect()).collect()
    }

    fn fit(
        &self,
        data: &Mixture,
        epsilon: f64,
        start: Start,
        points: &[Vec<f64>],
    ) -> Result<MixturePosterior, ExperimentError> {
        let n = data.labels.len();
        let model = model(data, Covariance::Full)?;
        let privacy = Privacy::new(epsilon, self.delta, Adjacency::ReplaceOne)?;
        let plan = match start {
            Start::Sketch => MixturePlan::new(&model, n, &privacy)?,
            Start::Points => MixturePlan::from_points(&model, n, &privacy, points.to_vec(), self.point_sd)?,
        };
        let records = Records::new(data.x.clone(), data.dimension())?;
        let source = NoiseSource::from_os()?;
        Ok(plan.fit(&model, records, source, &privacy, Box::new(Unlimited))?.0)
    }

    fn compare(&self, data: &Mixture, posterior: &MixturePosterior) -> Result<Found, ExperimentError> {
        let of =
            |f: fn(&Component) -> Moments| -> Vec<Moments> { posterior.components.iter().map(f).collect() };
        let (reported, naive) = (of(Component::moments), of(Component::naive_moments));
        let d = data.dimension();
        let sd = |c: &Moments| (c.covariance.iter().step_by(d + 1).sum::<f64>() / d as f64).sqrt();
        let point = |mean: &Vec<f64>| Moments { mean: mean.clone(), covariance: vec![0.0; d * d] };
        let truth: Vec<Moments> = data.means.iter().map(point).collect();
        let pairs = metrics::pairing(&truth, &reported)?;
        let error = |(mean, &k): (&Vec<f64>, &usize)| {
            let gaps = mean.iter().zip(&reported[k].mean).map(|(a, b)| (a - b).powi(2));
            (gaps.sum::<f64>() / d as f64).sqrt()
        };
        Ok(Found {
            noise_aware: metrics::covered(&data.means, &reported, self.level)?,
            naive: metrics::covered(&data.means, &naive, self.level)?,
            sds: reported.iter().map(sd).collect(),
            errors: data.means.iter().zip(&pairs).map(error).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        let Share { share, standard_error } = Share::of(&[0.5, 1.0, 1.0, 0.5]);
        assert_eq!(share, 0.75);
        // The sample variance is 4/16/3 = 1/12.
        assert!((standard_error - (1.0f64 / 48.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn every_budget_has_both_starts() {
        let simulation = Simulation {
            records: 200,
            components: 2,
            dimension: 2,
            prior_variance: 10.0,
            noise_variance: 0.25,
            separation: 4.0,
        };
        let coverage =
            Coverage { sets: 2, simulation, epsilons: vec![10.0], delta: 1e-5, level: 0.95, point_sd: 0.5 };
        let rows = coverage.run(|_| ()).unwrap();
        assert_eq!(rows.iter().map(|row| row.start).collect::<Vec<_>>(), [Start::Sketch, Start::Points]);
        for row in rows {
            assert!(row.naive.share <= row.noise_aware.share && row.reported_sd > 0.0);
        }
    }
}
