//! Moment matching in closed form.
//!
//! With a cavity $N(m_k, V_k)$ for each mean and $S_k = V_k + s^2 I$, a record $x$ belongs to component $k$ with responsibility
//! $r_k \propto w_k N(x; m_k, S_k)$. Let $G = V_k S_k^{-1}$ and $u = G(x - m_k)$. The tilted marginal of $\mu_k$ is a mixture of the
//! cavity and of a Gaussian with mean $m_k + u$ and covariance $V_k - GV_k$, so its moments are
//!
//! $$m' = m_k + r_k u, \qquad V' = V_k - r_k G V_k + r_k(1 - r_k) u u^T,$$
//!
//! and the site is $(V'^{-1}m' - P_k m_k,\ V'^{-1} - P_k)$ with $P_k = V_k^{-1}$. No covariance is needed for it: $G = (I + s^2 P_k)^{-1}$,
//! $S_k^{-1} = GP_k$, and with $B = (I - r_k G)^{-1}$, $v = P_k u + r_k B S_k^{-1} u$ and $c = r_k(1 - r_k)$,
//!
//! $$V'^{-1} - P_k = r_k B S_k^{-1} - \frac{c\, v v^T}{1 + c\, u^T v}, \qquad
//!   V'^{-1}m' - P_k m_k = (V'^{-1} - P_k)\, m_k + \frac{r_k\, v}{1 + c\, u^T v},$$
//!
//! by $V_k - r_k G V_k = V_k B^{-1}$ and the formula of Sherman and Morrison. There is no cancellation when $r_k$ is
//! small, and a component that is not responsible for a record takes no time.

use super::{Mixture, NoiseVariance, Weights};
use crate::family::{Covariance, Dirichlet, Gamma};
use crate::math::{matrix, symmetric};
use serde::{Deserialize, Serialize};

/// Functions of a cavity that sites need.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct MixtureCavity {
    /// $\log w_k$, for the expected weights.
    log_weights: Vec<f64>,
    /// $m_k$.
    means: Vec<f64>,
    natural: Vec<f64>,
    /// $s^2$ of the sites.
    noise_variance: f64,
    /// For each component $P_k$ as a matrix, or the diagonal of $V_k$.
    spreads: Vec<f64>,
    /// $G$ as a matrix; not for diagonals.
    gains: Vec<f64>,
    /// $S_k^{-1}$, or its diagonal.
    inverses: Vec<f64>,
    /// $\log|P_k|$; not for diagonals.
    log_determinants: Vec<f64>,
    /// $-\frac12\log|S_k|$.
    log_norms: Vec<f64>,
    /// As `inverses` and `log_norms`, for the further noise variances of the gamma site.
    shifted: Vec<ShiftedNoise>,
    #[serde(skip)]
    scratch: Vec<f64>,
}

/// The densities of a record under another noise variance.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ShiftedNoise {
    inverses: Vec<f64>,
    log_norms: Vec<f64>,
}

/// Stack memory for one site: enough for 5 dimensions and 30 components.
const STACK: usize = 128;

/// Responsibilities below this are negligible.
const NEGLIGIBLE: f64 = 1e-15;

/// Calls a function with the dimension as a constant where that is common, so that its loops are unrolled.
macro_rules! with_constant_dimension {
    ($d:expr, |$constant:ident| $body:expr) => {
        match $d {
            2 => {
                let $constant = 2;
                $body
            }
            3 => {
                let $constant = 3;
                $body
            }
            4 => {
                let $constant = 4;
                $body
            }
            $constant => $body,
        }
    };
}

impl MixtureCavity {
    /// $m_k$.
    pub(super) fn mean(&self, k: usize, d: usize) -> &[f64] {
        &self.means[k * d..][..d]
    }

