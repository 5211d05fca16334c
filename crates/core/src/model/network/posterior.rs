//! Predictions of a fitted network.

use crate::engine::Fit;
use crate::family::Gamma;
use crate::model::DefinitionError;
use crate::model::network::{Network, NetworkCavity, OutputNoise};
use crate::model::regression::RegressionPosterior;
use crate::model::{
    Codebook, Contrast, Link, ModelError, Parameters, Posterior, Predicted, Prediction, Saved, Variances,
};
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// A fitted network.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedPosterior", into = "SavedPosterior")]
pub struct NetworkPosterior {
    model: Network,
    /// Includes the privacy noise in the variances of weights.
    aware: NetworkCavity,
    naive: NetworkCavity,
    noise_variance: f64,
    /// Variance of outputs in addition to that of the weights.
    misfit: f64,
}

impl NetworkPosterior {
    /// The posterior of a fit of this network.
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
        Self { model: model.clone(), aware, naive: cavity, noise_variance, misfit: 0.0 }
    }

    /// From the moments of weights, with and without the privacy noise in the variances, in the order and the scale
    /// of the network, and the variance of targets.
    pub(crate) fn from_moments(
        model: &Network,
        means: Vec<f64>,
        variances: Vec<f64>,
        naive: Vec<f64>,
        noise_variance: f64,
    ) -> Self {
        let aware = NetworkCavity::new(means.clone(), variances, noise_variance);
        let naive = NetworkCavity::new(means, naive, noise_variance);
        Self { model: model.clone(), aware, naive, noise_variance, misfit: 0.0 }
    }

    /// Adds a variance of outputs to that of the weights: the typical error of fits of this kind.
    #[must_use]
    pub fn with_misfit(mut self, variance: f64) -> Self {
        self.misfit = variance;
        self
    }

    /// Number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.model.inputs()
    }

    /// Whether its targets are two classes.
    #[must_use]
    pub fn has_classes(&self) -> bool {
        self.model.noise == OutputNoise::Probit
    }

    /// The predictive distribution of the target of a record with these inputs. For a probit,
    /// [`Prediction::positive`] is the probability of the class $+1$.
    ///
    /// # Panics
    /// If the number of inputs is not that of the network.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.aware, inputs)
    }

    /// The prediction that ignores the privacy noise: overconfident.
    ///
    /// # Panics
    /// If the number of inputs is not that of the network.
    #[must_use]
    pub fn predict_naively(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.naive, inputs)
    }

    /// A draw of the weights, including the privacy noise.
    pub(crate) fn draw_weights(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let moments = self.aware.means().iter().zip(self.aware.variances());
        let draw = |(mean, variance): (&f64, &f64)| {
            let normal: f64 = StandardNormal.sample(rng);
            mean + variance.sqrt() * normal
        };
        moments.map(draw).collect()
    }

    /// The output of the network with these weights.
    pub(crate) fn output(&self, weights: &[f64], inputs: &[f64]) -> f64 {
        let mut values = inputs.to_vec();
        for (k, layer) in self.model.layers.iter().enumerate() {
            values.push(1.0);
            let mut next = vec![0.0; layer.units];
            for (x, row) in values.iter().zip(weights[layer.weights()].chunks_exact(layer.units)) {
                next.iter_mut().zip(row).for_each(|(sum, w)| *sum += x * w * layer.scale);
            }
            if k + 1 < self.model.layers.len() {
                next.iter_mut().for_each(|sum| *sum = sum.max(0.0));
            }
            values = next;
        }
        values[0]
    }

    /// The means of the weights.
    pub(super) fn means(&self) -> Vec<f64> {
        self.aware.means().to_vec()
    }

    /// Whether the weights are a point estimate, without variances.
    pub(super) fn is_point(&self) -> bool {
        self.misfit == 0.0 && self.aware.variances().iter().all(|variance| *variance == 0.0)
    }

    /// The variance of outputs in addition to that of the weights.
    pub(super) fn misfit(&self) -> f64 {
        self.misfit
    }

    /// The standard deviation of targets about the output.
    pub(super) fn noise_sd(&self) -> f64 {
        self.noise_variance.sqrt()
    }

    fn with(&self, weights: &NetworkCavity, inputs: &[f64]) -> Prediction {
        assert_eq!(inputs.len(), self.model.inputs(), "as many inputs as the network has");
        let (mean, variance) = weights.output(&self.model, inputs);
        Prediction { mean, variance: variance + self.misfit, noise_variance: self.noise_variance }
    }
}

