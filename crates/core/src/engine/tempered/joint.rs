//! One posterior sample of all shares at once.

use crate::budget::{Adjacency, Ledger, Privacy};
use crate::family::{Dirichlet, TruncatedDirichlet};
use crate::receipt::Receipt;
use crate::wall::{DrawId, Draws, NoiseSource, Plan, PlanError, Query, Records, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Samples of the shares of levels from their tempered posterior, where no share is below `least`: one draw each, whatever the number of levels.
///
/// Candidates are public points: exact draws from the truncated Dirichlet prior, and the corners of its domain. The law is exact, for the
/// posterior of the prior that has only these points, all equally likely; with more of them it tends to the truncated, tempered Dirichlet
/// density. How many are needed grows exponentially with what the posterior knows more than the prior, so this is for few
/// levels or few records: [`SamplePlan`](super::SamplePlan) has no such limit, but pays for each of its splits.
///
/// # Privacy
/// A record says $\log\theta_x$, which is between $\log a_0$ and $\log(1 - (K-1)a_0)$. So replacing one changes log probabilities by
/// amounts within a range of $\lambda 2\log\frac{1 - (K-1)a_0}{a_0}$, and adding one within half of that. The corners are among the points, so data can
/// reach it. Attacked by `a_joint_sample_costs_its_range_and_no_less`.
///
/// # Citation
/// Foulds et al., UAI 2016, sections 3.1 and 3.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointSamplePlan {
    /// $N$.
    pub records: usize,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// $K$.
    pub levels: usize,
    /// Of the prior, for each level.
    pub concentration: f64,
    /// $a_0$: no share is below.
    pub least: f64,
    /// How many public points there are besides the corners.
    pub points: usize,
    /// Of the public generator of the points.
    pub seed: u64,
    /// How many samples.
    pub samples: u64,
    /// What each sample may cost, if it is not more than an untempered one does.
    pub epsilon: f64,
    /// Why it is this plan.
    pub why: Vec<String>,
}

const WHAT: &str = "samples of all shares together";
/// Fewest and most points.
const POINTS: (f64, f64) = (4096.0, 131_072.0);
/// Points that are to share the posterior, about.
const SHARING: f64 = 100.0;

impl JointSamplePlan {
    /// Shares the budget among samples, and takes as many points as the posterior needs to have a hundred for itself: their number times
    /// $e^{-KL}$, with the divergence of the tempered posterior of equal shares from the prior.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] for numbers that make no sense, and if that would be too many points.
    pub fn new(
        levels: usize,
        least: f64,
        records: usize,
        samples: u64,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let invalid = |fault| PlanError::Invalid { what: WHAT.into(), fault };
        if levels < 2 || !(least > 0.0 && least * (levels as f64) < 1.0) || samples == 0 {
            return Err(invalid(
                "samples need two levels or more, and a least share below that of equal ones",
            ));
        }
        let (adjacency, why) = (privacy.adjacency(), Vec::new());
        let mut plan = Self {
            records,
            adjacency,
            levels,
            concentration: 1.0,
            least,
            points: POINTS.0 as usize,
            seed: 0,
            samples,
            epsilon: privacy.epsilon() * (1.0 - 1e-9) / samples as f64,
            why,
        };
        if samples > 1 && privacy.delta() > 0.0 {
            plan.epsilon = super::most_each(plan.epsilon, privacy, |epsilon| {
                Ok(Self { epsilon, ..plan.clone() }.releases()?.0)
            })?;
        }
        let needed = SHARING * plan.divergence().exp();
        if needed > POINTS.1 {
            return Err(invalid(
                "so many records of so many levels need more public points than 131,072; hint: sample split by split",
            ));
        }
        plan.points = needed.max(POINTS.0) as usize;
        plan.why = vec![
            format!(
                "temperature {:.3}: an untempered sample has a range of {:.3}, and each may cost {:.4}",
                plan.temperature(),
                plan.range(),
                plan.epsilon
            ),
            format!("{} public points, of which the posterior has about {SHARING} for itself", plan.points),
        ];
        Ok(plan)
    }

    /// Of the tempered posterior of equal shares from the prior.
    fn divergence(&self) -> f64 {
        let whole = |more: f64| Dirichlet { concentration: vec![self.concentration + more; self.levels] };
        let each = self.records as f64 / self.temperature() / self.levels as f64;
        whole(each).kl(&whole(0.0))
    }

    /// The range of the log probability ratios of an untempered sample between neighbours.
    #[must_use]
    pub fn range(&self) -> f64 {
        let (lower, upper) = self.scores();
        let factor = self.adjacency.sensitivity_factor(2.0);
        factor * (upper - lower)
    }

    /// $T \ge 1$.
    #[must_use]
    pub fn temperature(&self) -> f64 {
        (self.range() / self.epsilon).max(1.0)
    }

    fn scores(&self) -> (f64, f64) {
        (self.least.ln(), self.corner().ln())
    }

    /// The largest share there can be.
    fn corner(&self) -> f64 {
        1.0 - (self.levels - 1) as f64 * self.least
    }

    /// The wall's plan.
    ///
    /// # Errors
    /// What the wall refuses.
    pub fn releases(&self) -> Result<(Plan, DrawId), PlanError> {
        let mut plan = Plan::new(self.records, self.adjacency);
        let (lower, upper) = self.scores();
        let candidates = self.levels + self.points;
        let (what, epsilon, draws) = (WHAT.into(), self.epsilon, self.samples);
        let id = plan.draws(Draws { what, candidates, lower, upper, epsilon, draws })?;
        Ok((plan, id))
    }

    /// The candidates: corners first.
    pub(super) fn candidates(&self) -> Candidates {
        let whole = Dirichlet { concentration: vec![self.concentration; self.levels] };
        let prior = TruncatedDirichlet { untruncated: whole, min: self.least };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let corner = |k: usize| -> Vec<f64> {
            (0..self.levels).map(|j| if j == k { self.corner() } else { self.least }).collect()
        };
        let mut points: Vec<Vec<f64>> = (0..self.levels).map(corner).collect();
        points.extend((0..self.points).map(|_| prior.draw(&mut rng)));
        let of_level = |k: usize| points.iter().map(|point| point[k].ln()).collect();
        Candidates { logs: (0..self.levels).map(of_level).collect(), points }
    }

    /// Draws the samples. A record is one number, positive for the second of two levels, or one number for each level.
    ///
    /// # Errors
    /// What the wall refuses.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Vec<Vec<f64>>, Receipt), WallError> {
        let (plan, id) = self.releases()?;
        let mut wall = Wall::new(records, source, plan, privacy, ledger)?;
        let candidates = self.candidates();
        let mut samples = Vec::new();
        for _ in 0..self.samples {
            samples.push(candidates.points[wall.draw(id, &candidates, &[])?.index].clone());
        }
        Ok((samples, wall.finish(0)?))
    }
}

/// Public points, and what a record of each level says of all of them.
pub(super) struct Candidates {
    pub(super) points: Vec<Vec<f64>>,
    logs: Vec<Vec<f64>>,
}

impl Query for Candidates {
    fn width(&self) -> usize {
        self.points.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.logs[super::level(record)]);
    }
}
