//! The private rows.

use super::WallError;
use super::sampler::Batch;
use std::ops::ControlFlow;

/// Hands rows to its second argument, some at a time, from the first to the last: all of them, or those that are asked for, which are given in that
/// order. And again whenever it is called. It may end early once its second argument returns [`Break`](ControlFlow::Break).
pub type Pass = dyn FnMut(Option<&[usize]>, &mut dyn FnMut(&[f64]) -> ControlFlow<()>) + Send;

/// Whether a pass should end early.
pub(super) type Stop<'a> = &'a mut dyn FnMut() -> bool;

/// The private records, row by row: what the wall is built around.
///
/// # Privacy
/// There is no way out but through a [`Wall`](super::Wall): no accessor, no iterator, no copy, no `Debug`, no
/// serialisation, not even the number of rows. Attacked by the `compile_fail` tests.
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
    /// Rows of `width` values each, one after the other.
    ///
    /// # Errors
    /// [`WallError::Shape`] if they are not whole rows.
    pub fn new(values: Vec<f64>, width: usize) -> Result<Self, WallError> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(WallError::Shape { width });
        }
        Ok(Self { rows: values.len() / width, values, width, pass: None })
    }

    /// So many rows of `width` values that are too many to keep: each release is a pass over all of them, or over those of its sample.
    ///
    /// # Privacy
    /// Every pass must give the same rows, each a function of one record, and fail for no reason in them: what was read
    /// when they were counted can be read. What a pass lacks is absent and what it has beyond that
    /// is left out, so the number of rows is that of all or of the sample. Which those are must stay with the pass. Attacked by
    /// `a_stream_has_as_many_rows_as_it_says` and `sums_do_not_depend_on_blocks`.
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn streamed(rows: usize, width: usize, pass: Box<Pass>) -> Result<Self, WallError> {
        if width == 0 {
            return Err(WallError::Shape { width });
        }
        Ok(Self { values: Vec::new(), width, rows, pass: Some(pass) })
    }

    /// Calls `each` with whole rows, and which of these the batch is, until it has had all of the batch.
    ///
    /// # Errors
    /// [`WallError::Stopped`] if a pass over streamed rows was ended early: then there is nothing to release.
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
