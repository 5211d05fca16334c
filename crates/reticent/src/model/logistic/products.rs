//! What is known of the inputs from sums by class and noisy sums of products.
//!
//! Means and variances of inputs follow from [sums by class](super::columns). Covariances of inputs of different columns are released once, as
//! sums of products. Noise is as large for rare levels as for common ones, so a released covariance counts as far as covariances of its pair of
//! columns are found to exceed the noise.
//!
//! # Citation
//! Pairs of columns as in James and Stein, "Estimation with quadratic loss", 1961; that pairs borrow from each other as in Efron and Morris,
//! "Stein's estimation rule and its competitors: an empirical Bayes approach", 1973.

use super::columns::{Independent, level_columns, numbers};
use super::features;
use crate::matrix;
use crate::wall::{Geometry, Query, Released};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::ops::Range;

/// The mean square of correlations that is thought possible: of all columns, and of two of them.
const MOST_CORRELATED: (f64, f64) = (0.25, 0.5);
/// What the variance of a number may be off by before products say more, as a share.
const UNSURE: f64 = 0.5;
/// Second moments have eigenvalues of at least this.
const LEAST: f64 = 1e-6;
/// Numbers vary by at least this share of what numbers with their mean can.
const LEAST_VARIANCE: f64 = 0.01;

/// Products of inputs of different columns, times $\sqrt2$ as they stand for two elements of a matrix, and squares of numbers. Products with numbers
/// have two places, one of which is 0: that of positive and that of negative ones.
pub(super) struct Products<'a> {
    pub(super) columns: &'a [usize],
    pub(super) radius: f64,
}

impl Products<'_> {
    pub(super) fn width(columns: &[usize]) -> usize {
        pairs(columns).map(|pair| 1 + usize::from(pair.signed())).sum()
    }

    /// # Privacy
    /// With the inputs $x$ of a record but for the bias, all products have a norm of $\lVert x\rVert^2$. Of those of levels with themselves, which
    /// are left out, there is a 1 in each column of levels. Longer ones are clipped by the wall. Attacked by
    /// `statistics_stay_within_their_reach`.
    pub(super) fn geometry(radius: f64, columns: &[usize]) -> Geometry {
        let square = radius * radius - 1.0;
        let radius = (square * square - level_columns(columns) as f64).max(1.0).sqrt();
        Geometry::NonNegativeBall { radius }
    }
}

impl Query for Products<'_> {
    fn width(&self) -> usize {
        Self::width(self.columns)
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (x, _) = features(record);
        let mut norm = 0.0;
        let mut next = 0;
        for pair in pairs(self.columns) {
            let product = pair.factor() * x[pair.i] * x[pair.j];
            norm += product * product;
            out[next] = product.max(0.0);
            next += 1;
            if pair.signed() {
                out[next] = (-product).max(0.0);
                next += 1;
            }
        }
        let Geometry::NonNegativeBall { radius } = Self::geometry(self.radius, self.columns) else { return };
        let by = radius / norm.sqrt();
        if by < 1.0 {
            out.iter_mut().for_each(|x| *x *= by);
        }
    }
}

/// Two inputs of different columns, or a number twice.
struct Pair {
    i: usize,
    j: usize,
    number: bool,
}

impl Pair {
    fn signed(&self) -> bool {
        self.number && self.i != self.j
    }

    fn factor(&self) -> f64 {
        if self.i == self.j { 1.0 } else { SQRT_2 }
    }
}

fn pairs(columns: &[usize]) -> impl Iterator<Item = Pair> + '_ {
    blocks(columns).flat_map(|(a, b)| {
        let number = a.len() == 1 || b.len() == 1;
        let same = a == b;
        let pair = move |i| b.clone().map(move |j| Pair { i, j, number });
        a.flat_map(pair).filter(move |_| !same || number)
    })
}

/// Pairs of columns, each with itself as well, as ranges of inputs.
fn blocks(columns: &[usize]) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
    let ranges = || {
        columns.iter().scan(0, |next, &levels| {
            *next += levels;
            Some(*next - levels..*next)
        })
    };
    ranges().enumerate().flat_map(move |(k, a)| ranges().skip(k).map(move |b| (a.clone(), b)))
}

/// What is known of the inputs of a record, with the bias.
pub(super) struct Inputs {
    pub(super) size: usize,
    /// $\frac14\sum v$.
    pub(super) scale: f64,
    /// $m$.
    pub(super) mean: Vec<f64>,
    /// $C$.
    pub(super) covariance: Vec<f64>,
    /// The variance of the error of each element of $C$.
    pub(super) doubt: Vec<f64>,
}

