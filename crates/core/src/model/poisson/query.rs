//! The contribution of one record.

use crate::wall::Query;

pub(super) struct Centred {
    pub(super) width: usize,
    pub(super) max_count: f64,
    pub(super) scaled: bool,
}

impl Query for Centred {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, &x) in out.iter_mut().zip(record) {
            let half = 0.5 * self.max_count;
            *out = if self.scaled { half * x.clamp(-1.0, 1.0) } else { x.clamp(0.0, self.max_count) - half };
        }
    }
}
