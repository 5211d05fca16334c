//! Records of two classes from a network of the prior.

use super::{Network, NetworkCavity};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Records that are drawn from a network with known weights.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedClasses {
    /// Rows of inputs and the class, 1 or -1.
    pub records: Vec<f64>,
    /// The output of the network for each, of which the class is the sign, with noise of unit variance.
    pub scores: Vec<f64>,
}

impl Network {
    /// Draws weights from the prior and, with them, classes of records. Inputs are encoded columns: uniform between -1 and 1, or one
    /// 1 among the zeros of a column of several levels. The seed is public.
    ///
    /// # Panics
    /// If the columns do not have as many inputs as the network.
    #[must_use]
    pub fn simulate_classes(&self, columns: &[usize], records: usize, seed: u64) -> SimulatedClasses {
        let inputs = self.inputs();
        assert_eq!(columns.iter().sum::<usize>(), inputs, "as many inputs as the network has");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let sd = self.prior_precision().sqrt().recip();
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let weights: Vec<f64> = (0..self.weights()).map(|_| sd * normal(&mut rng)).collect();
        // A unit needs a variance, if only a small one.
        let network = NetworkCavity::new(weights, vec![1e-12; self.weights()], 1.0);
        let mut simulated = SimulatedClasses {
            records: vec![0.0; records * (inputs + 1)],
            scores: Vec::with_capacity(records),
        };
        for row in simulated.records.chunks_exact_mut(inputs + 1) {
            let mut first = 0;
            for &levels in columns {
                if levels == 1 {
                    row[first] = rng.random_range(-1.0..1.0);
                } else {
                    row[first + rng.random_range(0..levels)] = 1.0;
                }
                first += levels;
            }
            let (score, _) = network.output(self, &row[..inputs]);
            row[inputs] = if score + normal(&mut rng) > 0.0 { 1.0 } else { -1.0 };
            simulated.scores.push(score);
        }
        simulated
    }
}
