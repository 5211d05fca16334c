//! The noise of a release of statistics.

use super::NoiseDistribution;
use crate::budget::{Adjacency, Privacy};
use crate::engine::exact_delta;
use crate::field::{self, FieldError};
use crate::wall::{Geometry, Plan, PlanError, Query, Released, Sampler, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};

/// Bounds of the contribution of a record to the statistics, in both norms.
///
/// # Privacy
/// It only chooses the wall's domain. Contributions outside are clipped, so a wrong radius costs accuracy, not
/// privacy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// The largest $L_1$ norm.
    pub l1: f64,
    /// The largest $L_2$ norm.
    pub l2: f64,
    /// Whether no coordinate is negative, so that the sensitivity factor under replace-one is $\sqrt2$ and not 2.
    pub non_negative: bool,
}

/// The release of sufficient statistics, chosen from public numbers. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsPlan {
    /// Description of the statistics.
    pub what: String,
    /// Number of records $N$: the true one under replace-one adjacency, a public guess under add/remove.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Number of statistics.
    pub width: usize,
    /// Bounds of the contribution of a record.
    pub sensitivity: Sensitivity,
    /// The largest squared norm of the vector of a record, if with Gaussian noise the statistics are the upper triangle of the sum of its outer
    /// products, without the last element, which is that of a constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<f64>,
    /// Laplace noise if true, Gaussian otherwise.
    pub laplace: bool,
    /// Standard deviation (Laplace: scale) of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// Standard deviation of the noise in each statistic.
    pub expected_noise: f64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

