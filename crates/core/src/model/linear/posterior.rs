//! The posterior of a regression: its weights, and predictions.

use crate::engine::{Fit, Noise};
use crate::family::{Covariance, Gamma, Moments};
use crate::math::matrix;
use crate::model::linear::site::along;
use crate::model::linear::{Linear, Prediction, Response, logistic};
use crate::model::parameters::{self, Block, GaussianJoint, Joint, Term, linear_terms, odds_ratios};
use crate::model::{
    Codebook, Contrast, Link, ModelError, Parameters, Posterior, Predicted, Saved, Variances,
};
use serde::{Deserialize, Serialize};

/// Iterations of the noise-aware mean.
const ROUNDS: usize = 10;

/// A fitted regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearPosterior {
    /// Moments of the weights and, last, the bias, including the privacy noise: these should be reported. For many
    /// weights the covariance may be only the diagonal.
    pub moments: Moments,
    /// Moments that ignore the privacy noise: overconfident.
    pub naive: Moments,
    /// The expected variance of a target about $w \cdot x$; 1 for a probit, and 0 for a logistic response, which adds its own.
    pub noise_variance: f64,
    /// The centre subtracted from inputs; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub centre: Vec<f64>,
    response: Response,
}

impl LinearPosterior {
    /// The posterior of a fit of this model; `None` if it is improper.
    ///
    /// Given the likelihood part $(\lambda_L, P_L)$ of the fit, $\lambda_L - P_L w$ has the variance $P_L$ from the
    /// records, and the privacy noise $e$ adds that of $e_\lambda - e_P w$, which is $\Sigma$ at the posterior mean.
    /// So
    /// $$\lambda_L - P_L w \sim N(0, P_L + \Sigma), \qquad V^{-1} = \Lambda_0 + P_L(P_L + \Sigma)^{-1}P_L.$$
    ///
    /// To first order that adds $V\Sigma V$ to the covariance; in directions without information it leaves the prior.
    #[must_use]
    pub fn new(model: &Linear, fit: &Fit) -> Option<Self> {
        let (weights, gamma) = fit.natural.split_at(model.family.width());
        let naive = model.family.moments(weights)?;
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
        let likelihood: Vec<f64> = fit.natural.iter().zip(&model.prior).map(|(q, prior)| q - prior).collect();
        let (moments, centre) = (noise_aware(model, &likelihood, &fit.noise, &naive)?, Vec::new());
        Some(Self { moments, naive, noise_variance, centre, response })
    }

    /// The prior as a posterior, for an improper fit.
    #[must_use]
    pub fn of_prior(model: &Linear) -> Self {
        let covariance = model.precisions.iter().map(|precision| 1.0 / precision).collect();
        let moments = Moments { mean: vec![0.0; model.precisions.len()], covariance };
        let noise_variance = match model.response {
            Response::Known(variance) => variance,
            Response::Unknown(Gamma { shape, rate }) => rate / (shape - 1.0),
            Response::Probit => 1.0,
            Response::Logistic => 0.0,
        };
        let (naive, response) = (moments.clone(), model.response);
        Self { moments, naive, noise_variance, centre: Vec::new(), response }
    }

    /// A logistic regression with these weights, whose second moments are those without privacy noise, for centred
    /// inputs.
    #[must_use]
    pub(crate) fn logistic(moments: Moments, naive: Moments, centre: Vec<f64>) -> Self {
        Self { moments, naive, noise_variance: 0.0, centre, response: Response::Logistic }
    }

    /// Whether the link is logistic, so that $w \cdot x$ is the log odds.
    #[must_use]
    pub fn is_logistic(&self) -> bool {
        self.response == Response::Logistic
    }

    /// The predictive distribution of $w \cdot x$, and of the target of a regression, including the privacy noise.
    ///
    /// # Panics
    /// If the number of inputs is not that of the model.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.moments, inputs)
    }

    /// The prediction that ignores the privacy noise: overconfident.
    ///
    /// # Panics
    /// If the number of inputs is not that of the model.
    #[must_use]
    pub fn predict_naively(&self, inputs: &[f64]) -> Prediction {
        self.with(&self.naive, inputs)
    }

    /// The probability that the target is positive, the class $+1$, including the privacy noise.
    ///
    /// # Panics
    /// If the number of inputs is not that of the model.
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

    fn with(&self, weights: &Moments, inputs: &[f64]) -> Prediction {
        let centred = self.centre.is_empty() || self.centre.len() == inputs.len();
        assert!(centred && inputs.len() + 1 == weights.mean.len(), "the number of inputs of the model");
        let full = weights.covariance.len() > weights.mean.len();
        let centred: Vec<f64> = inputs.iter().zip(&self.centre).map(|(x, centre)| x - centre).collect();
        let inputs = if self.centre.is_empty() { inputs } else { &centred };
        let (mean, variance) = along(&weights.mean, &weights.covariance, full, inputs);
        Prediction { mean, variance, noise_variance: self.noise_variance }
    }
}

