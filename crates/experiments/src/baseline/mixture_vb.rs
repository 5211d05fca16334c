//! A mixture of Gaussians by variational Bayes: the shortest model with local variables.
//!
//! Points $x_n$ come from one of $K$ components, $N(\mu_k, s^2 I)$ with known $s$, with weights from a Dirichlet prior and means from $N(0, \tau^2 I)$.
//! The local variable of a record is its component; its responsibilities $r_{nk}$ are a function of the record and the globals, and its
//! statistics are $r_{nk}$ and $r_{nk}x_n$. That is one file; the [engine](reticent_core::engine::vb) does the rest.
//!
//! For private mixtures use [`mixture`](reticent_core::model::mixture), which finds its own start.
//!
//! # Citation
//! Bishop, "Pattern recognition and machine learning", Section 10.2.

use reticent_core::engine::vb::{ExpectationModel, ExpectedSums, Share};
use reticent_core::family::digamma;
use reticent_core::wall::Geometry;

/// The globals: $q(\pi) = Dir(a)$ and $q(\mu_k) = N(m_k, v_k I)$.
#[derive(Debug, Clone, PartialEq)]
pub struct VariationalMixture {
    /// $a$.
    pub concentrations: Vec<f64>,
    /// $m_k$, one after the other.
    pub means: Vec<f64>,
    /// $v_k$.
    pub variances: Vec<f64>,
    dimension: usize,
    noise_variance: f64,
    prior_variance: f64,
    prior_concentration: f64,
    /// Points farther from 0 are moved there.
    radius: f64,
}

impl VariationalMixture {
    /// The initial state, at public `means` that distinguish the components.
    #[must_use]
    pub fn new(
        means: &[Vec<f64>],
        noise_variance: f64,
        prior_variance: f64,
        prior_concentration: f64,
        radius: f64,
    ) -> Self {
        let k = means.len();
        Self {
            concentrations: vec![prior_concentration; k],
            dimension: means.first().map_or(0, Vec::len),
            means: means.concat(),
            variances: vec![noise_variance; k],
            noise_variance,
            prior_variance,
            prior_concentration,
            radius,
        }
    }

    fn components(&self) -> usize {
        self.concentrations.len()
    }

    /// The domain of statistics: responsibilities sum to 1, and so the second block is no longer than the longest point.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        let (k, d) = (self.components(), self.dimension);
        Share::geometry(&[
            Share { width: k, norm: 1.0, weight: 1.0 },
            Share { width: k * d, norm: self.radius, weight: 1.0 },
        ])
    }

    /// The record, moved to the ball of the radius.
    fn bounded(&self, record: &[f64]) -> Vec<f64> {
        let norm = record.iter().map(|x| x * x).sum::<f64>().sqrt();
        let by = (self.radius / norm).min(1.0);
        record.iter().map(|x| x * by).collect()
    }

    /// $E[\log \pi_k]$ and $E[\log N(x|\mu_k, s^2I)]$ added.
    fn scores(&self, expected_logs: &[f64], x: &[f64]) -> Vec<f64> {
        let d = self.dimension as f64;
        let components = self.means.chunks_exact(self.dimension).zip(&self.variances).zip(expected_logs);
        let score = |((mean, variance), log): ((&[f64], &f64), &f64)| {
            let square: f64 = x.iter().zip(mean).map(|(x, m)| (x - m).powi(2)).sum();
            log - 0.5 * (square + d * variance) / self.noise_variance
                - 0.5 * d * (2.0 * std::f64::consts::PI * self.noise_variance).ln()
        };
        components.map(score).collect()
    }

    /// What a record adds to the evidence lower bound, at its optimal responsibilities: for records that are public.
    #[must_use]
    pub fn bound(&self, expected_logs: &[f64], record: &[f64]) -> f64 {
        log_sum(&self.scores(expected_logs, &self.bounded(record)))
    }

    /// The divergence of the globals from their priors, which the evidence lower bound is less by.
    #[must_use]
    pub fn divergence(&self) -> f64 {
        let (k, d) = (self.components() as f64, self.dimension as f64);
        let (a0, total) = (self.prior_concentration, self.concentrations.iter().sum::<f64>());
        let mut kl = libm::lgamma(total) - libm::lgamma(k * a0);
        for (a, log) in self.concentrations.iter().zip(self.condition()) {
            kl += libm::lgamma(a0) - libm::lgamma(*a) + (a - a0) * log;
        }
        for (mean, v) in self.means.chunks_exact(self.dimension).zip(&self.variances) {
            let square: f64 = mean.iter().map(|m| m * m).sum();
            let ratio = v / self.prior_variance;
            kl += 0.5 * (d * (ratio - 1.0 - ratio.ln()) + square / self.prior_variance);
        }
        kl
    }
}

