//! The posterior: a linear prediction, what was added to it, and the distribution of its residuals.

use super::features::Features;
use super::network::Weights;
use super::residuals::Residuals;
use super::rounds::Frame;
use crate::math::vector::dot;
use crate::model::prediction::Prediction;
use crate::model::{ModelError, Posterior, Predicted, Saved, Variances};
use serde::{Deserialize, Serialize};

/// The share of the variance of residuals that predictions may be responsible for.
const MAX: f64 = 0.9;

/// What predicts: the linear part, and what refines it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Predictor {
    pub(super) frame: Frame,
    pub(super) refined: Option<Refined>,
}

/// What is added to the linear prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Refined {
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

    pub(super) fn residual(&self, record: &[f64]) -> f64 {
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
    /// than [`MAX`] of it then it was too large.
    pub(super) fn new(mut predictor: Predictor, variance: f64, uncertain: f64) -> Self {
        predictor.frame.colouring = Vec::new();
        let trust = (MAX * variance / uncertain).min(1.0);
        let noise_variance = variance - trust * uncertain;
        Self { predictor, trust, noise_variance, residuals: Residuals::gaussian() }
    }

    /// With what was found out about the residuals. Those of new records are larger by $(1 + k)/(1 - k)$, with `freedom` the share $k$ of
    /// degrees of freedom in the number of records.
    pub(super) fn calibrated(mut self, residuals: Residuals, freedom: f64) -> Self {
        let optimism = (1.0 + freedom) / (1.0 - freedom);
        self.trust *= optimism;
        self.noise_variance *= optimism;
        self.residuals = residuals;
        self
    }

    /// The residual of a record over its deviation.
    pub(super) fn standardised(&self, record: &[f64]) -> f64 {
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

impl Posterior for RegressionPosterior {
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let prediction = RegressionPosterior::predict(self, inputs);
        let privacy = self.privacy_variance(inputs).min(prediction.variance);
        let records = prediction.variance - privacy;
        Predicted::Number {
            mean: prediction.mean,
            variances: Variances { records, privacy, targets: prediction.noise_variance },
            quantiles: probabilities.iter().map(|&p| self.quantile(&prediction, p)).collect(),
        }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
