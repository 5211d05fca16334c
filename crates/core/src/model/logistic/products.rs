//! Moments of the inputs, from sums by class and noisy second moments.
//!
//! Means and variances of inputs follow from [sums by class](super::columns). Covariances of inputs of different
//! columns are released once, as centred second moments. The noise is as large for rare levels as for common ones, so
//! a released covariance is shrunk according to how far the covariances of its pair of columns exceed the noise.
//!
//! # Citation
//! James and Stein, "Estimation with quadratic loss", 1961, for pairs of columns; Efron and Morris, "Stein's
//! estimation rule and its competitors: an empirical Bayes approach", 1973, for shrinkage across pairs.

use crate::math::matrix::{self, EigenError};
use crate::math::symmetric;
use crate::model::logistic::columns::{Independent, numbers, posterior_mean};
use crate::model::logistic::frame::Frame;
use crate::model::logistic::query::Products;
use crate::wall::{Geometry, Released};
use std::ops::Range;

/// Maximum of the mean square of correlations: of all columns, and of two of them.
const MAX_CORRELATED: (f64, f64) = (0.25, 0.5);

/// Prior relative standard deviation of the variance of a number, before second moments are used.
const PRIOR_RELATIVE_SD: f64 = 0.5;

/// Minimum eigenvalue of covariances.
const MIN: f64 = 1e-6;

/// Minimum variance of a numeric column, as a share of the largest variance possible with its mean.
const MIN_VARIANCE: f64 = 0.01;

/// The square of the last coordinate of a record of weight 1: small, so that it takes little of the clipping norm.
const LAST: f64 = 0.1;

/// Prior mean and variance of the average weight of records.
const PRIOR_WEIGHT: (f64, f64) = (0.93, 0.0025);

impl Products<()> {
    pub(super) fn width_of(columns: &[usize]) -> usize {
        symmetric::width(columns.iter().sum::<usize>() + 1)
    }

    /// The coordinate whose square is this weight times [`LAST`].
    pub(super) fn last(weight: f64) -> f64 {
        (LAST * weight).sqrt()
    }

    /// # Privacy
    /// The centred inputs $z$ of a record but for the bias are weighted so that their squared norm over $R^2 - 1$ is at most 1, and the square of
    /// the last coordinate is at most [`LAST`]. Longer vectors are clipped by the wall. Attacked by `statistics_stay_within_their_clipping_norm`.
    pub(super) fn geometry() -> Geometry {
        Geometry::Outer { radius: (1.0 + LAST).sqrt() }
    }

    /// $R^2 - 1$.
    pub(super) fn unit(frame: &Frame) -> f64 {
        (frame.radius * frame.radius - 1.0).max(1e-9)
    }
}

/// The inputs of each column.
fn ranges(columns: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    columns.iter().scan(0, |next, &inputs| {
        *next += inputs;
        Some(*next - inputs..*next)
    })
}

/// Moments of the centred inputs of a record: their means are 0, but for the bias, which is 1 and comes last.
pub(super) struct Inputs {
    pub(super) size: usize,
    /// $\frac14\sum v$.
    pub(super) scale: f64,
    /// $C$.
    pub(super) covariance: Vec<f64>,
    /// The variance of the error of each element of $C$.
    pub(super) error_variance: Vec<f64>,
    /// Mean error variance of the means.
    pub(super) mean_error_variance: f64,
}

