//! Variational inference with clipped gradients, for logistic regression.
//!
//! $q(w) = \prod_j N(\mu_j, e^{2\lambda_j})$ goes up noisy gradients of the evidence lower bound: at each step a public draw $\eta$ makes
//! $w = \mu + e^\lambda\eta$, a record in the batch contributes $(g, g \eta e^\lambda)$ with $g = (y - \sigma(w \cdot x))x$, clipped as one vector, and what
//! priors and entropy add does not depend on records.
//!
//! # Citation
//! Jalko, Dikmen, Honkela, "Differentially private variational inference for non-conjugate models", UAI 2017.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use reticent_accounting::Sampling;
use reticent_core::baseline::Adam;
use reticent_core::budget::{Ledger, Privacy};
use reticent_core::engine::vb::Composition;
use reticent_core::family::Moments;
use reticent_core::model::{DefinitionError, FitError};
use reticent_core::receipt::Receipt;
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall, WallError};

/// Settings of variational inference with clipped gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dpvi {
    /// Records in a batch of a fixed size, drawn afresh each time.
    pub batch: usize,
    /// Number of batches.
    pub steps: u64,
    /// The norm that gradients are clipped to.
    pub clip: f64,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// Prior variance of each weight.
    pub prior_variance: f64,
    /// Seed of the draws of the weights, which are public.
    pub seed: u64,
}

impl Default for Dpvi {
    /// Batches of 200 as in the paper's experiment with adult.
    fn default() -> Self {
        Self { batch: 200, steps: 1000, clip: 1.0, learning_rate: 0.02, prior_variance: 1.0, seed: 1 }
    }
}

impl Dpvi {
    /// The noise multiplier for a budget and a number of records.
    ///
    /// # Errors
    /// Errors of the accountant.
    pub fn noise_multiplier(&self, count: usize, privacy: &Privacy) -> Result<f64, FitError> {
        let sampling = Sampling::Fixed { batch: self.batch as u64, records: count as u64 };
        let multiplier = Composition::Tight.noise_multiplier(sampling, self.steps, privacy);
        Ok(multiplier.map_err(WallError::from)?)
    }

    /// The weights and, last, the bias. Records are rows of inputs and the class, -1 or 1. Under replace-one adjacency: batches have a fixed
    /// size.
    ///
    /// # Errors
    /// [`FitError`].
    #[allow(clippy::too_many_arguments, reason = "each is another thing")]
    pub fn fit(
        &self,
        records: Records,
        count: usize,
        inputs: usize,
        source: NoiseSource,
        noise_multiplier: f64,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Moments, Receipt), FitError> {
        let positive = [self.clip, self.learning_rate, self.prior_variance];
        if !(positive.iter().all(|x| *x > 0.0) && (1..=count).contains(&self.batch) && self.steps > 0) {
            return Err(FitError::Definition(DefinitionError::Baseline));
        }
        let d = inputs + 1;
        let mut plan = Plan::new(count, privacy.adjacency());
        let sums = Sums {
            what: "clipped gradients".into(),
            width: 2 * d,
            geometry: Geometry::Ball { radius: self.clip },
            sampler: Sampler::Fixed { batch: self.batch },
            noise_multiplier,
            steps: self.steps,
        };
        let id = plan.sums(sums).map_err(WallError::from)?;
        let mut wall = Wall::new(records, source, plan, privacy, ledger)?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut state = vec![0.0; 2 * d];
        state[d..].fill(-2.0);
        let mut adam = Adam::new(2 * d);
        let mut mean = vec![0.0; 2 * d];
        let averaged = self.steps.div_ceil(2);
        for step in 0..self.steps {
            let draw: Vec<f64> = (0..d).map(|_| StandardNormal.sample(&mut rng)).collect();
            let gradients = Gradients { state: &state, draw: &draw };
            let released = wall.sum(id, &gradients)?;
            let by = 1.0 / released.expected_batch;
            let all = 1.0 / count as f64;
            // Down the gradient of the mean negative bound of a record.
            let mut gradient: Vec<f64> = released.values.iter().map(|g| -g * by).collect();
            for k in 0..d {
                gradient[k] += all * state[k] / self.prior_variance;
                gradient[d + k] += all * ((2.0 * state[d + k]).exp() / self.prior_variance - 1.0);
            }
            adam.step(&mut state, &gradient, self.learning_rate);
            if step >= self.steps - averaged {
                mean.iter_mut().zip(&state).for_each(|(mean, x)| *mean += x / averaged as f64);
            }
        }
        let mut covariance = vec![0.0; d * d];
        (0..d).for_each(|k| covariance[k * (d + 1)] = (2.0 * mean[d + k]).exp());
        mean.truncate(d);
        Ok((Moments { mean, covariance }, wall.finish(0)?))
    }
}

struct Gradients<'a> {
    /// $\mu$ and $\lambda$.
    state: &'a [f64],
    draw: &'a [f64],
}

impl Query for Gradients<'_> {
    fn width(&self) -> usize {
        self.state.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (inputs, class) = record.split_at(record.len() - 1);
        let d = self.draw.len();
        let (mean, log_sd) = self.state.split_at(d);
        let weight = |k: usize| mean[k] + log_sd[k].exp() * self.draw[k];
        let input = |k: usize| inputs.get(k).copied().unwrap_or(1.0);
        let score: f64 = (0..d).map(|k| weight(k) * input(k)).sum();
        let residual = 0.5 * (class[0].signum() + 1.0) - 1.0 / (1.0 + (-score).exp());
        for k in 0..d {
            out[k] = residual * input(k);
            out[d + k] = out[k] * self.draw[k] * log_sd[k].exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use reticent_core::budget::{Adjacency, Unlimited};

    fn fit(multiplied: f64, epsilon: f64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let row = |_| {
            let [a, b] = [0, 1].map(|_| rng.random_range(-1.0..1.0f64));
            [a, b, multiplied * (2.0 * a - b).signum()]
        };
        let records = Records::new((0..2000).flat_map(row).collect(), 3).expect("records");
        let privacy = Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).expect("privacy");
        let source = NoiseSource::insecure_from_seed(2);
        let settings = Dpvi { steps: 300, learning_rate: 0.05, ..Dpvi::default() };
        let noise = settings.noise_multiplier(2000, &privacy).expect("a multiplier");
        let (moments, receipt) =
            settings.fit(records, 2000, 2, source, noise, &privacy, Box::new(Unlimited)).expect("a fit");
        assert!(receipt.guarantee.cost().is_none(), "a fixed seed has no guarantee");
        moments.mean
    }

    #[test]
    fn clipped_gradients_learn_and_little_budget_destroys() {
        let weights = fit(1.0, 8.0);
        assert!(weights[0] > 0.5 && weights[1] < -0.2, "{weights:?}");
        // At an epsilon of 0.001 noise is all: exchanging all classes moves weights by less than the noise does.
        let (a, b) = (fit(1.0, 1e-3), fit(-1.0, 1e-3));
        let size = a.iter().chain(&b).fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.5 * size), "{a:?} {b:?}");
    }
}
