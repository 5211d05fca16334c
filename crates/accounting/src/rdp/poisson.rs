//! The Poisson-sampled Gaussian under add/remove adjacency.

use crate::error::{Error, check};
use crate::gaussian::check_multiplier;
use crate::normal::LN_SQRT_2PI;

/// $\varepsilon(\alpha)$ of one Gaussian release on a Poisson sample, under add/remove adjacency, at any real
/// $\alpha > 1$.
///
/// With $P = (1-q)N(0,\sigma^2) + qN(1,\sigma^2)$ and $Q = N(0,\sigma^2)$ it is
/// $\frac{1}{\alpha-1}\ln A_\alpha$, $A_\alpha = E_Q[(1+y)^\alpha]$, $y = q(e^{u}-1)$, $u=(2x-1)/2\sigma^2$
/// (Mironov, Talwar, Zhang 2019, who also show that the other direction is never larger). Only
/// $A_\alpha - 1$ is evaluated, as a sum or integral of non-negative terms, so nothing cancels:
///
/// - integer $\alpha$: $\sum_{k\ge2}\binom{\alpha}{k}(1-q)^{\alpha-k}q^k\,(e^{k(k-1)/2\sigma^2}-1)$;
/// - real $\alpha$: $E_Q[(1+y)^\alpha - 1 - \alpha y]$, since $E_Q\[y\]=0$, by the trapezoidal rule, whose error is
///   exponentially small for an analytic integrand.
///
/// # Citation
/// I. Mironov, K. Talwar, L. Zhang. *Renyi Differential Privacy of the Sampled Gaussian Mechanism.* 2019.
pub fn poisson_gaussian(order: f64, rate: f64, noise_multiplier: f64) -> Result<f64, Error> {
    check_multiplier(noise_multiplier)?;
    check(rate > 0.0 && rate <= 1.0, "sampling rate", "in (0, 1]", rate)?;
    check(order > 1.0 && order.is_finite(), "Renyi order", "finite and above 1", order)?;
    let unamplified = 0.5 * order / (noise_multiplier * noise_multiplier);
    if rate == 1.0 {
        return Ok(unamplified);
    }
    let log_excess = if order.fract() == 0.0 && order <= INTEGER_LIMIT {
        log_excess_integer(order, rate, noise_multiplier)
    } else {
        log_excess_real(order, rate, noise_multiplier)
    };
    // ln A = ln(1 + excess); for a large excess the exponential would overflow.
    let log_moment = if log_excess > 36.0 { log_excess } else { log_excess.exp().ln_1p() };
    Ok((log_moment / (order - 1.0)).min(unamplified))
}

/// Above this order the integral takes fewer evaluations than the sum has terms.
const INTEGER_LIMIT: f64 = 4096.0;

/// $\ln(A_\alpha - 1)$ for an integer order.
fn log_excess_integer(order: f64, rate: f64, sigma: f64) -> f64 {
    let (log_q, log_p) = (rate.ln(), (-rate).ln_1p());
    let half_precision = 0.5 / (sigma * sigma);
    let mut log_binomial = order.ln();
    let mut terms = LogSum::default();
    for k in 2..=order as u64 {
        let k = k as f64;
        log_binomial += ((order - k + 1.0) / k).ln();
        let exponent = k * (k - 1.0) * half_precision;
        let log_growth = if exponent > 36.0 { exponent } else { exponent.exp_m1().ln() };
        terms.add(log_binomial + (order - k) * log_p + k * log_q + log_growth);
    }
    terms.total()
}

/// $\ln(A_\alpha - 1)$ for a real order.
fn log_excess_real(order: f64, rate: f64, sigma: f64) -> f64 {
    // In z = x / sigma. The integrand is analytic in a strip of half-width pi * sigma, and within a bounded factor
    // of a Gaussian bump in between 0 and order / sigma, so the step below makes the error far smaller than 1e-12.
    let step = 0.125 * sigma.min(1.0);
    let tail = 10.0 + 2.0 * order.sqrt();
    let (first, last) = ((-tail / step).floor() as i64, ((order / sigma + tail) / step).ceil() as i64);
    let mut terms = LogSum::default();
    for i in first..=last {
        let z = i as f64 * step;
        let u = (z - 0.5 / sigma) / sigma;
        // ln y, where y = q (e^u - 1) itself would overflow.
        let log_y = rate.ln() + u;
        let log_excess = if u > 40.0 && log_y > 36.0 {
            order * log_y + (-(order.ln() - (order - 1.0) * log_y).exp()).ln_1p()
        } else {
            log_power_excess(order, rate * u.exp_m1())
        };
        terms.add(log_excess - 0.5 * z * z);
    }
    terms.total() + step.ln() - LN_SQRT_2PI
}

/// $\ln[(1+y)^a - 1 - a y]$ for $y > -1$, $a > 1$.
fn log_power_excess(a: f64, y: f64) -> f64 {
    if (a * y).abs() < 1e-2 {
        // a(a-1)/2 y^2 [1 + (a-2)/3 y (1 + (a-3)/4 y (1 + ...))]
        let mut series = 1.0;
        for k in (3..12).rev() {
            let k = f64::from(k);
            series = 1.0 + (a - k + 1.0) / k * y * series;
        }
        return (0.5 * a * (a - 1.0) * series).ln() + 2.0 * y.abs().ln();
    }
    let exponent = a * y.ln_1p();
    if exponent > 36.0 {
        exponent + (-((a * y).ln_1p() - exponent).exp()).ln_1p()
    } else {
        (exponent.exp_m1() - a * y).ln()
    }
}

/// A running $\ln\sum e^{t}$.
#[derive(Default)]
pub(super) struct LogSum {
    largest: Option<f64>,
    scaled: f64,
}

impl LogSum {
    pub(super) fn add(&mut self, term: f64) {
        match self.largest {
            _ if term == f64::NEG_INFINITY => {}
            Some(top) if term <= top => self.scaled += (term - top).exp(),
            Some(top) => {
                self.scaled = self.scaled * (top - term).exp() + 1.0;
                self.largest = Some(term);
            }
            None => (self.largest, self.scaled) = (Some(term), 1.0),
        }
    }

    pub(super) fn total(&self) -> f64 {
        self.largest.map_or(f64::NEG_INFINITY, |top| top + self.scaled.ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_equals_the_sum_at_integers() {
        for sigma in [0.2, 0.6, 1.0, 4.0, 50.0] {
            for rate in [1e-9, 1e-4, 0.01, 0.3, 0.9] {
                for order in [2.0, 3.0, 7.0, 40.0, 200.0] {
                    let (sum, integral) =
                        (log_excess_integer(order, rate, sigma), log_excess_real(order, rate, sigma));
                    let error = (sum - integral).abs() / sum.abs().max(1.0);
                    assert!(error < 1e-11, "sigma {sigma}, rate {rate}, order {order}: {sum} {integral}");
                }
            }
        }
    }

    #[test]
    fn grows_with_the_order_and_the_rate_and_falls_with_the_noise() {
        let mut last = 0.0;
        for tenths in 11..400 {
            let value = poisson_gaussian(f64::from(tenths) / 10.0, 0.01, 0.7).unwrap();
            assert!(value >= last, "order {tenths}/10: {value} {last}");
            last = value;
        }
        assert!(poisson_gaussian(3.5, 0.2, 1.0).unwrap() < poisson_gaussian(3.5, 0.3, 1.0).unwrap());
        assert!(poisson_gaussian(3.5, 0.2, 1.1).unwrap() < poisson_gaussian(3.5, 0.2, 1.0).unwrap());
    }
}
