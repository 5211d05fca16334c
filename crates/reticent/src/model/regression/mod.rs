//! Private regression that needs no tuning: a linear prediction from moments in rounds, refined by random features.
//!
//! Records are rows of inputs and a target between -1 and 1, scaled by public bounds. The model is
//! $y \sim N(\beta_0 + \beta \cdot x + f(x), s^2)$ with a Gaussian process $f$, by [features](Features).
//!
//! 1. Rounds of second moments give the linear part, the scale of the residuals, and coordinates in which inputs are about white.
//! 2. If there are records enough for the budget, DP-SEP in centred coordinates learns the weights of random features.
//! 3. A release compares both predictions, and the better one is kept. Another one describes the residuals, so that
//!    intervals cover as they should.
//!
//! Everything is released by the [wall](crate::wall) as a sum over all records, according to a [`RegressionPlan`] that was made, and can be read
//! and edited, before any record is seen.
//!
//! ```
//! use reticent::budget::{Adjacency, Privacy, Unlimited};
//! use reticent::model::regression::RegressionPlan;
//! use reticent::wall::{NoiseSource, Records};
//!
//! let values = (0..5000).map(|n| f64::from(n) / 2500.0 - 1.0).flat_map(|x| [x, (3.0 * x).sin() / 2.0]).collect();
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let plan = RegressionPlan::new(1, 5000, &privacy)?;
//! let (posterior, receipt) =
//!     plan.fit(Records::new(values, 2)?, NoiseSource::from_os()?, &privacy, Box::new(Unlimited))?;
//! let prediction = posterior.predict(&[0.5]);
//! assert!((prediction.mean - 1.5f64.sin() / 2.0).abs() < 0.2);
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not for: many inputs for the number of records (rounds release about $d^2/2$ moments), or targets in classes.

mod features;
mod network;
mod plan;
mod residuals;
mod rounds;
mod validate;

pub use super::prediction::Prediction;
pub use features::Features;
pub use network::{NetworkPlan, Weights};
pub use plan::{
    Expected, FeaturesPlan, RefinementPlan, RegressionError, RegressionPlan, ResidualsPlan, Round,
};
pub use residuals::Residuals;
pub use rounds::Frame;

use rounds::dot;
use serde::{Deserialize, Serialize};

/// The share of the variance of residuals that predictions may be responsible for.
const MOST: f64 = 0.9;

/// What predicts: the linear part, and what refines it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Predictor {
    frame: Frame,
    refined: Option<Refined>,
}

/// What is added to the linear prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Refined {
    Features(Features),
    Network(Box<Weights>),
}

impl Predictor {
    /// The mean of the target, and the variance of the error of that mean.
    fn moments(&self, inputs: &[f64]) -> (f64, f64) {
        let z = self.frame.whitened(inputs);
        let (mean, variance) = match &self.refined {
            None => (0.0, 0.0),
            Some(Refined::Features(features)) => {
                let phi = features.of(&z);
                (dot(&phi, &features.weights), features.variance(&phi))
            }
            Some(Refined::Network(weights)) => weights.moments(&z),
        };
        (self.bounded(inputs, mean), self.frame.uncertainty(&z) + variance)
    }

    /// Targets are within their bounds, so predictions are.
    fn bounded(&self, inputs: &[f64], added: f64) -> f64 {
        (self.frame.predict(inputs) + added).clamp(-1.0, 1.0)
    }

    fn residual(&self, record: &[f64]) -> f64 {
        let (inputs, target) = record.split_at(self.frame.inputs());
        let added = match &self.refined {
            None => 0.0,
            Some(Refined::Features(features)) => {
                dot(&features.of(&self.frame.whitened(inputs)), &features.weights)
            }
            Some(Refined::Network(weights)) => weights.moments(&self.frame.whitened(inputs)).0,
        };
        target[0].clamp(-1.0, 1.0) - self.bounded(inputs, added)
    }
}

/// A fitted regression. All of it is public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionPosterior {
    predictor: Predictor,
    /// What the variance of predictions is multiplied with.
    trust: f64,
    /// Of targets about the true function: what residuals have beside the errors of predictions.
    noise_variance: f64,
    residuals: Residuals,
}

impl RegressionPosterior {
    /// With residuals of this variance. `uncertain` is the mean of the variance of predictions, which is part of it; if it should be more
    /// than [`MOST`] of it then it was too large.
    fn new(mut predictor: Predictor, variance: f64, uncertain: f64) -> Self {
        predictor.frame.colouring = Vec::new();
        let trust = (MOST * variance / uncertain).min(1.0);
        let noise_variance = variance - trust * uncertain;
        Self { predictor, trust, noise_variance, residuals: Residuals::gaussian() }
    }

    /// With what was found out about the residuals. Those of new records are larger by $(1 + k)/(1 - k)$, with `freedom` the share $k$ of
    /// degrees of freedom in the number of records.
    fn calibrated(mut self, residuals: Residuals, freedom: f64) -> Self {
        let optimism = (1.0 + freedom) / (1.0 - freedom);
        self.trust *= optimism;
        self.noise_variance *= optimism;
        self.residuals = residuals;
        self
    }

    /// The residual of a record over its deviation.
    fn standardised(&self, record: &[f64]) -> f64 {
        let (inputs, target) = record.split_at(self.inputs());
        let (mean, variance) = self.predictor.moments(inputs);
        (target[0].clamp(-1.0, 1.0) - mean) / (self.trust * variance + self.noise_variance).sqrt()
    }

    /// How many inputs a record has.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.predictor.frame.inputs()
    }

    /// Whether there is more than the linear part.
    #[must_use]
    pub fn is_refined(&self) -> bool {
        self.predictor.refined.is_some()
    }

    /// What is known of the residuals.
    #[must_use]
    pub fn residuals(&self) -> &Residuals {
        &self.residuals
    }

    /// What is known of the target of a record with these inputs.
    ///
    /// # Panics
    /// If there are not as many inputs as the regression has.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        assert_eq!(inputs.len(), self.inputs(), "as many inputs as the regression has");
        let (mean, variance) = self.predictor.moments(inputs);
        let scale = self.residuals.square;
        Prediction {
            mean,
            variance: scale * self.trust * variance,
            noise_variance: scale * self.noise_variance,
        }
    }

    /// The part of the [`variance`](Prediction::variance) of a prediction that the privacy noise is responsible for, about. The
    /// records leave the rest open.
    ///
    /// # Panics
    /// If there are not as many inputs as the regression has.
    #[must_use]
    pub fn privacy_variance(&self, inputs: &[f64]) -> f64 {
        assert_eq!(inputs.len(), self.inputs(), "as many inputs as the regression has");
        let Predictor { frame, refined } = &self.predictor;
        let z = frame.whitened(inputs);
        let refined = match refined {
            None => 0.0,
            Some(Refined::Features(features)) => features.privacy_share * features.variance(&features.of(&z)),
            Some(Refined::Network(weights)) => weights.privacy_variance(&z),
        };
        let variance = frame.privacy_share * frame.uncertainty(&z) + refined;
        self.residuals.square * self.trust * variance
    }

    /// The value below which the target of such a record is with this probability, by the distribution of the residuals.
    #[must_use]
    pub fn quantile(&self, prediction: &Prediction, probability: f64) -> f64 {
        let deviation = ((prediction.variance + prediction.noise_variance) / self.residuals.square).sqrt();
        (prediction.mean + deviation * self.residuals.quantile(probability)).clamp(-1.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
