//! Draws from a family with one parameter on a grid.

use crate::wall::Query;

/// A one-dimensional family on a public grid of parameters: the score of a record for a grid point is its log density
/// there. A [draw](crate::wall::Wall::draw) over it is a draw from the tempered posterior on the grid.
pub struct Grid<F> {
    points: Vec<f64>,
    log_density: F,
}

impl<F: Fn(&[f64], f64) -> f64 + Sync> Grid<F> {
    /// The scores are the `log_density` of a record at each of the `points`.
    pub fn new(points: Vec<f64>, log_density: F) -> Self {
        Self { points, log_density }
    }

    /// The parameter values of the grid.
    pub fn points(&self) -> &[f64] {
        &self.points
    }
}

impl<F: Fn(&[f64], f64) -> f64 + Sync> Query for Grid<F> {
    fn width(&self) -> usize {
        self.points.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, &point) in out.iter_mut().zip(&self.points) {
            *out = (self.log_density)(record, point);
        }
    }
}
