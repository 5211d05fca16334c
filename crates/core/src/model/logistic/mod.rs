//! Private Bayesian logistic regression that needs no tuning.
//!
//! The model is $p(y = 1|x) = \sigma(w \cdot x)$ with $w \sim N(0, \alpha^{-1}I)$ and a gamma prior for $\alpha$; the last weight is that of a constant, the bias.
//! Records are rows of inputs between -1 and 1 and, last, the class, -1 or 1.
//!
//! - [`VariationalLogistic`] is Algorithm 5 of the paper, for the [engine](crate::engine::vb) of variational Bayes: it releases $(y - \frac12)x$ and
//!   $E[\omega]xx^T$.
//! - [`LogisticPlan`] is the recommended method. The mean of $q(w)$ solves $\sum (y - p)x = \alpha w$, and the noise
//!   in a released $E[\omega]xx^T$ times $w$ is far larger than that of a release of this sum itself. So it releases the sum at the current weights,
//!   in a few steps, and the matrix twice, with a small share of the budget, for step sizes and for the posterior. Its posterior accounts for the
//!   noise of all steps.
//!
//! Scores are weighted, so that the noise need not cover the longest possible ones. The weights are chosen for the number of records and the budget,
//! and tend to 1 as the noise becomes small: then the fit tends to the one without privacy. That one, of up to 300 weights, is the mode of
//! the posterior with the curvature of the log likelihood there, as other programs find it.
//!
//! With more than 30 weights a private fit releases sums of inputs by class and scores of centred inputs. The centred second-moment matrix replaces
//! the curvature matrix. All scores are pooled by assuming that $w \cdot x$ is normal over records. Each column then has its own precision. 95 %
//! intervals of scores have a coverage of 90 to 98 % on simulated levels and numbers, and less where classes are nearly separable. With more than 300
//! weights, or if the second moments would be mostly noise, it does not release them, so that time and memory grow linearly with the number of weights:
//! columns are assumed to be independent, and their dependence is estimated from the scores. Intervals of scores then have a coverage of at least 88 %
//! on simulated columns of ten levels with typical scores, and less where levels are rare or classes nearly separable.
//!
//! # Coverage
//! 95 % intervals of up to 30 weights cover the truth where noise is small, and hold more than they must where it hides the weights. The share of
//! weights within their interval, for uniform numbers with this correlation and scores $w \cdot x$ of this standard deviation, at epsilon 0.3 / 1 / 8 and delta
//! 1e-5, of 100 data sets in each cell with 5 inputs and of 40 with 12; the ignored test `table_of_logistic_coverage` prints it. It was simulated when
//! curvatures had 4/3 of their present noise:
//!
//! | inputs | score sd | correlation | 1,000 records | 3,000 | 10,000 |
//! |---|---|---|---|---|---|
//! | 5 | 1 | 0 | 1.00 / 1.00 / 0.97 | 1.00 / 0.98 / 0.96 | 0.97 / 0.97 / 0.97 |
//! | 5 | 2 | 0 | 1.00 / 0.99 / 0.96 | 1.00 / 0.99 / 0.95 | 0.98 / 0.96 / 0.95 |
//! | 5 | 3 | 0 | 1.00 / 0.99 / 0.95 | 0.99 / 0.98 / 0.95 | 0.97 / 0.98 / 0.96 |
//! | 5 | 1 | 0.8 | 1.00 / 1.00 / 0.97 | 1.00 / 1.00 / 0.94 | 1.00 / 0.98 / 0.95 |
//! | 5 | 2 | 0.8 | 1.00 / 1.00 / 0.99 | 1.00 / 1.00 / 0.94 | 0.99 / 0.98 / 0.96 |
//! | 5 | 3 | 0.8 | 0.97 / 0.96 / 0.96 | 0.98 / 0.97 / 0.96 | 0.97 / 0.95 / 0.96 |
//! | 12 | 1 | 0 | 1.00 / 1.00 / 0.97 | 1.00 / 1.00 / 0.95 | 1.00 / 0.97 / 0.95 |
//! | 12 | 2 | 0 | 1.00 / 1.00 / 0.98 | 1.00 / 1.00 / 0.95 | 1.00 / 0.97 / 0.95 |
//! | 12 | 3 | 0 | 1.00 / 1.00 / 0.97 | 1.00 / 1.00 / 0.96 | 1.00 / 0.98 / 0.97 |
//! | 12 | 1 | 0.8 | 1.00 / 1.00 / 1.00 | 1.00 / 1.00 / 0.97 | 1.00 / 1.00 / 0.94 |
//! | 12 | 2 | 0.8 | 1.00 / 1.00 / 1.00 | 1.00 / 1.00 / 0.98 | 1.00 / 1.00 / 0.96 |
//! | 12 | 3 | 0.8 | 1.00 / 1.00 / 1.00 | 1.00 / 1.00 / 0.99 | 1.00 / 0.99 / 0.96 |
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::model::logistic::LogisticPlan;
//! use reticent_core::wall::{NoiseSource, Records};
//!
//! // Two numbers; the class is mostly the sign of their difference.
//! let values = (0..4000).flat_map(|n| {
//!     let (a, b) = (f64::from(n * 37 % 101) / 50.0 - 1.0, f64::from(n * 53 % 103) / 51.0 - 1.0);
//!     [a, b, if a - b + 0.2 * f64::from(n % 3 - 1) > 0.0 { 1.0 } else { -1.0 }]
//! });
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let plan = LogisticPlan::new(&[1, 1], 4000, 1.0, Some(&privacy))?;
//! let records = Records::new(values.collect(), 3)?;
//! let (posterior, receipt) = plan.fit(records, NoiseSource::from_os()?, Some(&privacy), Box::new(Unlimited))?;
//! assert!(posterior.positive(&[0.9, -0.9]) > 0.8 && posterior.positive(&[-0.9, 0.9]) < 0.2);
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not for: classes that inputs separate perfectly, whose weights are only bounded by the prior. Intervals of more
//! than 30 weights are approximate: a plan states so under "why".

