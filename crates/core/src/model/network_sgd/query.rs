//! Gradients and squared residuals, record by record.

use crate::baseline::perceptron::Perceptron;
use crate::engine::clip;
use crate::model::network_sgd::plan::COUNTED;
use crate::wall::{Geometry, Query};

/// The gradients of half the squared error.
pub(super) struct Gradients<'a> {
    pub(super) shape: &'a Perceptron,
    pub(super) weights: &'a [f64],
    pub(super) clip: &'a Geometry,
}

impl Query for Gradients<'_> {
    fn width(&self) -> usize {
        self.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.shape.gradient(self.weights, record, out);
        // The wall clips too, but not without privacy.
        clip(self.clip, out);
    }
}

/// Squared residuals, and a count of them.
pub(super) struct Residuals<'a> {
    pub(super) shape: &'a Perceptron,
    pub(super) weights: &'a [f64],
    pub(super) largest: f64,
}

impl Query for Residuals<'_> {
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let residual = self.shape.residual(self.weights, record);
        out[0] = residual.abs().min(self.largest).powi(2);
        out[1] = COUNTED * self.largest.powi(2);
    }
}
