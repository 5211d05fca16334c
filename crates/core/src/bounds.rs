//! Bounds of columns, bought with privacy budget: private quantiles by binary search.
//!
//! All that is known of a column is a wide public range. Between its ends is a [grid](Grid) of cut points, some evenly spaced and some in
//! powers, so that a range may be millions of times as wide as what it holds. Two searches go down the grid, for a low and
//! for a high quantile: each step asks how many records are below a cut, and goes on in the half where the quantile must be. The
//! questions of all searches are one release of the [wall](crate::wall), so that there are as many as a grid has halvings, and
//! neither the number of columns nor that of cuts adds to them.
//!
//! # Privacy
//! A record adds 0 or 1 to each of the $2d$ counts of $d$ columns, so it moves them by at most $\sqrt{2d}$. The $T$ releases of noise
//! multiplier $z$ are to an accountant what they are: they are the first stage of the plan whose second stage is the fit (see
//! [`Plan::then`]). Attacked by `a_record_moves_each_count_by_at_most_one`.
//!
//! A tempered draw could decide each step too, and would be free of delta. Its scores are sums over records, so a draw can only be
//! about two halves, of one search: that is $2d$ times as many passes over the records; and at the same cost in zCDP ($\varepsilon^2/8 = 1/2z^2$)
//! the deviation of the logistic noise that it amounts to, $2\pi/\sqrt3\varepsilon$, is $\pi/\sqrt3 = 1.8$ times that of the Gaussian.
//!
//! # Citation
//! Binary search for private quantiles: Smith, "Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011.

use crate::budget::{Adjacency, Privacy, PrivacyError};
use crate::engine::exact_delta;
use crate::math::normal;
use crate::wall::{Geometry, Plan, PlanError, Query, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use thiserror::Error;

/// Halvings of a grid.
const STEPS: u32 = 9;
/// Cells of a grid.
const CELLS: usize = 1 << STEPS;
/// Neighbouring cuts of the part of a grid that goes in powers are so many to an octave, with both signs.
const EACH_OCTAVE: f64 = 4.0;
/// The share of records that may be outside each bound.
const OUTSIDE: f64 = 0.01;
/// A count this many deviations above 0 is not taken for noise.
const SURE: f64 = 3.0;
/// What a receipt calls it.
pub(crate) const WHAT: &str = "records below cut points, to buy bounds";

/// Cut points from the lower to the upper end of a public range.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    cuts: Vec<f64>,
}

impl Grid {
    /// Half of the cuts are evenly spaced. The others are spaced in powers about 0, or about the end that is nearest to 0.
    ///
    /// # Errors
    /// [`BoundsError::Range`] if these are not the ends of a range.
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

/// What buying bounds releases, chosen from public facts.
#[derive(Debug, Clone)]
pub struct BoundsPlan {
    records: usize,
    adjacency: Adjacency,
    grids: Vec<Grid>,
    noise_multiplier: f64,
}

/// Why no bounds were bought.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum BoundsError {
    #[error("a range to look for bounds in has two finite ends, the lower one first")]
    Range,
    #[error("the share of the budget for bounds is more than 0 and less than 1, not {0}")]
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

/// What is left of a budget once a share of it went to bounds.
///
/// The share is of the square of the signal to noise ratio $\mu$ that a budget buys, since Gaussian releases compose by these squares. What
/// both cost together is up to the wall, which prices them as one.
///
/// # Errors
/// [`BoundsError`] if it is no share, or delta is 0.
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
    /// For columns with these grids, with a share of the budget.
    ///
    /// # Errors
    /// [`BoundsError`] for a share that is none.
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

    /// All that will be released: the first stage of a run, to be priced together with the fit that follows.
    ///
    /// # Errors
    /// [`PlanError`] if the wall would refuse it.
    pub fn releases(&self) -> Result<Plan, PlanError> {
        Ok(self.sums()?.0)
    }

    /// The standard deviation of the noise in a count.
    fn noise_sd(&self) -> f64 {
        self.noise_multiplier * (2.0 * self.grids.len() as f64).sqrt()
    }

    /// The share of records that will be outside each bound, before these are widened: more than asked for if that many records
    /// could not be told from noise.
    #[must_use]
    pub fn outside(&self) -> f64 {
        (SURE * self.noise_sd() / self.records as f64).clamp(OUTSIDE, 0.45)
    }

    /// Estimates bounds of the columns through a wall of this plan. The columns are the values of a record in the order of their grids.
    ///
    /// Where noise allowed only to look for a quantile that is farther inside, bounds are widened as if the column were Gaussian;
    /// they stay in the public range.
    ///
    /// # Errors
    /// [`BoundsError`].
    pub fn estimate(&self, wall: &mut Wall) -> Result<Vec<(f64, f64)>, BoundsError> {
        let (_, sums) = self.sums()?;
        let outside = self.outside();
        let wanted = [outside, 1.0 - outside].map(|share| share * self.records as f64);
        // The cells in which the quantiles are, as the numbers of the first ones.
        let mut cells = vec![[0, 0]; self.grids.len()];
        for step in 1..=STEPS {
            let half = CELLS >> step;
            let below = wall.sum(sums, &Below { grids: &self.grids, cells: &cells, half })?.values;
            for (cells, below) in cells.iter_mut().zip(below.chunks_exact(2)) {
                for ((cell, below), wanted) in cells.iter_mut().zip(below).zip(wanted) {
                    *cell += if *below < wanted { half } else { 0 };
                }
            }
        }
        let widened = normal::quantile(OUTSIDE) / normal::quantile(outside);
        Ok(self.grids.iter().zip(cells).map(|(grid, cells)| grid.bounds(cells, widened)).collect())
    }
}

impl Grid {
    /// The outer ends of two cells, moved apart by a factor.
    fn bounds(&self, [low, high]: [usize; 2], factor: f64) -> (f64, f64) {
        let (first, last) = (low.min(high), low.max(high));
        let (low, high) = (self.cuts[first], self.cuts[last + 1]);
        let (middle, reach) = (low / 2.0 + high / 2.0, factor * (high / 2.0 - low / 2.0));
        let (least, most) = (self.cuts[0], self.cuts[CELLS]);
        let (low, high) = ((middle - reach).max(least), (middle + reach).min(most));
        // Cuts may coincide, and then the cell between is nothing.
        if low < high { (low, high) } else { (least, most) }
    }
}

/// Whether a record is below the next cut of each search.
struct Below<'a> {
    grids: &'a [Grid],
    cells: &'a [[usize; 2]],
    half: usize,
}

impl Query for Below<'_> {
    fn width(&self) -> usize {
        2 * self.grids.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (((grid, cells), value), out) in
            self.grids.iter().zip(self.cells).zip(record).zip(out.chunks_exact_mut(2))
        {
            for (cell, out) in cells.iter().zip(out) {
                *out = f64::from(u8::from(*value < grid.cuts[cell + self.half]));
            }
        }
    }
}

#[cfg(test)]
mod tests;