impl ExpectationModel for VariationalMixture {
    /// $E[\log \pi_k]$.
    type Expectations = Vec<f64>;

    fn width(&self) -> usize {
        self.components() * (1 + self.dimension)
    }

    fn condition(&self) -> Vec<f64> {
        let total = digamma(self.concentrations.iter().sum());
        self.concentrations.iter().map(|&a| digamma(a) - total).collect()
    }

    fn statistics(&self, expected_logs: &Vec<f64>, record: &[f64], out: &mut [f64]) {
        let x = self.bounded(record);
        let scores = self.scores(expected_logs, &x);
        let total = log_sum(&scores);
        let (counts, sums) = out.split_at_mut(scores.len());
        for ((score, count), sum) in scores.iter().zip(counts).zip(sums.chunks_exact_mut(x.len())) {
            *count = (score - total).exp();
            sum.iter_mut().zip(&x).for_each(|(sum, x)| *sum = *count * x);
        }
    }

    fn maximise(&mut self, sums: &ExpectedSums) -> u64 {
        let (counts, points) = sums.values.split_at(self.components());
        let mut moved = 0;
        for (k, (count, point)) in counts.iter().zip(points.chunks_exact(self.dimension)).enumerate() {
            moved += u64::from(*count < 0.0);
            let count = count.max(0.0);
            self.concentrations[k] = self.prior_concentration + count;
            let variance = 1.0 / (1.0 / self.prior_variance + count / self.noise_variance);
            self.variances[k] = variance;
            let means = &mut self.means[k * self.dimension..][..self.dimension];
            means.iter_mut().zip(point).for_each(|(m, x)| *m = variance * x / self.noise_variance);
        }
        moved
    }
}

