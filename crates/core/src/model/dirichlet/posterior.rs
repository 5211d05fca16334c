//! The posterior.

use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, NoisyCounts, Total, choose, dirichlet};
use crate::family::bisect;
use crate::math::normal::quantile;
use crate::model::dirichlet::plan::{BURN_IN, DRAWS};
use crate::model::parameters::{Block, Joint, Marginal, Parameter, Sampled};
use crate::model::{Code, Codebook, CodedColumn, ModelError, Parameters, Posterior, Predicted, Saved};
use crate::threads;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Probabilities of the stored quantiles. Between them a normal distribution is interpolated.
const KNOTS: [f64; 11] = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995];

/// The posterior of the category probabilities of a column. Its size does not depend on the number of draws behind
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Shares {
    /// Posterior mean of each probability.
    pub mean: Vec<f64>,
    /// Posterior variance if the counts were known.
    pub records_variance: Vec<f64>,
    /// Posterior variance, including the privacy noise.
    pub variance: Vec<f64>,
    /// Whether the two levels are the sign of one input.
    sign: bool,
    /// The quantiles of each level at [`KNOTS`], level by level.
    quantiles: Vec<f64>,
    /// What the draws were made of; early files have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<Released>,
}

/// Released counts, and what is known about their noise: public, so that the chain can be run again for joint draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Released {
    noisy: Vec<f64>,
    noise: NoiseDistribution,
    concentration: Vec<f64>,
    total: Total,
    noise_treatment: NoiseTreatment,
    seed: u64,
}

impl Released {
    /// Runs the chain: passes each draw of the counts on, with the generator for a draw of the shares.
    fn each_draw(&self, mut each: impl FnMut(&[f64], &mut ChaCha8Rng)) {
        let counts = NoisyCounts {
            noisy: &self.noisy,
            noise: self.noise,
            concentration: &self.concentration,
            total: self.total,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        match self.noise_treatment {
            NoiseTreatment::NoiseAware => counts.each_sample(BURN_IN, DRAWS, &mut rng, each),
            NoiseTreatment::Naive => {
                let nearest = counts.nearest(false);
                (0..DRAWS).for_each(|_| each(&nearest, &mut rng));
            }
        }
    }

    /// A draw of the shares, given the counts.
    fn shares(&self, n: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        dirichlet(n.iter().zip(&self.concentration).map(|(n, a)| n + a), rng)
    }

    fn is_consistent(&self, levels: usize) -> bool {
        self.noisy.len() == levels
            && self.concentration.len() == levels
            && self.concentration.iter().all(|a| *a > 0.0)
            && self.noise.sd() >= 0.0
    }
}

/// Forms of the file: early ones had all draws, sorted for each level, instead of quantiles.
#[derive(Deserialize)]
struct Stored {
    mean: Vec<f64>,
    records_variance: Vec<f64>,
    variance: Vec<f64>,
    sign: bool,
    #[serde(default)]
    quantiles: Vec<f64>,
    #[serde(default)]
    sorted: Vec<Vec<f64>>,
    #[serde(default)]
    released: Option<Released>,
}

impl From<Stored> for Shares {
    fn from(stored: Stored) -> Self {
        let Stored { mean, records_variance, variance, sign, mut quantiles, sorted, released } = stored;
        if quantiles.is_empty() {
            quantiles = sorted.iter().flat_map(|draws| KNOTS.map(|p| empirical(draws, p))).collect();
        }
        Self { mean, records_variance, variance, sign, quantiles, released }
    }
}

/// The empirical quantile of sorted draws.
fn empirical(draws: &[f64], probability: f64) -> f64 {
    let at = (probability * draws.len() as f64 - 0.5).max(0.0);
    let low = (at as usize).min(draws.len().saturating_sub(1));
    match (draws.get(low), draws.get(low + 1)) {
        (Some(a), Some(b)) => a + (b - a) * (at - low as f64),
        (Some(a), None) => *a,
        _ => f64::NAN,
    }
}

impl Shares {
    /// From noisy counts. The draws use a public seed: they are post-processing.
    #[must_use]
    pub fn new(counts: &NoisyCounts<'_>, noise_treatment: NoiseTreatment, seed: u64) -> Self {
        let released = Released {
            noisy: counts.noisy.to_vec(),
            noise: counts.noise,
            concentration: counts.concentration.to_vec(),
            total: counts.total,
            noise_treatment,
            seed,
        };
        let levels = counts.noisy.len();
        let mut moments = vec![[0.0; 3]; levels];
        let mut drawn = vec![0.0; levels * DRAWS];
        let mut column = 0;
        released.each_draw(|n, rng| {
            let total: f64 = n.iter().zip(counts.concentration).map(|(n, a)| n + a).sum();
            for (moments, (n, a)) in moments.iter_mut().zip(n.iter().zip(counts.concentration)) {
                let mean = (n + a) / total;
                let add = [mean, mean * (1.0 - mean) / (total + 1.0), mean * mean];
                moments.iter_mut().zip(add).for_each(|(sum, x)| *sum += x / DRAWS as f64);
            }
            let shares = released.shares(n, rng);
            drawn.chunks_exact_mut(DRAWS).zip(shares).for_each(|(drawn, share)| drawn[column] = share);
            column += 1;
        });
        drawn.chunks_exact_mut(DRAWS).for_each(|draws| draws.sort_by(f64::total_cmp));
        Self {
            mean: moments.iter().map(|m| m[0]).collect(),
            records_variance: moments.iter().map(|m| m[1]).collect(),
            variance: moments.iter().map(|m| m[1] + (m[2] - m[0] * m[0]).max(0.0)).collect(),
            sign: false,
            quantiles: drawn
                .chunks_exact(DRAWS)
                .flat_map(|draws| KNOTS.map(|p| empirical(draws, p)))
                .collect(),
            released: Some(released),
        }
    }

