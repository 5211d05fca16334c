//! The true posterior of the component means, from unprotected records.
//!
//! [`given_labels`] is exact when every label is known, which is the target of the public code behind Table 1.
//! [`nuts`] samples the actual target of inference: the labels are unknown and summed out.

mod diagnostics;
mod sampler;

pub use sampler::{Nuts, NutsOptions, TruthError, nuts};

use crate::metrics::Moments;
use crate::mixture::Mixture;

/// The posterior of each mean given the true labels.
///
/// A product of Gaussians: with `n_j` records in component `j`, the precision is `1/v + n_j / s^2` and the mean
/// `(m_j / v + sum_n x_n / s^2)` over it. Overconfident as a truth wherever the labels are in doubt.
pub fn given_labels(data: &Mixture) -> Vec<Moments> {
    conjugate(data, 1.0 / data.prior_variance)
}

/// The posterior that the public code compares with: as [`given_labels`], but the prior *variance* `v` is used as the
/// prior precision (its Stan model hands a covariance to `multi_normal_prec`). Only for [`crate::metrics::published`].
pub fn published(data: &Mixture) -> Vec<Moments> {
    conjugate(data, data.prior_variance)
}

fn conjugate(data: &Mixture, prior_precision: f64) -> Vec<Moments> {
    let d = data.dimension();
    let mut precision = vec![prior_precision; data.components()];
    let mut natural: Vec<Vec<f64>> =
        data.prior_means.iter().map(|m| m.iter().map(|m| m * prior_precision).collect()).collect();
    for (x, &label) in data.records().zip(&data.labels) {
        precision[label] += 1.0 / data.noise_variance;
        natural[label].iter_mut().zip(x).for_each(|(sum, x)| *sum += x / data.noise_variance);
    }
    let component = |(natural, precision): (Vec<f64>, f64)| {
        let mut covariance = vec![0.0; d * d];
        covariance.iter_mut().step_by(d + 1).for_each(|v| *v = 1.0 / precision);
        Moments { mean: natural.iter().map(|sum| sum / precision).collect(), covariance }
    };
    natural.into_iter().zip(precision).map(component).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records of component 0, none of component 1.
    fn small() -> Mixture {
        Mixture {
            prior_means: vec![vec![1.0], vec![-3.0]],
            prior_variance: 10.0,
            noise_variance: 0.25,
            means: vec![vec![0.0], vec![0.0]],
            labels: vec![0, 0],
            x: vec![2.0, 4.0],
        }
    }

    #[test]
    fn the_posterior_is_the_product_of_prior_and_likelihood() {
        let posterior = given_labels(&small());
        // Precision 0.1 + 2/0.25 = 8.1, natural mean 0.1 + 6/0.25 = 24.1.
        assert!((posterior[0].mean[0] - 24.1 / 8.1).abs() < 1e-14);
        assert!((posterior[0].covariance[0] - 1.0 / 8.1).abs() < 1e-15);
        assert!((posterior[1].mean[0] + 3.0).abs() < 1e-14);
        assert!((posterior[1].covariance[0] - 10.0).abs() < 1e-14);
    }

    #[test]
    fn the_published_posterior_has_prior_precision_ten() {
        let posterior = published(&small());
        assert!((posterior[0].mean[0] - 34.0 / 18.0).abs() < 1e-14);
        assert!((posterior[1].covariance[0] - 0.1).abs() < 1e-15);
    }
}