fn log_sum(scores: &[f64]) -> f64 {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + scores.iter().map(|score| (score - max).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};
    use reticent_core::budget::{Adjacency, Privacy, Unlimited};
    use reticent_core::engine::vb::{StepSize, Vb};
    use reticent_core::wall::{NoiseSource, Plan, Records, Sampler, Sums, Wall};

    const RECORDS: usize = 600;
    const CENTRES: [[f64; 2]; 3] = [[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]];

    fn points() -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let point = |n: usize| {
            CENTRES[n % 3].map(|c| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                c + 0.5 * noise
            })
        };
        (0..RECORDS).flat_map(point).collect()
    }

    fn start() -> VariationalMixture {
        let means = [vec![1.0, 0.3], vec![-0.5, 0.4], vec![-0.3, -0.6]];
        VariationalMixture::new(&means, 0.25, 10.0, 1.0, 4.0)
    }

    fn wall(
        model: &VariationalMixture,
        noise: Option<f64>,
        steps: u64,
    ) -> (Wall, reticent_core::wall::SumId) {
        let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
        let noise_multiplier = noise.unwrap_or(1.0);
        let sums = Sums {
            what: "responsibilities".into(),
            width: model.width(),
            geometry: model.geometry(),
            sampler: Sampler::Full,
            noise_multiplier,
            steps,
        };
        let id = plan.sums(sums).expect("a plan");
        let records = Records::new(points(), 2).expect("records");
        let source = NoiseSource::insecure_from_seed(9);
        let wall = if noise.is_some() {
            let privacy = Privacy::new(20.0, 1e-6, Adjacency::ReplaceOne).expect("privacy");
            Wall::new(records, source, plan, &privacy, Box::new(Unlimited))
        } else {
            Wall::without_privacy(records, source, plan, Box::new(Unlimited))
        };
        (wall.expect("a wall"), id)
    }

    fn evidence(model: &VariationalMixture) -> f64 {
        let logs = model.condition();
        points().chunks(2).map(|x| model.bound(&logs, x)).sum::<f64>() - model.divergence()
    }

    #[test]
    fn without_noise_the_bound_of_a_mixture_never_falls() {
        let mut model = start();
        let (mut wall, id) = wall(&model, None, 30);
        let mut vb = Vb::new(RECORDS, vec![0.0; model.width()]);
        let mut bounds = vec![evidence(&model)];
        for _ in 0..30 {
            vb.step(&mut model, &mut wall, id, StepSize::Full).expect("a step");
            bounds.push(evidence(&model));
        }
        assert!(bounds.windows(2).all(|b| b[1] >= b[0] - 1e-8), "{bounds:?}");
        // 200 points each: the mean of a component is within 5 of its standard deviations, 0.5 / sqrt(200).
        for (mean, centre) in model.means.chunks(2).zip(CENTRES) {
            assert!(mean.iter().zip(centre).all(|(m, c)| (m - c).abs() < 5.0 * 0.5 / 200f64.sqrt()));
        }
    }

    /// Each M-step is an optimum for the responsibilities it was given, on 50 records: any other globals have a smaller bound.
    #[test]
    fn the_maximising_step_of_a_mixture_is_a_numerical_optimum() {
        let mut model = start();
        let logs = model.condition();
        let values = points();
        let mut sums = vec![0.0; model.width()];
        for record in values.chunks(2).take(50) {
            let mut out = vec![0.0; model.width()];
            model.statistics(&logs, record, &mut out);
            sums.iter_mut().zip(&out).for_each(|(sum, x)| *sum += x);
        }
        let noise_variance = vec![0.0; sums.len()];
        model.maximise(&ExpectedSums { records: 50.0, values: sums.clone(), noise_variance });
        let objective = |m: &VariationalMixture| {
            let logs = m.condition();
            let mut value = -m.divergence();
            for k in 0..3 {
                let mean = &m.means[2 * k..][..2];
                let square = mean[0] * mean[0] + mean[1] * mean[1] + 2.0 * m.variances[k];
                let along = sums[3 + 2 * k] * mean[0] + sums[4 + 2 * k] * mean[1];
                value += sums[k] * (logs[k] - 0.5 * square / 0.25) + along / 0.25;
            }
            value
        };
        for k in 0..3 {
            for by in [0.99, 1.01] {
                let mut other = model.clone();
                other.variances[k] *= by;
                assert!(objective(&other) < objective(&model));
                let mut other = model.clone();
                other.concentrations[k] *= by;
                assert!(objective(&other) < objective(&model));
                let mut other = model.clone();
                other.means[2 * k] += by - 1.0;
                assert!(objective(&other) < objective(&model));
            }
        }
    }

    #[test]
    fn a_private_mixture_learns_and_carries_its_noise() {
        let mut model = start();
        let (mut wall, id) = wall(&model, Some(2.0), 10);
        let mut vb = Vb::new(RECORDS, vec![0.0; model.width()]);
        for _ in 0..10 {
            vb.step(&mut model, &mut wall, id, StepSize::Average).expect("a step");
        }
        assert!(vb.sums().noise_variance.iter().all(|v| *v > 0.0));
        for (mean, centre) in model.means.chunks(2).zip(CENTRES) {
            assert!(mean.iter().zip(centre).all(|(m, c)| (m - c).abs() < 0.7), "{mean:?}");
        }
    }
}
