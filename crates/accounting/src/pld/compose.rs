//! Composition of privacy loss distributions by few Fourier transforms.
//!
//! A $T$-fold composition is built by powers. At each level the distribution is raised to the largest power of two
//! whose result fits a window of about twice its points, by one Fourier transform; then tails are trimmed, and the
//! step is doubled while the error stays within the allowance. The error of a step $h$ is like noise of variance $h^2/6$ in the loss of
//! each of the copies still to be composed, which moves $\varepsilon$ by about $(\theta+1)/2$ times that; a fixed
//! allowance for it at each level makes early levels, narrow and often repeated, fine and late ones, wide and few, coarse. So the
//! work grows with $\log T$.

use std::cell::RefCell;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::grid::{Grid, accurate_sum};

thread_local! {
    /// Transform plans, cached by size and thread.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Composes privacy loss distributions.
pub(super) struct Composer {
    /// The resolution of the grids.
    pub precision: Precision,
    /// The probability that may be trimmed from the top over the composition.
    pub tail: f64,
}

/// The resolution of a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// The error in $\varepsilon$ that its step may cause at each level.
    pub allowance: f64,
    /// The maximum number of points, which takes precedence over the allowance.
    pub points: usize,
}

impl Precision {
    /// The largest step, over a range of losses, whose error is allowed when there are `copies` of it.
    pub(super) fn step(self, range: f64, tilt: f64, copies: f64) -> f64 {
        let allowed = (12.0 * self.allowance / ((tilt + 1.0) * copies)).sqrt();
        allowed.max(range / self.points as f64)
    }

    /// The error in $\varepsilon$ of that step: the allowance, or more where the points do not suffice.
    pub(super) fn cost(self, range: f64, tilt: f64, copies: f64) -> f64 {
        self.step(range, tilt, copies).powi(2) * (tilt + 1.0) * copies / 12.0
    }
}

/// A distribution with fewer points than this is not coarsened: that would save no time.
const FEW_POINTS: usize = 1 << 10;

/// Tilted weight that may be lost to trimming and wrap-around over the composition: far below the precision of the
/// result, since the tilted weights around it are of order $10^{-2}$.
const LOST_WEIGHT: f64 = 1e-7;

/// Levels are at most the bits of the repetition count, each trimmed twice.
const TRIMS: f64 = 128.0;

impl Composer {
    /// The composition of all `parts` with their multiplicities; `None` when there are none.
    pub(super) fn compose(&self, parts: Vec<(Grid, u64)>) -> Option<Grid> {
        let powers =
            parts.into_iter().filter(|&(_, times)| times > 0).map(|(grid, times)| self.power(grid, times));
        powers.reduce(|a, b| self.combine(a, b))
    }

    /// `grid` composed with itself `times`-fold.
    fn power(&self, mut grid: Grid, times: u64) -> Grid {
        let mut left = times;
        let mut done: Option<Grid> = None;
        let keep = |done: Option<Grid>, more: Grid| match done {
            None => more,
            Some(before) => self.combine(before, more),
        };
        grid.trim(self.lost_weight(left), self.tail / TRIMS / left as f64);
        while left > 1 {
            let fold = self.fold(&grid, left);
            if fold == 1 {
                // Not even two copies fit: the grid is too fine.
                grid.coarsen();
                continue;
            }
            if !left.is_multiple_of(fold) {
                let mut rest = self.product(&[(&grid, left % fold)], 1);
                self.shrink(&mut rest, 1);
                done = Some(keep(done, rest));
            }
            left /= fold;
            grid = self.product(&[(&grid, fold)], left);
            self.shrink(&mut grid, left);
        }
        self.shrink(&mut grid, 1);
        keep(done, grid)
    }

    /// The largest number of copies, a power of two or all that is `left`, whose composition fits the window.
    fn fold(&self, grid: &Grid, left: u64) -> u64 {
        let window = 2 * grid.weights.len().max(FEW_POINTS);
        let lost = self.lost_weight(left);
        // The number for a Gaussian, halved until it fits.
        let half_width = (-2.0 * lost.ln()).sqrt();
        let deviation = moments(grid).1.sqrt().max(1e-6);
        let guess = (window as f64 / (2.0 * half_width * deviation)).powi(2);
        let mut n = if guess >= left as f64 { left } else { 1 << (guess.max(2.0) as u64).ilog2() };
        while n > 1 && span(&[(grid, n)], lost).1 > window {
            n = if n.is_power_of_two() { n / 2 } else { 1 << n.ilog2() };
        }
        n
    }

