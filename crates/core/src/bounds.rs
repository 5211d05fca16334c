//! Private bounds of columns: quantiles by noisy binary search.
//!
//! All that is public about a column is a wide range. A [grid](Grid) of cut points spans it, some evenly spaced and
//! some in geometric progression, so that the range may be millions of times as wide as the values in it. Two binary
//! searches run over the grid, for a low and for a high quantile: each step counts the records below a cut, and
//! continues in the half that contains the quantile. The counts of all searches are one release of the
//! [wall](crate::wall), so the number of releases is the number of halvings of a grid, whatever the number of columns
//! and cuts.
//!
//! # Privacy
//! A record adds 0 or 1 to each of the $2d$ counts of $d$ columns, so their sensitivity is at most $\sqrt{2d}$. The
//! $T$ releases of noise multiplier $z$ are the first stage of a plan whose second stage is the fit (see
//! [`Plan::then`]), and are accounted together with it. Attacked by `a_record_moves_each_count_by_at_most_one`.
//!
//! A tempered draw could decide each step too, with a delta of 0. Its scores are sums over records, so a draw can
//! only choose between two halves of one search, which takes $2d$ times as many passes over the records; and at the
//! same cost in zCDP ($\varepsilon^2/8 = 1/2z^2$) the standard deviation of the equivalent logistic noise,
//! $2\pi/\sqrt3\varepsilon$, is $\pi/\sqrt3 = 1.8$ times that of the Gaussian.
//!
//! # Citation
//! Binary search for private quantiles: Smith, "Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011.

use crate::budget::{Adjacency, Privacy, PrivacyError};
use crate::engine::exact_delta;
use crate::jobs::Named;
use crate::math::normal;
use crate::wall::{Geometry, Plan, PlanError, Query, QuerySpec, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Halvings of a grid, which is the number of releases.
const STEPS: u32 = 9;
/// Number of cells of a grid.
const CELLS: usize = 1 << STEPS;
/// Geometrically spaced cuts per octave, for a range with both signs.
const EACH_OCTAVE: f64 = 4.0;
/// Target share of records outside each bound.
const OUTSIDE: f64 = 0.01;
/// Standard deviations above 0 from which a noisy count is significant.
const SIGNIFICANT_SDS: f64 = 3.0;
/// Description of the releases on a receipt.
pub(crate) const WHAT: &str = "records below cut points, for private bounds";

/// Cut points from the lower to the upper end of a public range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    cuts: Vec<f64>,
}

impl Grid {
    /// Half of the cuts are evenly spaced. The others are spaced geometrically about 0, or about the end nearest to
    /// 0.
    ///
    /// # Errors
    /// [`BoundsError::Range`] if the ends are not finite or not in order.
    pub fn new(low: f64, high: f64) -> Result<Self, BoundsError> {
        if !(low < high && (high - low).is_finite()) {
            return Err(BoundsError::Range);
        }
        let half = CELLS / 2;
        let even = (0..=half).map(|k| low + (high - low) * (k as f64 / half as f64));
        let about = 0f64.clamp(low, high);
        let sides = [low - about, high - about].into_iter().filter(|side| *side != 0.0);
        let count = sides.clone().count();
        let octaves = |k: usize| (k as f64 + 1.0) * count as f64 / (2.0 * EACH_OCTAVE);
        let powers =
            sides.flat_map(|side| (0..half / count).map(move |k| about + side * (-octaves(k)).exp2()));
        let mut cuts: Vec<f64> = even.chain(powers).map(|cut| cut.clamp(low, high)).collect();
        cuts.sort_by(f64::total_cmp);
        Ok(Self { cuts })
    }
}

/// The releases of private bounds, chosen from public information.
#[derive(Debug, Clone)]
pub struct BoundsPlan {
    records: usize,
    adjacency: Adjacency,
    grids: Vec<Grid>,
    noise_multiplier: f64,
}

/// Why private bounds were refused.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message explains its variant")]
pub enum BoundsError {
    #[error("the range of private bounds needs two finite ends, the lower one first")]
    Range,
    #[error("the share of the budget for private bounds must be more than 0 and less than 1, not {0}")]
    Share(f64),
    #[error("delta must be positive: the noise is Gaussian")]
    NoDelta,
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
}

/// The budget that remains for the fit after a share of it is spent on private bounds.
///
/// The share is one of $\mu^2$, for the GDP parameter $\mu$ that the budget allows, since Gaussian releases compose
/// by the sum of these squares. The wall prices both stages together.
///
/// # Errors
/// [`BoundsError`] if the share is not in (0, 1), or delta is 0.
pub fn remaining(privacy: &Privacy, share: f64) -> Result<Privacy, BoundsError> {
    let single = single(privacy, share)?;
    let epsilon = gaussian::epsilon(single / (1.0 - share).sqrt(), exact_delta(privacy))?;
    let left = Privacy::new(epsilon * (1.0 - 1e-6), privacy.delta(), privacy.adjacency())?;
    Ok(left)
}

