//! Gradients and squared residuals, record by record.

use crate::baseline::perceptron::Perceptron;
use crate::engine::clip;
use crate::jobs::Named;
use crate::model::network_sgd::plan::COUNTED;
use crate::wall::{Geometry, Query, QuerySpec};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The gradients of half the squared error.
#[derive(Serialize, Deserialize)]
pub(crate) struct Gradients<P, W, G> {
    pub(super) shape: P,
    pub(super) weights: W,
    pub(super) clip: G,
}

impl<P, W, G> Named for Gradients<P, W, G> {
    const NAME: &'static str = "network-gradients";
}

impl<P, W, G> Query for Gradients<P, W, G>
where
    P: Borrow<Perceptron> + Serialize + Sync,
    W: AsRef<[f64]> + Serialize + Sync,
    G: Borrow<Geometry> + Serialize + Sync,
{
    fn width(&self) -> usize {
        self.weights.as_ref().len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.shape.borrow().gradient(self.weights.as_ref(), record, out);
        // The wall clips too, but not without privacy.
        clip(self.clip.borrow(), out);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// Squared residuals, and a count of them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Residuals<P, W> {
    pub(super) shape: P,
    pub(super) weights: W,
    pub(super) largest: f64,
}

impl<P, W> Named for Residuals<P, W> {
    const NAME: &'static str = "network-squared-residuals";
}

impl<P, W> Query for Residuals<P, W>
where
    P: Borrow<Perceptron> + Serialize + Sync,
    W: AsRef<[f64]> + Serialize + Sync,
{
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let residual = self.shape.borrow().residual(self.weights.as_ref(), record).abs().min(self.largest);
        out[0] = residual * residual;
        out[1] = COUNTED * (self.largest * self.largest);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
