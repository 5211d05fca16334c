//! Composition theorems for mechanisms that are known by their $(\varepsilon_0, \delta_0)$ alone.

use crate::error::{Error, check, check_delta};
use crate::root::boundary;

/// Basic composition: $(k\varepsilon_0, k\delta_0)$.
pub fn basic(epsilon: f64, delta: f64, times: u64) -> (f64, f64) {
    (times as f64 * epsilon, times as f64 * delta)
}

/// Strong composition: $\varepsilon_0\sqrt{2k\ln(1/\delta')} + k\varepsilon_0(e^{\varepsilon_0}-1)$ at total
/// $\delta = k\delta_0 + \delta'$, and never more than basic composition.
///
/// # Citation
/// C. Dwork, A. Roth. *The Algorithmic Foundations of Differential Privacy.* 2014, Theorem 3.20.
pub fn strong(epsilon: f64, times: u64, delta_slack: f64) -> Result<f64, Error> {
    check_pure(epsilon)?;
    check_delta(delta_slack)?;
    let k = times as f64;
    let advanced = epsilon * (-2.0 * k * delta_slack.ln()).sqrt() + k * epsilon * epsilon.exp_m1();
    Ok(advanced.min(k * epsilon))
}

/// The closed form of Kairouz, Oh and Viswanath for mechanisms that may differ: the smallest of basic composition and
/// two refinements of strong composition, at total $\delta = 1-(1-\tilde\delta)\prod(1-\delta_i)$.
///
/// `releases` are $(\varepsilon_i, \delta_i)$ with how often each happens.
///
/// # Citation
/// P. Kairouz, S. Oh, P. Viswanath. *The Composition Theorem for Differential Privacy.* 2017, Theorem 3.5.
pub fn heterogeneous(releases: &[(f64, f64, u64)], delta: f64) -> Result<f64, Error> {
    check_delta(delta)?;
    let (mut sum, mut drift, mut squares, mut log_keep) = (0.0, 0.0, 0.0, 0.0);
    for &(epsilon, delta0, times) in releases {
        check_pure(epsilon)?;
        check((0.0..1.0).contains(&delta0), "delta of a release", "in [0, 1)", delta0)?;
        let k = times as f64;
        sum += k * epsilon;
        drift += k * epsilon * (0.5 * epsilon).tanh();
        squares += k * epsilon * epsilon;
        log_keep += k * (-delta0).ln_1p();
    }
    let slack = remaining_delta(delta, log_keep)?;
    let first = drift + (2.0 * squares * (std::f64::consts::E + squares.sqrt() / slack).ln()).sqrt();
    let second = drift + (-2.0 * squares * slack.ln()).sqrt();
    Ok(sum.min(first).min(second))
}

/// The smallest $\varepsilon$ of $k$ mechanisms that are each $(\varepsilon_0,\delta_0)$-DP, with no further assumption:
/// the exact profile of $k$-fold randomised response.
///
/// With $p = e^{\varepsilon_0}/(1+e^{\varepsilon_0})$,
/// $$1-\delta = (1-\delta_0)^k\Bigl(1-\sum_{j:\,\ell_j>\varepsilon}\binom{k}{j}p^{k-j}(1-p)^j
///   \bigl(1-e^{\varepsilon-\ell_j}\bigr)\Bigr),\qquad \ell_j=(k-2j)\varepsilon_0 .$$
///
/// # Citation
/// Kairouz, Oh, Viswanath 2017, Theorem 3.3; J. Murtagh, S. Vadhan. *The Complexity of Computing the Optimal
/// Composition of Differential Privacy.* 2018.
pub fn optimal_epsilon(epsilon: f64, delta0: f64, times: u64, delta: f64) -> Result<f64, Error> {
    check_pure(epsilon)?;
    check_delta(delta)?;
    check((0.0..1.0).contains(&delta0), "delta of a release", "in [0, 1)", delta0)?;
    let target = remaining_delta(delta, times as f64 * (-delta0).ln_1p())?.ln();
    let top = times as f64 * epsilon;
    let excess = |x: f64| Ok::<_, Error>(log_profile(epsilon, times, x) - target);
    let at_zero = excess(0.0)?;
    if at_zero <= 0.0 {
        return Ok(0.0);
    }
    boundary((0.0, at_zero), (top, f64::NEG_INFINITY), 1e-13, |x| {
        // ln delta falls to minus infinity at the top; keep the search finite.
        excess(x).map(|value| value.max(-1e3))
    })
}

