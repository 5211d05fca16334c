//! Models whose posterior depends on sums only: one noisy release, then post-processing.
//!
//! See [`engine::conjugate`](crate::engine::conjugate) for the noise in the posterior. Sensitivity of the released
//! sums, with $D$ columns, in the $L_1$ and the $L_2$ norm:
//!
//! | model | statistics of a record | replaced | added or removed |
//! |---|---|---|---|
//! | [`BernoulliPlan`] | $x_d - \tfrac12$ with $x_d \in \{0, 1\}$ | $D$, $\sqrt D$ | the number of records is needed |
//! | [`CategoricalPlan`] | one 1 in each column | $2D$, $\sqrt{2D}$ | $D$, $\sqrt D$ |
//! | [`NaiveBayesPlan`] | one 1 in each column's table of levels and classes | $2D$, $\sqrt{2D}$ | $D$, $\sqrt D$ |
//! | [`MeanPlan`] | $x$ minus the centre of its bounds, which are $w$ apart | $w$ | the number of records is needed |
//! | [`NormalPlan`] | $(x_d, x_d^2 - c)$ with $x_d \in [-1, 1]$ | $\tfrac94 D$ ($c = \tfrac78$), $2\sqrt D$ ($c = 1$) | the number of records is needed |
//! | [`MultivariatePlan`] | $(x_i, x_i^2 - c, w x_i x_j)$ | $\tfrac94 D + D(D-1)$, $2D$ at most | the number of records is needed |
//! | [`PoissonPlan`] | $\min(x_d, M) - \tfrac M2$ | $MD$, $M\sqrt D$ | the number of records is needed |
//!
//! Bayesian linear regression from moments is [`RegressionPlan::linear`](crate::model::regression::RegressionPlan::linear).

mod clipped;
pub(crate) mod mean;
mod plan;
pub(crate) mod single;

pub use super::bernoulli::{BernoulliPlan, Rate};
pub use super::dirichlet::{CategoricalPlan, Shares};
pub use super::multivariate_normal::{MultivariatePlan, MultivariatePosterior, WishartPrior};
pub use super::naive_bayes::{MAX_BINS, NaiveBayesPlan, NaiveBayesPosterior};
pub use super::normal::{NormalColumn, NormalPlan, NormalPrior};
pub use super::poisson::{MAX_COUNT, PoissonPlan};
pub(crate) use clipped::{normal_moments, poisson_moments};
pub use mean::MeanPlan;
pub use plan::ConjugatePlan;

use crate::budget::{Adjacency, Privacy};
use crate::field::{self, FieldError};
use crate::wall::PlanError;

/// Checks that columns have at least one input each, and that both fit in memory.
pub(crate) fn validate_columns(columns: &[usize]) -> Result<(), FieldError> {
    field::integer("the number of columns", columns.len() as u64, 1..=1 << 24)?;
    columns.iter().try_for_each(|&inputs| field::integer("inputs of a column", inputs as u64, 1..=1 << 24))
}

/// Refuses add/remove adjacency: sums of centred statistics are uninformative without the number of records.
pub(crate) fn needs_the_number_of_records(what: &str, privacy: &Privacy) -> Result<(), PlanError> {
    if privacy.adjacency() == Adjacency::AddRemove {
        let fault = "it is a sum of centred numbers, which is uninformative without the number of records, and that is private under \
                     add/remove adjacency; hint: use replace-one adjacency, or the shares of levels (dirichlet), which are counts";
        return Err(PlanError::Invalid { what: what.into(), fault });
    }
    Ok(())
}

#[cfg(test)]
mod privacy_tests;
#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
