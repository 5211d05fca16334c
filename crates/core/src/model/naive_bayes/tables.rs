//! Draws of the shares of all levels by class, given the released tables of counts.

use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, NoisyCounts, Total, dirichlet};
use crate::model::naive_bayes::plan::{CLASSES, levels};
use crate::model::naive_bayes::posterior::NaiveBayesPosterior;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// The released tables: levels by classes of each column. They are public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tables {
    pub(super) noisy: Vec<f64>,
    pub(super) noise: NoiseDistribution,
    /// Concentration of the Dirichlet prior, the same for each level.
    pub(super) concentration: f64,
    pub(super) noise_treatment: NoiseTreatment,
}

/// Burn-in, number of draws, and thinning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    pub(super) burn_in: usize,
    pub(super) draws: usize,
    pub(super) thinning: usize,
}

/// The draws that predictions average over, which are saved.
const PREDICTION: Chain = Chain { burn_in: 200, draws: 32, thinning: 10 };

/// The draws of the shares themselves: enough for their quantiles.
pub(super) const SHARES: Chain = Chain { burn_in: 200, draws: 1000, thinning: 2 };

/// Draws of the logarithms of all shares, and what the records leave of their variances.
pub(super) struct Drawn {
    /// In each: for each class its share, and then the shares of the levels of each column.
    pub(super) draws: Vec<Vec<f64>>,
    /// The variances of the same if the counts were known.
    pub(super) records_variances: Vec<f64>,
    /// The expected number of records of each class.
    pub(super) totals: Vec<f64>,
}

impl Tables {
    /// Whether the draws include the noise.
    pub(super) fn is_noisy(&self) -> bool {
        self.noise != NoiseDistribution::None && self.noise_treatment == NoiseTreatment::NoiseAware
    }

    /// Whether the tables are those of such columns.
    pub(super) fn is_consistent(&self, columns: &[usize], bins: usize) -> bool {
        let width: usize = columns.iter().map(|&inputs| levels(inputs, bins) * CLASSES).sum();
        self.noisy.len() == width && self.concentration > 0.0 && self.noise.sd() >= 0.0
    }

    pub(super) fn posterior(self, columns: &[usize], bins: usize) -> NaiveBayesPosterior {
        let Drawn { draws, records_variances, .. } = self.draws(columns, bins, PREDICTION);
        NaiveBayesPosterior { columns: columns.to_vec(), bins, draws, records_variances, tables: Some(self) }
    }

    /// Runs the chains. The seed is public: draws are post-processing.
    pub(super) fn draws(&self, columns: &[usize], bins: usize, chain: Chain) -> Drawn {
        // Blocks: the levels of a column for one class.
        let mut blocks: Vec<[Vec<f64>; CLASSES]> = Vec::new();
        let mut rest = &self.noisy[..];
        for &inputs in columns {
            let (table, after) = rest.split_at(levels(inputs, bins) * CLASSES);
            let class = |c: usize| table.iter().skip(c).step_by(CLASSES).copied().collect();
            blocks.push([class(0), class(1)]);
            rest = after;
        }
        let totals = Totals { blocks: &blocks, noise: self.noise };
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut drawn = Drawn {
            draws: vec![Vec::new(); chain.draws],
            records_variances: Vec::new(),
            totals: (0..CLASSES).map(|class| totals.of(class, None).0.max(0.0)).collect(),
        };
        for class in 0..CLASSES {
            let (mean, sd) = totals.of(class, None);
            let shares = self.block(
                &[mean, totals.of(1 - class, None).0],
                NoiseDistribution::Gaussian { sd },
                Total::Unknown,
                chain,
                &mut rng,
            );
            // The logarithm of the probability of the class, followed by those of its levels.
            drawn.push(shares.iter().map(|shares| vec![shares[0].ln()]), vec![0.0]);
            for (d, block) in blocks.iter().enumerate() {
                let (mean, sd) = totals.of(class, Some(d));
                let total = if sd.is_finite() { Total::Observed { mean, sd } } else { Total::Unknown };
                let draws = self.block(&block[class], self.noise, total, chain, &mut rng);
                let variances = self.records_variance(&draws, mean);
                drawn.push(draws.iter().map(|shares| shares.iter().map(|p| p.ln()).collect()), variances);
            }
        }
        drawn
    }

