//! The probability of a noisy count.

use crate::math::vector::wide_dot;
use serde::{Deserialize, Serialize};
use std::f64::consts::{SQRT_2, TAU};

/// The noise in each released count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// With density $e^{-|x|/b}/2b$.
    Laplace {
        /// $b$.
        scale: f64,
    },
    /// Normal.
    Gaussian {
        /// Its standard deviation.
        sd: f64,
    },
}

impl Noise {
    /// The standard deviation.
    #[must_use]
    pub fn sd(self) -> f64 {
        match self {
            Self::Laplace { scale } => SQRT_2 * scale,
            Self::Gaussian { sd } => sd,
        }
    }

    pub(super) fn density(self, x: f64) -> f64 {
        match self {
            Self::Laplace { scale } => (-x.abs() / scale).exp() / (2.0 * scale),
            Self::Gaussian { sd } => (-0.5 * (x / sd).powi(2)).exp() / (sd * TAU.sqrt()),
        }
    }

    /// The density of the sum of noise and a Poisson count in its normal approximation.
    fn density_of_many(self, y: f64, rate: f64) -> f64 {
        let variance = self.sd().powi(2);
        if variance < rate {
            return Self::Gaussian { sd: (rate + variance).sqrt() }.density(y - rate);
        }
        // The noise is smooth on the scale of the count: an even sum over four standard deviations to each side.
        let (step, mut sum, mut weights) = (rate.sqrt() / 4.0, 0.0, 0.0);
        for k in -16..=16 {
            let (x, weight) = (f64::from(k), (-f64::from(k * k) / 32.0).exp());
            sum += weight * self.density(y - rate - step * x);
            weights += weight;
        }
        sum / weights
    }
}

/// Nodes per unit of the square root of a rate, if noise is small.
const NODES: f64 = 4.0;
/// Minimum probability, so that its logarithm is finite.
const MIN: f64 = 1e-280;
/// Rate above which a Poisson count is approximated by a normal.
const LARGE: f64 = 2000.0;

/// $\log p(y|\lambda)$ of each noisy count $y$ as a function of the expected true one: a Poisson count with noise,
/// $$p(y|\lambda) = \sum_n \frac{\lambda^n e^{-\lambda}}{n!} f(y - n),$$
/// summed exactly at nodes that are even in $\sqrt\lambda$, where all such functions are about equally smooth, with
/// cubic interpolation. The larger the noise, the smoother the function: the distance of nodes grows with the ratio
/// by which the noise increases the standard deviation of a count.
#[derive(Debug, Default)]
pub(super) struct Curves {
    cells: Vec<Place>,
    /// The first value of a curve is that at the node before 0, which by symmetry equals the one after it.
    values: Vec<f64>,
}

/// Position of the curves of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    first: usize,
    /// Length of each of its curves: one value before 0, and two after the start of the last interval.
    length: usize,
    /// Distance of nodes, in units of the finest.
    stride: usize,
}

impl Curves {
    /// For the noisy counts of cells, `width` each, with expected true counts up to `totals`. Cells without a total have none.
    pub(super) fn new(noise: Noise, counts: &[f64], width: usize, totals: &[Option<f64>]) -> Self {
        let shape = |total: f64| {
            let stride = (1.0 + noise.sd().powi(2) / total).sqrt() as usize;
            (stride, (total.sqrt() * NODES / stride as f64) as usize + 4)
        };
        let last = |(stride, length): (usize, usize)| (length - 2) * stride;
        let poisson =
            Poisson::new(totals.iter().flatten().map(|&total| last(shape(total))).max().unwrap_or(0));
        let mut curves = Self::default();
        let mut densities = Vec::new();
        for (noisy, total) in counts.chunks(width).zip(totals) {
            let Some(total) = total else {
                curves.cells.push(Place::default());
                continue;
            };
            let (stride, length) = shape(*total);
            curves.cells.push(Place { first: curves.values.len(), length, stride });
            let largest = max_events(rate(last((stride, length))).min(LARGE));
            for y in noisy {
                densities.clear();
                densities.extend((0..=largest).map(|n| noise.density(y - n as f64)));
                let first = curves.values.len();
                curves.values.push(0.0);
                curves.values.extend((0..length - 1).map(|node| {
                    let p = match poisson.row(node * stride) {
                        Some(row) => {
                            let length = row.len().min(densities.len());
                            wide_dot(&row[..length], &densities[..length])
                        }
                        None => noise.density_of_many(*y, rate(node * stride)),
                    };
                    p.max(MIN).ln()
                }));
                curves.values[first] = curves.values[first + 2];
            }
        }
        curves
    }

    /// Adds $\log p(y_j|\rho_k^2)$ of each category $j$ of a cell to `sums[k]`, for roots $\rho_k$ of expected counts over that of the
    /// cell's total: `roots[j * K + k]`.
    pub(super) fn add(&self, cell: usize, root_total: f64, roots: &[f64], sums: &mut [f64]) {
        let Place { first, length, stride } = self.cells[cell];
        let scale = root_total * NODES / stride as f64;
        for (roots, curve) in roots.chunks(sums.len()).zip(self.values[first..].chunks(length)) {
            for (sum, root) in sums.iter_mut().zip(roots) {
                let at = scale * root;
                let node = (at as usize).min(length - 4);
                let (t, p) = (at - node as f64, &curve[node..node + 4]);
                // Catmull-Rom.
                let (a, b) = (p[3] - p[0] + 3.0 * (p[1] - p[2]), 2.0 * p[0] - 5.0 * p[1] + 4.0 * p[2] - p[3]);
                *sum += p[1] + 0.5 * t * (p[2] - p[0] + t * (b + t * a));
            }
        }
    }
}

