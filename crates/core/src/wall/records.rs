//! The private records.

use super::lattice::Lattice;
use super::sampler::Batch;
use super::sum::{Contributor, Total};
use super::{Job, Partial, WallError};
use std::ops::ControlFlow;

/// Reads all rows, or those of the given indices in increasing order, and passes them to its second argument in
/// blocks of rows. Each call reads from the start. It may end early once its second argument returns
/// [`Break`](ControlFlow::Break).
pub type Pass = dyn FnMut(Option<&[usize]>, &mut dyn FnMut(&[f64]) -> ControlFlow<()>) + Send;

/// The same for units of several rows: a block has the rows of some units, and the rows that each of these begins after, from 0, and at last
/// all rows of the block. Indices are those of units. A block without units, `(&[], &[0])`, only asks whether to end.
pub type UnitPass = dyn FnMut(Option<&[usize]>, EachUnits<'_>) + Send;

/// Receives such blocks.
pub(super) type EachUnits<'a> = &'a mut dyn FnMut(&[f64], &[usize]) -> ControlFlow<()>;

/// Whether a pass should end early.
pub(super) type Stop<'a> = &'a mut dyn FnMut() -> bool;

/// Where records are that this process does not read: other processes, or a cluster.
///
/// # Privacy
/// The wall does not rely on it for anything but what [`Partial`] states: which units each part of a sum has, which must be numbered alike
/// in all releases, each a function of its own rows, and protected as the records are on its way. No value may decide whether a part
/// fails, is tried again or is lost.
pub trait Place: Send {
    /// Number of privacy units.
    fn units(&self) -> usize;
    /// Values in a row.
    fn width(&self) -> usize;
    /// How those who read the records turn them into rows; part of each job.
    fn encoding(&self) -> String {
        String::new()
    }
    /// The sums of the contributions of all units to a job, in any number of parts. It should end early once `stop` returns true.
    ///
    /// # Errors
    /// [`WallError::Place`] if records could not be read, and those of the job.
    fn add(&mut self, job: &Job, stop: &mut dyn FnMut() -> bool) -> Result<Vec<Partial>, WallError>;
}

/// The private records, row by row, of privacy units that have one row each, or [any number](Self::of_units).
///
/// # Privacy
/// Only a [`Wall`](super::Wall) reads them: there is no accessor, no iterator, no copy, no `Debug`, no serialisation,
/// and the number of rows is not shown either. Attacked by the `compile_fail` tests.
///
/// No value can make a release fail. A row with a value that is not finite is an *absent* record, such as one without a
/// target: it is sampled like any other and contributes nothing. Attacked by `absent_records_contribute_nothing`.
pub struct Records {
    values: Vec<f64>,
    pub(super) width: usize,
    /// Privacy units.
    pub(super) units: usize,
    /// Rows that each unit begins after, and at last all rows; empty if each row is a unit.
    starts: Vec<usize>,
    /// Rows that a unit counts as at least.
    pub(super) least: usize,
    pass: Option<Box<UnitPass>>,
    pub(super) place: Option<Box<dyn Place>>,
}

/// Consecutive units: their rows, and where each begins.
#[derive(Clone, Copy)]
pub(crate) struct Units<'a> {
    pub(super) values: &'a [f64],
    pub(super) starts: &'a [usize],
    pub(super) width: usize,
    /// Rows that a unit counts as at least.
    pub(super) least: usize,
}

/// Rows that each unit begins after, and at last all rows, from the number of rows of each.
pub(super) fn starts(rows: &[usize]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(rows.iter().scan(0usize, |row, rows| {
        *row = row.saturating_add(*rows);
        Some(*row)
    }));
    starts
}

impl<'a> Units<'a> {
    pub(super) fn len(self) -> usize {
        if self.starts.is_empty() { self.values.len() / self.width } else { self.starts.len() - 1 }
    }

    /// At most so many of them.
    fn first(self, count: usize) -> Self {
        let count = count.min(self.len());
        match self.starts {
            [] => Self { values: &self.values[..count * self.width], ..self },
            starts => Self { starts: &starts[..=count], ..self },
        }
    }

    /// The rows of a unit, one after the other.
    #[inline(always)]
    pub(super) fn rows(self, unit: usize) -> &'a [f64] {
        let [first, end] = match self.starts {
            [] => [unit, unit + 1],
            starts => [starts[unit], starts[unit + 1]],
        };
        &self.values[first * self.width..end * self.width]
    }
}

