//! The private rows.

use super::WallError;

/// The private records, row by row: what the wall is built around.
///
/// # Privacy
/// There is no way out but through a [`Wall`](super::Wall): no accessor, no iterator, no copy, no `Debug`, no
/// serialisation, not even the number of rows. Attacked by the `compile_fail` tests.
pub struct Records {
    values: Vec<f64>,
    width: usize,
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
        Ok(Self { values, width })
    }

    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    #[inline]
    pub(super) fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.width..][..self.width]
    }
}
