//! Logistic regression by objective perturbation.
//!
//! Minimises $\sum_n \log(1 + e^{-y_n w\cdot x_n}) + \frac\rho2\lVert w\rVert^2 + b \cdot w$ with a random $b$, for $\lVert x_n\rVert \le 1$.
//!
//! # Privacy
//! Under replace-one adjacency. The minimum $w$ and $b$ determine each other: $b = -\rho w - \sum_n g_n(w)$, with gradients $g_n = -y_n s_n x_n$,
//! $0 < s_n < 1$. So the density of $w$ is that of $b$ there, times the determinant of the Hessian. Exchanging a record
//!
//! - changes the determinant by a factor of at most $1 + c/\rho$ either way, for $c = 1/4$: it takes one matrix of rank 1 and of norm at most $c$ away,
//!   and adds another. With $\rho \ge c/(e^{\varepsilon/2} - 1)$ that is at most $e^{\varepsilon/2}$.
//! - moves $b$ by $\Delta = s'x' - sx$ up to signs, of norm at most 2. If $b$ has density $\propto e^{-\varepsilon\lVert b\rVert/4}$ then its density
//!   changes by a factor of at most $e^{\varepsilon/2}$: pure privacy. If it is Gaussian with deviation $\sigma$, the logarithm of the factor
//!   is at most $(|b \cdot x| + |b \cdot x'| + 2)/\sigma^2$, where $x$ and $x'$ do not depend on $b$. Each product exceeds $\sigma q$, for
//!   $q = \Phi^{-1}(1 - \delta/4)$, with probability $\delta/2$; so $2q/\sigma + 2/\sigma^2 \le \varepsilon/2$ is enough up to $\delta$.
//!
//! All of this is about the *exact* minimum. Here it is computed until the gradient is below $10^{-9}$, in floating point, and that is assumed to
//! be exact. It is no noisy sum, so it does not go through the wall: it is for public records, to compare with, and has no receipt.
//!
//! # Citation
//! Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 2011; Kifer, Smith, Thakurta, "Private
//! convex empirical risk minimization", COLT 2012.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, StandardNormal};
use reticent_core::math::matrix;
use reticent_core::math::normal;
use reticent_core::math::vector::dot;
use reticent_core::model::{DefinitionError, FitError};

/// The largest second derivative of the loss.
const STEEPEST: f64 = 0.25;

/// Settings of objective perturbation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectivePerturbation {
    /// Epsilon of the budget.
    pub epsilon: f64,
    /// Delta of the budget; 0 for pure privacy.
    pub delta: f64,
    /// $\rho$, at least; privacy may need more.
    pub ridge: f64,
    /// A public bound on the norm of inputs with the 1 of the bias. Longer ones are shortened.
    pub radius: f64,
}

impl ObjectivePerturbation {
    /// Weights and, last, the bias. Records are rows of inputs and the class, -1 or 1.
    ///
    /// # Errors
    /// [`FitError`] for invalid settings, or if the minimum is not found.
    pub fn fit(&self, values: &[f64], inputs: usize, seed: u64) -> Result<Vec<f64>, FitError> {
        let positive = [self.epsilon, self.ridge, self.radius].iter().all(|x| *x > 0.0 && x.is_finite());
        if !(positive && (0.0..1.0).contains(&self.delta)) {
            return Err(FitError::Definition(DefinitionError::Baseline));
        }
        let d = inputs + 1;
        let ridge = self.ridge.max(STEEPEST / (0.5 * self.epsilon).exp_m1());
        let slope = self.slope(d, &mut ChaCha8Rng::seed_from_u64(seed));
        let rows: Vec<(Vec<f64>, f64)> = values.chunks_exact(d).map(|record| self.scaled(record)).collect();
        let mut weights =
            minimise(&rows, &slope, ridge, d).ok_or(FitError::Definition(DefinitionError::Baseline))?;
        weights.iter_mut().for_each(|w| *w /= self.radius);
        Ok(weights)
    }

    /// Inputs of norm at most 1, and the class.
    fn scaled(&self, record: &[f64]) -> (Vec<f64>, f64) {
        let (inputs, class) = record.split_at(record.len() - 1);
        let mut x: Vec<f64> = inputs.iter().copied().chain([1.0]).collect();
        let norm = dot(&x, &x).sqrt().max(self.radius);
        x.iter_mut().for_each(|x| *x /= norm);
        (x, class[0].signum())
    }

    /// $b$.
    fn slope(&self, d: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let direction: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
        let length = if self.delta > 0.0 {
            let q: f64 = normal::quantile(1.0 - 0.25 * self.delta);
            // 2 q / s + 2 / s^2 = epsilon / 2, for 1 / s.
            2.0 / ((q * q + self.epsilon).sqrt() - q)
        } else {
            let norm = dot(&direction, &direction).sqrt();
            let length = Gamma::new(d as f64, 4.0 / self.epsilon).map_or(f64::NAN, |law| law.sample(rng));
            length / norm
        };
        direction.into_iter().map(|x| x * length).collect()
    }
}