    /// The composition of two different distributions.
    fn combine(&self, mut a: Grid, mut b: Grid) -> Grid {
        while a.scale > b.scale {
            a.coarsen();
        }
        while b.scale > a.scale {
            b.coarsen();
        }
        let mut product = self.product(&[(&a, 1), (&b, 1)], 1);
        self.shrink(&mut product, 1);
        product
    }

    /// Trims the tails and coarsens as far as is allowed; `copies` of the result will be composed.
    fn shrink(&self, grid: &mut Grid, copies: u64) {
        grid.trim(self.lost_weight(copies), self.tail / TRIMS / copies as f64);
        let range = grid.step() * grid.weights.len() as f64;
        let largest = self.precision.step(range, grid.tilt, copies as f64);
        while grid.weights.len() > FEW_POINTS && 2.0 * grid.step() <= largest {
            grid.coarsen();
        }
    }

    fn lost_weight(&self, copies: u64) -> f64 {
        LOST_WEIGHT / TRIMS / copies as f64
    }

    /// The composition of `parts`, all with the same step, by one transform each, in a window with all but a
    /// negligible weight. `copies` of the result will be composed.
    fn product(&self, parts: &[(&Grid, u64)], copies: u64) -> Grid {
        let lost = self.lost_weight(copies);
        let (start, length) = span(parts, lost);
        let size = transform_size(length);
        let (forward, backward) = PLANNER
            .with_borrow_mut(|planner| (planner.plan_fft_forward(size), planner.plan_fft_inverse(size)));
        let mut buffer = vec![0.0; size];
        let mut scratch = vec![Complex::default(); forward.get_scratch_len().max(backward.get_scratch_len())];
        let mut spectrum = forward.make_output_vec();
        let mut product = vec![Complex::new(1.0, 0.0); spectrum.len()];
        // A transform of weights of this sum is wrong by at most this times the sum at each frequency, and by as much times
        // the norm in the norm: each weight passes one butterfly for each doubling of the size. One costs a
        // rounding of a sum, of a complex product and of a root of unity, whose angle is rounded too.
        let precision = 8.0 * f64::EPSILON * (size as f64).log2();
        let mut errors = vec![0.0; spectrum.len()];
        // Each part is rotated so that its largest weight comes first.
        let mut rotation = 0;
        for &(grid, times) in parts {
            let mode = position_of_largest(&grid.weights);
            buffer.fill(0.0);
            // Positions wrap around, as they will in the result.
            let mut place = (size - mode % size) % size;
            for weights in chunks_from(&grid.weights, size - place, size) {
                buffer[place..].iter_mut().zip(weights).for_each(|(cell, weight)| *cell += weight);
                place = 0;
            }
            rotation += times as i64 * mode as i64;
            let largest_weight = grid.weights[mode];
            let dominant = largest_weight > 0.5;
            if dominant {
                buffer[0] -= largest_weight;
            }
            let rest = if dominant { (accurate_sum(&buffer) / largest_weight).abs() } else { 1.0 };
            let scratch = &mut scratch[..forward.get_scratch_len()];
            forward.process_with_scratch(&mut buffer, &mut spectrum, scratch).expect("sizes fit");
            let n = times as f64;
            for ((total, error), &value) in product.iter_mut().zip(&mut errors).zip(&spectrum) {
                // Relative to a dominant weight all others are small, and so are their errors.
                let (power, bound) = if dominant {
                    let z = value / largest_weight;
                    let power = power_of_sum(z, rest.ln_1p(), times);
                    let modulus = (1.0 + z).norm() / (1.0 + rest);
                    let rounding = 4.0 * f64::EPSILON * (4.0 * n * rest + 1.0);
                    (power, error_of_power(modulus, precision * rest, power.norm(), times, rounding))
                } else {
                    let (power, rounding) = (integer_power(value, times), 1.2 * f64::EPSILON * n);
                    (power, error_of_power(value.norm(), precision, power.norm(), times, rounding))
                };
                *error = *error * (power.norm() + bound) + total.norm() * bound;
                *total *= power;
            }
        }
        // Parseval's identity turns this into a bound on the weights.
        let root = |sum: f64| (2.0 * sum / size as f64).sqrt();
        let norm = root(product.iter().map(|z| z.norm_sqr()).sum::<f64>());
        let rounding = 1.001 * (root(errors.iter().map(|error| error * error).sum()) + precision * norm);
        // The imaginary parts that must vanish are rounding errors.
        product[0].im = 0.0;
        product.last_mut().expect("a spectrum is not empty").im = 0.0;
        let scratch = &mut scratch[..backward.get_scratch_len()];
        backward.process_with_scratch(&mut product, &mut buffer, scratch).expect("sizes fit");
        // The weight at summed position `start + k` stands at that position modulo the size.
        buffer.rotate_left((start - rotation).rem_euclid(size as i64) as usize);
        buffer.truncate(length);
        buffer.iter_mut().for_each(|weight| *weight /= size as f64);
        let sum = |f: &dyn Fn(&Grid) -> f64| parts.iter().map(|&(grid, n)| n as f64 * f(grid)).sum::<f64>();
        let model = parts[0].0;
        // Errors of several copies multiply each other too: (1 + e)^n - 1 for the sum of all absolute errors, and not more
        // than that factor on the errors of transforms, the sum of which is at most this times their norm.
        let slack = sum(&|grid| grid.slack);
        let cross = (slack + sum(&|grid| grid.rounding * (grid.weights.len() as f64).sqrt())).exp();
        let mut grid = Grid {
            side: model.side,
            tilt: model.tilt,
            scale: model.scale,
            first: parts.iter().map(|&(grid, times)| times as i64 * grid.first).sum::<i64>() + start,
            weights: buffer,
            log_mass: sum(&|grid| grid.log_mass),
            infinite: -sum(&|grid| (-grid.infinite).ln_1p()).exp_m1(),
            slack: slack.exp_m1() + 4.0 * lost,
            rounding: sum(&|grid| grid.rounding) * cross + rounding,
        };
        grid.normalise();
        grid
    }
}

