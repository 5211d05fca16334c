//! Sampling a fixed number of records without replacement, afresh for each release, under replace-one adjacency.

use crate::Method;
use crate::error::{Error, check};
use crate::event::Mechanism;
use crate::normal::LN_SQRT_2PI;
use crate::rdp::{mechanism_rdp, poisson::LogSum};

/// Which bound of Wang, Balle and Kasiviswanathan (2019).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theorem {
    /// Theorem 9, for any mechanism. For the Gaussian it does not go to zero as the noise grows.
    Nine,
    /// Theorem 27, for the Gaussian mechanism: each term is the smaller of Theorem 9's and one that does vanish.
    TwentySeven,
}

impl From<Theorem> for Method {
    fn from(theorem: Theorem) -> Self {
        match theorem {
            Theorem::Nine => Self::Wang9,
            Theorem::TwentySeven => Self::Wang27,
        }
    }
}

/// The Renyi curve of one release on a uniformly random subset, at every order up to a limit.
///
/// For integer $\alpha$ and $\gamma = B/N$, $\varepsilon(\alpha) = \frac{1}{\alpha-1}\ln A$,
/// $$A = 1 + \binom{\alpha}{2}\gamma^2\min\{4(e^{\epsilon(2)}-1),\,2e^{\epsilon(2)}\}
///     + \sum_{j=3}^{\alpha}\binom{\alpha}{j}\gamma^j t_j ,$$
/// with $\epsilon(\cdot)$ the curve of the unsampled mechanism, $t_j = e^{(j-1)\epsilon(j)}\min\{2,
/// (e^{\epsilon(\infty)}-1)^j\}$ in Theorem 9 and, for the Gaussian, the smaller of that and
/// $4\sqrt{B(2\lfloor j/2\rfloor)\,B(2\lceil j/2\rceil)}$ in Theorem 27, where
/// $B(l) = E_{x\sim N(0,\sigma^2)}[(e^{(2x-1)/2\sigma^2}-1)^l]$. Differencing loses all digits of $B$; for even $l$
/// the integrand is not negative and the trapezoidal rule is accurate.
///
/// Between integers $(\alpha-1)\varepsilon(\alpha)$ is convex, so its chord is a bound.
///
/// # Citation
/// Y.-X. Wang, B. Balle, S. Kasiviswanathan. *Subsampled Renyi Differential Privacy and Analytical Moments
/// Accountant.* AISTATS 2019.
#[derive(Debug, Clone)]
pub struct FixedSize {
    mechanism: Mechanism,
    rate: f64,
    /// $\ln j!$.
    log_factorial: Vec<f64>,
    /// $\ln t_j + j\ln\gamma$.
    log_terms: Vec<f64>,
}

impl FixedSize {
    /// The curve for orders up to `highest`.
    pub fn new(mechanism: Mechanism, rate: f64, theorem: Theorem, highest: usize) -> Result<Self, Error> {
        check(rate > 0.0 && rate <= 1.0, "sampling rate", "in (0, 1]", rate)?;
        let highest = highest.max(2);
        let mut log_factorial = vec![0.0; highest + 1];
        for j in 2..=highest {
            log_factorial[j] = log_factorial[j - 1] + (j as f64).ln();
        }
        let central = match (theorem, mechanism) {
            (Theorem::TwentySeven, Mechanism::Gaussian { noise_multiplier }) => {
                log_even_moments(noise_multiplier, highest + 1)
            }
            _ => Vec::new(),
        };
        let pure = mechanism.pure_epsilon();
        let log_terms = (0..=highest)
            .map(|j| {
                let order = j as f64;
                let general = if j < 2 {
                    f64::NEG_INFINITY
                } else if j == 2 {
                    let second = mechanism_rdp(mechanism, 2.0);
                    let log_range = 2.0 * log_expm1(pure);
                    (4f64.ln() + log_expm1(second)).min(second + log_range.min(2f64.ln()))
                } else {
                    let log_range = order * log_expm1(pure);
                    (order - 1.0) * mechanism_rdp(mechanism, order) + log_range.min(2f64.ln())
                };
                let tight = if j < 3 || central.is_empty() {
                    f64::INFINITY
                } else {
                    4f64.ln() + 0.5 * (central[j / 2] + central[j.div_ceil(2)])
                };
                general.min(tight) + order * rate.ln()
            })
            .collect();
        Ok(Self { mechanism, rate, log_factorial, log_terms })
    }

    /// $\varepsilon(\alpha)$, never above that of the unsampled mechanism.
    pub fn rdp(&self, order: f64) -> f64 {
        let unsampled = mechanism_rdp(self.mechanism, order);
        if self.rate == 1.0 { unsampled } else { self.raw(order).min(unsampled) }
    }

    /// The bound as published, which can exceed that of the unsampled mechanism.
    pub fn raw(&self, order: f64) -> f64 {
        let (below, above) = (order.floor(), order.ceil());
        let weight = order - below;
        let chord = (1.0 - weight) * self.log_moment(below as usize)
            + if weight > 0.0 { weight * self.log_moment(above as usize) } else { 0.0 };
        chord / (order - 1.0)
    }

