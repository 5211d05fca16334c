//! The contribution of one record.

use crate::jobs::Named;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};

/// One half for a positive value and minus one half for any other.
#[derive(Serialize, Deserialize)]
pub(crate) struct Signs {
    pub(super) width: usize,
}

impl Named for Signs {
    const NAME: &'static str = "bernoulli-signs";
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

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