impl Records {
    /// Rows of `width` values each, concatenated.
    ///
    /// # Errors
    /// [`WallError::Shape`] if the last row is incomplete or rows have no values.
    pub fn new(values: Vec<f64>, width: usize) -> Result<Self, WallError> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(WallError::Shape { width });
        }
        Ok(Self {
            units: values.len() / width,
            values,
            width,
            starts: Vec::new(),
            least: 1,
            pass: None,
            place: None,
        })
    }

    /// Units of several rows of `width` values: `rows` has the number of rows of each, in the order of `values`.
    ///
    /// # Privacy
    /// All rows of a unit together make one contribution, the mean of those of its rows, which is clipped once. So neighbouring data sets
    /// differ in all rows of one unit, however many, and the sensitivities and samplers are those of single rows. Which rows belong to a
    /// unit must be a function of these rows alone. A row that is absent counts for nothing; a unit without any other row is absent.
    /// Attacked by `a_unit_moves_a_sum_as_one_row_does`.
    ///
    /// # Errors
    /// [`WallError::Shape`] if the numbers of rows do not add up to those of the values, or rows have no values.
    pub fn of_units(values: Vec<f64>, width: usize, rows: &[usize]) -> Result<Self, WallError> {
        let starts = starts(rows);
        let all = starts.last().and_then(|rows| rows.checked_mul(width));
        if width == 0 || all != Some(values.len()) {
            return Err(WallError::Shape { width });
        }
        Ok(Self { units: rows.len(), values, width, starts, least: 1, pass: None, place: None })
    }

    /// Rows of `width` values that do not fit in memory: each release is a pass over all of them, or over those of
    /// its sample.
    ///
    /// # Privacy
    /// Every pass must give the same rows, each a function of one record, or of one record and of public values such as those released
    /// before, and must not fail because of a value. Rows that a pass lacks are absent records, and surplus rows are ignored, so the number of rows is that of all or of
    /// the sample. The indices of a sample must not leave the pass. Attacked by
    /// `a_stream_has_exactly_the_stated_rows` and `sums_do_not_depend_on_blocks`.
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn streamed(rows: usize, width: usize, mut pass: Box<Pass>) -> Result<Self, WallError> {
        let alone = move |wanted: Option<&[usize]>, each: EachUnits<'_>| {
            pass(wanted, &mut |values| each(values, &[]));
        };
        Self::streamed_units(rows, width, Box::new(alone))
    }

    /// Units of several rows that do not fit in memory, as [`streamed`](Self::streamed) is of rows.
    ///
    /// # Privacy
    /// That of [`of_units`](Self::of_units) and of [`streamed`](Self::streamed): all rows of a unit must be in one block, one after the other.
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn streamed_units(units: usize, width: usize, pass: Box<UnitPass>) -> Result<Self, WallError> {
        if width == 0 {
            return Err(WallError::Shape { width });
        }
        Ok(Self {
            values: Vec::new(),
            width,
            units,
            starts: Vec::new(),
            least: 1,
            pass: Some(pass),
            place: None,
        })
    }

    /// The same units, each of whose rows counts as one over this number, or over the number of its rows if that is larger.
    ///
    /// # Privacy
    /// It makes contributions smaller. So a unit of at most so many rows counts as their sum over a public number, which is clipped as a mean is.
    #[must_use]
    pub fn counting_at_least(self, rows: usize) -> Self {
        Self { least: rows.max(1), ..self }
    }

    /// Records that are elsewhere.
    ///
    /// # Privacy
    /// That of [`Place`] and of [`Job`].
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn at(place: Box<dyn Place>) -> Result<Self, WallError> {
        let (units, width) = (place.units(), place.width());
        if width == 0 {
            return Err(WallError::Shape { width });
        }
        Ok(Self {
            values: Vec::new(),
            width,
            units,
            starts: Vec::new(),
            least: 1,
            pass: None,
            place: Some(place),
        })
    }

    /// The sum of the contributions of a batch: on the lattice, or as they are if it is `open`, which is not private.
    pub(super) fn sum(
        &mut self,
        batch: Batch<'_>,
        stop: Stop<'_>,
        query: &dyn Contributor,
        (lattice, width, open): (&Lattice, usize, bool),
    ) -> Result<Total, WallError> {
        let mut total = if open { Total::Plain(vec![0.0; width]) } else { Total::zeros(lattice, width) };
        self.blocks(batch, stop, |units, batch| query.add(units, batch, lattice, &mut total))?;
        Ok(total)
    }

    /// Calls `each` with blocks of units, and with the indices of the batch in them, until the batch is complete.
    ///
    /// # Errors
    /// [`WallError::Stopped`] if a pass over streamed rows was ended early: there is nothing to release then.
    fn blocks(
        &mut self,
        batch: Batch<'_>,
        stop: Stop<'_>,
        mut each: impl FnMut(Units<'_>, Batch<'_>),
    ) -> Result<(), WallError> {
        let (width, least) = (self.width, self.least);
        let Some(pass) = &mut self.pass else {
            each(Units { values: &self.values, starts: &self.starts, width, least }, batch);
            return Ok(());
        };
        let mut sorted = batch.map(<[usize]>::to_vec);
        sorted.iter_mut().for_each(|units| units.sort_unstable());
        let mut left = batch.map_or(self.units, <[usize]>::len);
        let mut stopped = false;
        pass(sorted.as_deref(), &mut |values, starts| {
            stopped = stopped || stop();
            if stopped {
                return ControlFlow::Break(());
            }
            let units = Units { values, starts, width, least }.first(left);
            left -= units.len();
            each(units, None);
            ControlFlow::Continue(())
        });
        if stopped {
            return Err(WallError::Stopped);
        }
        let absent = vec![f64::NAN; width];
        (0..left).for_each(|_| each(Units { values: &absent, starts: &[], width, least }, None));
        Ok(())
    }
}
