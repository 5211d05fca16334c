//! The contribution of one record to each release.

use crate::math::vector::{dot, wide_dot};
use crate::model::regression::features::Features;
use crate::model::regression::posterior::{Predictor, RegressionPosterior};
use crate::model::regression::residuals::{BINS, HALF_RANGE, MAX_STANDARDISED, WIDTH};
use crate::model::regression::rounds::Frame;
use crate::wall::{Geometry, Query};
use reticent_noise::with_wide_vectors;

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
    frame: &'a Frame,
    radius: f64,
    /// Whether inputs are only centred and scaled.
    diagonal: bool,
}

impl<'a> Moments<'a> {
    pub(super) fn new(frame: &'a Frame, radius: f64) -> Self {
        Self { frame, radius, diagonal: frame.is_diagonal() }
    }

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
        let z = &mut out[1..=d];
        if self.diagonal {
            let scales = self.frame.whitening.iter().step_by(d + 1);
            for (((z, x), centre), scale) in z.iter_mut().zip(record).zip(&self.frame.centre).zip(scales) {
                *z = (x.clamp(-1.0, 1.0) - centre) * scale;
            }
        } else {
            self.frame.whiten(&record[..d], z);
        }
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

/// Standardised residuals of records.
pub(super) struct Standardised<'a> {
    posterior: &'a RegressionPosterior,
    /// The variance of a linear prediction as a quadratic form: the upper triangle of the matrix, row by row, with off-diagonal elements doubled.
    form: Option<Vec<f64>>,
}

impl<'a> Standardised<'a> {
    pub(super) fn new(posterior: &'a RegressionPosterior) -> Self {
        let n = posterior.inputs() + 1;
        let form = (!posterior.is_refined()).then(|| {
            let form = posterior.predictor.frame.uncertainty_form();
            let twice = |i: usize, j: usize| form[i * n + j] * if i == j { 1.0 } else { 2.0 };
            (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(|(i, j)| twice(i, j)).collect()
        });
        Self { posterior, form }
    }

    pub(super) fn of(&self, record: &[f64]) -> f64 {
        let Some(form) = &self.form else { return self.posterior.standardised(record) };
        let frame = &self.posterior.predictor.frame;
        let gaps = record.iter().zip(&frame.centre).map(|(x, centre)| x.clamp(-1.0, 1.0) - centre);
        let gaps: Vec<f64> = std::iter::once(1.0).chain(gaps).collect();
        let mut variance = 0.0;
        with_wide_vectors(
            #[inline(always)]
            || {
                let mut rest = &form[..];
                for (k, gap) in gaps.iter().enumerate() {
                    let (row, later) = rest.split_at(gaps.len() - k);
                    variance += gap * wide_dot(row, &gaps[k..]);
                    rest = later;
                }
            },
        );
        self.posterior.standardised_by(record, variance)
    }
}

/// The bin of a record's standardised residual.
pub(super) struct Histogram<'a>(pub(super) Standardised<'a>);

impl Query for Histogram<'_> {
    fn width(&self) -> usize {
        BINS
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let place = (self.0.of(record) + HALF_RANGE) / WIDTH;
        out[(place as usize).min(BINS - 1)] = 1.0;
    }
}

/// The squared standardised residual, over the largest one.
pub(super) struct Squares<'a>(pub(super) Standardised<'a>);

impl Query for Squares<'_> {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out[0] = (self.0.of(record) / MAX_STANDARDISED).powi(2).min(1.0);
    }
}
