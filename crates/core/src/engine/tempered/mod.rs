//! Draws from tempered posteriors, each charged: one posterior draw, Metropolis-Hastings, annealed importance
//! sampling.
//!
//! All of them are exponential mechanisms by [`Wall::draw`](crate::wall::Wall::draw): a candidate $c$ is drawn with
//! probability $\propto e^{b_c + \lambda \sum_n s_{nc}}$, and neighbours' log probabilities differ by amounts within
//! a range of $\lambda$ times the range of the scores of a record. That range is the charged epsilon.
//!
//! | what | candidates | scores | charged, under replacement |
//! |---|---|---|---|
//! | [`SamplePlan`]: one posterior sample | cells of a grid | $\log p(x\vert\theta_c)$ | $\lambda$ times twice their range |
//! | [`JointSamplePlan`]: the same of all probabilities together | public points | $\log p(x\vert\theta_c)$ | $\lambda$ times twice their range |
//! | [`Barker`]: a step of a chain | stay or move | $\mp\tfrac12\Delta$, $\Delta = \log\frac{p(x\vert\theta')}{p(x\vert\theta)}$ | $2\lambda\max\vert\Delta\vert$ |
//! | [`annealed`](fn@annealed): choose a particle | particles | $\sum_j(\beta_j - \beta_{j+1})\log p(x\vert\theta_{cj})$ | $2\beta_0$ times the range of $\log p$ |
//!
//! The final state of a chain costs more than a posterior draw, however long the chain is: each of its steps is
//! charged.

mod annealed;
mod barker;
mod joint;
mod sample;

pub use annealed::{AnnealedPlan, annealed, weights_sensitivity};
pub use barker::{Barker, barker_draws};
pub use joint::JointSamplePlan;
pub use sample::SamplePlan;

use crate::budget::Privacy;
use crate::engine::conjugate::one_hot_level;
use crate::wall::{Plan, PlanError};

/// The largest epsilon of each draw that a budget allows, at least `low`, to a relative 1e-3.
fn max_epsilon_each(
    mut low: f64,
    privacy: &Privacy,
    plan: impl Fn(f64) -> Result<Plan, PlanError>,
) -> Result<f64, PlanError> {
    let mut high = privacy.epsilon();
    while high > low * (1.0 + 1e-3) {
        let middle = (low * high).sqrt();
        let cost = plan(middle)?.price(privacy.delta())?.epsilon.upper;
        if cost <= privacy.epsilon() { low = middle } else { high = middle }
    }
    Ok(low)
}

/// The level of a record: one number, positive for the second of two levels, or one number for each level.
fn level(record: &[f64]) -> usize {
    match record {
        [x] => usize::from(*x > 0.0),
        levels => one_hot_level(levels).unwrap_or(0),
    }
}

#[cfg(test)]
mod joint_tests;
#[cfg(test)]
mod tests;