impl Inputs {
    /// From what sums by class say and released products; and whether eigenvalues had to be raised.
    pub(super) fn read(independent: &Independent, released: &Released, columns: &[usize]) -> (Self, bool) {
        let mean = independent.mean.clone();
        let size = mean.len();
        let total = 4.0 * independent.scale;
        let sd = released.noise_sd[0] / total;
        let mut covariance = independent.covariance();
        let mut doubt = vec![0.0; size * size];
        // The error of a level's variance is about that of its mean; no more than what it can be wrong by.
        let mut first = 0;
        for &levels in columns {
            for k in (first..first + levels).filter(|_| levels > 1) {
                let most = mean[k] * mean[k] + 1.0 / (levels * levels) as f64;
                doubt[k * (size + 1)] = independent.mean_noise.min(most);
            }
            first += levels;
        }
        // Released covariances with the variance of their noise, and what they are compared with: the product of the variances.
        let mut found = vec![(0.0, 0.0); size * size];
        let mut next = released.values.iter();
        let mut take = || next.next().copied().unwrap_or_default();
        for pair in pairs(columns) {
            let mut product = take();
            let mut noise = sd * sd;
            if pair.signed() {
                product -= take();
                noise *= 2.0;
            }
            let by = if pair.i == pair.j { 1.0 } else { FRAC_1_SQRT_2 };
            let value = by * product / total - mean[pair.i] * mean[pair.j];
            found[pair.i * size + pair.j] = (value, by * by * noise);
        }
        for k in numbers(columns) {
            let ((value, noise), at) = (found[k * (size + 1)], k * (size + 1));
            let guess = covariance[at];
            let unsure = (UNSURE * guess).powi(2);
            let share =
                unsure / (unsure + noise + 8.0 * independent.mean_noise * mean[k] * mean[k]).max(1e-300);
            covariance[at] =
                (guess + share * (value - guess)).max(LEAST_VARIANCE * (1.0 - mean[k] * mean[k]));
            doubt[at] = unsure * (1.0 - share);
        }
        let variance: Vec<f64> = (0..size).map(|k| covariance[k * (size + 1)].max(1e-9)).collect();
        let mut all = Correlation::default();
        let different = || blocks(columns).filter(|(a, b)| a != b);
        let cells =
            |(a, b): (Range<usize>, Range<usize>)| a.flat_map(move |i| b.clone().map(move |j| (i, j)));
        different()
            .flat_map(cells)
            .for_each(|(i, j)| all.add(found[i * size + j], variance[i] * variance[j]));
        let usual = all.mean().clamp(0.0, MOST_CORRELATED.0);
        for block in different() {
            let mut own = Correlation::default();
            cells(block.clone()).for_each(|(i, j)| own.add(found[i * size + j], variance[i] * variance[j]));
            // What two columns say about themselves beside what all say, which is off by as much as itself.
            let (known, unknown) = (own.variance() + 1e-300, usual * usual + 1e-300);
            let square = (own.mean() * unknown + usual * known) / (known + unknown);
            let square = square.clamp(0.0, MOST_CORRELATED.1);
            for (i, j) in cells(block) {
                let (value, noise) = found[i * size + j];
                let expected = square * variance[i] * variance[j];
                let share = expected / (expected + noise).max(1e-300);
                for at in [i * size + j, j * size + i] {
                    (covariance[at], doubt[at]) = (share * value, expected * (1.0 - share));
                }
            }
        }
        // Second moments are positive.
        let outer = |k: usize| mean[k / size] * mean[k % size];
        let mut second: Vec<f64> = covariance.iter().enumerate().map(|(k, c)| c + outer(k)).collect();
        let raised = matrix::raise_eigenvalues(&mut second, size, LEAST);
        let covariance = second.iter().enumerate().map(|(k, x)| x - outer(k)).collect();
        (Self { size, scale: independent.scale, mean, covariance, doubt }, raised)
    }

    /// $Cx$.
    pub(super) fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.size];
        matrix::times(&self.covariance, self.size, x, &mut out);
        out
    }
}

/// The mean square of correlations, by least squares: squares of covariances less their noise against products of variances.
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

    /// Of the mean, if there is only noise.
    fn variance(&self) -> f64 {
        self.noise / self.weight.max(1e-150).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::ClassSums;
    use super::*;
    use crate::budget::{Guarantee, NotPrivate};

    const COLUMNS: [usize; 4] = [3, 1, 2, 1];

    /// Records whose columns depend on each other, and sums of them with noise of this deviation said but not added.
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
        let sum = |query: &dyn Query| {
            let mut values = vec![0.0; query.width()];
            for row in &rows {
                let mut out = vec![0.0; query.width()];
                query.contribute(row, &mut out);
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
        let sums = sum(&ClassSums { columns: &COLUMNS, radius: 10.0 });
        let products = sum(&Products { columns: &COLUMNS, radius: 10.0 });
        let independent = Independent::read(&sums, &COLUMNS, 420).0;
        (Inputs::read(&independent, &products, &COLUMNS).0, rows)
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
                assert!(inputs.doubt[i * 8 + j] < 1e-12);
            }
        }
    }

    /// What noise would explain is not believed: then columns are independent, and nothing is sure.
    #[test]
    fn with_much_noise_columns_are_independent() {
        let (inputs, _) = known(1e4);
        for (i, j) in [(0, 3), (1, 4), (2, 6), (3, 6), (5, 0)] {
            assert!(inputs.covariance[i * 8 + j].abs() < 1e-3);
        }
        assert!(inputs.doubt[3 * 9] > 0.0 && inputs.doubt[0] > 0.0);
    }
}
