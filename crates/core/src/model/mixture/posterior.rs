//! The posterior of a mixture: its components, and predictions.

use crate::engine::conjugate::choose;
use crate::engine::{Fit, Noise};
use crate::family::{Covariance, Dirichlet, Gamma, Gaussian, Moments};
use crate::math::matrix;
use crate::model::mixture::{Mixture, NoiseVariance, Weights};
use crate::model::parameters::{
    self, Block, Fixed, GaussianJoint, Joint, Marginal, POINT_ESTIMATE, Parameter, Term,
};
use crate::model::{Code, Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use crate::theory;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
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

/// Coordinates without uncertainty.
fn fixed(values: impl Iterator<Item = f64>) -> Joint {
    Joint::Independent(values.map(|value| Box::new(Fixed(value)) as Box<dyn Marginal>).collect())
}

impl Posterior for MixturePosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (log_density, probabilities) = MixturePosterior::predict(self, inputs);
        Predicted::Component { log_density, probabilities }
    }

    /// `weight[component]`, `mean[component, column]` and `noise_sd[column]`. The fit estimates the means; weights and noise that it is given are
    /// marked as fixed.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let inputs: Vec<(String, Option<&str>, f64, f64)> = codebook
            .places()
            .flat_map(|(_, column)| {
                let name = move |k: usize| match &column.code {
                    Code::Levels { levels } => format!("{} = {}", column.name, levels[k]),
                    _ => column.label(),
                };
                let unit = column.unit.as_deref();
                let (centre, scale) = (column.decode(0.0), column.decode_difference(1.0));
                (0..column.width()).map(move |k| (name(k), unit, centre, scale))
            })
            .collect();
        let component = |k: usize| ("component", (k + 1).to_string());
        let equal = self.components.windows(2).all(|pair| (pair[0].weight - pair[1].weight).abs() < 1e-12);
        let note = if equal { "fixed: equal weights" } else { POINT_ESTIMATE };
        let weight = |k: usize| Parameter::new("weight", vec![component(k)], k).with_note(note);
        let weights = Block {
            parameters: (0..self.components.len()).map(weight).collect(),
            joint: fixed(self.components.iter().map(|component| component.weight)),
        };
        let means = self.components.iter().enumerate().map(|(k, of)| {
            let mean = |(i, (name, unit, ..)): (usize, &(String, Option<&str>, f64, f64))| {
                Parameter::new("mean", vec![component(k), ("column", name.clone())], i).with_unit(*unit)
            };
            let term = |(i, &(_, _, centre, scale)): (usize, &(String, Option<&str>, f64, f64))| Term {
                weights: vec![(i, scale)],
                constant: centre,
            };
            let joint = GaussianJoint {
                mean: of.mean.clone(),
                covariance: parameters::Covariance::Full(of.moments().covariance),
                records: parameters::Covariance::Full(of.data_covariance.clone()),
                terms: inputs.iter().enumerate().map(term).collect(),
            };
            Block { parameters: inputs.iter().enumerate().map(mean).collect(), joint: Joint::Gaussian(joint) }
        });
        let noise = |(k, (name, unit, ..)): (usize, &(String, Option<&str>, f64, f64))| {
            let parameter = Parameter::new("noise_sd", vec![("column", name.clone())], k).with_unit(*unit);
            parameter.with_note("fixed by the settings")
        };
        let sd = self.noise_variance.sqrt();
        let noise = Block {
            parameters: inputs.iter().enumerate().map(noise).collect(),
            joint: fixed(inputs.iter().map(|(_, _, _, scale)| scale * sd)),
        };
        Parameters::new(std::iter::once(weights).chain(means).chain([noise]).collect())
    }

    /// A component by its weight, a draw of its mean, and noise; clipped to the bounds.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let weights: Vec<f64> = self.components.iter().map(|component| component.weight).collect();
        let Moments { mean, mut covariance } = self.components.get(choose(&weights, rng))?.moments();
        let d = mean.len();
        (0..d).for_each(|i| covariance[i * (d + 1)] += self.noise_variance);
        let factor = matrix::eigen(&covariance, d).ok()?.mapped(|value| value.max(0.0).sqrt());
        let normal: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
        let mut added = vec![0.0; d];
        matrix::times(&factor, d, &normal, &mut added);
        Some(mean.iter().zip(&added).map(|(mean, add)| (mean + add).clamp(-1.0, 1.0)).collect())
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