    /// The joint distribution of the shares: the draws of the chain, which is run again; of a file without the released counts, independent
    /// distributions with the stored quantiles.
    fn joint(&self) -> Joint {
        let records_sd: Vec<f64> = self.records_variance.iter().map(|v| v.max(0.0).sqrt()).collect();
        let Some(released) = &self.released else {
            let level = |(level, records_sd): (usize, f64)| {
                Box::new(LevelShare { shares: self.clone(), level, records_sd }) as Box<dyn Marginal>
            };
            return Joint::Independent(records_sd.into_iter().enumerate().map(level).collect());
        };
        let noisy = released.noise != NoiseDistribution::None
            && released.noise_treatment == NoiseTreatment::NoiseAware;
        let records_sd = if noisy { records_sd } else { vec![f64::INFINITY; self.mean.len()] };
        let mut draws = Vec::with_capacity(DRAWS * self.mean.len());
        released.each_draw(|n, rng| draws.extend(released.shares(n, rng)));
        Joint::Sampled(Sampled { draws, records_sd })
    }

    /// Sets whether the two levels are the sign of one input.
    #[must_use]
    pub(super) fn with_sign(self, sign: bool) -> Self {
        Self { sign, ..self }
    }

    /// Whether its parts are consistent, since a file may have been edited.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let levels = self.mean.len();
        let lengths = [self.records_variance.len(), self.variance.len()];
        lengths.iter().all(|&length| length == levels)
            && self.quantiles.len() == levels * KNOTS.len()
            && self.quantiles.iter().all(|x| x.is_finite())
            && (levels == 2 || !self.sign)
            && self.released.as_ref().is_none_or(|released| released.is_consistent(levels))
    }

    /// Inputs of the column.
    #[must_use]
    pub fn inputs(&self) -> usize {
        if self.sign { 1 } else { self.mean.len() }
    }

    /// The quantile of the probability of a level: exact for the draws at a few probabilities, and interpolated by a
    /// normal distribution between and beyond them.
    #[must_use]
    pub fn quantile(&self, level: usize, probability: f64) -> f64 {
        if !(probability > 0.0 && probability < 1.0) {
            return if probability >= 1.0 { 1.0 } else { 0.0 };
        }
        let quantiles = &self.quantiles[level * KNOTS.len()..][..KNOTS.len()];
        let above = KNOTS.iter().position(|knot| *knot >= probability).unwrap_or(KNOTS.len());
        let above = above.clamp(1, KNOTS.len() - 1);
        let (low, high) = (quantile(KNOTS[above - 1]), quantile(KNOTS[above]));
        let along = (quantile(probability) - low) / (high - low);
        (quantiles[above - 1] + (quantiles[above] - quantiles[above - 1]) * along).clamp(0.0, 1.0)
    }
}

/// The share of a level by its stored quantiles.
#[derive(Debug)]
struct LevelShare {
    shares: Shares,
    level: usize,
    records_sd: f64,
}

impl Marginal for LevelShare {
    fn mean(&self) -> f64 {
        self.shares.mean[self.level]
    }
    fn sd(&self) -> f64 {
        self.shares.variance[self.level].sqrt()
    }
    fn records_sd(&self) -> f64 {
        self.records_sd
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.shares.quantile(self.level, probability)
    }
    fn below(&self, x: f64) -> f64 {
        bisect(|p| self.quantile(p), x, (0.0, 1.0))
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        self.quantile(rng.random())
    }
}

impl Posterior for Vec<Shares> {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (mut log_density, mut first) = (0.0, 0);
        for shares in self {
            let width = shares.inputs();
            let inputs = &inputs[first..first + width];
            let level = match inputs {
                [x] => Some(usize::from(*x > 0.0)),
                levels => levels.iter().position(|&x| x > 0.5),
            };
            log_density += level.map_or(0.0, |level| shares.mean[level].max(f64::MIN_POSITIVE).ln());
            first += width;
        }
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    /// `share[column, level]`. A column that is one number has two levels, by its sign.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let columns: Vec<(&Shares, &CodedColumn)> = self.iter().zip(&codebook.columns).collect();
        let block = |(shares, column): &(&Shares, &CodedColumn)| {
            let levels = match &column.code {
                Code::Levels { levels } if !shares.sign => levels.clone(),
                _ => column.sides().to_vec(),
            };
            let parameter =
                |(k, level)| Parameter::new("share", vec![("column", column.label()), ("level", level)], k);
            let parameters = levels.into_iter().take(shares.mean.len()).enumerate().map(parameter).collect();
            Block { parameters, joint: shares.joint() }
        };
        Parameters::new(threads::install(|| columns.par_iter().map(block).collect()))
    }

    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let mut record = Vec::new();
        for shares in self {
            // The probability of a level, averaged over the posterior.
            let level = choose(&shares.mean, rng);
            if shares.sign {
                record.push(if level == 1 { 1.0 } else { -1.0 });
            } else {
                record.extend((0..shares.mean.len()).map(|k| f64::from(u8::from(k == level))));
            }
        }
        Some(record)
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
