//! The site of a record: moments are propagated forward through the network, and derivatives backward.
//!
//! With means $m$ and variances $v$ of weights $w$ and of inputs $z$,
//!
//! $$m_a = s\sum m_w m_z, \qquad v_a = s^2\sum m_w^2 v_z + v_w(m_z^2 + v_z),$$
//!
//! and through the units as in `relu.rs`. The evidence is $Z = N(y; m_a, v_a + b/(a-1))$ at the output, or
//! $\Phi(ym_a/\sqrt{1 + v_a})$ for a class, and the derivatives of $\log Z$ follow by the chain rule. With
//! $g = d\log Z/dm$,
//! $k = g^2 - 2\,d\log Z/dv$ and $u = 1 - vk$, the tilted moments of a weight are $m + vg$ and $vu$, so its site is
//!
//! $$p_n = \frac ku, \qquad \lambda_n = \frac gu + p_n m.$$
//!
//! A weight for which $u$ is not positive has no site: its contribution is 0, and those of the other weights are
//! unaffected.

use super::relu::{BLOCK, Units};
use super::{Layer, MAX_PRIOR_SDS, Network, OutputNoise, split, split_mut};
use crate::family::Gamma;
use crate::model::tilt::{Tilt, class};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};
use std::array::from_fn;
use std::cell::RefCell;

/// Moments of a cavity.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NetworkCavity {
    /// Mean of each weight, and [`LANES`] unused values.
    means: Vec<f64>,
    variances: Vec<f64>,
    noise: Option<Gamma>,
    noise_variance: f64,
}

/// The activations of one record. Every value is written before it is read: nothing of a record affects the next.
/// Hidden units are padded to complete vectors of [`LANES`]; the padding is overwritten or not read.
#[derive(Default)]
struct Scratch {
    /// Means and variances of the inputs of each layer, with the bias.
    means: Vec<f64>,
    variances: Vec<f64>,
    /// For each hidden unit the four derivatives of its moments, concatenated.
    by: [Vec<f64>; 4],
    /// Derivatives of $\log Z$ by the means and variances of the pre-activations of a layer, and of the one below.
    upper: [Vec<f64>; 2],
    lower: [Vec<f64>; 2],
    /// $k$ for the weights of an input that is 1.
    curvature: Vec<f64>,
    block: Box<Units>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Width of a vector: loops over hidden units have no remainder.
const LANES: usize = 4;

/// A record with a larger absolute value contributes nothing.
const LARGEST: f64 = 1e30;

/// Smaller remaining shares of a variance are due to rounding.
const MIN_LEFT: f64 = 1e-10;

/// The natural parameters of a weight's site, or its centred coordinates $(\lambda_n - p_n m, p_n)$.
#[inline(always)]
fn weight_site<const CENTRED: bool>(m: f64, v: f64, g: f64, k: f64) -> [f64; 2] {
    let u = 1.0 - v * k;
    let by = if u > MIN_LEFT { 1.0 / u } else { 0.0 };
    [if CENTRED { g } else { g + k * m } * by, k * by]
}

/// The gamma of a precision $\gamma$ given that a Gaussian with variance $v + 1/\gamma$ is `gap` from its mean: from
/// the evidence at shapes $a$, $a+1$ and $a+2$, which give $E[\gamma]$ and $E[\gamma^2]$.
pub(in crate::model) fn tilted_gamma(cavity: Gamma, gap: f64, variance: f64) -> Option<Gamma> {
    let Gamma { shape: a, rate: b } = cavity;
    let spread = |shape: f64| variance + b / (shape - 1.0);
    let (v, v1, v2) = (spread(a), spread(a + 1.0), spread(a + 2.0));
    // Z(a+1)/Z(a) and Z(a+2)/Z(a+1).
    let ratio = |above: f64, below: f64| {
        (below / above).sqrt() * libm::exp(-0.5 * gap * gap * (below - above) / (above * below))
    };
    let (first, second) = (ratio(v1, v), ratio(v2, v1));
    let shape = 1.0 / (second / first * (a + 1.0) / a - 1.0);
    let rate = b / (second * (a + 1.0) - first * a);
    (shape > 1.0 && rate > 0.0 && shape.is_finite() && rate.is_finite()).then_some(Gamma { shape, rate })
}

impl NetworkCavity {
    /// $m$ of each weight.
    pub(super) fn means(&self) -> &[f64] {
        &self.means[..self.means.len() - LANES]
    }

