//! Posteriors from noisy sufficient statistics: one release, and post-processing.
//!
//! In an exponential family records enter the posterior only through a sum $t = \sum_n s(x_n)$. It is released once
//! with noise, $y = t + \eta$, and the noise is part of the model: the posterior is that of the parameters given $y$,
//! with $t$ latent, $p(\theta|y) \propto p(\theta) \sum_t p(t|\theta) f(y - t)$. Nothing is truncated or projected,
//! so there is no bias. The *naive* posterior takes $y$ for $t$, for comparison.
//!
//! | statistics | how the true ones are marginalised |
//! |---|---|
//! | one count out of a public number | enumeration |
//! | counts of categories | [`NoisyCounts`]: Gibbs steps by pairs, with the probabilities integrated out |
//! | sums of bounded numbers | the central limit theorem: a grid ([`Scalar`]) for one parameter, [`slice`](fn@slice) steps for more |
//!
//! # Citation
//! Foulds, Geumlek, Welling, Chaudhuri, "On the theory and practice of privacy-preserving Bayesian data analysis", UAI 2016;
//! Bernstein, Sheldon, "Differentially private Bayesian inference for exponential families", NeurIPS 2018.

mod cells;
mod counts;
mod noise_distribution;
mod plan;
mod scalar;
mod slice;

#[cfg(test)]
pub(crate) use cells::contribution;
pub(crate) use cells::{Categories, Cells, one_hot_level};
pub use counts::{NoisyCounts, Total};
pub(crate) use counts::{choose, dirichlet};
pub use noise_distribution::NoiseDistribution;
pub use plan::{Sensitivity, StatisticsPlan};
pub use scalar::Scalar;
pub use slice::slice;

use serde::{Deserialize, Serialize};

/// How noisy statistics are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseTreatment {
    /// The noise is part of the likelihood.
    #[default]
    NoiseAware,
    /// Noisy statistics are taken for true ones; impossible values are projected to the nearest possible ones. For
    /// comparison.
    Naive,
}
