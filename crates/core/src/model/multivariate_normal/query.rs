//! The contribution of one record.

use crate::jobs::Named;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};

/// Pairs of columns whose products are summed, row by row; a single column is a pair with the constant 1 after the
/// last column.
pub(super) fn pairs(columns: usize) -> Vec<(usize, usize)> {
    (0..columns).flat_map(|i| (i..=columns).map(move |j| (i, j))).collect()
}

type Scaled = ((usize, usize), (f64, f64));

#[derive(Serialize, Deserialize)]
pub(crate) struct Products {
    pub(super) columns: usize,
    pub(super) scaled: Vec<Scaled>,
    /// Whether the wall multiplies.
    pub(super) outer: bool,
}

/// The square of the constant in a vector whose outer product is released.
pub(super) const CONSTANT: f64 = 0.5;

impl Named for Products {
    const NAME: &'static str = "multivariate-normal-products";
}

impl Query for Products {
    fn width(&self) -> usize {
        if self.outer { self.columns + 1 } else { self.scaled.len() }
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let number = |k: usize| if k == self.columns { 1.0 } else { record[k].clamp(-1.0, 1.0) };
        if self.outer {
            out.iter_mut().enumerate().for_each(|(k, out)| *out = number(k));
            out[self.columns] = CONSTANT.sqrt();
            return;
        }
        for (out, &((i, j), (weight, centre))) in out.iter_mut().zip(&self.scaled) {
            *out = weight * number(i) * number(j) - centre;
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
