//! A record forwards through the network, and what it says about each weight back again.
//!
//! Moments go forward: with means $m$ and variances $v$ of weights $w$ and of inputs $z$,
//!
//! $$m_a = s\sum m_w m_z, \qquad v_a = s^2\sum m_w^2 v_z + v_w(m_z^2 + v_z),$$
//!
//! and through the units as in `relu.rs`. The evidence is $Z = N(y; m_a, v_a + b/(a-1))$ at the output, or
//! $\Phi(ym_a/\sqrt{1 + v_a})$ for a class, and the derivatives of $\log Z$ come back by the chain rule. With $g = d\log Z/dm$,
//! $k = g^2 - 2\,d\log Z/dv$ and $u = 1 - vk$, the tilted moments of a weight are $m + vg$ and $vu$, so its site is
//!
//! $$p_n = \frac ku, \qquad \lambda_n = \frac gu + p_n m.$$
//!
//! A weight for which $u$ is not positive has no site: its contribution is 0, and those of the other weights stand.

use super::relu::{LANES, rectify_all};
use super::{Layer, Network, OutputNoise};
use crate::family::Gamma;
use crate::model::tilt::{Tilt, class};
use reticent_noise::with_wide_vectors;
use std::cell::RefCell;

/// What sites need to know of a cavity.
#[derive(Debug, Default)]
pub struct NetworkCavity {
    means: Vec<f64>,
    variances: Vec<f64>,
    noise: Option<Gamma>,
    noise_variance: f64,
}

/// The activations of one record. Every value is written before it is read: nothing of a record reaches the next.
#[derive(Default)]
struct Scratch {
    /// Means and variances of the inputs of each layer, with the bias.
    means: Vec<f64>,
    variances: Vec<f64>,
    /// For each hidden unit the four derivatives of [`rectify`], one after the other.
    by: [Vec<f64>; 4],
    /// Derivatives of $\log Z$ by the means and variances of the pre-activations of a layer, and of the one below.
    upper: [Vec<f64>; 2],
    lower: [Vec<f64>; 2],
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A record with a larger number in it says nothing.
const LARGEST: f64 = 1e30;

/// Less is left of a variance only by rounding errors.
const LEAST_LEFT: f64 = 1e-10;

/// The natural parameters of a weight's site.
#[inline(always)]
fn weight_site(m: f64, v: f64, g: f64, k: f64) -> [f64; 2] {
    let u = 1.0 - v * k;
    let by = if u > LEAST_LEFT { 1.0 / u } else { 0.0 };
    [(g + k * m) * by, k * by]
}

/// The gamma of a precision $\gamma$ after seeing that a Gaussian with variance $v + 1/\gamma$ is `gap` from its mean: from the
/// evidence at shapes $a$, $a+1$ and $a+2$, which give $E[\gamma]$ and $E[\gamma^2]$.
pub(in crate::model) fn tilted_gamma(cavity: Gamma, gap: f64, variance: f64) -> Option<Gamma> {
    let Gamma { shape: a, rate: b } = cavity;
    let spread = |shape: f64| variance + b / (shape - 1.0);
    let (v, v1, v2) = (spread(a), spread(a + 1.0), spread(a + 2.0));
    // Z(a+1)/Z(a) and Z(a+2)/Z(a+1).
    let ratio = |above: f64, below: f64| {
        (below / above).sqrt() * (-0.5 * gap * gap * (below - above) / (above * below)).exp()
    };
    let (first, second) = (ratio(v1, v), ratio(v2, v1));
    let shape = 1.0 / (second / first * (a + 1.0) / a - 1.0);
    let rate = b / (second * (a + 1.0) - first * a);
    (shape > 1.0 && rate > 0.0 && shape.is_finite() && rate.is_finite()).then_some(Gamma { shape, rate })
}

impl NetworkCavity {
    /// $m$ of each weight.
    pub(super) fn means(&self) -> &[f64] {
        &self.means
    }