    pub(super) fn prepare(&mut self, model: &Mixture, natural: &[f64]) {
        let (j, d) = (model.components, model.dimension());
        let (gamma, dirichlet) = model.gamma_and_dirichlet();
        self.natural.clear();
        self.natural.extend_from_slice(natural);
        self.log_weights.clear();
        match model.weights {
            Weights::Uniform => self.log_weights.resize(j, -(j as f64).ln()),
            Weights::Dirichlet(_) => {
                let total: f64 = natural[dirichlet.clone()].iter().map(|x| x + 1.0).sum();
                self.log_weights.extend(natural[dirichlet].iter().map(|x| ((x + 1.0) / total).ln()));
            }
        }
        let size = if model.family.covariance == Covariance::Full { d * d } else { d };
        self.means.resize(j * d, 0.0);
        self.spreads.resize(j * size, 0.0);
        self.gains.resize(j * size, 0.0);
        self.log_determinants.resize(j, 0.0);
        self.scratch.resize(2 * d * d, 0.0);
        let (scratch, l) = self.scratch.split_at_mut(d * d);
        for k in 0..j {
            let natural = &natural[model.component(k)];
            let (mean, spread) = (&mut self.means[k * d..][..d], &mut self.spreads[k * size..][..size]);
            mean.copy_from_slice(&natural[..d]);
            if size == d * d && d > 1 {
                with_constant_dimension!(d, |d| {
                    symmetric::from_coordinates(&natural[d..], d, spread);
                    if matrix::cholesky(spread, d, l) {
                        matrix::solve(l, d, mean);
                        self.log_determinants[k] = matrix::log_determinant(l, d);
                    } else {
                        mean.fill(f64::NAN);
                    }
                });
            } else {
                model.family.precision(natural, scratch);
                for i in 0..d {
                    spread[i] = 1.0 / scratch[i * (d + 1)];
                    mean[i] *= spread[i];
                }
            }
        }
        let mut noise = [0.0; 3];
        match model.noise {
            NoiseVariance::Known(variance) => noise[0] = variance,
            // E[s^2] for the shapes a, a + 1 and a + 2.
            NoiseVariance::Unknown(_) => {
                let Gamma { shape, rate } = Gamma::from_natural(&natural[gamma]);
                noise = [rate / (shape - 1.0), rate / shape, rate / (shape + 1.0)];
            }
        }
        self.noise_variance = noise[0];
        let mut shifted = std::mem::take(&mut self.shifted);
        if noise[1] > 0.0 {
            shifted.resize_with(2, ShiftedNoise::default);
            for (shifted, &noise) in shifted.iter_mut().zip(&noise[1..]) {
                self.densities(shifted, noise, j, d, size);
            }
        }
        self.shifted = shifted;
        // Last, so that the gains are those of the sites.
        let mut first = ShiftedNoise {
            inverses: std::mem::take(&mut self.inverses),
            log_norms: std::mem::take(&mut self.log_norms),
        };
        self.densities(&mut first, noise[0], j, d, size);
        (self.inverses, self.log_norms) = (first.inverses, first.log_norms);
    }

    /// $S_k^{-1}$ and $-\frac12\log|S_k|$ for a noise variance.
    fn densities(&mut self, out: &mut ShiftedNoise, noise: f64, j: usize, d: usize, size: usize) {
        out.inverses.resize(j * size, 0.0);
        out.log_norms.resize(j, 0.0);
        let (scratch, l) = self.scratch.split_at_mut(d * d);
        for k in 0..j {
            let spread = &self.spreads[k * size..][..size];
            let inverse = &mut out.inverses[k * size..][..size];
            if size == d * d && d > 1 {
                let gain = &mut self.gains[k * size..][..size];
                with_constant_dimension!(d, |d| {
                    (0..d * d).for_each(|ij| scratch[ij] = noise * spread[ij]);
                    (0..d).for_each(|i| scratch[i * (d + 1)] += 1.0);
                    if !matrix::cholesky(scratch, d, l) {
                        inverse.fill(f64::NAN);
                        continue;
                    }
                    out.log_norms[k] = 0.5 * (self.log_determinants[k] - matrix::log_determinant(l, d));
                    matrix::inverse(l, d, gain);
                    symmetric_product(gain, spread, d, inverse);
                });
            } else {
                inverse.iter_mut().zip(spread).for_each(|(inverse, v)| *inverse = 1.0 / (v + noise));
                out.log_norms[k] = 0.5 * inverse.iter().product::<f64>().ln();
            }
        }
    }