impl Inputs {
    /// From sums by class and released second moments of this many records; and whether eigenvalues were raised.
    ///
    /// # Errors
    /// [`EigenError`] if the covariance is not finite.
    pub(super) fn read(
        known: &Independent,
        frame: &Frame,
        released: &Released,
        columns: &[usize],
        n: f64,
    ) -> Result<(Self, bool), EigenError> {
        let (mean, size) = (&known.mean, known.mean.len());
        let sd = released.noise_sd[0];
        let counts = released.values.last().map_or(0.0, |sum| sum / (LAST * n));
        let total = n * posterior_mean(counts, (sd / (LAST * n)).powi(2), PRIOR_WEIGHT).clamp(0.25, 1.0);
        let unit = Products::unit(frame) / total;
        let noise = (sd * unit).powi(2);
        let mut covariance = known.covariance();
        let mut error_variance = vec![0.0; size * size];
        let mut mean_error_variance = 0.0;
        for column in ranges(columns) {
            let levels = column.len();
            for k in column {
                // The error of a level's variance is about that of its mean, and bounded by the largest possible
                // error.
                let max_error = mean[k] * mean[k] + 1.0 / (levels * levels) as f64;
                let off = if levels > 1 { known.mean_noise.min(max_error) } else { known.number_noise() };
                error_variance[k * (size + 1)] = off;
                mean_error_variance += off / size as f64;
            }
        }
        // Released covariances.
        let mut found = vec![0.0; size * size];
        symmetric::from_triangle(&released.values, size, &mut found);
        found.iter_mut().for_each(|x| *x *= unit);
        for k in numbers(columns) {
            let at = k * (size + 1);
            let (guess, value) = (covariance[at], found[at]);
            let prior_variance = (PRIOR_RELATIVE_SD * guess).powi(2);
            let share = prior_variance / (prior_variance + noise).max(1e-300);
            covariance[at] = (guess + share * (value - guess)).max(MIN_VARIANCE * (1.0 - mean[k] * mean[k]));
            error_variance[at] = prior_variance * (1.0 - share);
        }
        let variance: Vec<f64> = (0..size).map(|k| covariance[k * (size + 1)].max(1e-9)).collect();
        let noise = 0.5 * noise;
        let mut all = Correlation::default();
        let different = || {
            ranges(columns)
                .enumerate()
                .flat_map(|(k, a)| ranges(columns).skip(k + 1).map(move |b| (a.clone(), b)))
        };
        let cells =
            |(a, b): (Range<usize>, Range<usize>)| a.flat_map(move |i| b.clone().map(move |j| (i, j)));
        let look = |correlation: &mut Correlation, (i, j): (usize, usize)| {
            correlation.add((found[i * size + j], noise), variance[i] * variance[j]);
        };
        different().flat_map(cells).for_each(|cell| look(&mut all, cell));
        let overall = all.mean().clamp(0.0, MAX_CORRELATED.0);
        for block in different() {
            let mut own = Correlation::default();
            cells(block.clone()).for_each(|cell| look(&mut own, cell));
            // The estimate of this pair combined with that of all pairs, whose relative standard deviation is 1.
            let (known, unknown) = (own.variance() + 1e-300, overall * overall + 1e-300);
            let square = (own.mean() * unknown + overall * known) / (known + unknown);
            let square = square.clamp(0.0, MAX_CORRELATED.1);
            for (i, j) in cells(block) {
                let expected = square * variance[i] * variance[j];
                let share = expected / (expected + noise).max(1e-300);
                for at in [i * size + j, j * size + i] {
                    (covariance[at], error_variance[at]) =
                        (share * found[i * size + j], expected * (1.0 - share));
                }
            }
        }
        // The bias does not vary; this value does not affect the others.
        covariance[size * size - 1] = 1.0;
        let raised = matrix::raise_eigenvalues(&mut covariance, size, MIN)?;
        covariance[size * size - 1] = 0.0;
        Ok((Self { size, scale: 0.25 * total, covariance, error_variance, mean_error_variance }, raised))
    }

    /// $Cx$.
    pub(super) fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.size];
        matrix::times(&self.covariance, self.size, x, &mut out);
        out
    }
}

/// The mean square of correlations, by least squares: squares of covariances minus their noise against products of
/// variances.
#[derive(Default)]
struct Correlation {
    square: f64,
    weight: f64,
    noise: f64,
}

impl Correlation {
    fn add(&mut self, (value, noise): (f64, f64), expected: f64) {
        self.square += (value * value - noise) * expected;
        self.weight += expected * expected;
        self.noise += 2.0 * (noise * expected).powi(2);
    }