    pub(super) fn prepare(&mut self, model: &Network, natural: &[f64]) {
        let (weights, gamma) = natural.split_at(2 * model.weights());
        self.means.resize(model.weights(), 0.0);
        self.variances.resize(model.weights(), 0.0);
        with_wide_vectors(
            #[inline(always)]
            || {
                let moments = self.means.iter_mut().zip(&mut self.variances);
                for ((mean, variance), natural) in moments.zip(weights.as_chunks::<2>().0) {
                    *variance = 1.0 / natural[1];
                    *mean = natural[0] * *variance;
                }
            },
        );
        (self.noise, self.noise_variance) = match model.noise {
            OutputNoise::Known(variance) => (None, variance),
            OutputNoise::Probit => (None, 1.0),
            OutputNoise::Unknown(_) => {
                let gamma = Gamma::from_natural(gamma);
                (Some(gamma), gamma.rate / (gamma.shape - 1.0))
            }
        };
    }

    /// From moments of the weights.
    pub(super) fn new(means: Vec<f64>, variances: Vec<f64>, noise_variance: f64) -> Self {
        Self { means, variances, noise: None, noise_variance }
    }

    /// Mean and variance of the output, without the noise about it.
    pub(super) fn output(&self, model: &Network, inputs: &[f64]) -> (f64, f64) {
        let mut out = (0.0, 0.0);
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(model);
            with_wide_vectors(
                #[inline(always)]
                || out = self.forward(model, inputs, scratch),
            );
        });
        out
    }

    pub(super) fn site(&self, model: &Network, record: &[f64], out: &mut [f64]) {
        // The squares of squares of such numbers could overflow.
        if record.iter().any(|x| x.abs() > LARGEST) {
            return;
        }
        let (inputs, target) = record.split_at(model.inputs());
        let (weights, gamma) = out.split_at_mut(2 * model.weights());
        let (mut gap, mut variance) = (0.0, 0.0);
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.fit(model);
            with_wide_vectors(
                #[inline(always)]
                || {
                    let (mean, spread) = self.forward(model, inputs, scratch);
                    (gap, variance) = (target[0] - mean, spread);
                    let (by_mean, by_variance) = if model.noise == OutputNoise::Probit {
                        let tilt = Tilt::probit(mean, spread, class(target[0]));
                        (tilt.slope, 0.5 * (tilt.slope * tilt.slope - tilt.curvature))
                    } else {
                        let by = 1.0 / (spread + self.noise_variance);
                        (gap * by, 0.5 * by * (gap * gap * by - 1.0))
                    };
                    self.backward(model, by_mean, by_variance, scratch, weights);
                },
            );
        });
        if let Some((cavity, tilted)) =
            self.noise.and_then(|cavity| Some((cavity, tilted_gamma(cavity, gap, variance)?)))
        {
            gamma[0] = tilted.shape - cavity.shape;
            gamma[1] = cavity.rate - tilted.rate;
        }
    }

    #[inline(always)]
    fn forward(&self, model: &Network, inputs: &[f64], scratch: &mut Scratch) -> (f64, f64) {
        let Scratch { means, variances, by, upper: [sums, spreads], .. } = scratch;
        means[..inputs.len()].copy_from_slice(inputs);
        means[inputs.len()] = 1.0;
        variances[..=inputs.len()].fill(0.0);
        let (mut place, mut unit) = (0, 0);
        for layer in &model.layers[..model.layers.len() - 1] {
            let (units, next) = (layer.units, place + layer.inputs + 1);
            let (sums, spreads) = (&mut sums[..units], &mut spreads[..units]);
            sums.fill(0.0);
            spreads.fill(0.0);
            for i in 0..=layer.inputs {
                let (zm, zv) = (means[place + i], variances[place + i]);
                let row = layer.first + i * units..layer.first + (i + 1) * units;
                let weights = self.means[row.clone()].iter().zip(&self.variances[row]);
                let into = sums.iter_mut().zip(&mut *spreads).zip(weights);
                let square = zm * zm + zv;
                if zv == 0.0 {
                    into.for_each(|((sum, spread), (m, v))| {
                        *sum += m * zm;
                        *spread += v * square;
                    });
                } else {
                    into.for_each(|((sum, spread), (m, v))| {
                        *sum += m * zm;
                        *spread += m * m * zv + v * square;
                    });
                }
            }
            for first in (0..units).step_by(LANES) {
                let count = LANES.min(units - first);
                let (mut m, mut v) = ([0.0; LANES], [1.0; LANES]);
                for l in 0..count {
                    m[l] = sums[first + l] * layer.scale;
                    v[l] = spreads[first + l] * layer.scale * layer.scale;
                }
                let [mean, variance, rest @ ..] = rectify_all(&m, &v);
                means[next + first..][..count].copy_from_slice(&mean[..count]);
                variances[next + first..][..count].copy_from_slice(&variance[..count]);
                for (into, from) in by.iter_mut().zip(rest) {
                    into[unit + first..][..count].copy_from_slice(&from[..count]);
                }
            }
            (means[next + units], variances[next + units]) = (1.0, 0.0);
            (place, unit) = (next, unit + units);
        }
        let layer = model.layers[model.layers.len() - 1];
        let count = layer.inputs + 1;
        let (zm, zv) = (&means[place..place + count], &variances[place..place + count]);
        let (m, v) = (&self.means[layer.weights()], &self.variances[layer.weights()]);
        let (mean, variance) = sums_of(
            m,
            v,
            zm,
            zv,
            #[inline(always)]
            |m, v, zm, zv| (m * zm, m * m * zv + v * (zm * zm + zv)),
        );
        (mean * layer.scale, variance * layer.scale * layer.scale)
    }

    /// From the derivatives of $\log Z$ by mean and variance of the output to sites.
    #[inline(always)]
    fn backward(
        &self,
        model: &Network,
        by_mean: f64,
        by_variance: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        let Scratch { means, variances, by, upper, lower } = scratch;
        let last = model.layers[model.layers.len() - 1];
        let (mut place, mut unit) = (means.len() - last.inputs - 1, by[0].len());
        // The output has one unit, so that its loops are over inputs.
        let (gm, gv) = (last.scale * by_mean, last.scale * last.scale * by_variance);
        let part = last.weights();
        let weights = self.means[part.clone()].iter().zip(&self.variances[part.clone()]);
        let z = means[place..].iter().zip(&variances[place..]);
        let into = out[2 * part.start..2 * part.end].as_chunks_mut::<2>().0.iter_mut();
        for ((out, (&m, &v)), (&zm, &zv)) in into.zip(weights).zip(z) {
            let g = zm * gm + 2.0 * m * zv * gv;
            *out = weight_site(m, v, g, g * g - 2.0 * (zm * zm + zv) * gv);
        }
        if model.layers.len() > 1 {
            unit -= last.inputs;
            let weights = self.means[part.clone()].iter().zip(&self.variances[part]);
            let z = means[place..place + last.inputs].iter().zip(weights);
            let [into_m, into_v] = upper;
            let into = into_m[..last.inputs].iter_mut().zip(&mut into_v[..last.inputs]);
            for (((dm, dv), derivatives), (&zm, (&m, &v))) in
                into.zip(derivatives_of(by, unit, last.inputs)).zip(z)
            {
                let through = (m * gm + 2.0 * zm * v * gv, (m * m + v) * gv);
                (*dm, *dv) = through_unit(through, derivatives);
            }
        }
        for (k, layer) in model.layers[..model.layers.len() - 1].iter().enumerate().rev() {
            place -= layer.inputs + 1;
            let units = layer.units;
            let (gm, gv) = {
                let [gm, gv] = &mut *upper;
                (&mut gm[..units], &mut gv[..units])
            };
            gm.iter_mut().for_each(|x| *x *= layer.scale);
            gv.iter_mut().for_each(|x| *x *= layer.scale * layer.scale);
            for i in 0..=layer.inputs {
                let (zm, zv) = (means[place + i], variances[place + i]);
                self.row(layer, i, (zm, zv), (gm, gv), out);
            }
            if k > 0 {
                unit -= layer.inputs;
                for i in 0..layer.inputs {
                    let row = layer.first + i * units..layer.first + (i + 1) * units;
                    let (m, v) = (&self.means[row.clone()], &self.variances[row]);
                    let (along, across) = sums_of(
                        m,
                        v,
                        gm,
                        gv,
                        #[inline(always)]
                        |m, v, gm, gv| (m * gm, v * gv),
                    );
                    let (square, _) = sums_of(
                        m,
                        v,
                        gm,
                        gv,
                        #[inline(always)]
                        |m, _, _, gv| (m * m * gv, 0.0),
                    );
                    lower[0][i] = along + 2.0 * means[place + i] * across;
                    lower[1][i] = square + across;
                }
                let [into_m, into_v] = &mut *lower;
                let into = into_m[..layer.inputs].iter_mut().zip(&mut into_v[..layer.inputs]);
                for ((dm, dv), derivatives) in into.zip(derivatives_of(by, unit, layer.inputs)) {
                    (*dm, *dv) = through_unit((*dm, *dv), derivatives);
                }
                std::mem::swap(upper, lower);
            }
        }
    }

    /// The sites of the weights of one input of a hidden layer.
    #[inline(always)]
    fn row(
        &self,
        layer: &Layer,
        i: usize,
        (zm, zv): (f64, f64),
        (gm, gv): (&[f64], &[f64]),
        out: &mut [f64],
    ) {
        let (first, last) = (layer.first + i * layer.units, layer.first + (i + 1) * layer.units);
        let weights = self.means[first..last].iter().zip(&self.variances[first..last]);
        let into = out[2 * first..2 * last].as_chunks_mut::<2>().0.iter_mut();
        let all = into.zip(weights).zip(gm.iter().zip(gv));
        let square = zm * zm + zv;
        if zv == 0.0 {
            // Of an input that is known. One that is 0 says nothing.
            if zm != 0.0 {
                for ((out, (&m, &v)), (&gm, &gv)) in all {
                    let g = zm * gm;
                    *out = weight_site(m, v, g, g * g - 2.0 * square * gv);
                }
            }
        } else {
            for ((out, (&m, &v)), (&gm, &gv)) in all {
                let g = zm * gm + 2.0 * m * zv * gv;
                *out = weight_site(m, v, g, g * g - 2.0 * square * gv);
            }
        }
    }
}