    /// Draws of the probabilities of a block.
    fn block(
        &self,
        noisy: &[f64],
        noise: NoiseDistribution,
        total: Total,
        chain: Chain,
        rng: &mut impl Rng,
    ) -> Vec<Vec<f64>> {
        let Chain { burn_in, draws, thinning } = chain;
        let concentration = vec![self.concentration; noisy.len()];
        let noise = if noise.sd() == 0.0 { NoiseDistribution::None } else { noise };
        let counts = NoisyCounts { noisy, noise, concentration: &concentration, total };
        let found = match self.noise_treatment {
            NoiseTreatment::NoiseAware => counts.sample(burn_in, draws * thinning, rng),
            NoiseTreatment::Naive => vec![counts.nearest(false); draws * thinning],
        };
        let share = |n: &Vec<f64>| dirichlet(n.iter().zip(&concentration).map(|(n, a)| n + a), rng);
        found.iter().step_by(thinning).map(share).collect()
    }

    /// The variance of the logarithm of each probability if the counts were known: $\psi'(a + n) - \psi'(A + N)$, at
    /// the expected counts. Noisy counts may be near 0 by chance, where it is huge.
    fn records_variance(&self, shares: &[Vec<f64>], total: f64) -> Vec<f64> {
        let levels = shares.first().map_or(0, Vec::len);
        let all = total.max(0.0) + self.concentration * levels as f64;
        let expected = |k: usize| shares.iter().map(|shares| shares[k]).sum::<f64>() / shares.len() as f64;
        (0..levels).map(|k| (trigamma(all * expected(k)) - trigamma(all)).max(0.0)).collect()
    }
}

impl Drawn {
    fn push(&mut self, logs: impl Iterator<Item = Vec<f64>>, variances: Vec<f64>) {
        self.draws.iter_mut().zip(logs).for_each(|(draw, logs)| draw.extend(logs));
        self.records_variances.extend(variances);
    }
}

/// Information of the tables about the number of records of each class.
struct Totals<'a> {
    blocks: &'a [[Vec<f64>; CLASSES]],
    noise: NoiseDistribution,
}

impl Totals<'_> {
    /// The number of records of a class and its standard deviation, from all blocks but one.
    ///
    /// Each table sums to it, with the noise of its levels. The public number of all records adds no information:
    /// records without a class contribute nothing, and their number is private.
    fn of(&self, class: usize, without: Option<usize>) -> (f64, f64) {
        let blocks = self.blocks.iter().enumerate().filter(|(d, _)| Some(*d) != without);
        let (precision, total) = blocks.fold((0.0, 0.0), |(precision, sum), (_, block)| {
            let weight = 1.0 / (block[class].len() as f64 * self.noise.sd().powi(2).max(1e-12));
            (precision + weight, sum + weight * block[class].iter().sum::<f64>())
        });
        let sd = if self.noise == NoiseDistribution::None { 0.0 } else { precision.sqrt().recip() };
        (if precision > 0.0 { total / precision } else { 0.0 }, sd)
    }
}

/// $\psi'(x)$ for $x > 0$, by recurrence to $x \ge 10$ and the asymptotic series there.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    // Below this the square of its reciprocal would not be finite.
    x = x.max(1e-100);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Bernoulli numbers.
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    sum + 1.0 / x + 0.5 * y + series / x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $\psi'(1) = \pi^2/6$ and $\psi'(1/2) = \pi^2/2$.
    #[test]
    fn trigamma_has_its_known_values() {
        let square = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - square / 6.0).abs() < 1e-11);
        assert!((trigamma(0.5) - square / 2.0).abs() < 1e-11);
    }
}
