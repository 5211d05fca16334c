//! The contribution of one record.

use crate::jobs::Named;
use crate::model::normal::plan::BOUNDS;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Squares {
    pub(super) width: usize,
    pub(super) centre: f64,
}

impl Named for Squares {
    const NAME: &'static str = "normal-squares";
}

impl Query for Squares {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, x) in out.chunks_exact_mut(2).zip(record) {
            let x = x.clamp(BOUNDS.0, BOUNDS.1);
            out.copy_from_slice(&[x, x * x - self.centre]);
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