    pub(super) fn prepare(&mut self, model: &Network, natural: &[f64]) {
        let [lambdas, precisions, gamma] = split(natural, model.weights());
        self.means.resize(model.weights() + LANES, 0.0);
        self.variances.resize(model.weights() + LANES, 1.0);
        with_wide_vectors(
            #[inline(always)]
            || {
                let moments = self.means.iter_mut().zip(&mut self.variances);
                for ((mean, variance), (lambda, precision)) in moments.zip(lambdas.iter().zip(precisions)) {
                    *variance = 1.0 / precision;
                    *mean = lambda * *variance;
                }
            },
        );
        self.prepare_noise(model, gamma);
    }

    /// From the prior and a share of the likelihood part. Returns whether no weight needs
    /// [`project`](SiteModel::project). If one does, means and variances are invalid.
    pub(super) fn prepare_weights(&mut self, model: &Network, likelihood: &[f64], kept: f64) -> bool {
        let [lambdas, precisions, _] = split(likelihood, model.weights());
        let [_, priors, _] = split(&model.prior, model.weights());
        self.means.resize(model.weights() + LANES, 0.0);
        self.variances.resize(model.weights() + LANES, 1.0);
        let mut allowed = false;
        with_wide_vectors(
            #[inline(always)]
            || {
                // Local copies, so that stores in the loop cannot alias them.
                let (floor, kept, mut beyond) = (model.floor, kept, 0);
                let moments = self.means.iter_mut().zip(&mut self.variances);
                let all = moments.zip(lambdas.iter().zip(precisions)).zip(priors);
                for (((mean, variance), (lambda, precision)), prior) in all {
                    // The prior has mean 0.
                    let (lambda, precision) = (kept * lambda, prior + kept * precision);
                    let high = precision >= floor * prior;
                    let near =
                        lambda * lambda * prior <= MAX_PRIOR_SDS * MAX_PRIOR_SDS * precision * precision;
                    beyond |= u64::from(!high) | u64::from(!near);
                    *variance = 1.0 / precision;
                    *mean = lambda * *variance;
                }
                allowed = beyond == 0;
            },
        );
        allowed
    }

