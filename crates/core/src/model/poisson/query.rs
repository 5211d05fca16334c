//! The contribution of one record.

use crate::jobs::Named;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Centred {
    pub(super) width: usize,
    pub(super) max_count: f64,
    pub(super) scaled: bool,
}

impl Named for Centred {
    const NAME: &'static str = "poisson-counts";
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

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