    fn mean(&self) -> f64 {
        self.square / self.weight.max(1e-300)
    }

    /// Variance of the mean, if there is only noise.
    fn variance(&self) -> f64 {
        self.noise / self.weight.max(1e-150).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::ClassSums;
    use super::*;
    use crate::budget::{Guarantee, NotPrivate};
    use crate::wall::Query;

    const COLUMNS: [usize; 4] = [3, 1, 2, 1];

    /// Records with correlated columns, and sums of them with noise of this stated standard deviation that is not
    /// added.
    fn known(noise_sd: f64) -> (Inputs, Vec<Vec<f64>>) {
        let record = |k: usize| {
            let mut row = vec![0.0; 8];
            row[k % 3] = 1.0;
            row[3] = 0.3 * (k % 3) as f64 - 0.5 + 0.1 * (k % 5) as f64;
            row[4 + usize::from(!k.is_multiple_of(3) || k.is_multiple_of(7))] = 1.0;
            row[6] = if k.is_multiple_of(4) { -0.8 } else { 0.4 } * if k % 3 == 1 { 1.0 } else { 0.5 };
            row[7] = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            row
        };
        let rows: Vec<Vec<f64>> = (0..420).map(record).collect();
        let sum = |query: &dyn Query, outer: bool| {
            let mut values = vec![0.0; if outer { symmetric::width(query.width()) } else { query.width() }];
            for row in &rows {
                let mut out = vec![0.0; query.width()];
                query.contribute(row, &mut out);
                if outer {
                    out = (0..out.len())
                        .flat_map(|i| out[i..].iter().map(|x| out[i] * x).collect::<Vec<_>>())
                        .collect();
                }
                values.iter_mut().zip(out).for_each(|(sum, x)| *sum += x);
            }
            Released {
                noise_sd: vec![noise_sd; values.len()].into(),
                values,
                expected_batch: 420.0,
                step: 1,
                guarantee: Guarantee::None(NotPrivate::NoNoise),
            }
        };
        let sums = sum(&ClassSums { columns: &COLUMNS, radius: 10.0 }, false);
        let known = Independent::read(&sums, &COLUMNS, 420.0).0;
        let mut frame = Frame::new(&known);
        // Longer than any record: all of them have weight 1.
        frame.radius = 10.0;
        let products = sum(&Products { frame: &frame }, true);
        (Inputs::read(&known, &frame, &products, &COLUMNS, 420.0).expect("finite").0, rows)
    }

    #[test]
    fn without_noise_covariances_are_those_of_the_records() {
        let (inputs, rows) = known(0.0);
        let x = |row: &[f64], k: usize| if k == 7 { 1.0 } else { row[k] };
        for i in 0..8 {
            for j in 0..8 {
                let mean = |f: &dyn Fn(&[f64]) -> f64| rows.iter().map(|row| f(row)).sum::<f64>() / 420.0;
                let expected =
                    mean(&|row| x(row, i) * x(row, j)) - mean(&|row| x(row, i)) * mean(&|row| x(row, j));
                let found = inputs.covariance[i * 8 + j];
                assert!((found - expected).abs() < 1e-5, "{i} {j}: {found} {expected}");
                assert!(inputs.error_variance[i * 8 + j] < 1e-12);
            }
        }
        assert!((inputs.scale - 105.0).abs() < 1e-9 && inputs.mean_error_variance < 1e-12);
    }

    /// Covariances within the noise are set to 0: columns are then independent, with positive error variances.
    #[test]
    fn with_much_noise_columns_are_independent() {
        let (inputs, _) = known(1e4);
        for (i, j) in [(0, 3), (1, 4), (2, 6), (3, 6), (5, 0)] {
            assert!(inputs.covariance[i * 8 + j].abs() < 1e-3);
        }
        assert!(
            inputs.error_variance[3 * 9] > 0.0
                && inputs.error_variance[0] > 0.0
                && inputs.mean_error_variance > 0.0
        );
    }
}