/// Noise-aware moments of the weights; those without noise are the start.
/// `None` if they are improper, or if the eigenvalues of the precision are not finite or do not converge.
pub(super) fn noise_aware(
    model: &Linear,
    likelihood: &[f64],
    noise: &Noise,
    naive: &Moments,
) -> Option<Moments> {
    let (family, d) = (model.family, model.family.dimension);
    let (information, shift_of) = discounted(model, likelihood, noise)?;
    // A variance is clipped to 0 from below, whatever the rounding.
    let mut residual_covariance = information.clone();
    matrix::raise_eigenvalues(&mut residual_covariance, d, 0.0).ok()?;
    let mut found = naive.clone();
    let mut centre = vec![0.0; d];
    // The noise depends on the mean; a few iterations converge, as more noise only shrinks the mean.
    for _ in 0..ROUNDS {
        let gradient = noise.in_gradient(0, family, &centre);
        if gradient.iter().all(|x| *x == 0.0) {
            return Some(found);
        }
        let total: Vec<f64> = residual_covariance.iter().zip(&gradient).map(|(a, b)| a + b).collect();
        let gain = matrix::multiply(&information, &matrix::symmetric_inverse(&total, d)?, d);
        let mut precision = matrix::multiply(&gain, &information, d);
        precision = (0..d * d).map(|k| 0.5 * (precision[k] + precision[k % d * d + k / d])).collect();
        (0..d).for_each(|i| precision[i * (d + 1)] += model.precisions[i]);
        found.covariance = matrix::symmetric_inverse(&precision, d)?;
        let mut shift = vec![0.0; d];
        matrix::times(&gain, d, &shift_of, &mut shift);
        matrix::times(&found.covariance, d, &shift, &mut found.mean);
        centre.clone_from(&found.mean);
    }
    Some(found)
}

/// The precision $P_L$ of the records, discounted by what may be noise, and $\lambda_L$ for the same mean.
///
/// The variance of weights in a direction is proportional to $P^{-2}$. If $p$ is an eigenvalue of the noisy precision
/// and $\sigma$ the standard deviation of its noise, then to second order $E[P^{-2}] = p^{-2}(1 + 3\sigma^2/p^2)$, so
/// $p(1 + 3\sigma^2/p^2)^{-1/2}$ replaces $p$. Eigenvectors depend on the noise too: eigenvalues of a symmetric
/// matrix of noise of standard deviation $s$ have the mean square $s^2(d + 1)/2$, which is $\sigma^2$. Directions in
/// which all precision may be noise keep the prior.
fn discounted(model: &Linear, likelihood: &[f64], noise: &Noise) -> Option<(Vec<f64>, Vec<f64>)> {
    let (family, d) = (model.family, model.family.dimension);
    let mut information = vec![0.0; d * d];
    family.precision(likelihood, &mut information);
    let precisions = d..family.width();
    let mean = noise.variances()[precisions.clone()].iter().sum::<f64>() / precisions.len() as f64;
    if mean == 0.0 {
        return Some((information, likelihood[..d].to_vec()));
    }
    let directions = if family.covariance == Covariance::Full { (d + 1) as f64 / 2.0 } else { 1.0 };
    let found = matrix::eigen(&information, d).ok()?;
    let share = |value: f64| 1.0 / (1.0 + 3.0 * directions * mean / (value * value)).sqrt();
    let mut shift = vec![0.0; d];
    for (value, vector) in found.pairs().filter(|(value, _)| *value > 0.0) {
        let along: f64 = vector.iter().zip(likelihood).map(|(a, b)| a * b).sum();
        shift.iter_mut().zip(vector).for_each(|(out, a)| *out += share(value) * along * a);
    }
    let left = found.mapped(|value| if value > 0.0 { share(value) * value } else { 0.0 });
    Some((left, shift))
}

impl Posterior for LinearPosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (aware, naive) = (LinearPosterior::predict(self, inputs), self.predict_naively(inputs));
        let privacy = (aware.variance - naive.variance).max(0.0);
        let variances =
            Variances { records: aware.variance - privacy, privacy, targets: aware.noise_variance };
        let link = if self.is_logistic() { Link::Logistic } else { Link::Probit };
        Predicted::Class { probability: self.positive(inputs), score: aware.mean, link, variances }
    }

    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let (terms, mut parameters) = linear_terms(codebook, &self.centre, 1.0, 0.0);
        if self.is_logistic() {
            parameters.extend(odds_ratios(&parameters));
        }
        let variables = self.moments.mean.len();
        let joint = Joint::Gaussian(GaussianJoint {
            mean: self.moments.mean.clone(),
            covariance: parameters::Covariance::of(self.moments.covariance.clone(), variables),
            records: parameters::Covariance::of(self.naive.covariance.clone(), variables),
            terms,
        });
        Parameters::new(vec![Block { parameters, joint }])
    }

    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        let weights = inputs.iter().zip(reference).enumerate().map(|(k, (x, reference))| (k, x - reference));
        let term = Term { weights: weights.filter(|(_, gap)| *gap != 0.0).collect(), constant: 0.0 };
        let variables = self.moments.mean.len();
        let variance = |moments: &Moments| {
            parameters::Covariance::of(moments.covariance.clone(), variables).variance(&term)
        };
        let (all, records) = (variance(&self.moments), variance(&self.naive));
        Some(Contrast {
            mean: term.at(&self.moments.mean),
            records: records.min(all),
            privacy: (all - records).max(0.0),
        })
    }

    fn centre(&self) -> Option<&[f64]> {
        (!self.centre.is_empty()).then_some(&self.centre)
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