    pub(super) fn site(&self, model: &Mixture, record: &[f64], out: &mut [f64]) {
        let (j, d) = (model.components, model.dimension());
        let needed = j + 3 * d * d + 3 * d;
        let mut stack = [0.0; STACK];
        let mut heap = Vec::new();
        let space = if needed <= STACK {
            &mut stack[..needed]
        } else {
            heap.resize(needed, 0.0);
            &mut heap[..]
        };
        let (responsibilities, scratch) = space.split_at_mut(j);
        let full = model.family.covariance == Covariance::Full && d > 1;
        let log_evidence = with_constant_dimension!(d, |d| {
            self.log_evidence(&self.inverses, &self.log_norms, record, d, full, responsibilities)
        });
        for (k, &r) in responsibilities.iter().enumerate() {
            let out = &mut out[model.component(k)];
            if r < NEGLIGIBLE {
                out.fill(0.0);
            } else if full {
                with_constant_dimension!(d, |d| self.full_site(k, d, r, record, scratch, out));
            } else {
                self.diagonal_site(model, k, r, record, scratch, out);
            }
        }
        let (gamma, dirichlet) = model.gamma_and_dirichlet();
        if let Weights::Dirichlet(_) = model.weights {
            dirichlet_site(&self.natural[dirichlet.clone()], responsibilities, &mut out[dirichlet]);
        }
        if let (NoiseVariance::Unknown(_), [first, second]) = (model.noise, &self.shifted[..]) {
            // E[tau] and E[tau^2] under the tilted distribution, from the evidence at shapes a, a + 1 and a + 2, with the
            // Student t replaced by a Gaussian of the same variance (Hernandez-Lobato, Adams, ICML 2015, section 3.2).
            let mut evidence = |f: &ShiftedNoise| {
                self.log_evidence(&f.inverses, &f.log_norms, record, d, full, responsibilities)
            };
            let (one, two) = (evidence(first), evidence(second));
            let cavity = Gamma::from_natural(&self.natural[gamma.clone()]);
            let mean = (one - log_evidence).exp() * cavity.mean();
            let square = (two - log_evidence).exp() * cavity.mean() * (cavity.shape + 1.0) / cavity.rate;
            let tilted = Gamma::from_moments(mean, square - mean * mean);
            let (tilted, cavity) = (tilted.natural(), cavity.natural());
            for (k, out) in out[gamma].iter_mut().enumerate() {
                *out = tilted[k] - cavity[k];
            }
        }
    }

    /// The responsibility of each component for a record.
    pub(super) fn responsibilities(&self, record: &[f64], out: &mut [f64]) {
        let d = record.len();
        let full = self.inverses.len() == self.means.len() * d && d > 1;
        self.log_evidence(&self.inverses, &self.log_norms, record, d, full, out);
    }

    /// The log density of a record, up to a constant, and the responsibility of each component.
    #[inline(always)]
    fn log_evidence(
        &self,
        inverses: &[f64],
        log_norms: &[f64],
        record: &[f64],
        d: usize,
        full: bool,
        responsibilities: &mut [f64],
    ) -> f64 {
        let mut top = f64::NEG_INFINITY;
        for (k, r) in responsibilities.iter_mut().enumerate() {
            let mean = self.mean(k, d);
            let mut distance = 0.0;
            if full {
                let inverse = &inverses[k * d * d..][..d * d];
                for i in 0..d {
                    let mut row = 0.0;
                    for l in 0..d {
                        row += inverse[i * d + l] * (record[l] - mean[l]);
                    }
                    distance += row * (record[i] - mean[i]);
                }
            } else {
                for (i, inverse) in inverses[k * d..][..d].iter().enumerate() {
                    let gap = record[i] - mean[i];
                    distance += inverse * (gap * gap);
                }
            }
            *r = self.log_weights[k] + log_norms[k] - 0.5 * distance;
            top = top.max(*r);
        }
        let mut total = 0.0;
        for r in &mut *responsibilities {
            // The same on every platform.
            *r = libm::exp(*r - top);
            total += *r;
        }
        responsibilities.iter_mut().for_each(|r| *r /= total);
        top + total.ln()
    }

