//! Precisions of the weights of each column, by maximum evidence.
//!
//! The weights of a column have precision $\alpha_c$, and $\ln\alpha_c \sim N(\nu, \tau^2)$ with separate means $\nu$
//! for columns of levels and for numbers: a number between -1 and 1 mostly varies less than a level that is 0 or 1,
//! so its weights are larger. Precisions maximise the evidence. With the information about the weights written as
//! $w \sim N(K^{-1}b, K^{-1})$ its derivative is
//!
//! $$\frac{\partial}{\partial\ln\alpha_c} = \tfrac12\left(\gamma_c - \alpha_c\lVert w_c\rVert^2\right) - \frac{\ln\alpha_c - \nu}{\tau^2}, \qquad
//! \gamma_c = n_c - \alpha_c\operatorname{tr}V_c,$$
//!
//! where $V$ and $w$ are the covariance and the mean of the weights given the precisions.
//!
//! # Citation
//! MacKay, "Bayesian interpolation", Neural Computation 1992, for $\gamma$; Neal, "Bayesian learning for neural
//! networks", 1996, for a separate precision of each input.

use crate::math::matrix;
use std::ops::Range;

/// $\tau$. On simulated columns 0.5 to 1 do as well.
const LOG_PRECISION_SD: f64 = 0.6;
/// The model error of scores counts as noise, so weights seem noisier than they are, and estimated precisions are too
/// high. Intervals
/// use log precisions reduced by this share of their excess over the prior mean. Chosen on simulated columns.
const PRECISION_DISCOUNT: f64 = 0.75;
/// Gradient steps at a time.
const STEPS: usize = 5;

/// Precisions of columns and, last, of the bias.
pub(super) struct Precisions {
    columns: Vec<Range<usize>>,
    logs: Vec<f64>,
    /// Prior mean of $\nu$.
    prior_log: f64,
}

impl Precisions {
    /// Precisions for columns of these numbers of inputs, all at the prior mean.
    pub(super) fn new(columns: &[usize], prior_log: f64) -> Self {
        let mut next = 0;
        let range = |&count: &usize| {
            next += count;
            next - count..next
        };
        let columns: Vec<Range<usize>> = columns.iter().chain(&[1]).map(range).collect();
        let logs = vec![prior_log.ln(); columns.len()];
        Self { columns, logs, prior_log: prior_log.ln() }
    }

