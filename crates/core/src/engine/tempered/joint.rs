//! One posterior draw of all category probabilities.

use crate::budget::{Adjacency, Ledger, Privacy};
use crate::family::{Dirichlet, TruncatedDirichlet};
use crate::receipt::Receipt;
use crate::wall::{DrawId, Draws, NoiseSource, Plan, PlanError, Query, Records, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Draws of category probabilities from their tempered posterior, truncated to at least `min`: one mechanism for each
/// draw, whatever the number of levels.
///
/// Candidates are public points: exact draws from the truncated Dirichlet prior, and the corners of its domain. The
/// draw is exact for the posterior of the prior that is uniform over these points; with more points it tends to the
/// truncated, tempered Dirichlet density. The number of points needed grows exponentially with the divergence of the
/// posterior from the prior, so this is for few levels or few records: [`SamplePlan`](super::SamplePlan) has no such
/// limit, but each of its splits is charged.
///
/// # Privacy
/// The score of a record is $\log\theta_x$, which is between $\log a_0$ and $\log(1 - (K-1)a_0)$. So replacing one
/// changes log probabilities by amounts within a range of $\lambda 2\log\frac{1 - (K-1)a_0}{a_0}$, and adding one
/// within half of that. The corners are among the points, so the range is attained. Attacked by
/// `a_joint_sample_costs_its_range_and_no_less`.
///
/// # Citation
/// Foulds et al., UAI 2016, sections 3.1 and 3.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointSamplePlan {
    /// Number of records $N$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Number of levels $K$.
    pub levels: usize,
    /// Concentration of the prior, the same for each level.
    pub concentration: f64,
    /// Lower bound $a_0$ of each probability.
    #[serde(rename = "least")]
    pub min: f64,
    /// Number of public points besides the corners.
    pub points: usize,
    /// Seed of the public generator of the points.
    pub seed: u64,
    /// Number of draws.
    pub samples: u64,
    /// Budget of each draw, if an untempered draw does not cost less.
    pub epsilon: f64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

const WHAT: &str = "posterior draws of all category probabilities together";
/// Minimum and maximum number of points.
const POINTS: (f64, f64) = (4096.0, 131_072.0);
/// Approximate number of points that should share the mass of the posterior.
const EFFECTIVE_POINTS: f64 = 100.0;

impl JointSamplePlan {
    /// Splits the budget among draws, and chooses the number of points such that about a hundred share the mass of
    /// the posterior: their number times $e^{-KL}$, with the divergence of the tempered posterior of equal
    /// probabilities from the prior.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] for invalid arguments, and if too many points would be needed.
    pub fn new(
        levels: usize,
        min: f64,
        records: usize,
        samples: u64,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let invalid = |fault| PlanError::Invalid { what: WHAT.into(), fault };
        if levels < 2 || !(min > 0.0 && min * (levels as f64) < 1.0) || samples == 0 {
            return Err(invalid(
                "posterior draws need at least two levels, and a minimum probability below that of equal ones",
            ));
        }
        let (adjacency, why) = (privacy.adjacency(), Vec::new());
        let mut plan = Self {
            records,
            adjacency,
            levels,
            concentration: 1.0,
            min,
            points: POINTS.0 as usize,
            seed: 0,
            samples,
            epsilon: privacy.epsilon() * (1.0 - 1e-9) / samples as f64,
            why,
        };
        if samples > 1 && privacy.delta() > 0.0 {
            plan.epsilon = super::max_epsilon_each(plan.epsilon, privacy, |epsilon| {
                Ok(Self { epsilon, ..plan.clone() }.releases()?.0)
            })?;
        }
        let needed = EFFECTIVE_POINTS * plan.divergence().exp();
        if needed > POINTS.1 {
            return Err(invalid(
                "this many records and levels need more than 131,072 public points; hint: draw split by split",
            ));
        }
        plan.points = needed.max(POINTS.0) as usize;
        plan.why = vec![
            format!(
                "temperature {:.3}: an untempered draw has a range of {:.3}, and the budget of each is {:.4}",
                plan.temperature(),
                plan.range(),
                plan.epsilon
            ),
            format!(
                "{} public points, of which about {EFFECTIVE_POINTS} share the mass of the posterior",
                plan.points
            ),
        ];
        Ok(plan)
    }

    /// KL divergence of the tempered posterior of equal probabilities from the prior.
    fn divergence(&self) -> f64 {
        let dirichlet = |more: f64| Dirichlet { concentration: vec![self.concentration + more; self.levels] };
        let each = self.records as f64 / self.temperature() / self.levels as f64;
        dirichlet(each).kl(&dirichlet(0.0))
    }

    /// The range of the log probability ratios of an untempered draw between neighbours.
    #[must_use]
    pub fn range(&self) -> f64 {
        let (lower, upper) = self.scores();
        let factor = self.adjacency.sensitivity_factor(2.0);
        factor * (upper - lower)
    }

    /// Temperature $T \ge 1$.
    #[must_use]
    pub fn temperature(&self) -> f64 {
        (self.range() / self.epsilon).max(1.0)
    }

    fn scores(&self) -> (f64, f64) {
        (self.min.ln(), self.corner().ln())
    }

    /// The largest possible probability.
    fn corner(&self) -> f64 {
        1.0 - (self.levels - 1) as f64 * self.min
    }

    /// The planned releases.
    ///
    /// # Errors
    /// Those of the wall.
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
        let dirichlet = Dirichlet { concentration: vec![self.concentration; self.levels] };
        let prior = TruncatedDirichlet { untruncated: dirichlet, min: self.min };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let corner = |k: usize| -> Vec<f64> {
            (0..self.levels).map(|j| if j == k { self.corner() } else { self.min }).collect()
        };
        let mut points: Vec<Vec<f64>> = (0..self.levels).map(corner).collect();
        points.extend((0..self.points).map(|_| prior.draw(&mut rng)));
        let of_level = |k: usize| points.iter().map(|point| point[k].ln()).collect();
        Candidates { logs: (0..self.levels).map(of_level).collect(), points }
    }

    /// Makes the draws. A record is one number, positive for the second of two levels, or one number for each level.
    ///
    /// # Errors
    /// Those of the wall.
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

/// Public points, and the scores of a record of each level for all of them.
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
