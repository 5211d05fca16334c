//! The three-parameter-beta-normal prior of the weights: most are near 0, and some are large.
//!
//! $w_{jk} \sim N(0, \zeta_{jk})$, $\zeta_{jk} \sim \mathrm{Gam}(\frac12, \xi_{jk})$, $\xi_{jk} \sim \mathrm{Gam}(\frac12, \phi_k)$, $\phi_k \sim \mathrm{Gam}(\frac12, \omega)$,
//! $\omega \sim \mathrm{Gam}(\frac12, 1)$. All posteriors are functions of $E[w^2]$, which was released: they are
//! post-processing.
//! $q(\zeta)$ is a generalised inverse Gaussian with $p = 0$, $a = 2E[\xi]$, $b = E[w^2]$; the rate of $q(\xi)$ is $E[\phi] + E[\zeta]$, where the paper
//! prints $E[\zeta]$ alone.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use serde::{Deserialize, Serialize};

/// Means of the hyperparameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Shrinkage {
    /// $E[1/\zeta]$: prior precisions of the weights.
    pub(super) precision: Vec<f64>,
    /// $E[\xi]$.
    rate: Vec<f64>,
    /// $E[\phi]$ of each unit.
    unit: Vec<f64>,
    /// $E[\omega]$.
    global: f64,
}

impl Shrinkage {
    /// The start of the authors' code.
    pub(super) fn new(outputs: usize, units: usize) -> Self {
        let cells = outputs * units;
        Self { precision: vec![1.0; cells], rate: vec![0.5; cells], unit: vec![1.0; units], global: 0.5 }
    }

    /// Updates all posteriors once, from $E[w^2]$ in rows of outputs.
    pub(super) fn update(&mut self, squares: &[f64]) {
        let (cells, units) = (squares.len(), self.unit.len());
        let outputs = cells / units;
        for (i, square) in squares.iter().enumerate() {
            let (a, b) = (2.0 * self.rate[i], square.max(1e-12));
            let ratio = bessel_ratio((a * b).sqrt());
            self.precision[i] = ((a / b).sqrt() * ratio).min(1e6);
            let variance = (b / a).sqrt() * ratio;
            self.rate[i] = 1.0 / (self.unit[i / outputs] + variance);
        }
        for (unit, rates) in self.unit.iter_mut().zip(self.rate.chunks_exact(outputs)) {
            *unit = 0.5 * (outputs as f64 + 1.0) / (self.global + rates.iter().sum::<f64>());
        }
        self.global = 0.5 * (units as f64 + 1.0) / (1.0 + self.unit.iter().sum::<f64>());
    }
}

/// $K_1(x)/K_0(x)$, from $K_\nu(x) = \int_0^\infty e^{-x\cosh t}\cosh(\nu t)\,dt$: the trapezoidal rule converges exponentially there.
fn bessel_ratio(x: f64) -> f64 {
    if x > 1e4 {
        return 1.0 + 0.5 / x;
    }
    // The integrand is about as wide as x^(-1/2).
    let step = (0.5 / (1.0 + x).sqrt()).min(0.25);
    let (mut first, mut zeroth) = (0.5, 0.5);
    let mut t = step;
    loop {
        let cosh = t.cosh();
        let weight = (-x * (cosh - 1.0)).exp();
        zeroth += weight;
        first += weight * cosh;
        if weight * cosh < 1e-14 * first {
            return first / zeroth;
        }
        t += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Abramowitz and Stegun, 9.8: K0(1) = 0.4210244382, K1(1) = 0.6019072302; K0(0.1) = 2.4270690247, K1(0.1) = 9.8538447809;
    /// K0(5) = 0.0036910983, K1(5) = 0.0040446134.
    #[test]
    fn the_ratio_is_that_of_the_tables() {
        for (x, zeroth, first) in [
            (1.0, 0.421_024_438_2, 0.601_907_230_2),
            (0.1, 2.427_069_024_7, 9.853_844_780_9),
            (5.0, 0.003_691_098_334, 0.004_044_613_445),
        ] {
            let found = bessel_ratio(x);
            assert!((found / (first / zeroth) - 1.0).abs() < 1e-8, "{x}: {found}");
        }
        assert!((bessel_ratio(9999.0) - bessel_ratio(10_001.0)).abs() < 1e-7);
    }

    /// The mean of $1/\zeta$ against quadrature of its density $\zeta^{-1}e^{-(a\zeta + b/\zeta)/2}$.
    #[test]
    fn the_precision_is_that_of_the_posterior() {
        let mut shrinkage = Shrinkage::new(1, 1);
        let (a, b) = (2.0 * shrinkage.rate[0], 0.7);
        shrinkage.update(&[b]);
        let (mut mass, mut inverse) = (0.0, 0.0);
        for i in -4000..4000 {
            let z = (f64::from(i) * 0.005).exp(); // in log z the factor 1/z cancels
            let density = (-0.5 * (a * z + b / z)).exp();
            mass += density;
            inverse += density / z;
        }
        assert!((shrinkage.precision[0] / (inverse / mass) - 1.0).abs() < 1e-9);
    }
}
