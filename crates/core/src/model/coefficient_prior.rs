//! Priors of single coefficients, as the schema states them.

use crate::field::{self, FieldError};
use crate::math::matrix;
use serde::{Deserialize, Serialize};

/// The Gaussian prior of one coefficient, in the units of the schema. All of it is public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoefficientPrior {
    /// The coefficient as a linear function of the encoded weights: the index of a weight, and its factor.
    pub weights: Vec<(usize, f64)>,
    /// Prior mean.
    pub mean: f64,
    /// Prior standard deviation.
    pub sd: f64,
}

impl CoefficientPrior {
    /// Checks priors of coefficients of so many inputs.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(priors: &[Self], inputs: usize) -> Result<(), FieldError> {
        field::integer("the number of priors", priors.len() as u64, 0..=inputs as u64)?;
        for prior in priors {
            field::integer("priors.weights", prior.weights.len() as u64, 1..=inputs as u64)?;
            for &(index, factor) in &prior.weights {
                field::integer("priors.weights", index as u64, 0..=inputs.saturating_sub(1) as u64)?;
                field::number("priors.weights", factor, -1e12..=1e12)?;
            }
            field::number("priors.mean", prior.mean, -1e12..=1e12)?;
            field::number("priors.sd", prior.sd, 1e-12..=1e12)?;
        }
        Ok(())
    }
}

/// What stated priors change of a Gaussian prior of `size` variables with mean 0 and covariance $V$. With the rows $A$ of the stated coefficients, their
/// means $m$ and variances $S$, the marginal distribution of $A\theta$ becomes $N(m, S)$, and that of the rest given $A\theta$ stays what it is:
/// the precision $V^{-1}$ becomes $V^{-1} - A^T(AVA^T)^{-1}A + A^TS^{-1}A$, and the natural mean $A^TS^{-1}m$.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatedPriors {
    /// $A^T(AVA^T)^{-1}A$: it is inversely proportional to $V$.
    pub(crate) removed: Vec<f64>,
    /// $A^TS^{-1}A$.
    pub(crate) added: Vec<f64>,
    /// $A^TS^{-1}m$.
    pub(crate) natural: Vec<f64>,
    /// Number of coefficients.
    pub(crate) count: usize,
}

impl StatedPriors {
    /// For variables of which `row` gives the factors of a coefficient. `None` if coefficients depend on each other linearly.
    pub(crate) fn new(
        priors: &[CoefficientPrior],
        covariance: &[f64],
        size: usize,
        row: impl Fn(&CoefficientPrior) -> Vec<f64>,
    ) -> Option<Self> {
        let count = priors.len();
        let rows: Vec<Vec<f64>> = priors.iter().map(row).collect();
        let spread = |a: &[f64]| {
            let mut out = vec![0.0; size];
            matrix::times(covariance, size, a, &mut out);
            out
        };
        let along: Vec<Vec<f64>> = rows.iter().map(|a| spread(a)).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let marginal: Vec<f64> =
            (0..count * count).map(|k| dot(&rows[k / count], &along[k % count])).collect();
        let inverse = matrix::symmetric_inverse(&marginal, count)?;
        let mut stated = Self {
            removed: vec![0.0; size * size],
            added: vec![0.0; size * size],
            natural: vec![0.0; size],
            count,
        };
        for (i, (a, prior)) in rows.iter().zip(priors).enumerate() {
            let precision = prior.sd.powi(-2);
            // Row i of (AVA^T)^-1 A.
            let mut weighted = vec![0.0; size];
            for (b, factor) in rows.iter().zip(&inverse[i * count..]) {
                weighted.iter_mut().zip(b).for_each(|(out, b)| *out += factor * b);
            }
            for (k, left) in a.iter().enumerate().filter(|(_, left)| **left != 0.0) {
                stated.natural[k] += left * precision * prior.mean;
                let span = k * size..(k + 1) * size;
                let (removed, added) = (&mut stated.removed[span.clone()], &mut stated.added[span]);
                removed.iter_mut().zip(&weighted).for_each(|(out, right)| *out += left * right);
                added.iter_mut().zip(a).for_each(|(out, right)| *out += left * precision * right);
            }
        }
        Some(stated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stated coefficients get their marginal distributions, and the others keep theirs given these: here the covariance with a correlated third
    /// variable, by the formulas of conditional Gaussians.
    #[test]
    fn marginals_are_replaced_and_conditionals_kept() {
        let covariance = [2.0, 0.6, 0.3, 0.6, 1.0, 0.4, 0.3, 0.4, 1.5];
        let priors = [
            CoefficientPrior { weights: vec![(0, 2.0)], mean: 1.0, sd: 0.5 },
            CoefficientPrior { weights: vec![(1, 1.0)], mean: -2.0, sd: 0.25 },
        ];
        let row = |prior: &CoefficientPrior| {
            let mut row = vec![0.0; 3];
            prior.weights.iter().for_each(|&(k, factor)| row[k] = factor);
            row
        };
        let stated = StatedPriors::new(&priors, &covariance, 3, row).expect("independent coefficients");
        let mut precision = matrix::symmetric_inverse(&covariance, 3).expect("positive definite");
        for ((precision, removed), added) in precision.iter_mut().zip(&stated.removed).zip(&stated.added) {
            *precision += added - removed;
        }
        let found = matrix::symmetric_inverse(&precision, 3).expect("still positive definite");
        let mut mean = vec![0.0; 3];
        matrix::times(&found, 3, &stated.natural, &mut mean);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(mean[0], 0.5);
        close(mean[1], -2.0);
        close(found[0], 0.0625);
        close(found[4], 0.0625);
        close(found[1], 0.0);
        // Regression of the third on the first two: V_3A V_AA^-1.
        let determinant = 2.0 - 0.36;
        let slopes = [(0.3 - 0.4 * 0.6) / determinant, (0.4 * 2.0 - 0.3 * 0.6) / determinant];
        close(mean[2], slopes[0] * 0.5 - slopes[1] * 2.0);
        let left = 1.5 - slopes[0] * 0.3 - slopes[1] * 0.4;
        close(found[8], left + 0.0625 * (slopes[0].powi(2) + slopes[1].powi(2)));
    }

    #[test]
    fn priors_out_of_range_are_refused() {
        let prior = CoefficientPrior { weights: vec![(3, 1.0)], mean: 0.0, sd: 1.0 };
        assert!(CoefficientPrior::validate(std::slice::from_ref(&prior), 4).is_ok());
        assert!(CoefficientPrior::validate(std::slice::from_ref(&prior), 3).is_err());
        assert!(CoefficientPrior::validate(&[CoefficientPrior { sd: 0.0, ..prior }], 4).is_err());
    }
}
