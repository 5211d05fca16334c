use crate::math::normal;

/// A Gaussian prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Mean of the output and of the target.
    pub mean: f64,
    /// Variance of the output, including that of the privacy noise.
    pub variance: f64,
    /// Variance of a target about the output.
    pub noise_variance: f64,
}

impl Prediction {
    /// $\log p(y)$ of a target.
    #[must_use]
    pub fn log_likelihood(&self, target: f64) -> f64 {
        let variance = self.variance + self.noise_variance;
        -0.5 * ((std::f64::consts::TAU * variance).ln() + (target - self.mean).powi(2) / variance)
    }

    /// The probability that a target is positive: that of the class $+1$ if targets are classes by a probit.
    #[must_use]
    pub fn positive(&self) -> f64 {
        normal::cdf(self.mean / (self.variance + self.noise_variance).sqrt())
    }

    /// The quantile of a target.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        self.mean + (self.variance + self.noise_variance).sqrt() * normal::quantile(probability)
    }
}
