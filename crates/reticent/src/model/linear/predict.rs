//! What a fitted regression says: its weights, and new records.

use super::site::along;
use super::{Linear, Prediction, Response, logistic};
use crate::engine::Fit;
use crate::family::{Gamma, Moments};

/// A fitted regression.
#[derive(Debug, Clone)]
pub struct LinearPosterior {
    /// The weights and, last, the bias.
    pub mean: Vec<f64>,
    /// $V$: what the records leave open, row by row.
    pub data_covariance: Vec<f64>,
    /// What the privacy noise adds, to first order: see [`Noise::in_mean`](crate::engine::Noise::in_mean).
    pub noise_covariance: Vec<f64>,
    /// The expected variance of a target about $w \cdot x$; 1 for a probit, and 0 for a logistic response, which adds its own.
    pub noise_variance: f64,
    response: Response,
}

impl LinearPosterior {
    /// Reads a fit of this model; `None` if it is no density.
    #[must_use]
    pub fn new(model: &Linear, fit: &Fit) -> Option<Self> {
        let (weights, gamma) = fit.natural.split_at(model.family.width());
        let Moments { mean, covariance } = model.family.moments(weights)?;
        let noise_covariance = fit.noise.in_mean(0, model.family, &mean, &covariance);
        let noise_variance = match model.response {
            Response::Known(variance) => variance,
            Response::Unknown(_) => {
                let Gamma { shape, rate } = Gamma::from_natural(gamma);
                rate / (shape - 1.0)
            }
            Response::Probit => 1.0,
            Response::Logistic => 0.0,
        };
        let response = model.response;
        Some(Self { mean, data_covariance: covariance, noise_covariance, noise_variance, response })
    }

    /// Mean and covariance of the weights with both kinds of uncertainty: what should be reported.
    #[must_use]
    pub fn moments(&self) -> Moments {
        let both = self.data_covariance.iter().zip(&self.noise_covariance);
        Moments { mean: self.mean.clone(), covariance: both.map(|(data, noise)| data + noise).collect() }
    }

    /// What is known of $w \cdot x$, and of the target of a regression: with the uncertainty from the privacy noise.
    ///
    /// # Panics
    /// If there are not as many inputs as the model has.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        let naive = self.predict_naively(inputs);
        let (_, added) = along(&self.mean, &self.noise_covariance, true, inputs);
        Prediction { variance: naive.variance + added, ..naive }
    }

    /// The same as if there had been no privacy noise: too sure of itself.
    ///
    /// # Panics
    /// If there are not as many inputs as the model has.
    #[must_use]
    pub fn predict_naively(&self, inputs: &[f64]) -> Prediction {
        assert_eq!(inputs.len() + 1, self.mean.len(), "as many inputs as the model has");
        let (mean, variance) = along(&self.mean, &self.data_covariance, true, inputs);
        Prediction { mean, variance, noise_variance: self.noise_variance }
    }

    /// The probability that the target is positive: that of the class $+1$, with the uncertainty from the privacy noise.
    ///
    /// # Panics
    /// If there are not as many inputs as the model has.
    #[must_use]
    pub fn positive(&self, inputs: &[f64]) -> f64 {
        let prediction = self.predict(inputs);
        match self.response {
            Response::Logistic => {
                logistic::tilt(prediction.mean, prediction.variance, 1.0).log_evidence.exp()
            }
            _ => prediction.positive(),
        }
    }
}
