//! Convergence of Markov chains: Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
//! localization: an improved R-hat", Bayesian Analysis 16(2), 2021, sections 2 and 3, without the rank-normalisation,
//! which serves heavier tails than these.

/// Split R-hat and the effective sample size of one quantity, from its draws in each of several equally long chains.
///
/// R-hat is `sqrt(((n - 1)/n W + B/n) / W)` over the `2C` half chains. The effective sample size is `2C n / tau`, the
/// autocorrelation time `tau` summed by Geyer's initial monotone sequence.
pub(super) fn r_hat_and_ess(chains: &[Vec<f64>]) -> (f64, f64) {
    let n = chains[0].len() / 2;
    let halves: Vec<&[f64]> = chains.iter().flat_map(|chain| chain.chunks_exact(n).take(2)).collect();
    let m = halves.len() as f64;
    let length = n as f64;
    let means: Vec<f64> = halves.iter().map(|half| half.iter().sum::<f64>() / length).collect();
    let grand_mean = means.iter().sum::<f64>() / m;
    let between = means.iter().map(|mean| (mean - grand_mean).powi(2)).sum::<f64>() / (m - 1.0);

    let autocovariance = |lag: usize| {
        let one = |(half, mean): (&&[f64], &f64)| {
            half.iter().zip(&half[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / length
        };
        halves.iter().zip(&means).map(one).sum::<f64>() / m
    };
    let within = autocovariance(0) * length / (length - 1.0);
    let total = within * (length - 1.0) / length + between;
    let autocorrelation = |lag: usize| 1.0 - (within - autocovariance(lag)) / total;

    let mut tau = -1.0;
    let mut previous = f64::INFINITY;
    for lag in (0..n - 1).step_by(2) {
        let pair = autocorrelation(lag) + autocorrelation(lag + 1);
        // A quantity that never moves has no autocorrelation.
        if pair.is_nan() || pair <= 0.0 {
            break;
        }
        previous = pair.min(previous);
        tau += 2.0 * previous;
    }
    let draws = m * length;
    // Antithetic chains may beat independent draws, but an estimate beyond draws * log10(draws) is noise (as in Stan).
    ((total / within).sqrt(), (draws / tau).min(draws * draws.log10()))
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::ChaCha8Rng};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// AR(1) chains of unit variance, the first shifted.
    fn autoregressive(phi: f64, shift: f64) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut chain = |c: usize| {
            let mut x: f64 = StandardNormal.sample(&mut rng);
            let mut next = || {
                let z: f64 = StandardNormal.sample(&mut rng);
                x = phi * x + (1.0 - phi * phi).sqrt() * z;
                if c == 0 { x + shift } else { x }
            };
            (0..5000).map(|_| next()).collect()
        };
        (0..4).map(&mut chain).collect()
    }

    #[test]
    fn effective_sizes_of_autoregressive_chains() {
        for phi in [0.0, 0.5, 0.9] {
            let (r_hat, ess) = r_hat_and_ess(&autoregressive(phi, 0.0));
            // tau = (1 + phi) / (1 - phi); the estimate is good to a few per cent at 20,000 draws.
            let expected = 20_000.0 * (1.0 - phi) / (1.0 + phi);
            assert!((ess / expected - 1.0).abs() < 0.2, "{ess} for {expected}");
            assert!(r_hat < 1.02);
        }
    }

    #[test]
    fn a_chain_elsewhere_is_noticed() {
        // Three chains at 0 and one at 3: B/n = 8/7 * 27/16, W = 1.
        let (r_hat, ess) = r_hat_and_ess(&autoregressive(0.0, 3.0));
        assert!((r_hat - (1.0 + 8.0 / 7.0 * 27.0 / 16.0f64).sqrt()).abs() < 0.05);
        assert!(ess < 20.0);
    }
}
