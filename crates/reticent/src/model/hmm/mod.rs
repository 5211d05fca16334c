//! A hidden Markov model of events: one chain of states for each region, and in each state a law for each categorical field.
//!
//! # Model
//! $$A_{k,:} \sim \mathrm{Dirichlet}(\alpha),\quad \theta^{(k,d)} \sim \mathrm{Dirichlet}(\beta),\quad
//! z_{r,t} \sim A_{z_{r,t-1},:},\quad x^{(r,t)}_{i,d} \sim \theta^{(z_{r,t},d)}$$
//! for regions $r$, steps $t$, the events $i$ of such a *cell* and their fields $d$. One state makes it naive Bayes. The data enter through
//! counts $n_{r,t,d,j}$ alone, so a private fit releases these once, with noise, and [`Gibbs`] sampling of everything else is free:
//!
//! | posterior | what it takes the released counts for |
//! |---|---|
//! | [`Posterior::Naive`] | the true ones, after those below 0 were set to 0, as in the paper |
//! | [`Posterior::NoiseAware`] | true ones plus noise of a known law; the true ones are integrated out |
//!
//! # Noise-aware updates
//! Given the state of a cell and its expected number of events $N$, true counts are Poisson with means $N\theta_j$, and their convolution
//! with the noise is summed exactly. (Without noise this is the multinomial likelihood, since $\sum_j N \theta_j$ is the same in all
//! states.) $N$ is estimated from the noisy totals of all fields, pulled towards the mean of its region as far as the noise says.
//! Given the states, the sum of a state's cells is a noisy multinomial count whose noise is close to normal, and the
//! true sum is drawn with the shares integrated out, then the shares.
//! Neither update conditions on true counts of cells, which would hardly move where noise is large.
//!
//! # Privacy
//! One event adds 1 to one count of each field of one cell: it moves the table by $D$ in $L_1$ and by $\sqrt D$ in $L_2$ under add/remove
//! adjacency, and by $2D$ and $\sqrt{2D}$ under replace-one, also if the new event is in another cell. Attacked by
//! `an_event_moves_as_many_counts_as_there_are_fields` and `the_release_never_exceeds_its_epsilon`.
//!
//! # Not for
//! Cells of a few events: noise of several counts in each category then hides what a state would show.
//!
//! # Citation
//! Foulds, Geumlek, Welling, Chaudhuri, "On the theory and practice of privacy-preserving Bayesian data analysis", UAI 2016, section 5 and
//! appendix E; Goldwater, Griffiths, "A fully Bayesian approach to unsupervised part-of-speech tagging", ACL 2007.

mod chain;
mod emissions;
mod exponential;
mod gibbs;
mod layout;
mod noise;
mod posterior;
mod release;
mod simplex;
mod validate;

pub use emissions::{Counts, Evidence};
pub use exponential::{ExponentialGibbs, Pass};
pub use gibbs::{Gibbs, HeldOut};
pub use layout::Layout;
pub use noise::Noise;
pub use posterior::{HmmPosterior, Sampling};
pub use release::{Coded, Coding, HmmPlan, Mechanism};

use crate::wall::{PlanError, WallError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A model without its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hmm {
    /// What is counted.
    pub layout: Layout,
    /// $K$.
    pub states: usize,
    /// $\alpha$.
    pub transition_prior: f64,
    /// $\beta$.
    pub emission_prior: f64,
}

/// What noisy counts are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Posterior {
    /// The true ones, moved to at least 0.
    Naive,
    /// True ones plus noise of a known law.
    NoiseAware,
}

/// Why there is no such model or fit. Nothing in it depends on a record, with the exceptions of [`WallError`].
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum HmmError {
    #[error(
        "a hidden Markov model needs regions, steps and fields with categories, and less than 2^28 counts"
    )]
    Layout,
    #[error("a hidden Markov model needs 1 to 1000 states, and positive priors")]
    Numbers,
    #[error("there must be a count for each cell and category, and a mark for each cell")]
    Counts,
    #[error("delta must be positive: the noise is Gaussian")]
    NoDelta,
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
}

impl Hmm {
    /// With flat priors.
    ///
    /// # Errors
    /// [`HmmError::Layout`] and [`HmmError::Numbers`].
    pub fn new(layout: Layout, states: usize) -> Result<Self, HmmError> {
        let model = Self { layout, states, transition_prior: 1.0, emission_prior: 1.0 };
        model.check()?;
        Ok(model)
    }

    /// Whether it can be fitted.
    ///
    /// # Errors
    /// [`HmmError::Layout`] and [`HmmError::Numbers`].
    pub fn check(&self) -> Result<(), HmmError> {
        self.layout.check()?;
        let positive = |x: f64| (1e-6..=1e6).contains(&x);
        let priors = positive(self.transition_prior) && positive(self.emission_prior);
        if (1..=1000).contains(&self.states) && priors { Ok(()) } else { Err(HmmError::Numbers) }
    }
}

#[cfg(test)]
mod tests;
