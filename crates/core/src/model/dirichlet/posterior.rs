//! The posterior.

use crate::engine::conjugate::{NoiseTreatment, NoisyCounts, dirichlet};
use crate::math::normal::quantile;
use crate::model::dirichlet::plan::{BURN_IN, DRAWS};
use crate::model::{ModelError, Point, Posterior, Predicted, Saved};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
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
}

impl From<Stored> for Shares {
    fn from(stored: Stored) -> Self {
        let Stored { mean, records_variance, variance, sign, mut quantiles, sorted } = stored;
        if quantiles.is_empty() {
            quantiles = sorted.iter().flat_map(|draws| KNOTS.map(|p| empirical(draws, p))).collect();
        }
        Self { mean, records_variance, variance, sign, quantiles }
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
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let levels = counts.noisy.len();
        let mut moments = vec![[0.0; 3]; levels];
        let mut drawn = vec![0.0; levels * DRAWS];
        let mut column = 0;
        let each = |n: &[f64], rng: &mut ChaCha8Rng| {
            let total: f64 = n.iter().zip(counts.concentration).map(|(n, a)| n + a).sum();
            for (moments, (n, a)) in moments.iter_mut().zip(n.iter().zip(counts.concentration)) {
                let mean = (n + a) / total;
                let add = [mean, mean * (1.0 - mean) / (total + 1.0), mean * mean];
                moments.iter_mut().zip(add).for_each(|(sum, x)| *sum += x / DRAWS as f64);
            }
            let shares = dirichlet(n.iter().zip(counts.concentration).map(|(n, a)| n + a), rng);
            drawn.chunks_exact_mut(DRAWS).zip(shares).for_each(|(drawn, share)| drawn[column] = share);
            column += 1;
        };
        match noise_treatment {
            NoiseTreatment::NoiseAware => counts.each_sample(BURN_IN, DRAWS, &mut rng, each),
            NoiseTreatment::Naive => {
                let nearest = counts.nearest(false);
                let mut each = each;
                (0..DRAWS).for_each(|_| each(&nearest, &mut rng));
            }
        }
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
        }
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

    fn points(&self) -> Vec<Point> {
        let mut point =
            Point { name: "mean".into(), mean: Vec::new(), records_sd: Vec::new(), sd: Vec::new() };
        for shares in self {
            let root = |variances: &[f64], factor: f64| {
                variances.iter().map(|v| factor * v.sqrt()).collect::<Vec<_>>()
            };
            if shares.inputs() == 1 {
                point.mean.push(2.0 * shares.mean[1] - 1.0);
                point.records_sd.extend(root(&shares.records_variance[1..], 2.0));
                point.sd.extend(root(&shares.variance[1..], 2.0));
            } else {
                point.mean.extend(&shares.mean);
                point.records_sd.extend(root(&shares.records_variance, 1.0));
                point.sd.extend(root(&shares.variance, 1.0));
            }
        }
        vec![point]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
