//! The contribution of one record to each release.

use crate::math::vector::dot;
use crate::model::mixture::MixtureCavity;
use crate::model::mixture::sketch::Sketch;
use crate::wall::Query;

/// The residuals of a record about each mean, weighted by its responsibilities, and the responsibilities.
pub(super) struct WeightedResiduals<'a> {
    pub(super) cavity: &'a MixtureCavity,
    pub(super) components: usize,
    pub(super) dimension: usize,
    pub(super) count_scale: f64,
}

impl Query for WeightedResiduals<'_> {
    fn width(&self) -> usize {
        self.components * (self.dimension + 1)
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (residuals, counts) = out.split_at_mut(self.components * self.dimension);
        self.cavity.responsibilities(record, counts);
        for (k, residual) in residuals.chunks_exact_mut(self.dimension).enumerate() {
            for ((residual, x), m) in residual.iter_mut().zip(record).zip(self.cavity.mean(k, self.dimension))
            {
                *residual = counts[k] * (x - m);
            }
        }
        counts.iter_mut().for_each(|r| *r = self.count_scale * (*r - 1.0 / self.components as f64));
    }
}

impl Query for Sketch {
    fn width(&self) -> usize {
        2 * self.amplitudes.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let scale = (self.amplitudes.len() as f64).sqrt().recip();
        for (w, out) in self.frequencies.chunks_exact(self.dimension).zip(out.as_chunks_mut::<2>().0) {
            let (sin, cos) = dot(w, record).sin_cos();
            *out = [scale * cos, scale * sin];
        }
    }
}