/// The smallest $\delta$ at `target` of $k$ mechanisms that are each $(\varepsilon_0,\delta_0)$-DP.
pub fn optimal_delta(epsilon: f64, delta0: f64, times: u64, target: f64) -> Result<f64, Error> {
    check_pure(epsilon)?;
    check(target >= 0.0, "epsilon", "not negative", target)?;
    check((0.0..1.0).contains(&delta0), "delta of a release", "in [0, 1)", delta0)?;
    let profile = log_profile(epsilon, times, target).exp();
    // 1 - (1 - delta0)^k (1 - profile)
    Ok(-(times as f64 * (-delta0).ln_1p() + (-profile).ln_1p()).exp_m1())
}

/// $\ln\delta(x)$ of $k$-fold randomised response.
fn log_profile(epsilon: f64, times: u64, x: f64) -> f64 {
    let k = times as f64;
    // Losses above x are those of j < (k - x/epsilon)/2 false responses.
    let bound = 0.5 * (k - x / epsilon);
    if bound <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let log_false = -epsilon - (-epsilon).exp().ln_1p();
    let log_true = -(-epsilon).exp().ln_1p();
    let mode = k * log_false.exp();
    let spread = 40.0 * (k * log_false.exp() * log_true.exp()).sqrt() + 40.0;
    let mut j = (bound.ceil() - 1.0).min((mode + spread).floor()).min(k);
    let mut log_binomial = libm::lgamma(k + 1.0) - libm::lgamma(j + 1.0) - libm::lgamma(k - j + 1.0);
    let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0f64);
    while j >= 0.0 {
        let gap = (k - 2.0 * j) * epsilon - x;
        let term = log_binomial + (k - j) * log_true + j * log_false + (-(-gap).exp_m1()).ln();
        if term > largest {
            sum = sum * (largest - term).exp() + 1.0;
            largest = term;
        } else {
            sum += (term - largest).exp();
            if j < mode && term < largest - 42.0 {
                break;
            }
        }
        log_binomial += (j / (k - j + 1.0)).ln();
        j -= 1.0;
    }
    largest + sum.ln()
}

/// The share of `delta` left for the composition when each mechanism has infinite loss with probability $\delta_0$:
/// $\tilde\delta = 1 - (1-\delta)/\prod(1-\delta_i)$.
fn remaining_delta(delta: f64, log_keep: f64) -> Result<f64, Error> {
    let slack = -((-delta).ln_1p() - log_keep).exp_m1();
    check(slack > 0.0, "delta", "above the sum of the deltas of the releases", delta)?;
    Ok(slack)
}

fn check_pure(epsilon: f64) -> Result<f64, Error> {
    check(epsilon > 0.0 && epsilon.is_finite(), "epsilon of a release", "positive and finite", epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.1 sqrt(200 ln 1e5) + 10 (e^0.1 - 1) = 5.850.
    #[test]
    fn strong_composition_of_a_hundred() {
        assert!((strong(0.1, 100, 1e-5).unwrap() - 5.850).abs() < 5e-4);
        assert_eq!(strong(0.1, 3, 1e-5).unwrap(), 0.1 * 3.0);
    }

    #[test]
    fn optimal_is_below_every_other_bound_and_consistent() {
        for epsilon in [0.001, 0.01, 0.1, 1.0] {
            for times in [1, 2, 7, 100, 5000, 1_000_000] {
                let delta = 1e-6;
                let best = optimal_epsilon(epsilon, 0.0, times, delta).unwrap();
                assert!(best <= strong(epsilon, times, delta).unwrap() * (1.0 + 1e-12));
                assert!(best <= heterogeneous(&[(epsilon, 0.0, times)], delta).unwrap() * (1.0 + 1e-12));
                if best > 0.0 {
                    let back = optimal_delta(epsilon, 0.0, times, best).unwrap();
                    assert!((back / delta - 1.0).abs() < 1e-5, "{epsilon} {times}: {back}");
                }
            }
        }
    }

    #[test]
    fn deltas_of_the_releases_must_fit_into_the_total() {
        assert!(optimal_epsilon(0.1, 1e-6, 100, 1e-5).is_err());
        assert!(heterogeneous(&[(0.1, 1e-6, 100)], 1e-5).is_err());
    }
}
