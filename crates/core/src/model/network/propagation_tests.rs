//! Moments and derivatives against a second implementation: scalar, straight from the printed formulas of probabilistic
//! backpropagation, and differentiated by dual numbers.

use super::*;
use crate::math::normal::{self, Tail};
use proptest::prelude::*;
use std::ops::{Add, Div, Mul, Sub};

/// A number with its derivative by one variable.
#[derive(Debug, Clone, Copy)]
struct Dual(f64, f64);

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}
impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }
}
impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0, self.0 * other.1 + self.1 * other.0)
    }
}
impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self(self.0 / other.0, (self.1 - self.0 / other.0 * other.1) / other.0)
    }
}

impl Dual {
    fn constant(x: f64) -> Self {
        Self(x, 0.0)
    }
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), 0.5 * self.1 / self.0.sqrt())
    }
    fn ln(self) -> Self {
        Self(self.0.ln(), self.1 / self.0)
    }
    fn phi(self) -> Self {
        let density = (-0.5 * self.0 * self.0).exp() / std::f64::consts::TAU.sqrt();
        Self(density, -self.0 * density * self.1)
    }
    fn cdf(self) -> Self {
        Self(normal::cdf(self.0), self.phi().0 * self.1)
    }
    fn log_cdf(self) -> Self {
        let tail = Tail::at(self.0);
        Self(tail.log, tail.hazard * self.1)
    }
}

/// The mean and variance of $\max(a, 0)$ as the sums $E = m\Phi + \sqrt v\varphi$, $E_2 = (m^2 + v)\Phi + m\sqrt v\varphi$ and
/// $V = E_2 - E^2$. They suffer from cancellation where units are nearly dead, and then both are negligible; or
/// nearly linear, and then they are those of $a$.
fn rectified(m: Dual, v: Dual) -> (Dual, Dual) {
    let alpha = m / v.sqrt();
    if alpha.0 > 12.0 {
        return (m, v);
    }
    if alpha.0 < -12.0 {
        return (Dual::constant(0.0), Dual::constant(0.0));
    }
    let (cdf, phi) = (alpha.cdf(), alpha.phi());
    let unit_mean = alpha * cdf + phi;
    let unit_square = (alpha * alpha + Dual::constant(1.0)) * cdf + alpha * phi;
    (v.sqrt() * unit_mean, v * (unit_square - unit_mean * unit_mean))
}

/// Mean and variance of $s\sum_i w_i z_i$ for independent weights and inputs: $s\sum m_w m_z$ and
/// $s^2\sum (m_w^2 + v_w)(m_z^2 + v_z) - m_w^2 m_z^2$, without the difference.
fn weighted_sum(weights: &[(Dual, Dual)], inputs: &[(Dual, Dual)]) -> (Dual, Dual) {
    let scale = Dual::constant((inputs.len() as f64).sqrt().recip());
    let (mut mean, mut variance) = (Dual::constant(0.0), Dual::constant(0.0));
    for (&(mw, vw), &(mz, vz)) in weights.iter().zip(inputs) {
        mean = mean + mw * mz;
        variance = variance + mw * mw * vz + vw * mz * mz + vw * vz;
    }
    (scale * mean, scale * scale * variance)
}

/// Moments of the output by composition, with the derivative by the variable that is marked in `weights`.
fn output(model: &Network, weights: &[(Dual, Dual)], inputs: &[f64]) -> (Dual, Dual) {
    let mut z: Vec<_> = inputs.iter().map(|&x| (Dual::constant(x), Dual::constant(0.0))).collect();
    for (k, layer) in model.layers.iter().enumerate() {
        z.push((Dual::constant(1.0), Dual::constant(0.0)));
        let next = (0..layer.units).map(|j| {
            let of_unit: Vec<_> =
                (0..=layer.inputs).map(|i| weights[layer.first + i * layer.units + j]).collect();
            let (m, v) = weighted_sum(&of_unit, &z);
            if k + 1 == model.layers.len() { (m, v) } else { rectified(m, v) }
        });
        z = next.collect();
    }
    z[0]
}

fn log_evidence(model: &Network, (m, v): (Dual, Dual), target: f64) -> Dual {
    match model.noise {
        OutputNoise::Probit => {
            (Dual::constant(target.signum()) * m / (v + Dual::constant(1.0)).sqrt()).log_cdf()
        }
        _ => {
            let (total, gap) = (v + Dual::constant(0.3), Dual::constant(target) - m);
            Dual::constant(-0.5) * (total.ln() + gap * gap / total)
        }
    }
}

