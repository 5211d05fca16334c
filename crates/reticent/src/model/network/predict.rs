//! What a fitted network says about new records.

use super::{Network, NetworkCavity, OutputNoise};
use crate::engine::Fit;
use crate::family::Gamma;
use crate::model::Prediction;

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
    /// A weight with natural parameters $(\lambda, p)$, mean $m$ and variance $v$ gets the variance $v +
    /// v^2\,\mathrm{Var}(e_\lambda - m e_p)$, which is that of the privacy noise $e$ in its mean to first order.
    #[must_use]
    pub fn new(model: &Network, fit: &Fit) -> Self {
        let mut cavity = NetworkCavity::default();
        cavity.prepare(model, &fit.natural);
        let noise_variance = match model.noise {
            OutputNoise::Known(variance) => variance,
            OutputNoise::Probit => 1.0,
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

    /// With weights of these moments, with and without the privacy noise in the variances, in the order and the scale of the network's own,
    /// and this variance of targets.
    pub(crate) fn from_moments(
        model: &Network,
        means: Vec<f64>,
        variances: Vec<f64>,
        naive: Vec<f64>,
        noise_variance: f64,
    ) -> Self {
        let aware = NetworkCavity::new(means.clone(), variances, noise_variance);
        let naive = NetworkCavity::new(means, naive, noise_variance);
        Self { model: model.clone(), aware, naive, noise_variance }
    }

    /// How many inputs it has.
    pub(crate) fn inputs(&self) -> usize {
        self.model.inputs()
    }

    /// The means of weights, and their variances with and without the privacy noise in them.
    pub(crate) fn moments(&self) -> (&[f64], &[f64], &[f64]) {
        (self.aware.means(), self.aware.variances(), self.naive.variances())
    }

    /// What is known of the target of a record with these inputs. For a probit it is [`Prediction::positive`] that says how
    /// probable the class $+1$ is.
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
