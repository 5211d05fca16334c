//! The posterior of a mixture: its components, and predictions.

use crate::engine::{Fit, Noise};
use crate::family::{Covariance, Dirichlet, Gamma, Gaussian, Moments};
use crate::math::matrix;
use crate::model::mixture::{Mixture, NoiseVariance, Weights};
use crate::model::{ModelError, Point, Posterior, Predicted, Saved};
use crate::theory;
use serde::{Deserialize, Serialize};

/// The posterior of a component's mean, and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Posterior mean $m$.
    pub mean: Vec<f64>,
    /// Posterior covariance $V$ without the privacy noise, in row-major order.
    pub data_covariance: Vec<f64>,
    /// Covariance added by the privacy noise, to first order: $V \Sigma V$, where $\Sigma$ is the covariance of the
    /// noise in $\lambda$ minus the noise in $P$ times $m$.
    pub noise_covariance: Vec<f64>,
    /// The expected divergence due to the privacy noise, to leading order: see [`theory`](crate::theory).
    pub expected_kl: f64,
    /// The expected weight.
    pub weight: f64,
}

impl Component {
    /// Mean and covariance including the privacy noise: these should be reported.
    #[must_use]
    pub fn moments(&self) -> Moments {
        let both = self.data_covariance.iter().zip(&self.noise_covariance);
        Moments { mean: self.mean.clone(), covariance: both.map(|(data, noise)| data + noise).collect() }
    }

    /// Mean and covariance that ignore the privacy noise: overconfident.
    #[must_use]
    pub fn naive_moments(&self) -> Moments {
        Moments { mean: self.mean.clone(), covariance: self.data_covariance.clone() }
    }
}

/// The posterior of a mixture: global parameters only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixturePosterior {
    /// The components.
    pub components: Vec<Component>,
    /// The expected noise variance about a component's mean.
    pub noise_variance: f64,
}

/// The leading order of $E[KL]$ for the noise in a block: its covariance, in the coordinates of a full precision.
fn expected_kl(family: Gaussian, natural: &[f64], mean: &[f64], noise: &Noise, block: usize) -> f64 {
    let (d, narrow) = (family.dimension, family.width());
    let wide = Gaussian { covariance: Covariance::Full, ..family };
    let mut precision = vec![0.0; d * d];
    family.precision(natural, &mut precision);
    // The image of each coordinate of the family in those of a full precision.
    let images: Vec<Vec<f64>> = (0..narrow)
        .map(|k| {
            let unit: Vec<f64> = (0..narrow).map(|i| f64::from(u8::from(i == k))).collect();
            let mut full = unit[..d].to_vec();
            full.resize(wide.width(), 0.0);
            let mut matrix = vec![0.0; d * d];
            family.precision(&unit, &mut matrix);
            wide.set_precision(&matrix, &mut full);
            full
        })
        .collect();
    let covariance = noise.image(block, |_| ());
    let size = wide.width();
    let mut full = vec![0.0; size * size];
    for (k, c) in covariance.iter().enumerate().filter(|(_, c)| **c != 0.0) {
        for (u, a) in images[k / narrow].iter().enumerate().filter(|(_, a)| **a != 0.0) {
            for (v, b) in images[k % narrow].iter().enumerate() {
                full[u * size + v] += a * c * b;
            }
        }
    }
    theory::expected_kl_general(&precision, mean, d, &full)
}

impl MixturePosterior {
    /// The posterior of a fit; `None` if it is improper.
    #[must_use]
    pub fn new(model: &Mixture, fit: &Fit) -> Option<Self> {
        let (gamma, dirichlet) = model.gamma_and_dirichlet();
        let weights = match model.weights {
            Weights::Uniform => vec![1.0 / model.components as f64; model.components],
            Weights::Dirichlet(_) => Dirichlet::from_natural(&fit.natural[dirichlet]).mean(),
        };
        let component = |(k, weight)| {
            let Moments { mean, covariance } = model.family.moments(&fit.natural[model.component(k)])?;
            let noise_covariance = fit.noise.in_mean(k, model.family, &mean, &covariance);
            let expected_kl =
                expected_kl(model.family, &fit.natural[model.component(k)], &mean, &fit.noise, k);
            Some(Component { mean, data_covariance: covariance, noise_covariance, expected_kl, weight })
        };
        let noise_variance = match model.noise {
            NoiseVariance::Known(variance) => variance,
            NoiseVariance::Unknown(_) => {
                let Gamma { shape, rate } = Gamma::from_natural(&fit.natural[gamma]);
                rate / (shape - 1.0)
            }
        };
        let components: Option<Vec<_>> = weights.into_iter().enumerate().map(component).collect();
        Some(Self { components: components?, noise_variance })
    }

    /// $\log p(x)$ of a new record, and the responsibility of each component.
    ///
    /// # Panics
    /// If the record has another dimension.
    #[must_use]
    pub fn predict(&self, record: &[f64]) -> (f64, Vec<f64>) {
        let d = record.len();
        let mut logs: Vec<f64> = Vec::with_capacity(self.components.len());
        for component in &self.components {
            let mut covariance = component.moments().covariance;
            (0..d).for_each(|i| covariance[i * (d + 1)] += self.noise_variance);
            let mut l = vec![0.0; d * d];
            let mut gap: Vec<f64> = record.iter().zip(&component.mean).map(|(x, m)| x - m).collect();
            logs.push(if matrix::cholesky(&covariance, d, &mut l) {
                matrix::solve_lower(&l, d, &mut gap);
                let distance: f64 = gap.iter().map(|x| x * x).sum();
                let constant = d as f64 * std::f64::consts::TAU.ln() + matrix::log_determinant(&l, d);
                component.weight.ln() - 0.5 * (distance + constant)
            } else {
                f64::NEG_INFINITY
            });
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
        let log_density = top + total.ln();
        (log_density, logs.iter().map(|log| (log - log_density).exp()).collect())
    }
}

impl Posterior for MixturePosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (log_density, probabilities) = MixturePosterior::predict(self, inputs);
        Predicted::Component { log_density, probabilities }
    }

    fn points(&self) -> Vec<Point> {
        let point = |(k, component): (usize, &Component)| {
            let d = component.mean.len();
            let sd = |covariance: &[f64]| (0..d).map(|i| covariance[i * (d + 1)].sqrt()).collect();
            Point {
                name: format!("component {}", k + 1),
                mean: component.mean.clone(),
                records_sd: sd(&component.data_covariance),
                sd: sd(&component.moments().covariance),
            }
        };
        self.components.iter().enumerate().map(point).collect()
    }

    fn warnings(&self, inputs: &[String]) -> Vec<String> {
        let warning = |(k, component): (usize, &Component)| {
            let outside = component.mean.iter().zip(inputs).filter(|(mean, _)| mean.abs() > 1.0);
            let names: Vec<&str> = outside.map(|(_, name)| name.as_str()).collect();
            (!names.is_empty()).then(|| {
                format!(
                     "the mean of component {} is outside the bounds of {}, where no record is: it is due to noise or the \
                      prior rather than a group of records",
                    k + 1,
                    names.join(", ")
                )
            })
        };
        self.components.iter().enumerate().filter_map(warning).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
