//! A private sketch of the records, for a start in the right mode.
//!
//! The posterior of a mixture has many modes, and the start of EP determines which it finds, with or without privacy.
//! So the first release is a sketch: each record contributes
//! $m^{-1/2}(\cos w_i \cdot x, \sin w_i \cdot x)_{i \le m}$ for public random frequencies $w_i \sim N(0, I/h^2)$. Its norm is 1, whatever $x$ is, so
//! there is no clipping, and no bounds are needed. Under the model, the expected sum is
//!
//! $$z_i = \frac{N}{\sqrt m}\, e^{-s^2 |w_i|^2/2} \sum_k w_k e^{i w_i \cdot \mu_k},$$
//!
//! and the means are fitted to it by least squares from many starts, which is post-processing. The remaining
//! uncertainty is a covariance: modes that fit about equally well are mixed, so an ambiguous sketch gives a wide
//! start.
//!
//! # Citation
//! Rahimi, Recht, "Random features for large-scale kernel machines", NeurIPS 2007; Gribonval, Blanchard, Keriven, Traonmilin,
//! "Compressive statistical learning with random feature moments", 2021, on fitting mixtures to such sums.

use crate::math::matrix;
use crate::math::vector::dot;
use crate::model::mixture::{normal, public_rng};
use crate::wall::Query;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The initial distribution of the means: one vector of all of them, and its covariance.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub means: Vec<f64>,
    pub covariance: Vec<f64>,
}

/// Number of mean-shift steps from each candidate.
const CLIMB: usize = 7;

/// The public part of a sketch, and the model that it is fitted with.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sketch {
    pub components: usize,
    pub dimension: usize,
    pub records: f64,
    pub noise_variance: f64,
    /// The prior mean and variance of the means.
    pub centre: Vec<f64>,
    pub spread: f64,
    /// Resolution $h$.
    scale: f64,
    /// $w_i$, concatenated.
    pub(super) frequencies: Vec<f64>,
    /// $e^{-s^2 |w_i|^2/2} N/(J\sqrt m)$.
    pub(super) amplitudes: Vec<f64>,
}

/// How a sketch is fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub restarts: usize,
    /// Tempering: more than 1 widens the uncertainty, for sketches too noisy to separate modes.
    pub temper: f64,
}

impl Sketch {
    /// A sketch of this many frequencies, with the resolution `scale`.
    pub fn new(
        components: usize,
        records: f64,
        noise_variance: f64,
        centre: Vec<f64>,
        spread: f64,
        frequencies: usize,
        scale: f64,
    ) -> Self {
        let dimension = centre.len();
        let mut rng = public_rng(1);
        let w: Vec<f64> = (0..frequencies * dimension).map(|_| normal(&mut rng) / scale).collect();
        let each = records / components as f64 / (frequencies as f64).sqrt();
        let amplitudes =
            w.chunks_exact(dimension).map(|w| each * (-0.5 * noise_variance * dot(w, w)).exp()).collect();
        Self {
            components,
            dimension,
            records,
            noise_variance,
            centre,
            spread,
            scale,
            frequencies: w,
            amplitudes,
        }
    }

    /// Fits the means to a released sum with noise of this standard deviation.
    pub(super) fn fit(&self, released: &[f64], noise_sd: f64, effort: Effort) -> Start {
        let privacy = noise_sd * noise_sd;
        // The variance of a feature of a record is about 1/2m.
        let variance = privacy + 0.5 * self.records / self.amplitudes.len() as f64;
        let fit = Fit { sketch: self, released, variance, privacy };
        fit.start(effort)
    }
}

/// Least squares for one released sketch. `means` are those of the components found so far, concatenated.
struct Fit<'a> {
    sketch: &'a Sketch,
    released: &'a [f64],
    variance: f64,
    privacy: f64,
}

/// A local minimum of the fit.
struct Mode {
    log_weight: f64,
    means: Vec<f64>,
    covariance: Vec<f64>,
}

