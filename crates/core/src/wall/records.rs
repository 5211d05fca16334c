//! The private records.

use super::WallError;
use super::sampler::Batch;
use std::ops::ControlFlow;

/// Reads all rows, or those of the given indices in increasing order, and passes them to its second argument in
/// blocks of rows. Each call reads from the start. It may end early once its second argument returns
/// [`Break`](ControlFlow::Break).
pub type Pass = dyn FnMut(Option<&[usize]>, &mut dyn FnMut(&[f64]) -> ControlFlow<()>) + Send;

/// Whether a pass should end early.
pub(super) type Stop<'a> = &'a mut dyn FnMut() -> bool;

/// The private records, row by row.
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
    pub(super) rows: usize,
    pass: Option<Box<Pass>>,
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
        Ok(Self { rows: values.len() / width, values, width, pass: None })
    }

    /// Rows of `width` values that do not fit in memory: each release is a pass over all of them, or over those of
    /// its sample.
    ///
    /// # Privacy
    /// Every pass must give the same rows, each a function of one record, and must not fail because of a value. Rows
    /// that a pass lacks are absent records, and surplus rows are ignored, so the number of rows is that of all or of
    /// the sample. The indices of a sample must not leave the pass. Attacked by
    /// `a_stream_has_exactly_the_stated_rows` and `sums_do_not_depend_on_blocks`.
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn streamed(rows: usize, width: usize, pass: Box<Pass>) -> Result<Self, WallError> {
        if width == 0 {
            return Err(WallError::Shape { width });
        }
        Ok(Self { values: Vec::new(), width, rows, pass: Some(pass) })
    }

    /// Calls `each` with blocks of rows, and with the indices of the batch in them, until the batch is complete.
    ///
    /// # Errors
    /// [`WallError::Stopped`] if a pass over streamed rows was ended early: there is nothing to release then.
    pub(super) fn blocks(
        &mut self,
        batch: Batch<'_>,
        stop: Stop<'_>,
        mut each: impl FnMut(&[f64], Batch<'_>),
    ) -> Result<(), WallError> {
        let Some(pass) = &mut self.pass else {
            each(&self.values, batch);
            return Ok(());
        };
        let mut sorted = batch.map(<[usize]>::to_vec);
        sorted.iter_mut().for_each(|rows| rows.sort_unstable());
        let (width, mut left) = (self.width, batch.map_or(self.rows, <[usize]>::len));
        let mut stopped = false;
        pass(sorted.as_deref(), &mut |values| {
            stopped = stopped || stop();
            if stopped {
                return ControlFlow::Break(());
            }
            let rows = left.min(values.len() / width);
            left -= rows;
            each(&values[..rows * width], None);
            ControlFlow::Continue(())
        });
        if stopped {
            return Err(WallError::Stopped);
        }
        let absent = vec![f64::NAN; width];
        (0..left).for_each(|_| each(&absent, None));
        Ok(())
    }
}