    /// From the natural parameters of the noise, if it is unknown.
    pub(super) fn prepare_noise(&mut self, model: &Network, gamma: &[f64]) {
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
    pub(super) fn new(mut means: Vec<f64>, mut variances: Vec<f64>, noise_variance: f64) -> Self {
        means.extend([0.0; LANES]);
        variances.extend([1.0; LANES]);
        Self { means, variances, noise: None, noise_variance }
    }

    /// $v$ of each weight.
    pub(super) fn variances(&self) -> &[f64] {
        &self.variances[..self.variances.len() - LANES]
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

    pub(super) fn site<const CENTRED: bool>(&self, model: &Network, record: &[f64], out: &mut [f64]) {
        // Fourth powers of such numbers could overflow.
        if record.iter().any(|x| x.abs() > LARGEST) {
            return;
        }
        let (inputs, target) = record.split_at(model.inputs());
        let [lambdas, precisions, gamma] = split_mut(out, model.weights());
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
                    self.backward::<CENTRED>(model, by_mean, by_variance, scratch, (lambdas, precisions));
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
        let Scratch { means, variances, by, upper: [sums, spreads], block, .. } = scratch;
        means[..inputs.len()].copy_from_slice(inputs);
        means[inputs.len()] = 1.0;
        variances[..=inputs.len()].fill(0.0);
        let (mut place, mut unit) = (0, 0);
        for (k, layer) in model.layers[..model.layers.len() - 1].iter().enumerate() {
            let (units, next) = (layer.units, place + layer.inputs + 1);
            let blocks = units.next_multiple_of(LANES);
            let (sums, spreads) = (&mut sums[..blocks], &mut spreads[..blocks]);
            sums.fill(0.0);
            spreads.fill(0.0);
            let z = (&means[place..next], &variances[place..next]);
            let into = (&mut *sums, &mut *spreads);
            // The inputs of the network have no variance.
            if k == 0 {
                self.add_inputs::<true>(layer, z, into);
            } else {
                self.add_inputs::<false>(layer, z, into);
            }
            for first in (0..blocks).step_by(BLOCK) {
                let count = BLOCK.min(blocks - first);
                let (scale, part) = (layer.scale, first..first + count);
                let from = sums[part.clone()].iter().zip(&spreads[part]);
                for ((m, v), (sum, spread)) in block.m.iter_mut().zip(&mut block.v).zip(from) {
                    (*m, *v) = (sum * scale, spread * (scale * scale));
                }
                block.rectify(count);
                means[next + first..][..count].copy_from_slice(&block.mean[..count]);
                variances[next + first..][..count].copy_from_slice(&block.variance[..count]);
                for (into, from) in by.iter_mut().zip(&block.by) {
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

    /// Adds the contribution of the inputs of a hidden layer to its pre-activations, four inputs at a time, to reduce
    /// memory traffic.
    #[inline(always)]
    fn add_inputs<const KNOWN: bool>(
        &self,
        layer: &Layer,
        z: (&[f64], &[f64]),
        (sums, spreads): (&mut [f64], &mut [f64]),
    ) {
        let fours = (layer.inputs + 1) / 4 * 4;
        for i in (0..fours).step_by(4) {
            self.add_rows::<KNOWN, 4>(layer, i, z, (sums, spreads));
        }
        for i in fours..=layer.inputs {
            self.add_rows::<KNOWN, 1>(layer, i, z, (sums, spreads));
        }
    }

    #[inline(always)]
    fn add_rows<const KNOWN: bool, const ROWS: usize>(
        &self,
        layer: &Layer,
        first: usize,
        (zm, zv): (&[f64], &[f64]),
        (sums, spreads): (&mut [f64], &mut [f64]),
    ) {
        // Weights of the next input are added to sums beyond the layer, which are not read.
        let units = sums.len();
        let row = |i: usize| layer.first + (first + i) * layer.units;
        let means: [&[f64]; ROWS] = from_fn(|i| &self.means[row(i)..][..units]);
        let variances: [&[f64]; ROWS] = from_fn(|i| &self.variances[row(i)..][..units]);
        let zm: [f64; ROWS] = from_fn(|i| zm[first + i]);
        let zv: [f64; ROWS] = from_fn(|i| zv[first + i]);
        let square: [f64; ROWS] = from_fn(|i| zm[i] * zm[i] + zv[i]);
        for (j, (into_sum, into_spread)) in sums.iter_mut().zip(&mut spreads[..units]).enumerate() {
            let (mut sum, mut spread) = (*into_sum, *into_spread);
            for i in 0..ROWS {
                let (m, v) = (means[i][j], variances[i][j]);
                sum = m.mul_add(zm[i], sum);
                spread = v.mul_add(square[i], spread);
                if !KNOWN {
                    spread = (m * m).mul_add(zv[i], spread);
                }
            }
            (*into_sum, *into_spread) = (sum, spread);
        }
    }

    /// From the derivatives of $\log Z$ by mean and variance of the output to sites.
    #[inline(always)]
    fn backward<const CENTRED: bool>(
        &self,
        model: &Network,
        by_mean: f64,
        by_variance: f64,
        scratch: &mut Scratch,
        (lambdas, precisions): (&mut [f64], &mut [f64]),
    ) {
        let Scratch { means, variances, by, upper, lower, curvature, .. } = scratch;
        let (inputs, mut unit) = sizes(model);
        let last = model.layers[model.layers.len() - 1];
        let mut place = inputs - last.inputs - 1;
        // The output has one unit, so its loops are over inputs.
        let (gm, gv) = (last.scale * by_mean, last.scale * last.scale * by_variance);
        let part = last.weights();
        let weights = self.means[part.clone()].iter().zip(&self.variances[part.clone()]);
        let z = means[place..inputs].iter().zip(&variances[place..inputs]);
        let into = lambdas[part.clone()].iter_mut().zip(&mut precisions[part.clone()]);
        for (((lambda, precision), (&m, &v)), (&zm, &zv)) in into.zip(weights).zip(z) {
            let g = zm * gm + 2.0 * m * zv * gv;
            [*lambda, *precision] = weight_site::<CENTRED>(m, v, g, g * g - 2.0 * (zm * zm + zv) * gv);
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
            let k1 = &mut curvature[..units];
            k1.iter_mut().zip(gm.iter().zip(&*gv)).for_each(|(k, (gm, gv))| *k = gm * gm - 2.0 * gv);
            for i in 0..=layer.inputs {
                let (zm, zv) = (means[place + i], variances[place + i]);
                self.row::<CENTRED>(layer, i, (zm, zv), (gm, gv, k1), (lambdas, precisions));
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
    fn row<const CENTRED: bool>(
        &self,
        layer: &Layer,
        i: usize,
        (zm, zv): (f64, f64),
        (gm, gv, k1): (&[f64], &[f64], &[f64]),
        (lambdas, precisions): (&mut [f64], &mut [f64]),
    ) {
        let (first, last) = (layer.first + i * layer.units, layer.first + (i + 1) * layer.units);
        let weights = self.means[first..last].iter().zip(&self.variances[first..last]);
        let all = lambdas[first..last].iter_mut().zip(&mut precisions[first..last]).zip(weights);
        let square = zm * zm + zv;
        if zv == 0.0 {
            // For an input without variance: g = z g_1 and k = z^2 k_1. One that is 0 contributes nothing.
            if zm != 0.0 {
                for (((lambda, precision), (&m, &v)), (&gm, &k1)) in all.zip(gm.iter().zip(k1)) {
                    [*lambda, *precision] = weight_site::<CENTRED>(m, v, zm * gm, square * k1);
                }
            }
        } else {
            for (((lambda, precision), (&m, &v)), (&gm, &gv)) in all.zip(gm.iter().zip(gv)) {
                let g = zm * gm + 2.0 * m * zv * gv;
                [*lambda, *precision] = weight_site::<CENTRED>(m, v, g, g * g - 2.0 * square * gv);
            }
        }
    }
}

/// Number of inputs of all layers, with the biases, and of units in hidden layers.
fn sizes(model: &Network) -> (usize, usize) {
    let inputs = model.layers.iter().map(|layer| layer.inputs + 1).sum();
    (inputs, model.layers[1..].iter().map(|layer| layer.inputs).sum())
}

impl Scratch {
    fn fit(&mut self, model: &Network) {
        let (inputs, units) = sizes(model);
        let widest = model.layers.iter().map(|layer| layer.inputs.max(layer.units)).max().unwrap_or(0);
        self.means.resize(inputs + LANES, 0.0);
        self.variances.resize(inputs + LANES, 0.0);
        self.by.iter_mut().for_each(|x| x.resize(units + LANES, 0.0));
        let rows = self.upper.iter_mut().chain(&mut self.lower).chain([&mut self.curvature]);
        rows.for_each(|x| x.resize(widest + LANES, 0.0));
    }
}

type Derivatives<'a> = ((&'a f64, &'a f64), (&'a f64, &'a f64));

/// The derivatives of a hidden layer.
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

/// Two sums over four slices, in four accumulators, so that the order of additions is free.
#[inline(always)]
fn sums_of(
    a: &[f64],
    b: &[f64],
    c: &[f64],
    d: &[f64],
    term: impl Fn(f64, f64, f64, f64) -> (f64, f64),
) -> (f64, f64) {
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
