//! The contribution of one record.

use reticent_core::wall::Query;

/// The inputs themselves; the wall clips those outside of the planned ball.
pub struct Inputs {
    pub columns: usize,
}

impl Query for Inputs {
    fn width(&self) -> usize {
        self.columns
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&record[..self.columns]);
    }
}
