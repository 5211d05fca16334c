//! The contribution of one record to each release.

use crate::jobs::Named;
use crate::math::vector::dot;
use crate::model::mixture::MixtureCavity;
use crate::model::mixture::sketch::Sketch;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The residuals of a record about each mean, weighted by its responsibilities, and the responsibilities.
#[derive(Serialize, Deserialize)]
pub(crate) struct WeightedResiduals<C> {
    pub(super) cavity: C,
    pub(super) components: usize,
    pub(super) dimension: usize,
    pub(super) count_scale: f64,
}

impl<C> Named for WeightedResiduals<C> {
    const NAME: &'static str = "mixture-residuals";
}

impl<C: Borrow<MixtureCavity> + Serialize + Sync> Query for WeightedResiduals<C> {
    fn width(&self) -> usize {
        self.components * (self.dimension + 1)
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (residuals, counts) = out.split_at_mut(self.components * self.dimension);
        let cavity = self.cavity.borrow();
        cavity.responsibilities(record, counts);
        for (k, residual) in residuals.chunks_exact_mut(self.dimension).enumerate() {
            for ((residual, x), m) in residual.iter_mut().zip(record).zip(cavity.mean(k, self.dimension)) {
                *residual = counts[k] * (x - m);
            }
        }
        counts.iter_mut().for_each(|r| *r = self.count_scale * (*r - 1.0 / self.components as f64));
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

impl Named for Sketch {
    const NAME: &'static str = "mixture-sketch";
}

impl Query for Sketch {
    fn width(&self) -> usize {
        2 * self.amplitudes.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let scale = (self.amplitudes.len() as f64).sqrt().recip();
        for (w, out) in self.frequencies.chunks_exact(self.dimension).zip(out.as_chunks_mut::<2>().0) {
            // The same on every platform.
            let (sin, cos) = libm::sincos(dot(w, record));
            *out = [scale * cos, scale * sin];
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
