//! Running a plan: rounds of moments, the refinement, and the residuals.

use super::coefficients::infer;
use super::features::{Features, FitSummary, Refinement};
use super::plan::{RefinementPlan, RegressionPlan, ResidualsPlan};
use super::posterior::{Predictor, Refined, RegressionPosterior};
use super::query::{Histogram, Losses, Moments, ResidualFeatures, Squares};
use super::residuals::Residuals;
use super::rounds::Frame;
use crate::budget::{Ledger, Privacy};
use crate::model::known_targets::KnownTargets;
use crate::model::{DefinitionError, FitError};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, Records, SumId, Wall};

impl RegressionPlan {
    /// Runs the plan on records: rows of inputs and the target, scaled by public bounds to between -1 and 1. Values
    /// outside are clamped.
    ///
    /// # Privacy
    /// The wall releases moments, residual-feature products and residuals, all planned, priced and charged
    /// beforehand; each is a sum of contributions that depend on one record and on earlier releases. The rest is
    /// post-processing, and frequencies are public.
    ///
    /// # Errors
    /// [`FitError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(RegressionPosterior, Receipt), FitError> {
        self.run(Wall::new(records, source, self.releases()?.0, privacy, ledger)?)
    }

    /// **Not private.** The same fit without noise and clipping in the wall, for comparison.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_without_privacy(
        &self,
        records: Records,
        source: NoiseSource,
        ledger: Box<dyn Ledger>,
    ) -> Result<(RegressionPosterior, Receipt), FitError> {
        self.run(Wall::without_privacy(records, source, self.releases()?.0, ledger)?)
    }

    fn run(&self, mut wall: Wall) -> Result<(RegressionPosterior, Receipt), FitError> {
        let (posterior, projections) = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(projections)?))
    }

    /// Fits through a wall of this plan. Returns the number of projections with the posterior.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<(RegressionPosterior, u64), FitError> {
        let (_, releases) = self.releases()?;
        let released = wall.sum(releases.count, &KnownTargets)?;
        let records = KnownTargets::read(&released, self.records, self.adjacency, wall.rows_per_unit());
        let (mut frame, mut observed, mut projections) = (Frame::new(self.inputs), Vec::new(), 0);
        // Of the residual variance, relative to it.
        let mut error = 1.0;
        for (round, id) in self.rounds.iter().zip(&releases.rounds) {
            let radius = frame.radius(round.radius_factor);
            let released = wall.sum(*id, &Moments { frame: &frame, radius })?;
            let (next, seen, moved) = frame.observe(&released, radius, records)?;
            observed.push(seen);
            frame = next;
            error = infer(&mut frame, &observed, &self.priors, records).ok_or(FitError::Improper)?;
            projections += u64::from(moved);
        }
        let mut predictor = Predictor { frame, refined: None };
        let mut variance = predictor.frame.residual_variance;
        let mut summary =
            FitSummary { variance: predictor.frame.mean_uncertainty(), freedom: self.inputs as f64 + 1.0 };
        if let (Some(plan), Some((sums, check))) = (&self.refinement, releases.refinement) {
            let (refined, more, moved) = self.refine(&predictor.frame, plan, records, wall, sums)?;
            projections += moved;
            let refined = Predictor { frame: predictor.frame.clone(), refined: Some(refined) };
            let cap = 4.0 * variance;
            let released = wall.sum(check, &Losses { predictors: [&predictor, &refined], cap })?;
            if released.values[1] < released.values[0] {
                let noise = released.noise_sd[0] / records;
                variance = cap * (released.values[1] / records).max(1e-4 + noise);
                error = cap * noise / variance;
                summary = FitSummary {
                    variance: summary.variance + more.variance,
                    freedom: summary.freedom + more.freedom,
                };
                predictor = refined;
            }
        }
        let posterior = RegressionPosterior::new(predictor, variance, summary.variance);
        let residuals = match self.residuals {
            ResidualsPlan::Histogram { .. } => {
                Residuals::from_histogram(&wall.sum(releases.residuals, &Histogram(&posterior))?, records)
            }
            ResidualsPlan::Squares { .. } => {
                Residuals::from_squares(&wall.sum(releases.residuals, &Squares(&posterior))?, records, error)
            }
        };
        let freedom = (summary.freedom / records).min(0.5);
        Ok((posterior.calibrated(residuals, freedom), projections))
    }

    /// The refinement of the linear prediction, and the number of projections.
    fn refine(
        &self,
        frame: &Frame,
        plan: &RefinementPlan,
        records: f64,
        wall: &mut Wall,
        sums: SumId,
    ) -> Result<(Refined, FitSummary, u64), FitError> {
        match plan {
            RefinementPlan::Features(plan) => {
                let clip = plan.clip * frame.residual_variance.sqrt();
                let mut features = Features::new(frame, plan.frequencies, plan.length_scale, plan.seed);
                let mut refinement = Refinement::new(frame, &features, records, plan.inflation);
                for step in 1..=plan.steps {
                    let mut released =
                        wall.sum(sums, &ResidualFeatures { frame, features: &features, clip })?;
                    released.values.iter_mut().for_each(|value| *value *= clip);
                    let variance = (clip * released.noise_sd[0]).powi(2);
                    // Later steps are closer to the solution, where the result depends less on the public precision.
                    refinement.step(&mut features, &released.values, variance, (step as f64).sqrt());
                }
                let summary = refinement.finish(&mut features, records, plan.seed);
                Ok((Refined::Features(features), summary, 0))
            }
            RefinementPlan::Network(plan) => {
                let network = plan
                    .network(self.inputs)
                    .map_err(|_| FitError::Definition(DefinitionError::Regression))?;
                let (weights, moved) = plan.fit(&network, frame, wall, sums, self.records)?;
                let summary = FitSummary { variance: weights.mean_variance(frame), freedom: 0.0 };
                Ok((Refined::Network(Box::new(weights)), summary, moved))
            }
        }
    }
}
