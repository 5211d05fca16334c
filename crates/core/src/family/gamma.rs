use serde::{Deserialize, Serialize};

/// Gamma densities with natural parameters $(a - 1, -b)$, for shape $a$ and rate $b$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gamma {
    /// Shape $a$.
    pub shape: f64,
    /// Rate $b$.
    pub rate: f64,
}

impl Gamma {
    /// Number of natural parameters.
    pub const WIDTH: usize = 2;

    /// The member with these natural parameters, which may be improper.
    #[must_use]
    pub fn from_natural(natural: &[f64]) -> Self {
        Self { shape: natural[0] + 1.0, rate: -natural[1] }
    }

    /// The natural parameters.
    #[must_use]
    pub fn natural(self) -> [f64; 2] {
        [self.shape - 1.0, -self.rate]
    }

    /// Raises the shape and the rate of natural parameters to at least those of `min`. Returns whether one was below.
    pub fn raise(natural: &mut [f64], min: Self) -> bool {
        let found = Self::from_natural(natural);
        let allowed = Self { shape: found.shape.max(min.shape), rate: found.rate.max(min.rate) };
        natural.copy_from_slice(&allowed.natural());
        found != allowed
    }

    /// The member with this mean and this variance.
    #[must_use]
    pub fn from_moments(mean: f64, variance: f64) -> Self {
        Self { shape: mean * mean / variance, rate: mean / variance }
    }

    /// $a/b$.
    #[must_use]
    pub fn mean(self) -> f64 {
        self.shape / self.rate
    }

    /// $E[\log x] = \psi(a) - \log b$.
    #[must_use]
    pub fn mean_log(self) -> f64 {
        digamma(self.shape) - self.rate.ln()
    }

    /// Whether it is a proper density: shape and rate are positive.
    #[must_use]
    pub fn is_proper(self) -> bool {
        self.shape > 0.0 && self.rate > 0.0 && self.shape.is_finite() && self.rate.is_finite()
    }

    /// $KL(p \Vert q) = (a_p - a_q)\psi(a_p) - \log\frac{\Gamma(a_p)}{\Gamma(a_q)} + a_q\log\frac{b_p}{b_q} + a_p\frac{b_q - b_p}{b_p}$.
    #[must_use]
    pub fn kl(self, q: Self) -> f64 {
        if !(self.is_proper() && q.is_proper()) {
            return f64::INFINITY;
        }
        (self.shape - q.shape) * digamma(self.shape) - libm::lgamma(self.shape)
            + libm::lgamma(q.shape)
            + q.shape * (self.rate / q.rate).ln()
            + self.shape * (q.rate - self.rate) / self.rate
    }
}

/// $\psi(x) = \Gamma'(x)/\Gamma(x)$ for $x > 0$, by recurrence to $x \ge 10$ and the asymptotic series there.
#[must_use]
pub fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Bernoulli numbers B_2k / 2k.
    let terms =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];
    sum + x.ln() - 0.5 / x - terms.iter().rev().fold(0.0, |tail, term| (tail + term) * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values: $-\gamma$, $-\gamma - 2\log 2$, and $\psi(x+1) = \psi(x) + 1/x$.
    #[test]
    fn digamma_has_its_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + EULER).abs() < 1e-14);
        assert!((digamma(0.5) + EULER + 2.0 * 2f64.ln()).abs() < 1e-14);
        for x in [0.3, 3.7, 9.99, 42.0, 1e6] {
            assert!(
                (digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-13 * digamma(x + 1.0).abs().max(1.0),
                "{x}"
            );
        }
    }

    /// Against quadrature of $\int p \log(p/q)$.
    #[test]
    fn divergence_is_the_integral() {
        let (p, q) = (Gamma { shape: 3.0, rate: 2.0 }, Gamma { shape: 1.5, rate: 0.7 });
        let log_density = |g: Gamma, x: f64| {
            g.shape * g.rate.ln() - libm::lgamma(g.shape) + (g.shape - 1.0) * x.ln() - g.rate * x
        };
        let step = 1e-4;
        let integral: f64 = (1..400_000)
            .map(|k| k as f64 * step)
            .map(|x| log_density(p, x).exp() * (log_density(p, x) - log_density(q, x)) * step)
            .sum();
        assert!((p.kl(q) - integral).abs() < 1e-6, "{} {integral}", p.kl(q));
        assert!(p.kl(p).abs() < 1e-14);
        assert_eq!(p.kl(Gamma { shape: -1.0, rate: 1.0 }), f64::INFINITY);
        let (mean, variance) = (1.5, 0.75);
        assert_eq!(Gamma::from_moments(mean, variance), p);
        assert_eq!(Gamma::from_natural(&p.natural()), p);
    }
}
