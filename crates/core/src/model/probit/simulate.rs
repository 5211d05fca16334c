//! Public simulated records by which the clipping norm is chosen.

use crate::model::linear::Simulated;
use crate::model::probit::plan::SIMULATED;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Records in the form of encoded ones, with one-hot columns, and with classes by weights drawn from the prior. The
/// seed is public.
pub(super) fn simulated(columns: &[usize], prior_variance: f64, seed: u64) -> Simulated {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs: usize = columns.iter().sum();
    let weights: Vec<f64> = (0..=inputs).map(|_| prior_variance.sqrt() * standard(&mut rng)).collect();
    let mut records = vec![0.0; SIMULATED.1 * (inputs + 1)];
    for row in records.chunks_exact_mut(inputs + 1) {
        let mut first = 0;
        for &levels in columns {
            if levels == 1 {
                row[first] = rng.random_range(-1.0..1.0);
            } else {
                row[first + rng.random_range(0..levels)] = 1.0;
            }
            first += levels;
        }
        let score: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + weights[inputs];
        row[inputs] = (score + standard(&mut rng)).signum();
    }
    Simulated { weights, records }
}

pub(super) fn standard(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}
