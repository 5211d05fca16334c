//! Distance of a fitted posterior over the component means from the true one.
//!
//! [`accuracy`] is what we report. [`published`] is what the public code behind Table 1 of Vinaroz and Park computes,
//! kept only so that its printed numbers can be compared like with like.

use thiserror::Error;

use crate::cholesky::{cholesky, log_determinant, solve_lower};
use crate::matching::assignment;
use crate::mixture::squared_distance;
pub use reticent_core::family::Moments;

/// Errors of the comparison of two posteriors.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetricError {
    /// One has more components than the other, or neither has any.
    #[error("the truth has {truth} components and the fit has {fit}")]
    Components {
        /// Components of the truth.
        truth: usize,
        /// Components of the fit.
        fit: usize,
    },
    /// A mean or covariance is not of the common dimension.
    #[error("component {component} is not of dimension {dimension}")]
    Dimension {
        /// Its place in the truth or in the fit.
        component: usize,
        /// The dimension of the first true component.
        dimension: usize,
    },
}

/// Distances between a true and a fitted posterior, components paired by [`pairing`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// `||M - M_hat||_F` over all means.
    pub f_mean: f64,
    /// `sqrt(sum_j ||V_j - V_hat_j||_F^2)`.
    pub f_cov: f64,
    /// `(1/J) sum_j KL(N(m_j, V_j) || N(m_hat_j, V_hat_j))`; infinite if a covariance is not positive definite.
    pub kl_truth_fit: f64,
    /// The same with truth and fit exchanged.
    pub kl_fit_truth: f64,
}

/// The two numbers that the public code prints into Table 1. Neither matches the name of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// "F-norm": the mean over components of the *squared* error of the means, and that of the covariances, averaged.
    pub f_norm: f64,
    /// "KL-divergence": `(1/2J) sum_j [dm^T V_j^-1 dm + log(det V_j / det V_hat_j)]`. The trace term is missing (the
    /// code has `tr(V_hat^-1 V_hat) - d = 0` in its place), so it can be negative; the paper prints the absolute
    /// value. Infinite if a covariance is not positive definite.
    pub kl: f64,
}

/// For each true component the fitted one it is paired with: least total squared distance between means.
///
/// A fit whose means are not finite is paired in its own order.
pub fn pairing(truth: &[Moments], fit: &[Moments]) -> Result<Vec<usize>, MetricError> {
    check(truth, fit)?;
    let costs = |t: &Moments| fit.iter().map(|f| squared_distance(&t.mean, &f.mean)).collect();
    let cost: Vec<Vec<f64>> = truth.iter().map(costs).collect();
    Ok(assignment(&cost).unwrap_or_else(|_| (0..truth.len()).collect()))
}

/// Compares a fitted posterior with the true one.
pub fn accuracy(truth: &[Moments], fit: &[Moments]) -> Result<Accuracy, MetricError> {
    let pairs = pairing(truth, fit)?;
    let (mean, covariance) = squared_errors(truth, fit, &pairs);
    let j = truth.len() as f64;
    let average = |kl: fn(&Moments, &Moments) -> f64| {
        truth.iter().zip(&pairs).map(|(t, &f)| kl(t, &fit[f])).sum::<f64>() / j
    };
    Ok(Accuracy {
        f_mean: infinite_if_nan(mean.sqrt()),
        f_cov: infinite_if_nan(covariance.sqrt()),
        kl_truth_fit: average(|truth, fit| infinite_if_nan(truth.kl(fit))),
        kl_fit_truth: average(|truth, fit| infinite_if_nan(fit.kl(truth))),
    })
}

/// The share of `means` that lie in the region of their component: the ellipsoid that has `level` of its probability.
/// Components are paired with the means that they are nearest to in total.
///
/// # Errors
/// As [`accuracy`].
pub fn covered(means: &[Vec<f64>], fit: &[Moments], level: f64) -> Result<f64, MetricError> {
    let points: Vec<Moments> = means
        .iter()
        .map(|mean| Moments { mean: mean.clone(), covariance: vec![0.0; mean.len() * mean.len()] })
        .collect();
    let pairs = pairing(&points, fit)?;
    let inside = points.iter().zip(&pairs).filter(|(point, pair)| {
        let (d, fit) = (point.mean.len(), &fit[**pair]);
        let Some(l) = cholesky(&fit.covariance, d) else { return false };
        let gap: Vec<f64> = point.mean.iter().zip(&fit.mean).map(|(p, f)| p - f).collect();
        squared_norm(&solve_lower(&l, &gap)) <= chi_square_quantile(d, level)
    });
    Ok(inside.count() as f64 / means.len() as f64)
}

