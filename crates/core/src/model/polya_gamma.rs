//! Polya-Gamma variables, which make a binomial likelihood conjugate to Gaussian weights.
//!
//! For $\psi = w \cdot x$ and a target $y \in \{0, 1\}$,
//!
//! $$\frac{e^{y\psi}}{1 + e^\psi} = \tfrac12 e^{(y - 1/2)\psi} \int e^{-\omega\psi^2/2}\, PG(\omega|1, 0)\, d\omega.$$
//!
//! Given $\omega$ that is Gaussian in $w$. The optimal $q(\omega)$ is $PG(1, c)$ with $c^2 = E[\psi^2]$, of which
//! variational Bayes only needs the [`mean`]; the remaining likelihood is a bound,
//! $(y - 1/2)E[\psi] - \log(2\cosh(c/2))$.
//!
//! # Citation
//! Polson, Scott, Windle, "Bayesian inference for logistic models using Polya-Gamma latent variables", JASA 2013; Algorithm 4 of Park et
//! al., "Variational Bayes in private settings (VIPS)", JAIR 2020.

/// $E[\omega] = \tanh(c/2)/(2c)$ of $PG(1, c)$: 1/4 at 0, and never more.
#[must_use]
#[inline]
pub fn mean(c: f64) -> f64 {
    let c = c.abs();
    if c < 0.1 {
        // The next term of the series is -691 c^10 / 319,334,400, which is below 1e-15 of this.
        let square = c * c;
        let rest = 1.0 / 480.0 + square * (-17.0 / 80_640.0 + square * (31.0 / 1_451_520.0));
        0.25 + square * (-1.0 / 48.0 + square * rest)
    } else {
        // tanh(c/2) by one exponential, which is negligible beyond 40.
        let e = libm::exp(-c.min(40.0));
        (1.0 - e) / ((1.0 + e) * (2.0 * c))
    }
}

/// $\log(2\cosh(c/2))$, the normaliser of a record in the bound.
#[must_use]
pub fn log_normaliser(c: f64) -> f64 {
    let c = c.abs();
    0.5 * c + (-c).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The series and the formula agree where they meet, and the limits are those of the formula.
    #[test]
    fn the_mean_is_stable_everywhere() {
        assert_eq!(mean(0.0), 0.25);
        for c in [1e-3, 0.05, 0.099_999_9, 0.100_000_1, 0.3, 2.0, 30.0, 50.0] {
            let formula = (0.5f64 * c).tanh() / (2.0 * c);
            assert!((mean(c) - formula).abs() < 1e-15, "{c}");
        }
        assert!((mean(1e3) - 5e-4).abs() < 1e-18 && mean(-2.0) == mean(2.0));
        // A variance of a Bernoulli is never above it: sigma'(c) <= E[omega].
        for c in [0.1, 1.0, 3.0, 10.0f64] {
            let p = 1.0 / (1.0 + (-c).exp());
            assert!(p * (1.0 - p) <= mean(c) && mean(c) <= 0.25);
            assert!((log_normaliser(c) - (2.0 * (0.5 * c).cosh()).ln()).abs() < 1e-14);
        }
        assert!((log_normaliser(2000.0) - 1000.0).abs() < 1e-9);
    }

    /// At the optimal $c$ the bound touches the likelihood if the weights are known: $c = |\psi|$.
    #[test]
    fn the_bound_is_tight_for_known_weights() {
        for psi in [-3.0f64, -0.2, 0.0, 1.5] {
            for y in [0.0, 1.0] {
                let exact = y * psi - psi.exp().ln_1p();
                assert!(((y - 0.5) * psi - log_normaliser(psi) - exact).abs() < 1e-14);
            }
        }
    }
}
