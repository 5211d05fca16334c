//! The contribution of one record to each release.

use crate::jobs::Named;
use crate::math::vector::dot;
use crate::model::regression::features::Features;
use crate::model::regression::posterior::{Predictor, RegressionPosterior};
use crate::model::regression::residuals::{BINS, HALF_RANGE, MAX_STANDARDISED, WIDTH};
use crate::model::regression::rounds::Frame;
use crate::wall::{Geometry, Query, QuerySpec};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The clipped residual-feature products of records. Contributions have a norm of at most 1.
#[derive(Serialize, Deserialize)]
pub(crate) struct ResidualFeatures<F, P> {
    pub(super) frame: F,
    pub(super) features: P,
    /// Clipping bound $c$ of the residual.
    pub(super) clip: f64,
}

impl<F, P> Named for ResidualFeatures<F, P> {
    const NAME: &'static str = "regression-features";
}

impl<F, P> Query for ResidualFeatures<F, P>
where
    F: Borrow<Frame> + Serialize + Sync,
    P: Borrow<Features> + Serialize + Sync,
{
    fn width(&self) -> usize {
        self.features.borrow().weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (frame, features) = (self.frame.borrow(), self.features.borrow());
        features.write(&frame.whitened(&record[..frame.inputs()]), out);
        let gap = frame.residual(record) - dot(out, &features.weights);
        let residual = (gap / self.clip).clamp(-1.0, 1.0);
        out.iter_mut().for_each(|x| *x *= residual);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// The vector whose second moments a round releases, over the radius: its norm is at most 1.
#[derive(Serialize, Deserialize)]
pub(crate) struct Moments<F> {
    pub(super) frame: F,
    pub(super) radius: f64,
}

impl Moments<()> {
    pub(super) fn geometry() -> Geometry {
        Geometry::Outer { radius: 1.0 }
    }
}

impl<F> Named for Moments<F> {
    const NAME: &'static str = "regression-moments";
}

impl<F: Borrow<Frame> + Serialize + Sync> Query for Moments<F> {
    fn width(&self) -> usize {
        self.frame.borrow().inputs() + 2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let frame = self.frame.borrow();
        let d = frame.inputs();
        out[0] = 1.0;
        frame.whiten(&record[..d], &mut out[1..=d]);
        out[d + 1] = frame.residual(record) / frame.residual_variance.sqrt();
        let by = 1.0 / dot(out, out).sqrt().max(self.radius);
        out.iter_mut().for_each(|x| *x *= by);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// The squared residuals of two predictions over `cap`, each at most 1.
#[derive(Serialize, Deserialize)]
pub(crate) struct Losses<P> {
    pub(super) predictors: [P; 2],
    pub(super) cap: f64,
}

impl<P> Named for Losses<P> {
    const NAME: &'static str = "regression-losses";
}

impl<P: Borrow<Predictor> + Serialize + Sync> Query for Losses<P> {
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, predictor) in out.iter_mut().zip(&self.predictors) {
            let residual = predictor.borrow().residual(record);
            *out = (residual * residual / self.cap).min(1.0);
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// The bin of a record's standardised residual.
#[derive(Serialize, Deserialize)]
pub(crate) struct Histogram<P>(pub(super) P);

impl<P> Named for Histogram<P> {
    const NAME: &'static str = "regression-residual-bins";
}

impl<P: Borrow<RegressionPosterior> + Serialize + Sync> Query for Histogram<P> {
    fn width(&self) -> usize {
        BINS
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let place = (self.0.borrow().standardised(record) + HALF_RANGE) / WIDTH;
        out[(place as usize).min(BINS - 1)] = 1.0;
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// The squared standardised residual, over the largest one.
#[derive(Serialize, Deserialize)]
pub(crate) struct Squares<P>(pub(super) P);

impl<P> Named for Squares<P> {
    const NAME: &'static str = "regression-squared-residuals";
}

impl<P: Borrow<RegressionPosterior> + Serialize + Sync> Query for Squares<P> {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let share = self.0.borrow().standardised(record) / MAX_STANDARDISED;
        out[0] = (share * share).min(1.0);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