mod basis;
mod bounds;
mod columns;
mod curvature;
mod exact;
pub(crate) mod frame;
mod independent_columns;
mod plan;
mod planned;
mod pooled;
mod precision;
mod prior;
mod products;
pub(crate) mod query;
mod remainder;
mod response;
mod validate;
mod variational;
mod walk;

pub use plan::{LogisticPlan, LogisticRound};
pub use variational::{SecondMoments, VariationalLogistic};

use crate::budget::Privacy;
use crate::math::vector::wide_dot;
use crate::model::linear::LinearPosterior;
use crate::model::planned::parse;
use crate::model::reference::{BRILLINGER, POLYA_GAMMA, VIPS};
use crate::model::settings::{Setting, Settings};
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, TableShape, Target};
use serde_json::Value;

/// Inputs with the constant 1 of the bias, and the class as -1 or 1. Inputs are clipped to between -1 and 1.
pub(crate) fn features(record: &[f64]) -> (Vec<f64>, f64) {
    let mut x = vec![0.0; record.len()];
    let target = write_features(record, &mut x);
    (x, target)
}

/// As [`features`], into a vector that is as long as the record.
pub(crate) fn write_features(record: &[f64], x: &mut [f64]) -> f64 {
    let (target, inputs) = record.split_last().unwrap_or((&0.0, &[]));
    x.iter_mut().zip(inputs).for_each(|(x, input)| *x = input.clamp(-1.0, 1.0));
    x[inputs.len()] = 1.0;
    if *target > 0.0 { 1.0 } else { -1.0 }
}

/// The weight of a record, $v = \min(1, r^2/\lVert x\rVert^2)$.
#[inline(always)]
pub(crate) fn weight(x: &[f64], radius: f64) -> f64 {
    (radius * radius / wide_dot(x, x)).min(1.0)
}

/// The prior variance of a weight among more than [`MAX_MATRIX_WEIGHTS`](plan::MAX_MATRIX_WEIGHTS), where none is given.
const PRIOR_VARIANCE_OF_MANY: f64 = 1.0;

const SETTINGS: [Setting; 1] = [Setting::number(
    "prior-variance",
    "the prior variance of each weight, for inputs between -1 and 1; if it is not given and there are more than 30 weights, it is 1",
    (1e-6, 1e6),
)
.or_number(10.0)];

pub(crate) struct Logistic;

const DECLARATION: Declaration = Declaration {
    name: "logistic",
    about: "a target of two classes by logistic regression: the log odds are linear in the inputs",
    not_for: "classes that the inputs separate perfectly, whose coefficients only the prior bounds; with more than 30 coefficients its intervals are approximate",
    references: &[VIPS, POLYA_GAMMA, BRILLINGER],
    family: "gaussian",
    targets: &[Target::TwoClasses],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for Logistic {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        // A score is the sum of all: with many weights, each is small.
        let many = shape.inputs() + 1 > plan::MAX_MATRIX_WEIGHTS;
        let prior_variance = if many && !shape.settings.contains_key("prior-variance") {
            PRIOR_VARIANCE_OF_MANY
        } else {
            settings.number("prior-variance")
        };
        let (columns, records, priors) = (&shape.columns, shape.records, shape.priors.clone());
        Ok(Box::new(LogisticPlan::with_priors(columns, records, prior_variance, privacy, priors)?))
    }
    fn takes_priors(&self) -> bool {
        true
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<LogisticPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name())?))
    }
}

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod pooled_tests;
#[cfg(test)]
mod response_tests;
#[cfg(test)]
mod tests;