/// A network of this depth with random weights of about this variance. If `dead`, biases make $\alpha$ about -25 to -45 for
/// every third unit of the first layer.
fn case(
    depth: usize,
    noise: OutputNoise,
    seed: u64,
    spread: f64,
    dead: bool,
) -> (Network, Vec<(f64, f64)>, Vec<f64>) {
    let model = Network::new(&[3, 6, 4, 5][..=depth], noise).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut weights: Vec<_> =
        (0..model.weights()).map(|_| (1.5 * normal(), spread * (0.5 * normal()).exp())).collect();
    let record: Vec<f64> = (0..4).map(|_| normal()).collect();
    if dead {
        let layer = model.layers[0];
        for j in (0..layer.units).step_by(3) {
            let place = |i: usize| layer.first + i * layer.units + j;
            let x = |i: usize| if i < 3 { record[i] } else { 1.0 };
            let sd = (0..4).map(|i| weights[place(i)].1 * x(i) * x(i)).sum::<f64>().sqrt();
            let others: f64 = (0..3).map(|i| weights[place(i)].0 * x(i)).sum();
            weights[place(3)].0 = -(35.0 + 5.0 * normal()) * sd - others;
        }
    }
    (model, weights, record)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Outputs and sites of the code are those of the second implementation, for both kinds of output.
    #[test]
    fn two_implementations_agree(seed in 0u64..1_000_000, depth in 1usize..4, probit: bool, dead: bool, spread in prop::sample::select(vec![1e-12, 1e-4, 0.2, 5.0])) {
        let noise = if probit { OutputNoise::Probit } else { OutputNoise::Known(0.3) };
        let (model, weights, record) = case(depth, noise, seed, spread, dead);
        let precisions = weights.iter().map(|(_, v)| 1.0 / v);
        let natural: Vec<f64> = weights.iter().map(|(m, v)| m / v).chain(precisions).collect();
        let mut cavity = NetworkCavity::default();
        model.condition(&natural, &mut cavity);
        let plain: Vec<_> = weights.iter().map(|&(m, v)| (Dual::constant(m), Dual::constant(v))).collect();
        let (mean, variance) = cavity.output(&model, &record[..3]);
        let expected = output(&model, &plain, &record[..3]);
        // Means are sums of a few numbers of the order of 1; variances of positive ones.
        prop_assert!((mean - expected.0.0).abs() < 1e-10 * (1.0 + mean.abs()), "{mean} {expected:?}");
        prop_assert!((variance - expected.1.0).abs() < 1e-9 * variance, "{variance} {expected:?}");
        let mut site = vec![0.0; model.width()];
        model.site(&cavity, &record, &mut site);
        for (k, &(m, v)) in weights.iter().enumerate() {
            let by = |dm: f64, dv: f64| {
                let mut marked = plain.clone();
                marked[k] = (Dual(m, dm), Dual(v, dv));
                log_evidence(&model, output(&model, &marked, &record[..3]), record[3]).1
            };
            let (g, h) = (by(1.0, 0.0), by(0.0, 1.0));
            let curvature = g * g - 2.0 * h;
            let left = 1.0 - v * curvature;
            if left < 1e-6 {
                continue; // No site, or one that is mostly rounding.
            }
            // Natural parameters of the site, from the derivatives.
            let (precision, lambda) = (curvature / left, g / left + curvature / left * m);
            let size = (g * g + 2.0 * h.abs()) / left;
            prop_assert!((site[weights.len() + k] - precision).abs() < 1e-8 * (size + 1e-3) / left, "{k}: {} {precision}", site[weights.len() + k]);
            prop_assert!((site[k] - lambda).abs() < 1e-8 * (g.abs() / left + size * m.abs() + 1e-3) / left, "{k}: {} {lambda}", site[k]);
        }
    }
}

/// A layer given independent Gaussian inputs, and a rectified unit, have exactly the moments that are computed for them: 400,000
/// samples, five standard errors. (Layers above the second have inputs that are neither independent nor Gaussian,
/// which is where the approximation is.)
#[test]
fn each_layer_is_exact_given_independent_inputs() {
    const SAMPLES: usize = 400_000;
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    for spread in [1e-12, 0.3, 4.0f64] {
        let mut draw = || (normal(), spread * (0.5 * normal()).exp());
        let weights: Vec<(f64, f64)> = (0..5).map(|_| draw()).collect();
        let inputs: Vec<(f64, f64)> = (0..5).map(|_| draw()).collect();
        let dual = |x: &[(f64, f64)]| -> Vec<(Dual, Dual)> {
            x.iter().map(|&(m, v)| (Dual::constant(m), Dual::constant(v))).collect()
        };
        let (m, v) = weighted_sum(&dual(&weights), &dual(&inputs));
        let scale = 5f64.sqrt().recip();
        let sum = sample_moments(SAMPLES, m.0, || {
            (0..5)
                .map(|i| {
                    let (w, z) = (weights[i], inputs[i]);
                    scale * (w.0 + w.1.sqrt() * normal()) * (z.0 + z.1.sqrt() * normal())
                })
                .sum()
        });
        sum.assert_near(v.0);
        for alpha in [-2.0, -0.3, 0.0, 1.0, 3.0] {
            let expected = relu::rectify(alpha * spread.sqrt(), spread);
            let unit =
                sample_moments(SAMPLES, expected.mean, || (spread.sqrt() * (alpha + normal())).max(0.0));
            unit.assert_near(expected.variance);
        }
    }
}

/// Sample moments about an expected mean.
struct Sampled {
    count: f64,
    mean: f64,
    square: f64,
    fourth: f64,
}

fn sample_moments(count: usize, about: f64, mut draw: impl FnMut() -> f64) -> Sampled {
    let mut found = Sampled { count: count as f64, mean: 0.0, square: 0.0, fourth: 0.0 };
    for _ in 0..count {
        let gap = draw() - about;
        found.mean += gap / count as f64;
        found.square += gap * gap / count as f64;
        found.fourth += gap.powi(4) / count as f64;
    }
    found
}

impl Sampled {
    fn assert_near(&self, variance: f64) {
        let error = (self.square / self.count).sqrt();
        assert!(self.mean.abs() < 5.0 * error, "{} {error}", self.mean);
        let error = ((self.fourth - self.square * self.square) / self.count).sqrt();
        assert!((self.square - variance).abs() < 5.0 * error, "{} {variance} {error}", self.square);
    }
}
