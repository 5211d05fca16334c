//! Posterior draws of category probabilities, split by split.

use crate::budget::{Adjacency, Ledger, Privacy};
use crate::family::Beta;
use crate::receipt::Receipt;
use crate::wall::{DrawId, Draws, NoiseSource, Plan, PlanError, Query, Records, Wall, WallError};
use serde::{Deserialize, Serialize};

/// Draws of category probabilities from their tempered posterior.
///
/// Probabilities are products of $K - 1$ splits (stick breaking): the first is the probability of the first level,
/// the next that of the second among the rest, and so on. Under a Dirichlet prior splits are independent beta
/// variables, so each is drawn separately: on a grid of equal cells between two public bounds, with the prior
/// probabilities of the cells. The draw is exact for the posterior of that discretised and truncated prior; the
/// release of a split is its cell, and the value is the centre of the cell.
///
/// # Privacy
/// The temperature $1/\lambda$ is the range of log-likelihood ratios over the epsilon of a draw, and at least 1. With two levels that range
/// is $\sup - \inf$ of $\log\frac{p(x|\theta)}{p(x'|\theta)}$ over the bounds, so for bounds $a$ and $1 - a$ it is $2\log\frac{1-a}a$. With more
/// levels every split is a draw, and all of them are charged: the sum is more than the cost of one draw of all
/// probabilities, which [`JointSamplePlan`](super::JointSamplePlan) makes where possible.
/// Attacked by `a_sample_costs_its_range_and_no_less`.
///
/// # Citation
/// Wang, Fienberg, Smola, "Privacy for free", ICML 2015; Foulds et al., UAI 2016, section 3.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplePlan {
    /// Number of records $N$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Number of levels $K$.
    pub levels: usize,
    /// Concentration of the prior, the same for each level.
    pub concentration: f64,
    /// Lower and upper bound of each split.
    pub bounds: (f64, f64),
    /// Number of cells of the grid of a split.
    pub cells: usize,
    /// Number of posterior draws.
    pub samples: u64,
    /// Budget of each draw, if an untempered draw does not cost less.
    pub epsilon: f64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

impl SamplePlan {
    /// Splits the budget among the draws of all samples, by the tightest available composition.
    ///
    /// # Errors
    /// [`PlanError`] for invalid arguments, and those of the wall.
    pub fn new(
        levels: usize,
        bounds: (f64, f64),
        records: usize,
        samples: u64,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let inside = 0.0 < bounds.0 && bounds.0 < bounds.1 && bounds.1 < 1.0;
        if levels < 2 || !inside || samples == 0 {
            let fault = "posterior draws need at least two levels, and bounds between 0 and 1";
            return Err(PlanError::Invalid { what: WHAT.into(), fault });
        }
        let mut plan = Self {
            records,
            adjacency: privacy.adjacency(),
            levels,
            concentration: 1.0,
            bounds,
            cells: 1000,
            samples,
            epsilon: 0.0,
            why: Vec::new(),
        };
        let draws = samples as f64 * (levels - 1) as f64;
        plan.epsilon = privacy.epsilon() * (1.0 - 1e-9) / draws;
        if draws > 1.0 && privacy.delta() > 0.0 {
            plan.epsilon = super::max_epsilon_each(plan.epsilon, privacy, |epsilon| {
                Ok(Self { epsilon, ..plan.clone() }.releases()?.0)
            })?;
        }
        plan.why = vec![
            format!(
                "temperature {:.3}: an untempered draw has a range of {:.3}, and the budget of each is {:.4}",
                plan.temperature(),
                plan.range(),
                plan.epsilon
            ),
            format!("{draws} draws: {samples} samples of {} splits", levels - 1),
        ];
        Ok(plan)
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

    /// Whether scores are centred, with the part common to all records in the public weights: with two levels, a
    /// public number of records and asymmetric bounds, this makes their range smaller.
    fn is_centred(&self) -> bool {
        let lopsided = (self.bounds.0 - (1.0 - self.bounds.1)).abs() > 1e-9;
        self.levels == 2 && lopsided && self.adjacency == Adjacency::ReplaceOne
    }

    /// Lower and upper bound of a score.
    fn scores(&self) -> (f64, f64) {
        let (low, high) = self.bounds;
        if self.is_centred() {
            let quarter = 0.25 * (logit(high) - logit(low));
            return (-quarter, quarter);
        }
        let upper = if self.levels == 2 { high.max(1.0 - low).ln() } else { 0.0 };
        (low.min(1.0 - high).ln(), upper)
    }

    /// The planned releases.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn releases(&self) -> Result<(Plan, DrawId), PlanError> {
        let mut plan = Plan::new(self.records, self.adjacency);
        let (lower, upper) = self.scores();
        let id = plan.draws(Draws {
            what: WHAT.into(),
            candidates: self.cells,
            lower,
            upper,
            epsilon: self.epsilon,
            draws: self.samples * (self.levels as u64 - 1),
        })?;
        Ok((plan, id))
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
        let splits: Vec<Split> = (0..self.levels - 1).map(|k| self.split(k)).collect();
        let mut samples = Vec::new();
        for _ in 0..self.samples {
            let (mut shares, mut rest) = (Vec::with_capacity(self.levels), 1.0);
            for split in &splits {
                let cell = wall.draw(id, split, &split.log_weights)?.index;
                let share = self.middle(cell);
                shares.push(rest * share);
                rest *= 1.0 - share;
            }
            shares.push(rest);
            samples.push(shares);
        }
        Ok((samples, wall.finish(0)?))
    }

    fn middle(&self, cell: usize) -> f64 {
        let (low, high) = self.bounds;
        low + (high - low) * (cell as f64 + 0.5) / self.cells as f64
    }

    /// The grid of a split: scores of records of its level and of those of later levels, and public weights.
    pub(super) fn split(&self, level: usize) -> Split {
        let after = (self.levels - 1 - level) as f64 * self.concentration;
        let prior = Beta { a: self.concentration, b: after };
        let points: Vec<f64> = (0..self.cells).map(|cell| self.middle(cell)).collect();
        let power = 1.0 / self.temperature();
        let centred = self.is_centred();
        let middle = 0.5 * (logit(self.bounds.0) + logit(self.bounds.1));
        let mut log_weights: Vec<f64> = points
            .iter()
            .map(|&p| {
                let shared =
                    if centred { 0.5 * power * self.records as f64 * (p * (1.0 - p)).ln() } else { 0.0 };
                prior.log_density(p) + shared
            })
            .collect();
        let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        log_weights.iter_mut().for_each(|weight| *weight -= top);
        let score = |own: bool| {
            let one = |&p: &f64| match (centred, own) {
                (true, true) => 0.5 * (logit(p) - middle),
                (true, false) => -0.5 * (logit(p) - middle),
                (false, true) => p.ln(),
                (false, false) => (-p).ln_1p(),
            };
            points.iter().map(one).collect()
        };
        Split { level, own: score(true), after: score(false), log_weights }
    }
}

const WHAT: &str = "posterior draws of category probabilities";

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// A split: whether a record is of this level or of a later one.
pub(super) struct Split {
    level: usize,
    pub(super) own: Vec<f64>,
    pub(super) after: Vec<f64>,
    pub(super) log_weights: Vec<f64>,
}

impl Query for Split {
    fn width(&self) -> usize {
        self.own.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        match super::level(record).cmp(&self.level) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => out.copy_from_slice(&self.own),
            std::cmp::Ordering::Greater => out.copy_from_slice(&self.after),
        }
    }
}
