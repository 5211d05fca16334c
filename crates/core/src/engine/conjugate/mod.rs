//! Posteriors from noisy sufficient statistics: one release, and everything after it is free.
//!
//! In an exponential family records enter the posterior only through a sum $t = \sum_n s(x_n)$. It is released once with noise,
//! $y = t + \eta$, and the noise is part of the model: the posterior is that of the parameters given $y$, with $t$ unknown,
//! $p(\theta|y) \propto p(\theta) \sum_t p(t|\theta) f(y - t)$. Nothing is cut off or projected, so nothing is biased. The *naive* posterior
//! takes $y$ for $t$, and is there for comparison.
//!
//! | statistics | how the true ones are summed over |
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
mod law;
mod plan;
mod scalar;
mod slice;

#[cfg(test)]
pub(crate) use cells::contribution;
pub(crate) use cells::{Cells, one_hot_level};
pub(crate) use counts::dirichlet;
pub use counts::{NoisyCounts, Total};
pub use law::NoiseDistribution;
pub use plan::{Sensitivity, StatisticsPlan};
pub use scalar::Scalar;
pub use slice::slice;

use serde::{Deserialize, Serialize};

/// What is made of noisy statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseTreatment {
    /// The noise is part of the model.
    #[default]
    NoiseAware,
    /// Noisy statistics are taken for true ones, those that cannot be moved to the nearest that can. For comparison.
    Naive,
}