impl Fit<'_> {
    /// The squared misfit, with its weak prior; optionally adds the negative gradient of half of it and the
    /// Gauss-Newton matrix.
    fn misfit(&self, means: &[f64], mut derivatives: Option<(&mut Vec<f64>, &mut Vec<f64>)>) -> f64 {
        let (d, size) = (self.sketch.dimension, means.len());
        let mut total = 0.0;
        let (mut by_cos, mut by_sin) = (vec![0.0; size], vec![0.0; size]);
        if let Some((gradient, matrix)) = &mut derivatives {
            gradient.clear();
            gradient.resize(size, 0.0);
            matrix.clear();
            matrix.resize(size * size, 0.0);
        }
        for ((w, &a), z) in self
            .sketch
            .frequencies
            .chunks_exact(d)
            .zip(&self.sketch.amplitudes)
            .zip(self.released.as_chunks::<2>().0)
        {
            let [mut cos_rest, mut sin_rest] = *z;
            for (k, mean) in means.chunks_exact(d).enumerate() {
                let (sin, cos) = dot(w, mean).sin_cos();
                cos_rest -= a * cos;
                sin_rest -= a * sin;
                for (i, w) in w.iter().enumerate() {
                    by_cos[k * d + i] = -a * sin * w;
                    by_sin[k * d + i] = a * cos * w;
                }
            }
            total += (cos_rest * cos_rest + sin_rest * sin_rest) / self.variance;
            if let Some((gradient, matrix)) = &mut derivatives {
                for u in 0..size {
                    gradient[u] += (by_cos[u] * cos_rest + by_sin[u] * sin_rest) / self.variance;
                    let (c, s) = (by_cos[u] / self.variance, by_sin[u] / self.variance);
                    for v in 0..=u {
                        matrix[u * size + v] += c * by_cos[v] + s * by_sin[v];
                    }
                }
            }
        }
        for (u, mean) in means.iter().enumerate() {
            let gap = mean - self.sketch.centre[u % d];
            total += gap * gap / self.sketch.spread;
            if let Some((gradient, matrix)) = &mut derivatives {
                gradient[u] -= gap / self.sketch.spread;
                matrix[u * (size + 1)] += 1.0 / self.sketch.spread;
            }
        }
        if let Some((_, matrix)) = derivatives {
            for u in 0..size {
                for v in 0..u {
                    matrix[v * size + u] = matrix[u * size + v];
                }
            }
        }
        total
    }

    /// Levenberg-Marquardt descent; returns the final misfit.
    fn descend(&self, means: &mut Vec<f64>, steps: usize) -> f64 {
        let size = means.len();
        let (mut gradient, mut matrix) = (Vec::new(), Vec::new());
        let mut best = self.misfit(means, Some((&mut gradient, &mut matrix)));
        let mut damping = 1e-2;
        for _ in 0..steps {
            let mut damped = matrix.clone();
            (0..size).for_each(|u| damped[u * (size + 1)] = matrix[u * (size + 1)] * (1.0 + damping) + 1e-9);
            let Some(inverse) = matrix::symmetric_inverse(&damped, size) else {
                damping *= 5.0;
                continue;
            };
            let mut step = vec![0.0; size];
            matrix::times(&inverse, size, &gradient, &mut step);
            let next: Vec<f64> = means.iter().zip(&step).map(|(m, s)| m + s).collect();
            let found = self.misfit(&next, None);
            if found < best {
                let done = best - found < 1e-4;
                *means = next;
                best = self.misfit(means, Some((&mut gradient, &mut matrix)));
                damping *= 0.3;
                if done {
                    break;
                }
            } else {
                damping *= 5.0;
                if damping > 1e6 {
                    break;
                }
            }
        }
        best
    }

    /// The best position of another component among random candidates: where the residual of the sketch is largest.
    fn candidate(&self, means: &[f64], number: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let Sketch { dimension: d, frequencies, amplitudes, .. } = self.sketch;
        let mut left: Vec<[f64; 2]> = self.released.as_chunks::<2>().0.to_vec();
        for ((w, a), left) in frequencies.chunks_exact(*d).zip(amplitudes).zip(&mut left) {
            for mean in means.chunks_exact(*d) {
                let (sin, cos) = dot(w, mean).sin_cos();
                left[0] -= a * cos;
                left[1] -= a * sin;
            }
        }
        // The strength at a point is a density estimate of the residual, with a kernel of this variance; mean shift
        // ascends it.
        let kernel = self.sketch.scale * self.sketch.scale + self.sketch.noise_variance;
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for _ in 0..number {
            let mut place: Vec<f64> = self
                .sketch
                .centre
                .iter()
                .map(|c| c + 0.7 * self.sketch.spread.sqrt() * normal(rng))
                .collect();
            for _ in 0..CLIMB {
                let (mut strength, mut slope) = (0.0, vec![0.0; *d]);
                for ((w, a), left) in frequencies.chunks_exact(*d).zip(amplitudes).zip(&left) {
                    let (sin, cos) = dot(w, &place).sin_cos();
                    strength += a * (left[0] * cos + left[1] * sin);
                    let by = a * (left[1] * cos - left[0] * sin);
                    slope.iter_mut().zip(w).for_each(|(slope, w)| *slope += by * w);
                }
                if strength > best.0 {
                    best = (strength, place.clone());
                }
                // Where noise has made the estimate negative, steps are limited to the width of the kernel.
                let length = dot(&slope, &slope).sqrt();
                let by = (kernel / strength.max(f64::MIN_POSITIVE))
                    .min(kernel.sqrt() / length.max(f64::MIN_POSITIVE));
                place.iter_mut().zip(&slope).for_each(|(x, slope)| *x += by * slope);
            }
        }
        best.1
    }

    fn start(&self, effort: Effort) -> Start {
        let (j, d) = (self.sketch.components, self.sketch.dimension);
        let size = j * d;
        let mut rng = public_rng(2);
        let mut solutions: Vec<(f64, Vec<f64>)> = (0..effort.restarts.max(1))
            .map(|restart| {
                let mut means = Vec::new();
                let mut misfit = 0.0;
                for k in 0..j {
                    // Alternates greedy and less greedy starts.
                    let candidates = if restart % 2 == 0 { 60 } else { 12 };
                    means.extend(self.candidate(&means, candidates, &mut rng));
                    misfit = self.descend(&mut means, if k + 1 == j { 40 } else { 8 });
                }
                (misfit, means)
            })
            .collect();
        solutions.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = solutions[0].1.clone();
        let lowest = self.descend(&mut best, 60);
        solutions[0] = (lowest, best.clone());
        let mut modes: Vec<Mode> = Vec::new();
        for (misfit, means) in
            solutions.into_iter().take_while(|(misfit, _)| misfit - lowest <= 16.0 * effort.temper)
        {
            let means = matched(&best, &means, d);
            let near = |mode: &Mode| {
                let gaps = mode.means.iter().zip(&means).map(|(a, b)| (a - b).powi(2));
                gaps.sum::<f64>() < 0.05 * self.sketch.noise_variance
            };
            if modes.iter().any(near) {
                continue;
            }
            let (mut covariance, log_determinant) = self.covariance(&means);
            covariance.iter_mut().for_each(|x| *x *= effort.temper);
            let log_weight = -0.5 * (misfit - lowest) / effort.temper - 0.5 * log_determinant;
            modes.push(Mode { log_weight, means, covariance });
        }
        let top = modes.iter().map(|mode| mode.log_weight).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = modes.iter().map(|mode| (mode.log_weight - top).exp()).sum();
        let weight = |mode: &Mode| (mode.log_weight - top).exp() / total;
        let mut mean = vec![0.0; size];
        for mode in &modes {
            mean.iter_mut().zip(&mode.means).for_each(|(mean, x)| *mean += weight(mode) * x);
        }
        let mut covariance = vec![0.0; size * size];
        for mode in &modes {
            for u in 0..size {
                for v in 0..size {
                    let between = (mode.means[u] - mean[u]) * (mode.means[v] - mean[v]);
                    covariance[u * size + v] += weight(mode) * (mode.covariance[u * size + v] + between);
                }
            }
        }
        Start { means: mean, covariance }
    }

    /// The covariance of a fit: $H^{-1} M H^{-1}$ with the Gauss-Newton matrix $H$ and the covariance $M$ of the
    /// gradient, from the privacy noise and from records simulated from the model. Also $\log|H|$.
    fn covariance(&self, means: &[f64]) -> (Vec<f64>, f64) {
        let (d, size, features) = (self.sketch.dimension, means.len(), self.sketch.amplitudes.len());
        let (mut gradient, mut matrix) = (Vec::new(), Vec::new());
        self.misfit(means, Some((&mut gradient, &mut matrix)));
        // The derivatives of the expected sum, features in pairs.
        let mut slopes = vec![0.0; 2 * features * size];
        for (i, (w, a)) in self.sketch.frequencies.chunks_exact(d).zip(&self.sketch.amplitudes).enumerate() {
            for (k, mean) in means.chunks_exact(d).enumerate() {
                let (sin, cos) = dot(w, mean).sin_cos();
                for (l, w) in w.iter().enumerate() {
                    slopes[2 * i * size + k * d + l] = -a * sin * w / self.variance;
                    slopes[(2 * i + 1) * size + k * d + l] = a * cos * w / self.variance;
                }
            }
        }
        const DRAWS: usize = 1600;
        let mut rng = public_rng(3);
        let mut sample = matrix::RunningCovariance::new(size);
        let (mut features_of, mut image) = (vec![0.0; 2 * features], vec![0.0; size]);
        for draw in 0..DRAWS {
            let mean = &means[draw % self.sketch.components * d..][..d];
            let record: Vec<f64> =
                mean.iter().map(|m| m + self.sketch.noise_variance.sqrt() * normal(&mut rng)).collect();
            self.sketch.contribute(&record, &mut features_of);
            image.fill(0.0);
            for (row, feature) in slopes.chunks_exact(size).zip(&features_of) {
                image.iter_mut().zip(row).for_each(|(image, slope)| *image += feature * slope);
            }
            sample.push(&image);
        }
        let mut middle = sample.covariance();
        for (k, x) in middle.iter_mut().enumerate() {
            *x = *x * self.sketch.records + matrix[k] * self.privacy / self.variance;
        }
        (0..size).for_each(|u| middle[u * (size + 1)] += self.variance.min(1.0) / self.sketch.spread);
        let mut l = vec![0.0; size * size];
        if !matrix::cholesky(&matrix, size, &mut l) {
            let wide = (0..size * size).map(|k| if k % (size + 1) == 0 { self.sketch.spread } else { 0.0 });
            return (wide.collect(), 0.0);
        }
        let log_determinant = matrix::log_determinant(&l, size);
        let mut inverse = vec![0.0; size * size];
        matrix::inverse(&mut l, size, &mut inverse);
        (matrix::sandwich(&inverse, &middle, size), log_determinant)
    }
}

/// The components of `means`, matched to those of `reference`, nearest pairs first.
fn matched(reference: &[f64], means: &[f64], d: usize) -> Vec<f64> {
    let j = reference.len() / d;
    let gap = |a: usize, b: usize| -> f64 {
        reference[a * d..][..d].iter().zip(&means[b * d..][..d]).map(|(x, y)| (x - y).powi(2)).sum()
    };
    let mut pairs: Vec<(usize, usize)> = (0..j * j).map(|k| (k / j, k % j)).collect();
    pairs.sort_by(|&(a, b), &(c, e)| gap(a, b).total_cmp(&gap(c, e)));
    let (mut out, mut taken, mut filled) = (means.to_vec(), vec![false; j], vec![false; j]);
    for (a, b) in pairs {
        if !taken[b] && !filled[a] {
            (taken[b], filled[a]) = (true, true);
            out[a * d..][..d].copy_from_slice(&means[b * d..][..d]);
        }
    }
    out
}
