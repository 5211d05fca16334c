//! The contribution of one record to each release.

use crate::math::vector::dot;
use crate::model::regression::features::Features;
use crate::model::regression::posterior::{Predictor, RegressionPosterior};
use crate::model::regression::residuals::{BINS, HALF_RANGE, MAX_STANDARDISED, WIDTH};
use crate::model::regression::rounds::Frame;
use crate::wall::{Geometry, Query};

/// The clipped residual-feature products of records. Contributions have a norm of at most 1.
pub(super) struct ResidualFeatures<'a> {
    pub(super) frame: &'a Frame,
    pub(super) features: &'a Features,
    /// Clipping bound $c$ of the residual.
    pub(super) clip: f64,
}

impl Query for ResidualFeatures<'_> {
    fn width(&self) -> usize {
        self.features.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.features.write(&self.frame.whitened(&record[..self.frame.inputs()]), out);
        let gap = self.frame.residual(record) - dot(out, &self.features.weights);
        let residual = (gap / self.clip).clamp(-1.0, 1.0);
        out.iter_mut().for_each(|x| *x *= residual);
    }
}

/// The vector whose second moments a round releases, over the radius: its norm is at most 1.
pub(super) struct Moments<'a> {
    pub(super) frame: &'a Frame,
    pub(super) radius: f64,
}

impl Moments<'_> {
    pub(super) fn geometry() -> Geometry {
        Geometry::Outer { radius: 1.0 }
    }
}

impl Query for Moments<'_> {
    fn width(&self) -> usize {
        self.frame.inputs() + 2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let d = self.frame.inputs();
        out[0] = 1.0;
        self.frame.whiten(&record[..d], &mut out[1..=d]);
        out[d + 1] = self.frame.residual(record) / self.frame.residual_variance.sqrt();
        let by = 1.0 / dot(out, out).sqrt().max(self.radius);
        out.iter_mut().for_each(|x| *x *= by);
    }
}

/// The squared residuals of two predictions over `cap`, each at most 1.
pub(super) struct Losses<'a> {
    pub(super) predictors: [&'a Predictor; 2],
    pub(super) cap: f64,
}

impl Query for Losses<'_> {
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, predictor) in out.iter_mut().zip(self.predictors) {
            *out = (predictor.residual(record).powi(2) / self.cap).min(1.0);
        }
    }
}

/// The bin of a record's standardised residual.
pub(super) struct Histogram<'a>(pub(super) &'a RegressionPosterior);

impl Query for Histogram<'_> {
    fn width(&self) -> usize {
        BINS
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let place = (self.0.standardised(record) + HALF_RANGE) / WIDTH;
        out[(place as usize).min(BINS - 1)] = 1.0;
    }
}

/// The squared standardised residual, over the largest one.
pub(super) struct Squares<'a>(pub(super) &'a RegressionPosterior);

impl Query for Squares<'_> {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out[0] = (self.0.standardised(record) / MAX_STANDARDISED).powi(2).min(1.0);
    }
}
