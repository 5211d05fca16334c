//! The private rows.

use super::WallError;

/// Hands all rows to its argument, some at a time, from the first to the last; and again whenever it is called.
pub type Pass = dyn FnMut(&mut dyn FnMut(&[f64])) + Send;

/// The private records, row by row: what the wall is built around.
///
/// # Privacy
/// There is no way out but through a [`Wall`](super::Wall): no accessor, no iterator, no copy, no `Debug`, no
/// serialisation, not even the number of rows. Attacked by the `compile_fail` tests.
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
    /// [`WallError::Shape`] if they are not whole rows, [`WallError::NotFinite`] if a value is not finite.
    pub fn new(values: Vec<f64>, width: usize) -> Result<Self, WallError> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(WallError::Shape { width });
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(WallError::NotFinite);
        }
        Ok(Self { rows: values.len() / width, values, width, pass: None })
    }

    /// So many rows of `width` values that are too many to keep: each release about all of them is a pass. They are kept
    /// all the same once a release is about a sample.
    ///
    /// # Privacy
    /// Every pass must give the same rows, each a function of one record, and fail for no reason in them: what was read
    /// when they were counted can be read. What a pass lacks is taken to be zeros and what it has beyond that
    /// is left out, so the number of rows is the same in each. Attacked by `a_stream_has_as_many_rows_as_it_says`.
    ///
    /// # Errors
    /// [`WallError::Shape`] if rows have no values.
    pub fn streamed(rows: usize, width: usize, pass: Box<Pass>) -> Result<Self, WallError> {
        if width == 0 {
            return Err(WallError::Shape { width });
        }
        Ok(Self { values: Vec::new(), width, rows, pass: Some(pass) })
    }

    /// Calls `each` with whole rows until it has had all.
    pub(super) fn blocks(&mut self, mut each: impl FnMut(&[f64])) {
        let Some(pass) = &mut self.pass else { return each(&self.values) };
        let (width, mut left) = (self.width, self.rows);
        pass(&mut |values| {
            let rows = left.min(values.len() / width);
            left -= rows;
            each(&values[..rows * width]);
        });
        let zeros = vec![0.0; width];
        (0..left).for_each(|_| each(&zeros));
    }

    /// All rows at once.
    pub(super) fn keep(&mut self) {
        let mut values = std::mem::take(&mut self.values);
        if self.pass.is_some() {
            self.blocks(|block| values.extend_from_slice(block));
        }
        (self.values, self.pass) = (values, None);
    }
}