/// Where a window of summed positions starts, and how long it is.
type Span = (i64, usize);

/// A transform size at least `length` that is a power of two, or three times one.
fn transform_size(length: usize) -> usize {
    let full = length.next_power_of_two().max(16);
    if full / 4 * 3 >= length { full / 4 * 3 } else { full }
}

/// `weights` cut after the first `head`, and then after each `size`.
fn chunks_from(weights: &[f64], head: usize, size: usize) -> impl Iterator<Item = &[f64]> {
    let (first, rest) = weights.split_at(head.min(weights.len()));
    std::iter::once(first).chain(rest.chunks(size))
}

fn position_of_largest(weights: &[f64]) -> usize {
    let mut best = 0;
    for (k, weight) in weights.iter().enumerate() {
        if *weight > weights[best] {
            best = k;
        }
    }
    best
}

/// $((1+z)e^{-c})^n$ with the precision of $z$ and $c$.
fn power_of_sum(z: Complex<f64>, c: f64, n: u64) -> Complex<f64> {
    let log_modulus = 0.5 * (2.0 * z.re + z.norm_sqr()).ln_1p() - c;
    Complex::from_polar((n as f64 * log_modulus).exp(), n as f64 * z.im.atan2(1.0 + z.re))
}

/// A bound on $|\hat z^n - z^n|$ where $|\hat z - z|$ is at most `error`, $|\hat z|$ is `modulus`, its computed
/// power has the modulus `power`, and computing it has a relative error of `rounding`: $n\,e\,(|\hat z|+e)^{n-1}$.
fn error_of_power(modulus: f64, error: f64, power: f64, n: u64, rounding: f64) -> f64 {
    let times = n as f64;
    let largest = modulus + error;
    let slope = if n <= 64 {
        largest.powi(n as i32 - 1)
    } else if modulus >= 0.5 {
        power / modulus * (2.0 * (times * error + rounding)).exp()
    } else {
        // Nearly nothing.
        largest.max(0.51).powi(64)
    };
    times * error * slope + power * rounding
}

/// $z^n$ by squaring.
fn integer_power(mut z: Complex<f64>, mut n: u64) -> Complex<f64> {
    while n.is_multiple_of(2) {
        z *= z;
        n /= 2;
    }
    let mut result = z;
    n /= 2;
    while n > 0 {
        z *= z;
        if n % 2 == 1 {
            result *= z;
        }
        n /= 2;
    }
    result
}

/// The mean and the variance of the position, counted from the first weight.
fn moments(grid: &Grid) -> (f64, f64) {
    let (mut first, mut second) = (0.0, 0.0);
    for (k, weight) in grid.weights.iter().enumerate() {
        let k = k as f64;
        first += weight * k;
        second += weight * k * k;
    }
    (first, (second - first * first).max(0.0))
}