/// Newton's method; the objective is strongly convex, so halving steps until it falls is enough.
fn minimise(rows: &[(Vec<f64>, f64)], slope: &[f64], ridge: f64, d: usize) -> Option<Vec<f64>> {
    let objective = |w: &[f64]| {
        let loss = |(x, y): &(Vec<f64>, f64)| softplus(-y * dot(x, w));
        rows.iter().map(loss).sum::<f64>() + 0.5 * ridge * dot(w, w) + dot(slope, w)
    };
    let mut w = vec![0.0; d];
    let mut value = objective(&w);
    for _ in 0..100 {
        let mut gradient: Vec<f64> = slope.iter().zip(&w).map(|(b, w)| b + ridge * w).collect();
        let mut hessian = vec![0.0; d * d];
        (0..d).for_each(|k| hessian[k * (d + 1)] = ridge);
        for (x, y) in rows {
            let s = (-softplus(y * dot(x, &w))).exp();
            let curve = s * (1.0 - s);
            // Levels are mostly 0.
            let present: Vec<usize> = (0..d).filter(|&i| x[i] != 0.0).collect();
            for (k, &i) in present.iter().enumerate() {
                gradient[i] -= y * s * x[i];
                present[..=k].iter().for_each(|&j| hessian[i * d + j] += curve * x[i] * x[j]);
            }
        }
        if dot(&gradient, &gradient).sqrt() < 1e-9 {
            return Some(w);
        }
        (0..d).for_each(|i| (0..i).for_each(|j| hessian[j * d + i] = hessian[i * d + j]));
        let mut l = vec![0.0; d * d];
        if !matrix::cholesky(&hessian, d, &mut l) {
            return None;
        }
        matrix::solve(&l, d, &mut gradient);
        let mut size = 1.0;
        loop {
            let next: Vec<f64> = w.iter().zip(&gradient).map(|(w, g)| w - size * g).collect();
            let found = objective(&next);
            if found <= value || size < 1e-6 {
                (w, value) = (next, found);
                break;
            }
            size *= 0.5;
        }
    }
    // Rounding of sums over many records can keep the gradient a little above the aim.
    Some(w)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn data(records: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let row = |_| {
            let [a, b] = [0, 1].map(|_| rng.random_range(-1.0..1.0f64));
            let p = 1.0 / (1.0 + (-(3.0 * a - b + 0.5)).exp());
            [a, b, if rng.random::<f64>() < p { 1.0 } else { -1.0 }]
        };
        (0..records).flat_map(row).collect()
    }

    /// At a huge budget it is ridge logistic regression: a solution of its equations.
    #[test]
    fn without_noise_the_equations_are_solved() {
        let values = data(500);
        let method = ObjectivePerturbation { epsilon: 1e9, delta: 0.0, ridge: 0.5, radius: 2.0 };
        let weights = method.fit(&values, 2, 3).expect("a minimum");
        let scaled: Vec<f64> = weights.iter().map(|w| w * 2.0).collect();
        let mut gradient: Vec<f64> = scaled.iter().map(|w| 0.5 * w).collect();
        for record in values.chunks(3) {
            let (x, y) = method.scaled(record);
            let s = (-softplus(y * dot(&x, &scaled))).exp();
            gradient.iter_mut().zip(&x).for_each(|(g, x)| *g -= y * s * x);
        }
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
        assert!(weights[0] > 0.0 && weights[1] < 0.0);
    }

    /// The deviation of Gaussian noise meets the inequality that its proof needs, with equality; pure noise has the mean length $4d/\varepsilon$.
    #[test]
    fn noise_is_what_the_proof_needs() {
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-6), (4.0, 1e-3)] {
            let method = ObjectivePerturbation { epsilon, delta, ridge: 1.0, radius: 1.0 };
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let draws: Vec<f64> = (0..2000).flat_map(|_| method.slope(4, &mut rng)).collect();
            let sigma = (dot(&draws, &draws) / 8000.0).sqrt();
            let q = normal::quantile(1.0 - 0.25 * delta);
            // 8,000 draws: their deviation is known to 0.8 %, and this is five times that.
            let used = 2.0 * q / sigma + 2.0 / (sigma * sigma);
            assert!((used / (0.5 * epsilon) - 1.0).abs() < 0.08, "{used}");
            let pure = ObjectivePerturbation { delta: 0.0, ..method };
            let lengths = (0..4000).map(|_| {
                let b = pure.slope(4, &mut rng);
                dot(&b, &b).sqrt()
            });
            // A gamma of shape 4 has a deviation of half its mean.
            let mean = lengths.sum::<f64>() / 4000.0;
            assert!((mean * epsilon / 16.0 - 1.0).abs() < 5.0 * 0.5 / 4000f64.sqrt(), "{mean}");
        }
    }
}
