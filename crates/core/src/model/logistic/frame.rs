//! Centred inputs.
//!
//! Most of the length of a record's inputs is that of their mean, which carries no information about the record. So
//! once sums of inputs are released, later releases use $z$, the inputs minus the estimated means, and the constant 1
//! of the bias: their typical length $R$ is a fraction of the maximum length of inputs, and so is the noise. Sums are
//! released in units of $R$, so that the plan can state their sensitivity before the means are estimated.

use super::columns::Independent;
use super::write_features;
use crate::family::Moments;
use crate::math::matrix;
use serde::{Deserialize, Serialize};

/// The centre of inputs, and the typical length of centred inputs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The mean of each input; 0 for the bias.
    pub(super) centre: Vec<f64>,
    /// $R$: the root mean square length of $z$, including the bias.
    pub(super) radius: f64,
}

impl Frame {
    pub(super) fn new(known: &Independent) -> Self {
        let mut centre = known.mean.clone();
        let last = centre.len() - 1;
        centre[last] = 0.0;
        let spread: f64 = known.variances().iter().sum();
        Self { centre, radius: (1.0 + spread).sqrt() }
    }

    /// Writes $z$, which is as long as the record, and returns the class as -1 or 1.
    pub(super) fn write_features(&self, record: &[f64], z: &mut [f64]) -> f64 {
        let target = write_features(record, z);
        z.iter_mut().zip(&self.centre).for_each(|(z, centre)| *z -= centre);
        target
    }

    /// Weights of uncentred inputs, from those of $z$: $w \cdot z = w \cdot x - w \cdot m$, so the bias is reduced by
    /// $w \cdot m$.
    pub(super) fn undo(&self, moments: &Moments) -> Moments {
        let n = self.centre.len();
        let mut turn = vec![0.0; n * n];
        (0..n).for_each(|k| turn[k * (n + 1)] = 1.0);
        (0..n - 1).for_each(|k| turn[(n - 1) * n + k] = -self.centre[k]);
        let mut mean = vec![0.0; n];
        matrix::times(&turn, n, &moments.mean, &mut mean);
        Moments { mean, covariance: matrix::sandwich(&turn, &moments.covariance, n) }
    }
}

/// Projects scores of $z$ to the nearest possible ones: those of the levels of a column sum to 0, as the centred
/// levels do.
pub(super) fn balance(score: &mut [f64], columns: &[usize]) {
    let mut rest = score;
    for &levels in columns {
        let (column, after) = rest.split_at_mut(levels);
        if levels > 1 {
            let mean = column.iter().sum::<f64>() / levels as f64;
            column.iter_mut().for_each(|x| *x -= mean);
        }
        rest = after;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::math::vector::dot;

    /// A frame with this centre, which ends with the 0 of the bias.
    pub(in super::super) fn frame(centre: &[f64], radius: f64) -> Frame {
        Frame { centre: centre.to_vec(), radius }
    }

    /// Scores of inputs and their variances are the same in both coordinates.
    #[test]
    fn weights_of_centred_inputs_are_undone() {
        let frame = frame(&[0.25, 0.5, -0.125, 0.0], 1.5);
        let covariance =
            vec![2.0, 0.5, 0.0, 0.1, 0.5, 1.0, 0.2, 0.0, 0.0, 0.2, 3.0, -0.4, 0.1, 0.0, -0.4, 0.7];
        let moments = Moments { mean: vec![1.0, -2.0, 0.5, 0.25], covariance };
        let undone = frame.undo(&moments);
        let record = [0.5, -1.0, 0.75, 1.0];
        let mut z = [0.0; 4];
        let target = frame.write_features(&record, &mut z);
        assert!(z == [0.25, -1.5, 0.875, 1.0] && target == 1.0);
        let x = [0.5, -1.0, 0.75, 1.0];
        assert!((dot(&moments.mean, &z) - dot(&undone.mean, &x)).abs() < 1e-14);
        let spread = |covariance: &[f64], x: &[f64]| {
            let mut out = vec![0.0; 4];
            matrix::times(covariance, 4, x, &mut out);
            dot(x, &out)
        };
        let (a, b) = (spread(&moments.covariance, &z), spread(&undone.covariance, &x));
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }

    #[test]
    fn scores_of_levels_are_balanced() {
        let mut score = [1.0, 2.0, 6.0, 5.0, -1.0, 2.0, 7.0];
        balance(&mut score, &[3, 1, 2]);
        assert_eq!(score, [-2.0, -1.0, 3.0, 5.0, -1.5, 1.5, 7.0]);
    }
}