    #[inline(always)]
    fn full_site(&self, k: usize, d: usize, r: f64, record: &[f64], scratch: &mut [f64], out: &mut [f64]) {
        let range = k * d * d..(k + 1) * d * d;
        let (precision, gain) = (&self.spreads[range.clone()], &self.gains[range.clone()]);
        let inverse = &self.inverses[range];
        let mean = self.mean(k, d);
        let (b, rest) = scratch.split_at_mut(d * d);
        let (site, rest) = rest.split_at_mut(d * d);
        let (l, rest) = rest.split_at_mut(d * d);
        let (u, rest) = rest.split_at_mut(d);
        let (v, rest) = rest.split_at_mut(d);
        let gap = &mut rest[..d];
        for i in 0..d {
            gap[i] = record[i] - mean[i];
        }
        matrix::times(gain, d, gap, u);
        for i in 0..d {
            for j in 0..=i {
                site[i * d + j] = if i == j { 1.0 } else { 0.0 } - r * gain[i * d + j];
            }
        }
        // B, the inverse of that, and then r B S^-1.
        if !matrix::cholesky(site, d, l) {
            return out.fill(f64::NAN);
        }
        matrix::inverse(l, d, b);
        symmetric_product(b, inverse, d, site);
        site.iter_mut().for_each(|x| *x *= r);
        matrix::times(precision, d, u, v);
        matrix::times(site, d, u, gap);
        v.iter_mut().zip(&*gap).for_each(|(v, x)| *v += x);
        let c = r * (1.0 - r);
        let by = 1.0 / (1.0 + c * u.iter().zip(&*v).map(|(u, v)| u * v).sum::<f64>());
        for i in 0..d {
            for j in 0..d {
                site[i * d + j] -= c * by * v[i] * v[j];
            }
        }
        matrix::times(site, d, mean, &mut out[..d]);
        for i in 0..d {
            out[i] += r * by * v[i];
        }
        symmetric::to_coordinates(site, d, &mut out[d..]);
    }

    #[inline(always)]
    fn diagonal_site(
        &self,
        model: &Mixture,
        k: usize,
        r: f64,
        record: &[f64],
        scratch: &mut [f64],
        out: &mut [f64],
    ) {
        let d = model.dimension();
        let (covariance, inverse) = (&self.spreads[k * d..][..d], &self.inverses[k * d..][..d]);
        let natural = &self.natural[model.component(k)];
        let (means, rest) = scratch.split_at_mut(d);
        let variances = &mut rest[..d];
        for i in 0..d {
            let (v, mean) = (covariance[i], self.means[k * d + i]);
            let gain = v * inverse[i];
            let shift = gain * (record[i] - mean);
            means[i] = mean + r * shift;
            variances[i] = v - r * gain * v + r * (1.0 - r) * shift * shift;
        }
        if model.family.covariance == Covariance::Isotropic {
            let mean = variances.iter().sum::<f64>() / d as f64;
            variances.fill(mean);
            out[d] = (d as f64).sqrt() / mean - natural[d];
        } else {
            (0..d).for_each(|i| out[d + i] = 1.0 / variances[i] - natural[d + i]);
        }
        for i in 0..d {
            out[i] = means[i] / variances[i] - natural[i];
        }
    }
}

/// The product of two symmetric matrices that commute, which is symmetric too.
#[inline(always)]
fn symmetric_product(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    let (a, b, out) = (&a[..d * d], &b[..d * d], &mut out[..d * d]);
    for i in 0..d {
        for j in 0..=i {
            let mut sum = 0.0;
            for k in 0..d {
                sum += a[i * d + k] * b[k * d + j];
            }
            (out[i * d + j], out[j * d + i]) = (sum, sum);
        }
    }
}

/// The site of Dirichlet weights: the tilted distribution is a mixture of Dirichlets with one more count in component
/// $k$, with probability $r_k$. The means and the sum of the variances are matched.
fn dirichlet_site(natural: &[f64], responsibilities: &[f64], out: &mut [f64]) {
    let cavity = Dirichlet::from_natural(natural).concentration;
    let total: f64 = cavity.iter().sum();
    let (mut above, mut below) = (0.0, 0.0);
    for (&a, &r) in cavity.iter().zip(responsibilities) {
        let mean = (a + r) / (total + 1.0);
        let square =
            ((1.0 - r) * a * (a + 1.0) + r * (a + 1.0) * (a + 2.0)) / ((total + 1.0) * (total + 2.0));
        above += mean - square;
        below += square - mean * mean;
    }
    let new_total = above / below;
    for ((out, &a), &r) in out.iter_mut().zip(&cavity).zip(responsibilities) {
        *out = new_total * (a + r) / (total + 1.0) - a;
    }
}