impl Scratch {
    fn fit(&mut self, model: &Network) {
        let inputs = model.layers.iter().map(|layer| layer.inputs + 1).sum();
        let units = model.layers[1..].iter().map(|layer| layer.inputs).sum();
        let widest = model.layers.iter().map(|layer| layer.inputs.max(layer.units)).max().unwrap_or(0);
        self.means.resize(inputs, 0.0);
        self.variances.resize(inputs, 0.0);
        self.by.iter_mut().for_each(|x| x.resize(units, 0.0));
        self.upper.iter_mut().chain(&mut self.lower).for_each(|x| x.resize(widest, 0.0));
    }
}

type Derivatives<'a> = ((&'a f64, &'a f64), (&'a f64, &'a f64));

/// Those of a hidden layer.
#[inline(always)]
fn derivatives_of(by: &[Vec<f64>; 4], first: usize, units: usize) -> impl Iterator<Item = Derivatives<'_>> {
    let [a, b, c, d] = by.each_ref().map(|x| &x[first..first + units]);
    a.iter().zip(b).zip(c.iter().zip(d))
}

/// The chain rule at a unit.
#[inline(always)]
fn through_unit((dm, dv): (f64, f64), ((a, b), (c, d)): Derivatives<'_>) -> (f64, f64) {
    (dm * a + dv * c, dm * b + dv * d)
}

/// Two sums over four slices, in four lanes, so that the compiler need not keep the order of additions.
#[inline(always)]
fn sums_of(
    a: &[f64],
    b: &[f64],
    c: &[f64],
    d: &[f64],
    term: impl Fn(f64, f64, f64, f64) -> (f64, f64),
) -> (f64, f64) {
    const LANES: usize = 4;
    let mut first = [0.0; LANES];
    let mut second = [0.0; LANES];
    let blocks = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
    for ((a, b), (c, d)) in blocks.zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES))) {
        for l in 0..LANES {
            let (x, y) = term(a[l], b[l], c[l], d[l]);
            first[l] += x;
            second[l] += y;
        }
    }
    let mut sums =
        ((first[0] + first[1]) + (first[2] + first[3]), (second[0] + second[1]) + (second[2] + second[3]));
    for k in a.len() - a.len() % LANES..a.len() {
        let (x, y) = term(a[k], b[k], c[k], d[k]);
        sums = (sums.0 + x, sums.1 + y);
    }
    sums
}
