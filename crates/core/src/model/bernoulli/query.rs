//! The contribution of one record.

use crate::wall::Query;

/// One half for a positive value and minus one half for any other.
pub(super) struct Signs {
    pub(super) width: usize,
}

impl Query for Signs {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, &x) in out.iter_mut().zip(record) {
            *out = if x > 0.0 { 0.5 } else { -0.5 };
        }
    }
}