/// The rate at a node.
fn rate(node: usize) -> f64 {
    (node as f64 / NODES).powi(2)
}

/// The largest plausible number of events.
fn max_events(total: f64) -> usize {
    (total + 10.0 * total.sqrt() + 30.0) as usize
}

/// Probabilities of $0, 1, \ldots$ events at each node.
struct Poisson {
    events: usize,
    values: Vec<f64>,
}

impl Poisson {
    /// For all nodes up to the last whose rates are not large.
    fn new(last: usize) -> Self {
        let nodes = last.min((LARGE.sqrt() * NODES) as usize) + 1;
        let events = max_events(rate(nodes)) + 1;
        let log_factorials: Vec<f64> = (0..events).map(|n| libm::lgamma(n as f64 + 1.0)).collect();
        let mut values = Vec::new();
        for rate in (0..nodes).map(rate) {
            values.extend(log_factorials.iter().enumerate().map(|(n, log)| match n {
                0 => (-rate).exp(),
                _ => (n as f64 * rate.ln() - rate - log).exp(),
            }));
        }
        Self { events, values }
    }

    fn row(&self, node: usize) -> Option<&[f64]> {
        self.values.get(node * self.events..(node + 1) * self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a direct sum, at rates between the nodes. The tolerance is the interpolation error: with nodes one
    /// apart, slopes from differences of neighbours have an error of at most $M_3/6$, of which the cubic takes up to
    /// a quarter, and a cubic with exact slopes has an error of at most $M_4/384$, for bounds $M_k$ of the $k$-th
    /// derivative over the four nodes. These come from fine differences of the sum. Probabilities below [`MIN`] are
    /// not compared.
    #[test]
    fn curves_are_the_exact_probabilities() {
        let total = 60.0;
        for noise in [
            Noise::Laplace { scale: 0.5 },
            Noise::Laplace { scale: 20.0 },
            Noise::Gaussian { sd: 1.5 },
            Noise::Gaussian { sd: 9.0 },
        ] {
            for y in [-3.0, 0.4, 7.5, 48.0] {
                let curves = Curves::new(noise, &[y], 1, &[Some(total)]);
                let scale = NODES / curves.cells[0].stride as f64;
                let at_node = |node: f64| exact(noise, y, (node / scale).powi(2));
                for share in [0.0, 1e-4, 0.013, 0.11, 0.4, 0.77, 1.0] {
                    let (mut found, exact) = ([0.0], at_node(scale * f64::sqrt(total * share)));
                    curves.add(0, f64::sqrt(total), &[f64::sqrt(share)], &mut found);
                    if exact < MIN.ln() {
                        continue;
                    }
                    let allowed = wrong_by(at_node, (scale * f64::sqrt(total * share)).floor());
                    let near = (found[0] - exact).abs() <= allowed + 1e-9;
                    assert!(near, "{noise:?} {y} {share}: {} {exact} {allowed}", found[0]);
                    // A tenth of a nat is negligible: where counts are plausible, no more is allowed.
                    assert!(allowed < 0.1 || exact < -10.0, "{noise:?} {y} {share}: {exact} {allowed}");
                }
            }
        }
    }

    /// $M_3/24 + M_4/384$ between a node and the next, from differences an eighth of a node apart.
    fn wrong_by(f: impl Fn(f64) -> f64, node: f64) -> f64 {
        let step = 0.125;
        let values: Vec<f64> = (-12..=28).map(|k| f(node + step * f64::from(k))).collect();
        let difference = |values: &[f64]| values.windows(2).map(|w| (w[1] - w[0]) / step).collect::<Vec<_>>();
        let third = difference(&difference(&difference(&values)));
        let largest = |values: &[f64]| values.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        largest(&third) / 24.0 + largest(&difference(&third)) / 384.0
    }

    /// Where the normal approximation begins, it has almost the same probabilities as the Poisson distribution: the
    /// skewness is 1/45.
    #[test]
    fn large_counts_are_as_good_as_normal() {
        for noise in
            [Noise::Laplace { scale: 3.0 }, Noise::Laplace { scale: 60.0 }, Noise::Gaussian { sd: 80.0 }]
        {
            for y in [1900.0, 1990.0, 2080.0] {
                let (found, exact) = (noise.density_of_many(y, LARGE).ln(), exact(noise, y, LARGE));
                assert!((found - exact).abs() < 0.1, "{noise:?} {y}: {found} {exact}");
            }
        }
    }

    fn exact(noise: Noise, y: f64, rate: f64) -> f64 {
        let log = |n: f64| if rate > 0.0 { n * rate.ln() - rate - libm::lgamma(n + 1.0) } else { 0.0 };
        let largest = if rate > 0.0 { 4000 } else { 1 };
        let terms = (0..largest).map(|n| log(f64::from(n)).exp() * noise.density(y - f64::from(n)));
        terms.sum::<f64>().ln()
    }
}