    /// The precision of each weight.
    pub(super) fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.columns
            .iter()
            .zip(&self.logs)
            .flat_map(|(column, log)| std::iter::repeat_n(log.exp(), column.len()))
    }

    /// $K + \operatorname{diag}\alpha$.
    pub(super) fn added_to(&self, known: &[f64], n: usize) -> Vec<f64> {
        let mut out = known.to_vec();
        self.all().enumerate().for_each(|(k, precision)| out[k * (n + 1)] += precision);
        out
    }

    /// Takes ascent steps for a positive $K$ and for $b$; `None` if there is no such posterior.
    pub(super) fn climb(&mut self, known: &[f64], natural: &[f64]) -> Option<()> {
        let n = natural.len();
        self.climb_by(|precisions| {
            let covariance = matrix::symmetric_inverse(&precisions.added_to(known, n), n)?;
            let mut weights = vec![0.0; n];
            matrix::times(&covariance, n, natural, &mut weights);
            Some(((0..n).map(|k| covariance[k * (n + 1)]).collect(), weights))
        })
    }

    /// Takes ascent steps, given a function for the diagonal of $V$, and $w$.
    pub(super) fn climb_by(
        &mut self,
        posterior: impl Fn(&Self) -> Option<(Vec<f64>, Vec<f64>)>,
    ) -> Option<()> {
        for _ in 0..STEPS {
            let (variance, weights) = posterior(self)?;
            let means = self.means();
            for (column, log) in self.columns.iter().zip(&mut self.logs) {
                let precision = log.exp();
                let trace: f64 = variance[column.clone()].iter().sum();
                let length = precision * column.clone().map(|k| weights[k] * weights[k]).sum::<f64>();
                let found = (column.len() as f64 - precision * trace).max(1e-3);
                let tied = 1.0 / (LOG_PRECISION_SD * LOG_PRECISION_SD);
                let slope = 0.5 * (found - length) - (*log - means[usize::from(column.len() > 1)]) * tied;
                *log += (slope / (0.5 * found.max(length) + tied)).clamp(-1.0, 1.0);
            }
        }
        self.logs.iter().all(|log| log.is_finite()).then_some(())
    }

    /// The precisions for intervals, lower by [`PRECISION_DISCOUNT`].
    pub(super) fn for_intervals(&self) -> Self {
        let less = |log: &f64| log - PRECISION_DISCOUNT * (log - self.prior_log).max(0.0);
        let logs = self.logs.iter().map(less).collect();
        Self { columns: self.columns.clone(), logs, prior_log: self.prior_log }
    }

    /// $\nu$ of numbers, and of levels. Each is shrunk to that of all columns with the weight of one column, and that
    /// to the prior mean.
    fn means(&self) -> [f64; 2] {
        // Without the bias, which is last.
        let columns = || self.columns.iter().zip(&self.logs).take(self.logs.len() - 1);
        let all = (self.prior_log + columns().map(|(_, log)| log).sum::<f64>()) / self.logs.len() as f64;
        [false, true].map(|levels| {
            let of_kind = columns().filter(|(column, _)| (column.len() > 1) == levels);
            let (sum, count) = of_kind.fold((all, 1.0), |(sum, count), (_, log)| (sum + log, count + 1.0));
            sum / count
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logarithm of the evidence, but for a constant.
    fn evidence(precisions: &Precisions, known: &[f64], natural: &[f64]) -> f64 {
        let n = natural.len();
        let sum = precisions.added_to(known, n);
        let mut l = vec![0.0; n * n];
        assert!(matrix::cholesky(&sum, n, &mut l));
        let mut weights = natural.to_vec();
        matrix::solve(&l, n, &mut weights);
        let fit: f64 = weights.iter().zip(natural).map(|(a, b)| a * b).sum();
        0.5 * (precisions.all().map(f64::ln).sum::<f64>() - matrix::log_determinant(&l, n) + fit)
    }

    /// Columns of large weights get a lower precision than columns of small ones; and at the end the derivative by
    /// differences is 0.
    #[test]
    fn precisions_are_those_of_the_greatest_evidence() {
        let columns = [4, 1, 4, 1];
        let n = 11;
        let mut known = vec![0.0; n * n];
        (0..n).for_each(|k| known[k * (n + 1)] = 20.0);
        (known[1], known[n]) = (5.0, 5.0);
        let weights = [2.0, -3.0, 2.5, -1.5, 0.1, 0.1, -0.05, 0.0, -0.1, 4.0, -0.5];
        let natural: Vec<f64> = weights.iter().map(|w| 20.0 * w).collect();
        let mut precisions = Precisions::new(&columns, 1.0);
        (0..40).for_each(|_| precisions.climb(&known, &natural).expect("finite"));
        let (logs, means) = (precisions.logs.clone(), precisions.means());
        assert!(logs[0] < logs[2] - 1.0 && logs[3] < logs[1] - 0.5, "{logs:?}");
        for (k, log) in logs.iter().enumerate() {
            let mut at = |step: f64| {
                precisions.logs[k] = log + step;
                let value = evidence(&precisions, &known, &natural);
                precisions.logs[k] = *log;
                value
            };
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            let levels = precisions.columns[k].len() > 1;
            let slope = slope - (log - means[usize::from(levels)]) / (LOG_PRECISION_SD * LOG_PRECISION_SD);
            assert!(slope.abs() < 1e-4, "{k}: {slope}");
        }
    }
}
