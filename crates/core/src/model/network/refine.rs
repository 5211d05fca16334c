//! The hyper-prior of the weights: expectation propagation over the factors $N(w_k; 0, 1/\lambda)$.
//!
//! A factor's cavity is $N(m, v)$ for its weight and a gamma $(a, b)$ for $\lambda$. Its evidence is $Z(a) = N(0; m, v + b/(a-1))$, a Student
//! $t$ replaced by a Gaussian of the same variance. Matching the moments of the weight gives a factor with mean 0 and precision
//! $(a-1)/b$, whatever $m$ and $v$ are; those of $\lambda$ follow from $Z(a)$, $Z(a+1)$ and $Z(a+2)$ as for the noise of the output
//! (Hernandez-Lobato, Adams, ICML 2015, section 3.2).

use super::site::tilted_gamma;
use crate::family::Gamma;
use serde::{Deserialize, Serialize};

/// The approximation of $\lambda$, with the contribution of each weight's factor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HyperPrior {
    /// Distribution of $\lambda$, from the hyper-prior and all factors.
    gamma: Gamma,
    /// Natural parameters that each weight's factor contributed to it.
    factors: Vec<[f64; 2]>,
}

impl HyperPrior {
    pub(super) fn new(prior: Gamma, weights: usize) -> Self {
        Self { gamma: prior, factors: vec![[0.0; 2]; weights] }
    }

    /// $(a - 1)/b$.
    pub(super) fn precision(&self) -> f64 {
        (self.gamma.shape - 1.0) / self.gamma.rate
    }

    /// Visits all weights once. `natural` are $m/v$ and $1/v$ of $q$ and `prior` those of the factors, which are
    /// updated; factors without a proper cavity are skipped.
    pub(super) fn refine(&mut self, natural: (&[f64], &[f64]), prior: (&mut [f64], &mut [f64])) {
        let weights = natural.0.iter().zip(natural.1).zip(prior.0.iter_mut().zip(prior.1));
        for (((q_lambda, q_precision), (lambda, precision)), factor) in weights.zip(&mut self.factors) {
            let total = self.gamma.natural();
            let cavity = Gamma::from_natural(&[total[0] - factor[0], total[1] - factor[1]]);
            let variance = 1.0 / (q_precision - *precision);
            if !(variance > 0.0 && variance < 1e6 && cavity.shape > 1.0 && cavity.rate > 0.0) {
                continue;
            }
            let mean = (q_lambda - *lambda) * variance;
            let Some(tilted) = tilted_gamma(cavity, mean, variance) else {
                continue;
            };
            self.gamma = tilted;
            let (new, old) = (tilted.natural(), cavity.natural());
            *factor = [new[0] - old[0], new[1] - old[1]];
            (*lambda, *precision) = (0.0, (cavity.shape - 1.0) / cavity.rate);
        }
    }
}
