//! Dirichlet densities truncated near the boundary of the simplex.

use super::{Beta, Dirichlet};
use rand::{Rng, RngExt};
use rand_distr::Exp1;

/// A Dirichlet density truncated to probabilities of at least `min`.
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedDirichlet {
    /// The density before truncation.
    pub untruncated: Dirichlet,
    /// Lower bound $a_0$ of each probability, below one over the number of categories.
    pub min: f64,
}

impl TruncatedDirichlet {
    /// $\log\frac{1 - (K-1)a_0}{a_0}$: the largest difference of $\log p(x|\theta)$ between two records. Replacing a
    /// record changes the log density of a draw by at most twice that.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        let others = self.untruncated.concentration.len() as f64 - 1.0;
        ((1.0 - others * self.min) / self.min).ln()
    }

    /// An exact draw, by rejection from a sequence of truncated beta densities.
    ///
    /// Given the probabilities before it, each next one is proposed from its beta density, truncated so that all
    /// later categories can still have `min`. The proposal exceeds the target by one over the product of the
    /// probabilities that the truncations keep, which depends on the earlier draws; so the draw is accepted with the
    /// probability of that product, and repeated otherwise. The first factor is the same for all draws and is
    /// omitted.
    ///
    /// A uniform density is uniform on a smaller simplex: there each probability is `min` plus a share of the
    /// remainder, drawn by normalised exponential variables.
    pub fn draw(&self, rng: &mut impl Rng) -> Vec<f64> {
        if self.untruncated.concentration.iter().all(|&a| a == 1.0) {
            let mut draw: Vec<f64> =
                self.untruncated.concentration.iter().map(|_| rng.sample(Exp1)).collect();
            let total: f64 = draw.iter().sum();
            let left = 1.0 - self.min * draw.len() as f64;
            draw.iter_mut().for_each(|x| *x = self.min + left * *x / total);
            return draw;
        }
        loop {
            let (draw, kept) = self.propose(rng);
            if rng.random::<f64>() < kept {
                return draw;
            }
        }
    }

    fn propose(&self, rng: &mut impl Rng) -> (Vec<f64>, f64) {
        let concentration = &self.untruncated.concentration;
        let categories = concentration.len();
        let mut after: f64 = concentration.iter().sum();
        let (mut rest, mut kept) = (1.0, 1.0);
        let mut draw = Vec::with_capacity(categories);
        for (k, &a) in concentration.iter().enumerate().take(categories - 1) {
            after -= a;
            let others = (categories - 1 - k) as f64;
            let (low, high) = (self.min / rest, 1.0 - others * self.min / rest);
            let (share, left) = Beta { a, b: after }.draw_between(low.min(high), high, rng);
            if k > 0 {
                kept *= left;
            }
            draw.push((rest * share).max(self.min));
            rest -= rest * share;
        }
        draw.push(rest.max(self.min));
        (draw, kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// No component is below the truncation, and the log ratio over draws attains the formula but never exceeds it.
    /// The mean of the first component is that of the density on a grid.
    #[test]
    fn truncated_draws_respect_the_minimum_and_have_their_mean() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (min, concentration) = (0.1, vec![0.7, 4.0, 1.5]);
        let truncated =
            TruncatedDirichlet { untruncated: Dirichlet { concentration: concentration.clone() }, min };
        let (mut widest, mut sum, draws) = (0.0_f64, 0.0, 20_000);
        let mut squares = 0.0;
        for _ in 0..draws {
            let theta = truncated.draw(&mut rng);
            assert!(theta.iter().all(|&p| p >= min) && (theta.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (low, high) = theta.iter().fold((1.0_f64, 0.0_f64), |(l, h), &p| (l.min(p), h.max(p)));
            widest = widest.max((high / low).ln());
            sum += theta[0];
            squares += theta[0] * theta[0];
        }
        let limit = truncated.sensitivity();
        assert!(
            (limit - 8f64.ln()).abs() < 1e-12 && widest <= limit && widest > 0.95 * limit,
            "{widest} {limit}"
        );
        let (mut mass, mut first, cells) = (0.0, 0.0, 700);
        for i in 0..cells {
            for j in 0..cells {
                let at = |k: i32| min + 0.7 * (f64::from(k) + 0.5) / f64::from(cells);
                let (p, q) = (at(i), at(j));
                if p + q <= 1.0 - min {
                    let parts = [p, q, 1.0 - p - q];
                    let logs = parts.iter().zip(&concentration).map(|(p, a)| (a - 1.0) * p.ln());
                    let weight = logs.sum::<f64>().exp();
                    mass += weight;
                    first += weight * p;
                }
            }
        }
        let (mean, expected) = (sum / f64::from(draws), first / mass);
        let error = ((squares / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt();
        // Four standard errors, and a cell of the grid.
        assert!((mean - expected).abs() < 4.0 * error + 1e-3, "{mean} {expected} {error}");
    }

    /// A uniform density on the simplex of three probabilities of at least 0.1: a mean of a third each, with the
    /// variance $\tfrac1{18}0.7^2$ of a uniform Dirichlet on one of size 0.7. Five standard errors; and the same for
    /// a concentration that is nearly 1, which is sampled by the other method.
    #[test]
    fn uniform_draws_have_the_moments_of_the_density() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let draws = 10_000;
        for a in [1.0, 1.0 + 1e-9] {
            let untruncated = Dirichlet { concentration: vec![a; 3] };
            let truncated = TruncatedDirichlet { untruncated, min: 0.1 };
            let firsts: Vec<f64> = (0..draws).map(|_| truncated.draw(&mut rng)[0]).collect();
            let mean = firsts.iter().sum::<f64>() / f64::from(draws);
            let variance = firsts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(draws);
            let expected = 0.49 / 18.0;
            assert!((mean - 1.0 / 3.0).abs() < 5.0 * (expected / f64::from(draws)).sqrt(), "{mean}");
            // The kurtosis is below that of a normal variable.
            assert!((variance / expected - 1.0).abs() < 5.0 * (2.0 / f64::from(draws)).sqrt(), "{variance}");
        }
    }
}