impl StatisticsPlan {
    /// Chooses the smaller noise: that of Laplace is $\sqrt2\Delta_1/\varepsilon$, that of Gaussian noise
    /// $\sigma(\varepsilon, \delta)\Delta_2$.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn new(
        what: impl Into<String>,
        records: usize,
        width: usize,
        sensitivity: Sensitivity,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        Self::choose(what.into(), (records, width), (sensitivity, None), privacy)
    }

    /// As [`new`](Self::new), where with Gaussian noise the statistics are sums of [outer products](Self::outer) of vectors of at most this squared
    /// norm.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn of_outer_products(
        what: impl Into<String>,
        (records, width): (usize, usize),
        (sensitivity, square): (Sensitivity, f64),
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        Self::choose(what.into(), (records, width), (sensitivity, Some(square)), privacy)
    }

    fn choose(
        what: String,
        (records, width): (usize, usize),
        (sensitivity, outer): (Sensitivity, Option<f64>),
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let factor = |replaced: f64| privacy.adjacency().sensitivity_factor(replaced);
        // The relative 1e-9 covers the rounding of the quotient.
        let laplace_multiplier = (1.0 + 1e-9) / privacy.epsilon();
        let laplace_sd = 2f64.sqrt() * laplace_multiplier * factor(2.0) * sensitivity.l1;
        let apart = if sensitivity.non_negative || outer.is_some() { 2f64.sqrt() } else { 2.0 };
        let gaussian = if privacy.delta() > 0.0 {
            let multiplier =
                gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy))? * (1.0 + 1e-6);
            Some((multiplier, multiplier * factor(apart) * outer.unwrap_or(sensitivity.l2)))
        } else {
            None
        };
        let (laplace, noise_multiplier, expected_noise, why) = match gaussian {
            Some((multiplier, sd)) if sd < laplace_sd => (
                false,
                multiplier,
                sd,
                format!(
                    "Gaussian noise of standard deviation {sd:.4}: Laplace noise would have {laplace_sd:.4}"
                ),
            ),
            Some((_, sd)) => (
                true,
                laplace_multiplier,
                laplace_sd,
                format!(
                    "Laplace noise of standard deviation {laplace_sd:.4}: Gaussian noise would have {sd:.4}"
                ),
            ),
            None => (
                true,
                laplace_multiplier,
                laplace_sd,
                format!("Laplace noise of standard deviation {laplace_sd:.4}: Gaussian noise needs a delta"),
            ),
        };
        let why = vec![why, "one release; inference is post-processing at no further cost".into()];
        let adjacency = privacy.adjacency();
        Ok(Self {
            what,
            records,
            adjacency,
            width,
            sensitivity,
            outer,
            laplace,
            noise_multiplier,
            expected_noise,
            why,
        })
    }

    /// The plan with Laplace noise, whichever is smaller.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn with_laplace(self, privacy: &Privacy) -> Result<Self, PlanError> {
        let pure = Privacy::new(privacy.epsilon(), 0.0, privacy.adjacency());
        let pure =
            pure.map_err(|_| PlanError::Invalid { what: self.what.clone(), fault: "no such epsilon" })?;
        let mut plan =
            Self::choose(self.what, (self.records, self.width), (self.sensitivity, self.outer), &pure)?;
        plan.why[0] = format!("Laplace noise of standard deviation {:.4}, as requested", plan.expected_noise);
        Ok(plan)
    }

    /// Checks that every field is in range, and that the release is that of a model with these statistics.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self, what: &str, width: usize, sensitivity: Sensitivity) -> Result<(), FieldError> {
        self.validate_outer(what, width, (sensitivity, None))
    }

    /// As [`validate`](Self::validate), for statistics that may be sums of outer products.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate_outer(
        &self,
        what: &str,
        width: usize,
        (sensitivity, outer): (Sensitivity, Option<f64>),
    ) -> Result<(), FieldError> {
        field::agrees("statistics.outer", &self.outer, &outer)?;
        field::agrees("statistics.what", &self.what.as_str(), &what)?;
        field::integer("statistics.records", self.records as u64, field::RECORDS)?;
        field::agrees("statistics.width", &self.width, &width)?;
        field::agrees("statistics.sensitivity", &self.sensitivity, &sensitivity)?;
        field::number("statistics.noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::number("statistics.expected_noise", self.expected_noise, 0.0..=1e30)?;
        field::reasons(&self.why)
    }

    /// Standard deviation of the noise in each statistic, from the other fields; in the diagonal ones of outer products.
    #[must_use]
    pub fn noise_sd(&self) -> f64 {
        let Sensitivity { l1, l2, non_negative } = self.sensitivity;
        let by = |replaced: f64| self.noise_multiplier * self.adjacency.sensitivity_factor(replaced);
        match (self.laplace, self.outer, non_negative) {
            (true, ..) => 2f64.sqrt() * by(2.0) * l1,
            (false, Some(square), _) => by(2f64.sqrt()) * square,
            (false, None, true) => by(2f64.sqrt()) * l2,
            (false, None, false) => by(2.0) * l2,
        }
    }

    /// The planned releases.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn releases(&self) -> Result<(Plan, crate::wall::SumId), PlanError> {
        let Sensitivity { l1, l2, non_negative } = self.sensitivity;
        let (geometry, constant) = match (self.laplace, self.outer, non_negative) {
            (true, ..) => (Geometry::L1Ball { radius: l1 }, 0),
            (false, Some(square), _) => (Geometry::Outer { radius: square.sqrt() }, 1),
            (false, None, true) => (Geometry::NonNegativeBall { radius: l2 }, 0),
            (false, None, false) => (Geometry::Ball { radius: l2 }, 0),
        };
        let mut plan = Plan::new(self.records, self.adjacency);
        let id = plan.sums(Sums {
            what: self.what.clone(),
            width: self.width + constant,
            geometry,
            sampler: Sampler::Full,
            noise_multiplier: self.noise_multiplier,
            steps: 1,
        })?;
        Ok((plan, id))
    }

    /// Releases the sum of the statistics of all records, through a wall of this plan.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn release(
        &self,
        query: &impl Query,
        wall: &mut Wall,
    ) -> Result<(Released, NoiseDistribution), WallError> {
        let (_, id) = self.releases()?;
        let released = wall.sum(id, query)?;
        let noise = NoiseDistribution::of(self.laplace, released.noise_sd[0]);
        Ok((released, noise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At delta 1e-6 under replace-one, five features of one-hot counts, with $L_1$ sensitivity 10 and $L_2$
    /// sensitivity $\sqrt{10}$: standard deviations of 115 and 141 at epsilon 0.1, 13.4 and 14.1 at 1, 3.10 and 2.83
    /// at 5.
    #[test]
    fn the_smaller_noise_is_chosen() {
        let features = Sensitivity { l1: 5.0, l2: 5f64.sqrt(), non_negative: true };
        for (epsilon, laplace, sd) in [(0.1, false, 115.0), (1.0, false, 13.4), (5.0, true, 2.83)] {
            let privacy = Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).unwrap();
            let plan = StatisticsPlan::new("counts", 1000, 20, features, &privacy).unwrap();
            assert_eq!(plan.laplace, laplace, "{epsilon}");
            assert!((plan.expected_noise / sd - 1.0).abs() < 0.01, "{epsilon}: {}", plan.expected_noise);
            let (planned, _) = plan.releases().unwrap();
            let cost = planned.price(1e-6).unwrap().epsilon.upper;
            assert!(cost <= epsilon && cost > 0.95 * epsilon, "{epsilon}: {cost}");
        }
        let pure = Privacy::new(0.1, 0.0, Adjacency::AddRemove).unwrap();
        let plan = StatisticsPlan::new("counts", 1000, 20, features, &pure).unwrap();
        assert!(plan.laplace && (plan.expected_noise / (2f64.sqrt() * 50.0) - 1.0).abs() < 1e-6);
    }
}