/// The serialised form.
#[derive(PartialEq, Serialize, Deserialize)]
struct SavedPosterior {
    /// Inputs, and units of hidden layers.
    sizes: Vec<usize>,
    classes: bool,
    means: Vec<f64>,
    variances: Vec<f64>,
    /// Variances without the privacy noise.
    naive: Vec<f64>,
    noise_variance: f64,
    #[serde(default)]
    misfit: f64,
}

impl From<NetworkPosterior> for SavedPosterior {
    fn from(posterior: NetworkPosterior) -> Self {
        let classes = posterior.has_classes();
        let NetworkPosterior { model, aware, naive, noise_variance, misfit } = posterior;
        let sizes = model.layers.iter().map(|layer| layer.inputs).collect();
        let [means, variances, naive] =
            [aware.means(), aware.variances(), naive.variances()].map(<[f64]>::to_vec);
        Self { sizes, classes, means, variances, naive, noise_variance, misfit }
    }
}

impl PartialEq for NetworkPosterior {
    fn eq(&self, other: &Self) -> bool {
        SavedPosterior::from(self.clone()) == other.clone().into()
    }
}

impl TryFrom<SavedPosterior> for NetworkPosterior {
    type Error = DefinitionError;

    fn try_from(saved: SavedPosterior) -> Result<Self, DefinitionError> {
        let SavedPosterior { sizes, classes, means, variances, naive, noise_variance, misfit } = saved;
        // Sizes may come from a file: no more weights than there are numbers.
        if sizes.len() > means.len() || sizes.iter().any(|&size| size > means.len()) {
            return Err(DefinitionError::NetworkShape);
        }
        let noise = if classes { OutputNoise::Probit } else { OutputNoise::Known(noise_variance) };
        let model = Network::new(&sizes, noise)?;
        if [&means, &variances, &naive].iter().any(|part| part.len() != model.weights()) {
            return Err(DefinitionError::NetworkShape);
        }
        let is_variance = |v: &f64| *v >= 0.0 && v.is_finite();
        let all = variances.iter().chain(&naive).chain([&misfit]);
        if !(means.iter().all(|m| m.is_finite()) && all.into_iter().all(is_variance)) {
            return Err(DefinitionError::NotPositive);
        }
        Ok(Self::from_moments(&model, means, variances, naive, noise_variance).with_misfit(misfit))
    }
}

impl Posterior for NetworkPosterior {
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let prediction = NetworkPosterior::predict(self, inputs);
        let naive = self.predict_naively(inputs).variance;
        let privacy = (prediction.variance - naive).max(0.0);
        let records = prediction.variance - privacy;
        let variances = Variances { records, privacy, targets: prediction.noise_variance };
        if self.has_classes() {
            let (probability, score) = (prediction.positive(), prediction.mean);
            return Predicted::Class { probability, score, link: Link::Probit, variances };
        }
        let quantiles = probabilities.iter().map(|&p| prediction.quantile(p)).collect();
        Predicted::Number { mean: prediction.mean, variances, quantiles }
    }

    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.named_parameters(codebook)
    }

    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        Some(self.contrast_of(inputs, reference))
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

/// The serialised form of a registered network, by the kind of fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum NetworkFit {
    /// A linear prediction, and a network for its residuals: predictions are within the bounds of the target.
    Residuals(RegressionPosterior),
    /// A network alone.
    Network(NetworkPosterior),
}

impl Posterior for NetworkFit {
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        match self {
            Self::Residuals(fit) => fit.predict_row(inputs, probabilities).within_bounds(),
            Self::Network(fit) => fit.predict_row(inputs, probabilities),
        }
    }

    fn parameters(&self, codebook: &Codebook) -> Parameters {
        match self {
            Self::Residuals(fit) => fit.parameters(codebook),
            Self::Network(fit) => fit.parameters(codebook),
        }
    }

    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        match self {
            Self::Residuals(fit) => fit.contrast(inputs, reference),
            Self::Network(fit) => fit.contrast(inputs, reference),
        }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