/// The window of summed positions (each counted from the first weight of its grid) outside of which the composition has
/// at most `lost` of its weight on either side, by Chernoff's bound.
fn span(parts: &[(&Grid, u64)], lost: f64) -> Span {
    let (mut mean, mut variance, mut largest, mut longest) = (0.0, 0.0, 0.0, 1.0f64);
    for &(grid, times) in parts {
        let (m, v) = moments(grid);
        let n = times as f64;
        mean += n * m;
        variance += n * v;
        largest += n * (grid.weights.len() - 1) as f64;
        longest = longest.max(grid.weights.len() as f64);
    }
    let log_lost = lost.ln();
    let half_width = |sign: f64| {
        // P(S - mean > r) <= exp(sum n ln E e^{s(X - m)} - s r): the best r over some s around the Gaussian one.
        let gaussian = (2.0 * -log_lost / variance.max(1e-12)).sqrt();
        let bound = |s: f64| {
            let log_moment: f64 = parts.iter().map(|&(grid, n)| n as f64 * log_moment(grid, sign * s)).sum();
            (log_moment - sign * s * mean - log_lost) / s
        };
        let trials = [1.0, 0.5, 0.2].map(|share| share * gaussian);
        // A thin tail of far outliers needs an s that does not amplify it.
        let far = [30.0, 15.0, 5.0].map(|exponent| exponent / longest);
        let trials = trials.into_iter().chain(far.into_iter().filter(|&s| s < 0.1 * gaussian));
        trials.map(bound).filter(|r| r.is_finite()).fold(largest, f64::min)
    };
    let low = (mean - half_width(-1.0)).max(0.0).floor();
    let high = (mean + half_width(1.0)).min(largest).ceil();
    (low as i64, (high - low).max(0.0) as usize + 1)
}

/// $\ln\sum_k w_k e^{sk}$.
fn log_moment(grid: &Grid, s: f64) -> f64 {
    const LANES: usize = 8;
    let weights = &grid.weights;
    // From the end at which the factor is largest, so that nothing overflows; in lanes, for instruction-level parallelism.
    let ratio = (-s.abs()).exp();
    let stride = ratio.powi(LANES as i32);
    let mut factors: [f64; LANES] = std::array::from_fn(|lane| ratio.powi(lane as i32));
    let mut sums = [0.0; LANES];
    let mut add = |chunk: &mut dyn Iterator<Item = &f64>| {
        for ((sum, factor), weight) in sums.iter_mut().zip(&mut factors).zip(chunk) {
            *sum += weight * *factor;
            *factor *= stride;
        }
    };
    if s > 0.0 {
        weights.rchunks(LANES).for_each(|chunk| add(&mut chunk.iter().rev()));
    } else {
        weights.chunks(LANES).for_each(|chunk| add(&mut chunk.iter()));
    }
    let shift = if s > 0.0 { s * (weights.len() - 1) as f64 } else { 0.0 };
    sums.iter().sum::<f64>().ln() + shift
}

#[cfg(test)]
mod tests {
    use super::super::grid::Side;
    use super::*;

    /// Against direct convolution, for every count up to 40.
    #[test]
    fn powers_equal_repeated_convolution() {
        let base = [0.1, 0.2, 0.4, 0.25, 0.05];
        for tilt in [0.0, 2.0] {
            let mut direct = vec![1.0];
            for times in 1..=40u64 {
                let mut next = vec![0.0; direct.len() + base.len() - 1];
                for (i, a) in direct.iter().enumerate() {
                    for (j, b) in base.iter().enumerate() {
                        next[i + j] += a * b;
                    }
                }
                direct = next;
                let exact = |epsilon: f64| -> f64 {
                    let term = |(k, p): (usize, &f64)| {
                        let loss = (k as f64 - 2.0 * times as f64) / 8.0;
                        p * (1.0 - (epsilon - loss).exp()).max(0.0)
                    };
                    direct.iter().enumerate().map(term).sum()
                };
                let grid = Grid::tilted(Side::Upper, 3, -2, base.to_vec(), 0.0, tilt);
                let composer =
                    Composer { precision: Precision { allowance: 1e-9, points: 1 << 12 }, tail: 1e-15 };
                let composed = composer.compose(vec![(grid, times)]).unwrap();
                for epsilon in [0.0, 0.3, 1.0] {
                    let (a, b) = (composed.delta(epsilon), exact(epsilon));
                    assert!(a >= b * (1.0 - 1e-12) - 1e-15 && a <= b + 1e-6, "{times} {epsilon}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn powers_of_complex_numbers() {
        let z = Complex::from_polar(0.99, 0.3);
        for n in 1..50 {
            let exact = Complex::from_polar(0.99f64.powi(n), 0.3 * f64::from(n));
            assert!((integer_power(z, n as u64) - exact).norm() < 1e-13);
            assert!((power_of_sum(z - 1.0, 0.0, n as u64) - exact).norm() < 1e-13);
        }
    }
}