/// The noise multiplier of the single Gaussian release that costs all of the budget.
fn single(privacy: &Privacy, share: f64) -> Result<f64, BoundsError> {
    if !(share > 0.0 && share < 1.0) {
        return Err(BoundsError::Share(share));
    }
    if privacy.delta() == 0.0 {
        return Err(BoundsError::NoDelta);
    }
    Ok(gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy))?)
}

impl BoundsPlan {
    /// A plan for columns with these grids that spends this share of the budget.
    ///
    /// # Errors
    /// [`BoundsError`] for an invalid share, or a delta of 0.
    pub fn new(grids: Vec<Grid>, records: usize, privacy: &Privacy, share: f64) -> Result<Self, BoundsError> {
        let noise_multiplier = single(privacy, share)? * (f64::from(STEPS) / share).sqrt();
        Ok(Self { records, adjacency: privacy.adjacency(), grids, noise_multiplier })
    }

    fn sums(&self) -> Result<(Plan, SumId), PlanError> {
        let mut plan = Plan::new(self.records, self.adjacency);
        let width = 2 * self.grids.len();
        let id = plan.sums(Sums {
            what: WHAT.into(),
            width,
            geometry: Geometry::Box { lower: vec![0.0; width], upper: vec![1.0; width] },
            sampler: Sampler::Full,
            noise_multiplier: self.noise_multiplier,
            steps: u64::from(STEPS),
        })?;
        Ok((plan, id))
    }

    /// All planned releases: the first stage of a run, priced together with the fit that follows.
    ///
    /// # Errors
    /// [`PlanError`] if the wall refuses the plan.
    pub fn releases(&self) -> Result<Plan, PlanError> {
        Ok(self.sums()?.0)
    }

    /// The standard deviation of the noise in a count.
    fn noise_sd(&self) -> f64 {
        self.noise_multiplier * (2.0 * self.grids.len() as f64).sqrt()
    }

    /// Expected share of records outside each bound before widening: larger than the target if so few records are not
    /// distinguishable from noise.
    #[must_use]
    pub fn outside(&self) -> f64 {
        (SIGNIFICANT_SDS * self.noise_sd() / self.records as f64).clamp(OUTSIDE, 0.45)
    }

    /// Estimates bounds of the columns through a wall of this plan. The columns are the values of a record, in the
    /// order of their grids.
    ///
    /// If the noise requires quantiles farther inside than the target, the bounds are widened as for a Gaussian
    /// column. They stay within the public range.
    ///
    /// # Errors
    /// [`BoundsError`].
    pub fn estimate(&self, wall: &mut Wall) -> Result<Vec<(f64, f64)>, BoundsError> {
        let (_, sums) = self.sums()?;
        let outside = self.outside();
        let target_rank = [outside, 1.0 - outside].map(|share| share * self.records as f64);
        // Index of the first cell that may contain each quantile.
        let mut cells = vec![[0, 0]; self.grids.len()];
        for step in 1..=STEPS {
            let half = CELLS >> step;
            let below = wall.sum(sums, &Below { grids: &self.grids, cells: &cells, half })?.values;
            for (cells, below) in cells.iter_mut().zip(below.chunks_exact(2)) {
                for ((cell, below), target_rank) in cells.iter_mut().zip(below).zip(target_rank) {
                    *cell += if *below < target_rank { half } else { 0 };
                }
            }
        }
        let widened = normal::quantile(OUTSIDE) / normal::quantile(outside);
        Ok(self.grids.iter().zip(cells).map(|(grid, cells)| grid.bounds(cells, widened)).collect())
    }
}

impl Grid {
    /// The outer ends of two cells, widened by a factor.
    fn bounds(&self, [low, high]: [usize; 2], factor: f64) -> (f64, f64) {
        let (first, last) = (low.min(high), low.max(high));
        let (low, high) = (self.cuts[first], self.cuts[last + 1]);
        let (middle, half_width) = (low / 2.0 + high / 2.0, factor * (high / 2.0 - low / 2.0));
        let (lower, upper) = (self.cuts[0], self.cuts[CELLS]);
        let (low, high) = ((middle - half_width).max(lower), (middle + half_width).min(upper));
        // Cuts may coincide; then the cell between them is empty.
        if low < high { (low, high) } else { (lower, upper) }
    }
}

/// Whether a record is below the next cut of each search.
#[derive(Serialize, Deserialize)]
pub(crate) struct Below<G, C> {
    grids: G,
    cells: C,
    half: usize,
}

impl<G, C> Named for Below<G, C> {
    const NAME: &'static str = "below-cuts";
}

impl<G, C> Query for Below<G, C>
where
    G: AsRef<[Grid]> + Serialize + Sync,
    C: AsRef<[[usize; 2]]> + Serialize + Sync,
{
    fn width(&self) -> usize {
        2 * self.grids.as_ref().len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let searches = self.grids.as_ref().iter().zip(self.cells.as_ref());
        for (((grid, cells), value), out) in searches.zip(record).zip(out.chunks_exact_mut(2)) {
            for (cell, out) in cells.iter().zip(out) {
                *out = f64::from(u8::from(*value < grid.cuts[cell + self.half]));
            }
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

#[cfg(test)]
mod tests;
