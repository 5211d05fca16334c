//! Releases about records that are elsewhere: what a part of them contributes, and the sum of all parts.

use super::lattice::Lattice;
use super::records::{Units, starts};
use super::sum::{Contributor, Total, silence_query_panics_once};
use super::{Plan, Sampler, Sums, WallError};
use crate::jobs::{self, QuerySpec};
use reticent_accounting::Adjacency;
use reticent_noise::SampleKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// What determines the contributions to a release. It is public, but for the key of a sample.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// That of this library: another one might round otherwise.
    pub(super) version: String,
    pub(super) sums: Sums,
    pub(super) records: usize,
    pub(super) adjacency: Adjacency,
    /// Number of the release, from 1.
    pub(super) step: u64,
    pub(super) key: [u32; 8],
    /// Privacy units, values in a row, and rows that a unit counts as at least.
    pub(super) units: usize,
    pub(super) width: usize,
    pub(super) least: usize,
    pub(super) encoding: String,
    pub(super) query: QuerySpec,
}

/// One release as data: the query, the domain with its lattice, the sample and the shape of the records, so that other processes can
/// add up parts of the records. [`read`](Self::read) and [`write`](Self::write) are exact.
///
/// # Privacy
/// [`add_rows`](Self::add_rows) and [`add_units`](Self::add_units) are the only ways to contribute, on every machine and by the same code
/// as a sum within this process: a unit is sampled by its own coin, and its contribution is clipped to the domain and rounded to the
/// lattice before it is added. The lattice is that of the [`Plan`], made from the same numbers by arithmetic that IEEE 754 fixes.
///
/// Let the wall's sum be over partial sums whose ranges of units are disjoint and within the stated number. Then each unit is in at
/// most one of them, and in that one once: the sum is that of the contributions of a set of units that depends on ranges only, not on
/// values. So neighbouring data sets move it by at most the sensitivity of the geometry, in integers, however the units are split and
/// however often a part is tried. A range that is missing is a set of units that contribute zeros in both data sets, which needs that
/// no value decides whether a part is lost. The release adds noise to the sum of all parts once; no part has noise, so a [`Partial`] is
/// as private as the records. A job reveals who is in its sample and nothing else about the records.
///
/// Attacked by `overlapping_partial_sums_are_refused`, `a_repeated_partial_sum_counts_once`, `lost_units_contribute_zeros`,
/// `partial_sums_of_other_jobs_are_refused`, `damaged_jobs_are_refused` and `processes_that_share_the_records_give_the_same_integers`.
pub struct Job {
    pub(crate) description: Description,
    digest: [u8; 32],
    sampler: Sampler,
    lattice: Lattice,
    query: Box<dyn Contributor + Send>,
}

/// The sum of the contributions of some units to a job, without noise.
///
/// # Privacy
/// It is a statistic of the records without noise: whoever stores or sends it must protect it as the records themselves. It has no `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    job: [u8; 32],
    /// Not empty, disjoint, in increasing order, and with gaps between them.
    units: Vec<Range<usize>>,
    sums: Total,
}

fn refused<T>(fault: &'static str) -> Result<T, WallError> {
    Err(WallError::Job { fault })
}

impl Job {
    pub(crate) fn new(description: Description) -> Result<Self, WallError> {
        silence_query_panics_once();
        let Description { version, sums, records, adjacency, width, query, .. } = &description;
        if version != env!("CARGO_PKG_VERSION") {
            return refused("it is of another version of this library");
        }
        let mut plan = Plan::new(*records, *adjacency);
        plan.sums(sums.clone())?;
        let Some(query) = jobs::query(query) else { return refused("there is no such query") };
        let Some(group) = plan.groups.pop().filter(|group| group.takes(query.shape()).is_ok()) else {
            return refused("the query is not that of the plan");
        };
        if !sums.sampler.in_parts() || *width == 0 || description.least == 0 {
            return refused("its units cannot be sampled one by one, or have no values");
        }
        let digest = Sha256::digest(jobs::to_json(&description)).into();
        Ok(Self { sampler: sums.sampler, lattice: group.lattice, digest, query, description })
    }