    /// $\ln A$ at an integer order; 0 at order 1.
    fn log_moment(&self, order: usize) -> f64 {
        let factorial = &self.log_factorial;
        let mut terms = LogSum::default();
        for j in 2..=order {
            terms.add(factorial[order] - factorial[j] - factorial[order - j] + self.log_terms[j]);
        }
        let excess = terms.total();
        if excess > 36.0 { excess } else { excess.exp().ln_1p() }
    }
}

/// $\ln(e^x - 1)$.
fn log_expm1(x: f64) -> f64 {
    if x > 36.0 { x } else { x.exp_m1().ln() }
}

/// $\ln B(2k)$ for $2k$ up to `highest`, indexed by $k$.
///
/// On each side of its zero at $x = 1/2$ the integrand is log-concave, so for each $k$ we sum outwards from the
/// highest node of either side until the terms are negligible.
fn log_even_moments(sigma: f64, highest: usize) -> Vec<f64> {
    // In z = x / sigma, where the trapezoidal rule with this step errs by less than e^-39 of the value: the
    // integrand is entire and grows like e^{y^2} on the line Im z = y.
    const STEP: f64 = 0.25;
    let tail = 12.0 + 2.0 * (highest as f64).sqrt();
    let left = (-tail / STEP).floor() as i64;
    let right = ((highest as f64 / sigma + tail) / STEP).ceil() as i64;
    let nodes: Vec<(f64, f64)> = (left..=right)
        .map(|i| {
            let z = i as f64 * STEP;
            let u = (z - 0.5 / sigma) / sigma;
            let log_gap = if u > 36.0 { u } else { u.exp_m1().abs().ln() };
            (log_gap, -0.5 * z * z)
        })
        .collect();
    // The first node right of x = 1/2, where the integrand vanishes.
    let zero = (((0.5 / sigma) / STEP).ceil() as i64 - left) as usize;
    let mut peaks = [zero.saturating_sub(1), zero.min(nodes.len() - 1)];
    let rest = (1..=highest.div_ceil(2)).map(|k| {
        let power = 2.0 * k as f64;
        let log_term = |i: usize| power * nodes[i].0 + nodes[i].1;
        // The peaks move outwards as the power grows.
        while peaks[0] > 0 && log_term(peaks[0] - 1) >= log_term(peaks[0]) {
            peaks[0] -= 1;
        }
        while peaks[1] + 1 < nodes.len() && log_term(peaks[1] + 1) >= log_term(peaks[1]) {
            peaks[1] += 1;
        }
        let top = log_term(peaks[0]).max(log_term(peaks[1]));
        let sum_outwards = |indices: &mut dyn Iterator<Item = usize>| {
            let terms = indices.map(|i| (log_term(i) - top).exp());
            terms.take_while(|&term| term > 1e-18).sum::<f64>()
        };
        let [a, b] = peaks;
        let sum = sum_outwards(&mut (0..=a).rev())
            + sum_outwards(&mut (a + 1..zero))
            + sum_outwards(&mut (zero..b).rev())
            + sum_outwards(&mut (b..nodes.len()));
        top + sum.ln() + STEP.ln() - LN_SQRT_2PI
    });
    std::iter::once(0.0).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $B(l)$ is the $l$-th forward difference at 0 of $i \mapsto e^{i(i-1)/2\sigma^2}$; for small $l$ and large
    /// exponents the difference itself is accurate.
    #[test]
    fn moments_equal_forward_differences_where_those_are_safe() {
        for sigma in [0.3f64, 0.5, 1.0] {
            let values = log_even_moments(sigma, 6);
            for (k, value) in values.iter().enumerate().skip(1) {
                let l = 2 * k as i32;
                let mut difference = 0.0;
                let mut binomial = 1.0;
                for i in 0..=l {
                    let sign = if (l - i) % 2 == 0 { 1.0 } else { -1.0 };
                    difference += sign * binomial * (f64::from(i * (i - 1)) / (2.0 * sigma * sigma)).exp();
                    binomial *= f64::from(l - i) / f64::from(i + 1);
                }
                assert!((value.exp() / difference - 1.0).abs() < 1e-11, "{sigma} {l}");
            }
        }
    }

    #[test]
    fn theorem_27_never_exceeds_theorem_9_and_neither_the_unsampled_mechanism() {
        for sigma in [0.2, 1.0, 5.0, 100.0, 1e4] {
            for rate in [1e-9, 1e-3, 0.1, 0.7, 1.0] {
                let mechanism = Mechanism::Gaussian { noise_multiplier: sigma };
                let theorem_9 = FixedSize::new(mechanism, rate, Theorem::Nine, 64).unwrap();
                let tight = FixedSize::new(mechanism, rate, Theorem::TwentySeven, 64).unwrap();
                for order in [1.5, 2.0, 3.0, 9.5, 64.0] {
                    let (a, b) = (tight.rdp(order), theorem_9.rdp(order));
                    assert!(a <= b && b <= mechanism_rdp(mechanism, order), "{sigma} {rate} {order}");
                    assert!(a > 0.0);
                }
            }
        }
    }
}