/// The quantile of a chi-square distribution, by bisection of its distribution function: the series of the incomplete
/// gamma function, $P(a, x) = x^a e^{-x} \sum_k x^k/\Gamma(a + k + 1)$, which suits any $x$ that a quantile needs.
#[must_use]
pub fn chi_square_quantile(freedom: usize, level: f64) -> f64 {
    let a = freedom as f64 / 2.0;
    let below = |x: f64| {
        let (mut term, mut sum) = ((a * x.ln() - x - libm::lgamma(a + 1.0)).exp(), 0.0);
        let mut k = a;
        while term > 1e-17 * sum || k < x {
            sum += term;
            k += 1.0;
            term *= x / k;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    while below(high) < level {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(middle) < level { low = middle } else { high = middle }
    }
    2.0 * high
}

/// The numbers of the public code (`mvinaroz/stochastic-EP`, `MoG_code/mog.py`, commit `d700bb3`), with its pairing:
/// each true component in turn takes the nearest fitted one still free, so the order of the components matters.
pub fn published(truth: &[Moments], fit: &[Moments]) -> Result<Published, MetricError> {
    check(truth, fit)?;
    let pairs = greedy_pairing(truth, fit);
    let (mean, covariance) = squared_errors(truth, fit, &pairs);
    let j = truth.len() as f64;
    let kl: f64 = truth.iter().zip(&pairs).map(|(t, &f)| traceless_kl(t, &fit[f])).sum();
    Ok(Published { f_norm: infinite_if_nan((mean + covariance) / j / 2.0), kl: kl / j })
}

fn traceless_kl(truth: &Moments, fit: &Moments) -> f64 {
    let d = truth.mean.len();
    let (Some(lt), Some(lf)) = (cholesky(&truth.covariance, d), cholesky(&fit.covariance, d)) else {
        return f64::INFINITY;
    };
    let difference: Vec<f64> = truth.mean.iter().zip(&fit.mean).map(|(t, f)| t - f).collect();
    let distance = squared_norm(&solve_lower(&lt, &difference));
    infinite_if_nan(0.5 * (distance + log_determinant(&lt, d) - log_determinant(&lf, d)))
}

fn greedy_pairing(truth: &[Moments], fit: &[Moments]) -> Vec<usize> {
    let mut free: Vec<usize> = (0..fit.len()).collect();
    let nearest = |t: &Moments| {
        let distance = |f: usize| squared_distance(&t.mean, &fit[f].mean);
        let place = (0..free.len()).min_by(|&a, &b| distance(free[a]).total_cmp(&distance(free[b])));
        free.remove(place.expect("there are as many fitted components as true ones"))
    };
    truth.iter().map(nearest).collect()
}

/// Sums over the pairs of `||m - m_hat||^2` and `||V - V_hat||_F^2`.
fn squared_errors(truth: &[Moments], fit: &[Moments], pairs: &[usize]) -> (f64, f64) {
    let pairs = || truth.iter().zip(pairs).map(|(t, &f)| (t, &fit[f]));
    let mean = pairs().map(|(t, f)| squared_distance(&t.mean, &f.mean)).sum();
    let covariance = pairs().map(|(t, f)| squared_distance(&t.covariance, &f.covariance)).sum();
    (mean, covariance)
}

fn check(truth: &[Moments], fit: &[Moments]) -> Result<(), MetricError> {
    if truth.is_empty() || truth.len() != fit.len() {
        return Err(MetricError::Components { truth: truth.len(), fit: fit.len() });
    }
    let dimension = truth[0].mean.len();
    let fits = |c: &Moments| c.mean.len() == dimension && c.covariance.len() == dimension * dimension;
    let misfit = [truth, fit].iter().find_map(|side| side.iter().position(|c| !fits(c)));
    misfit.map_or(Ok(()), |component| Err(MetricError::Dimension { component, dimension }))
}

fn squared_norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

/// A diverged fit has an infinite distance.
fn infinite_if_nan(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

#[cfg(test)]
mod tests {
    /// Tabulated quantiles, to the digits of the tables.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, level, known) in
            [(1, 0.95, 3.841), (2, 0.98, 7.824), (4, 0.95, 9.488), (10, 0.5, 9.342)]
        {
            assert!((chi_square_quantile(freedom, level) - known).abs() < 5e-4, "{freedom} {level}");
        }
    }

    use super::*;

    fn component(mean: [f64; 2], covariance: [f64; 4]) -> Moments {
        Moments { mean: mean.to_vec(), covariance: covariance.to_vec() }
    }

    fn truth() -> Vec<Moments> {
        vec![component([0.0, 0.0], [2.0, 0.5, 0.5, 1.0]), component([3.0, 1.0], [1.0, -0.2, -0.2, 0.4])]
    }

    #[test]
    fn the_truth_is_at_distance_zero_in_any_order() {
        let mut fit = truth();
        fit.reverse();
        let distance = accuracy(&truth(), &fit).unwrap();
        assert_eq!((distance.f_mean, distance.f_cov), (0.0, 0.0));
        assert!(distance.kl_truth_fit.abs() < 1e-15 && distance.kl_fit_truth.abs() < 1e-15);
        let figures = published(&truth(), &fit).unwrap();
        assert_eq!((figures.f_norm, figures.kl), (0.0, 0.0));
    }

    #[test]
    fn a_covariance_ten_times_too_wide_has_a_trace_term() {
        let mut fit = truth();
        fit.iter_mut().for_each(|c| c.covariance.iter_mut().for_each(|v| *v *= 10.0));
        let distance = accuracy(&truth(), &fit).unwrap();
        // d/2 (r - 1 - log r) with d = 2 and r = 1/10, then r = 10.
        assert!((distance.kl_truth_fit - (0.1 - 1.0 + 10f64.ln())).abs() < 1e-14);
        assert!((distance.kl_fit_truth - (10.0 - 1.0 - 10f64.ln())).abs() < 1e-14);
        let norm = truth().iter().map(|c| squared_norm(&c.covariance)).sum::<f64>().sqrt();
        assert!((distance.f_cov - 9.0 * norm).abs() < 1e-14);
        // Without its trace term the published figure rewards the wide fit: -d/2 log 10.
        let figures = published(&truth(), &fit).unwrap();
        assert!((figures.kl + 10f64.ln()).abs() < 1e-14);
        assert!((figures.f_norm - 81.0 * norm * norm / 4.0).abs() < 1e-13);
    }

    #[test]
    fn a_shift_of_the_mean_is_measured_in_the_second_precision() {
        let p = vec![component([0.0, 0.0], [1.0, 0.0, 0.0, 1.0])];
        let q = vec![component([3.0, 4.0], [4.0, 0.0, 0.0, 4.0])];
        let distance = accuracy(&p, &q).unwrap();
        assert_eq!(distance.f_mean, 5.0);
        // 1/2 [2/4 + 25/4 - 2 + log 16] and 1/2 [8 + 25 - 2 - log 16].
        assert!((distance.kl_truth_fit - 0.5 * (0.5 + 6.25 - 2.0 + 16f64.ln())).abs() < 1e-14);
        assert!((distance.kl_fit_truth - 0.5 * (8.0 + 25.0 - 2.0 - 16f64.ln())).abs() < 1e-14);
    }

    #[test]
    fn greedy_pairing_depends_on_the_order_and_ours_does_not() {
        let at = |x: f64| component([x, 0.0], [1.0, 0.0, 0.0, 1.0]);
        let fit = vec![at(0.9), at(-5.0)];
        // In this order the first true component takes the fitted one that the second needs.
        let (order, reverse) = (vec![at(0.0), at(1.0)], vec![at(1.0), at(0.0)]);
        assert!(published(&order, &fit).unwrap().f_norm > published(&reverse, &fit).unwrap().f_norm);
        assert_eq!(accuracy(&order, &fit).unwrap(), accuracy(&reverse, &fit).unwrap());
    }

    #[test]
    fn an_indefinite_or_diverged_fit_is_infinitely_far() {
        let mut fit = truth();
        fit[0].covariance = vec![1.0, 2.0, 2.0, 1.0];
        let distance = accuracy(&truth(), &fit).unwrap();
        assert_eq!((distance.kl_truth_fit, distance.kl_fit_truth), (f64::INFINITY, f64::INFINITY));
        assert!(distance.f_cov.is_finite());
        fit[1].mean[0] = f64::NAN;
        assert_eq!(accuracy(&truth(), &fit).unwrap().f_mean, f64::INFINITY);
        assert_eq!(published(&truth(), &fit).unwrap().f_norm, f64::INFINITY);
    }

    #[test]
    fn shapes_must_agree() {
        let error = MetricError::Components { truth: 2, fit: 1 };
        assert_eq!(accuracy(&truth(), &truth()[..1]), Err(error));
        let mut fit = truth();
        fit[1].covariance.pop();
        assert_eq!(published(&truth(), &fit), Err(MetricError::Dimension { component: 1, dimension: 2 }));
    }
}
