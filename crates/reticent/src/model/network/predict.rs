//! What a fitted network says about new records.

use super::{Network, NetworkCavity, OutputNoise};
use crate::engine::Fit;
use crate::family::Gamma;

/// A Gaussian prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Of the output and of the target.
    pub mean: f64,
    /// Of the output: what records leave open, and what the privacy noise adds.
    pub variance: f64,
    /// Of a target about the output.
    pub noise_variance: f64,
}

impl Prediction {
    /// $\log p(y)$ of a target.
    #[must_use]
    pub fn log_likelihood(&self, target: f64) -> f64 {
        let variance = self.variance + self.noise_variance;
        -0.5 * ((std::f64::consts::TAU * variance).ln() + (target - self.mean).powi(2) / variance)
    }

    /// The value below which a target is with this probability.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        self.mean + (self.variance + self.noise_variance).sqrt() * normal_quantile(probability)
    }
}

/// $\Phi^{-1}(p)$ by bisection; infinite at 0 and 1.
fn normal_quantile(probability: f64) -> f64 {
    // Accurate in the lower tail, and the upper is its mirror image.
    if probability > 0.5 {
        return -normal_quantile(1.0 - probability);
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// A fitted network.
#[derive(Debug)]
pub struct NetworkPosterior {
    model: Network,
    /// With the privacy noise in the variances of weights.
    aware: NetworkCavity,
    naive: NetworkCavity,
    noise_variance: f64,
}

impl NetworkPosterior {
    /// Reads a fit of this network.
    ///
    /// A weight with natural parameters $(\lambda, p)$, mean $m$ and variance $v$ gets the variance $v + v^2\,\mathrm{Var}(e_\lambda - m e_p)$,
    /// which is that of the privacy noise $e$ in its mean to first order.
    #[must_use]
    pub fn new(model: &Network, fit: &Fit) -> Self {
        let mut cavity = NetworkCavity::default();
        cavity.prepare(model, &fit.natural);
        let noise_variance = match model.noise {
            OutputNoise::Known(variance) => variance,
            OutputNoise::Unknown(_) => {
                let Gamma { shape, rate } = Gamma::from_natural(&fit.natural[2 * model.weights()..]);
                rate / (shape - 1.0)
            }
        };
        let means = cavity.means().to_vec();
        let variances = means.iter().enumerate().map(|(k, mean)| {
            let variance = 1.0 / fit.natural[model.weights() + k];
            variance + variance * variance * fit.noise.image(k, |noise| noise[0] -= mean * noise[1])[0]
        });
        let aware = NetworkCavity::new(means.clone(), variances.collect(), noise_variance);
        Self { model: model.clone(), aware, naive: cavity, noise_variance }
    }

    /// What is known of the target of a record with these inputs.
    ///
    /// # Panics
    /// If there are not as many inputs as the network has.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.aware, inputs)
    }

    /// The same as if there had been no privacy noise: too sure of itself.
    ///
    /// # Panics
    /// If there are not as many inputs as the network has.
    #[must_use]
    pub fn predict_naively(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.naive, inputs)
    }

    fn with(&self, weights: &NetworkCavity, inputs: &[f64]) -> Prediction {
        assert_eq!(inputs.len(), self.model.inputs(), "as many inputs as the network has");
        let (mean, variance) = weights.output(&self.model, inputs);
        Prediction { mean, variance, noise_variance: self.noise_variance }
    }
}