    /// How the place of the records [encodes](super::Place::encoding) rows.
    #[must_use]
    pub fn encoding(&self) -> &str {
        &self.description.encoding
    }

    /// Privacy units of all parts together.
    #[must_use]
    pub fn units(&self) -> usize {
        self.description.units
    }

    /// Values in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.description.width
    }

    /// The sum of no contribution.
    #[must_use]
    pub fn nothing(&self) -> Partial {
        let sums = Total::zeros(&self.lattice, self.description.sums.width);
        Partial { job: self.digest, units: Vec::new(), sums }
    }

    /// Adds the contributions of consecutive units of one row each, of which the first has this number among all.
    ///
    /// # Errors
    /// [`WallError::Job`] if rows are incomplete, units are beyond the stated number or in the sum already, or the sum is of another job.
    pub fn add_rows(&self, first: usize, rows: &[f64], to: &mut Partial) -> Result<(), WallError> {
        self.add(first, rows, &[], to)
    }

    /// The same for units of several rows: `counts` has the number of rows of each.
    ///
    /// # Errors
    /// As [`add_rows`](Self::add_rows).
    pub fn add_units(
        &self,
        first: usize,
        (rows, counts): (&[f64], &[usize]),
        to: &mut Partial,
    ) -> Result<(), WallError> {
        match starts(counts) {
            starts if starts.last().and_then(|all| all.checked_mul(self.width())) == Some(rows.len()) => {
                self.add(first, rows, &starts, to)
            }
            _ => refused("rows are incomplete"),
        }
    }

    fn add(&self, first: usize, values: &[f64], starts: &[usize], to: &mut Partial) -> Result<(), WallError> {
        let units = Units { values, starts, width: self.width(), least: self.description.least };
        if !values.len().is_multiple_of(self.width()) {
            return refused("rows are incomplete");
        }
        let range = first..first.saturating_add(units.len());
        self.claim(to, &range)?;
        let mut sampled = self.sampler.sampled(&SampleKey::new(self.description.key), range);
        sampled.iter_mut().flatten().for_each(|unit| *unit -= first);
        self.query.add(units, sampled.as_deref(), &self.lattice, &mut to.sums);
        Ok(())
    }

    /// Enters units of this job in a sum that must not have them yet.
    fn claim(&self, sum: &mut Partial, units: &Range<usize>) -> Result<(), WallError> {
        let place = sum.units.partition_point(|earlier| earlier.end <= units.start);
        let free = sum.units.get(place).is_none_or(|later| units.end <= later.start);
        if sum.job != self.digest {
            return refused("it is of another job");
        } else if !sum.sums.fits(&self.lattice, self.description.sums.width) {
            return refused("it has another width");
        } else if !free || units.start > units.end || units.end > self.units() {
            return refused("units are missing from the job, or are in two parts of the sum");
        }
        sum.units.insert(place, units.clone());
        sum.units.retain(|units| !units.is_empty());
        sum.units.dedup_by(|later, earlier| {
            let adjacent = earlier.end == later.start;
            earlier.end = if adjacent { later.end } else { earlier.end };
            adjacent
        });
        Ok(())
    }

    /// The sum of all parts. One of the same units as an earlier one is a repetition of it, and is dropped, whatever its sums are: no error
    /// depends on a sum. Other overlaps are refused, since what is in both parts cannot be taken out of either.
    pub(super) fn join(&self, parts: Vec<Partial>) -> Result<Total, WallError> {
        let mut all = self.nothing();
        let mut seen = std::collections::HashSet::new();
        for Partial { job, units, sums } in parts {
            if job != self.digest {
                return refused("it is of another job");
            }
            let apart = units.windows(2).all(|pair| pair[0].end < pair[1].start);
            if !apart || units.iter().any(Range::is_empty) {
                return refused("its ranges of units are empty, not in order, or without gaps");
            }
            if !units.is_empty() && seen.insert(units.clone()) {
                units.iter().try_for_each(|units| self.claim(&mut all, units))?;
                if !all.sums.join(&sums) {
                    return refused("it has another width");
                }
            }
        }
        Ok(all.sums)
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
