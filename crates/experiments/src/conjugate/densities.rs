//! Figure 1: the private posteriors of one data set.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use reticent_core::family::Beta;
use reticent_figure::{Axis, Plot, Style, colour};

use super::{FLAT, Setting};

/// Densities of Figure 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Densities {
    /// Rates at which densities are.
    pub grid: Vec<f64>,
    /// Without privacy.
    pub exact: Vec<f64>,
    /// Of a posterior sample.
    pub sample: Vec<f64>,
    /// Of the printed method, for several draws of the noise.
    pub printed: Vec<Vec<f64>>,
    /// Of the noise-aware posterior, for the same number of draws.
    pub noise_aware: Vec<Vec<f64>>,
    /// $T$.
    pub temperature: f64,
}

/// The posteriors for `records` records with the expected number of successes, rounded.
#[must_use]
pub fn densities(setting: Setting, records: usize, draws: usize, seed: u64) -> Densities {
    let n = records as f64;
    let count = (setting.p * n).round();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let grid: Vec<f64> = (0..=400).map(|k| (f64::from(k) + 0.02) / 400.04).collect();
    let exact = Beta { a: FLAT.a + count, b: FLAT.b + n - count };
    let (low, high) = (setting.truncation, 1.0 - setting.truncation);
    let tempered = setting.tempered(n, count);
    let inside = tempered.cdf(high) - tempered.cdf(low);
    let sample =
        |&p: &f64| if (low..=high).contains(&p) { tempered.log_density(p).exp() / inside } else { 0.0 };
    Densities {
        exact: grid.iter().map(|&p| exact.log_density(p).exp()).collect(),
        sample: grid.iter().map(sample).collect(),
        printed: (0..draws)
            .map(|_| setting.printed(n, count, &mut rng))
            .map(|beta| grid.iter().map(|&p| beta.log_density(p).exp()).collect())
            .collect(),
        noise_aware: (0..draws)
            .map(|_| setting.noise_aware(n, count, &mut rng))
            .map(|rate| grid.iter().map(|&p| rate.density(p)).collect())
            .collect(),
        temperature: setting.temperature(),
        grid,
    }
}

impl Densities {
    /// The densities as SVG: many thin lines for the draws of the noise, a thick one where there is no noise.
    #[must_use]
    pub fn svg(&self) -> String {
        let max = self.exact.iter().copied().fold(0.0, f64::max) * 1.35;
        let axes = (Axis::between("rate", 0.0, 1.0), Axis::between("density", 0.0, max));
        let title = "Posterior densities of a rate, over draws of the privacy noise";
        let mut plot = Plot::new(title, (460.0, 300.0), axes.0, axes.1).clipped();
        let sample = format!("posterior sample, T = {:.2}", self.temperature);
        let kinds = [
            ("Laplace posteriors as printed", &self.printed[..]),
            ("noise-aware posteriors", &self.noise_aware),
            ("without privacy", std::slice::from_ref(&self.exact)),
            (&sample, std::slice::from_ref(&self.sample)),
        ];
        // The later are above the earlier.
        for (k, (name, curves)) in [1, 0, 2, 3].into_iter().zip(kinds) {
            let style = Style::stroke(colour(k), if curves.len() > 1 { 0.8 } else { 2.2 });
            let thin = style.opacity(if curves.len() > 1 { 0.5 } else { 1.0 });
            for curve in curves {
                plot.line(&thin, self.grid.iter().copied().zip(curve.iter().copied()));
            }
            plot.key(name, &Style::stroke(colour(k), 2.2));
        }
        plot.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the paper's settings T is 2.77 (printed as 2.7); every density integrates to 1.
    #[test]
    fn densities_are_densities() {
        let setting = Setting { p: 0.3, truncation: 0.2, epsilon: 1.0 };
        let found = densities(setting, 20, 3, 1);
        assert!((found.temperature - 2.773).abs() < 1e-3);
        let all = found.printed.iter().chain(&found.noise_aware).chain([&found.exact, &found.sample]);
        for density in all {
            let mass: f64 = density.windows(2).map(|w| 0.5 * (w[0] + w[1])).sum::<f64>() / 400.04;
            // The ends of the cut off one fall between points of the grid.
            assert!((mass - 1.0).abs() < 0.02, "{mass}");
        }
        assert!(found.svg().contains("T = 2.77"));
    }
}
