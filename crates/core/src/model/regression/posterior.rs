//! The posterior: a linear prediction, its refinement, and the distribution of its residuals.

use super::coefficients::Coefficients;
use super::features::Features;
use super::network::Weights;
use super::residuals::Residuals;
use super::rounds::Frame;
use crate::math::vector::dot;
use crate::model::prediction::Prediction;
use crate::model::{Codebook, Contrast, ModelError, Parameters, Posterior, Predicted, Saved, Variances};
use serde::{Deserialize, Serialize};

/// Maximum share of the residual variance that is due to errors of predictions.
const MAX: f64 = 0.9;

/// The linear part, and its refinement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Predictor {
    pub(super) frame: Frame,
    pub(super) refined: Option<Refined>,
}

/// The refinement of the linear prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Refined {
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

    /// Predictions are clipped to the bounds of targets.
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

/// The posterior of a regression. All of it is public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionPosterior {
    pub(super) predictor: Predictor,
    /// Scale of the variance of predictions.
    #[serde(rename = "trust")]
    pub(super) variance_scale: f64,
    /// Variance of targets about the true function: the residual variance minus that of prediction errors.
    pub(super) noise_variance: f64,
    residuals: Residuals,
}

impl RegressionPosterior {
    /// From the residual variance. `uncertain` is the mean variance of predictions, which is part of it; it is scaled
    /// down to at most [`MAX`] of it.
    pub(super) fn new(mut predictor: Predictor, variance: f64, uncertain: f64) -> Self {
        predictor.frame.forget_rounds();
        let variance_scale = (MAX * variance / uncertain).min(1.0);
        let noise_variance = variance - variance_scale * uncertain;
        Self { predictor, variance_scale, noise_variance, residuals: Residuals::gaussian() }
    }

    /// Sets the distribution of residuals. Those of new records are larger by $(1 + k)/(1 - k)$, with `freedom` the
    /// share $k$ of degrees of freedom in the number of records.
    pub(super) fn calibrated(mut self, residuals: Residuals, freedom: f64) -> Self {
        let optimism = (1.0 + freedom) / (1.0 - freedom);
        self.variance_scale *= optimism;
        self.noise_variance *= optimism;
        self.residuals = residuals;
        self
    }

    /// The standardised residual of a record.
    pub(super) fn standardised(&self, record: &[f64]) -> f64 {
        let (inputs, target) = record.split_at(self.inputs());
        let (mean, variance) = self.predictor.moments(inputs);
        (target[0].clamp(-1.0, 1.0) - mean) / (self.variance_scale * variance + self.noise_variance).sqrt()
    }

    /// Number of inputs of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.predictor.frame.inputs()
    }

    /// Whether there is a refinement of the linear part.
    #[must_use]
    pub fn is_refined(&self) -> bool {
        self.predictor.refined.is_some()
    }

    /// The distribution of residuals.
    #[must_use]
    pub fn residuals(&self) -> &Residuals {
        &self.residuals
    }

    /// The coefficients of the linear part, which are those of the regression if it is not refined.
    #[must_use]
    pub fn coefficients(&self) -> Coefficients {
        Coefficients::of(&self.predictor.frame, self.residuals.square)
    }

    /// The predictive distribution of the target of a record with these inputs.
    ///
    /// # Panics
    /// If the number of inputs is not that of the regression.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        assert_eq!(inputs.len(), self.inputs(), "as many inputs as the regression has");
        let (mean, variance) = self.predictor.moments(inputs);
        let scale = self.residuals.square;
        Prediction {
            mean,
            variance: scale * self.variance_scale * variance,
            noise_variance: scale * self.noise_variance,
        }
    }

    /// The approximate part of the [`variance`](Prediction::variance) of a prediction that is due to the privacy
    /// noise. The rest is sampling uncertainty.
    ///
    /// # Panics
    /// If the number of inputs is not that of the regression.
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
        let variance = frame.privacy_variance(&z) + refined;
        self.residuals.square * self.variance_scale * variance
    }

    /// The quantile of the target of such a record, by the distribution of the residuals.
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

    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.named_parameters(codebook)
    }

    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        Some(self.contrast_of(inputs, reference))
    }

    fn centre(&self) -> Option<&[f64]> {
        Some(&self.predictor.frame.centre)
    }

    /// The simulations are those of `table_of_function_coverage`.
    fn warnings(&self, _inputs: &[String]) -> Vec<String> {
        let warning = "intervals of effects and of the mean are approximate: random features and networks leave errors that \
                       their intervals do not count, so that 95 % intervals of the mean held 80 to 93 % of true values on simulated records; \
                       intervals of new targets are not affected";
        self.is_refined().then(|| warning.to_owned()).into_iter().collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
