//! Denoising of counts.
//!
//! A released cell is $\tilde s = s + e$ with $e \sim N(0, \tau^2)$ of known variance, and $s \ge 0$. Setting negative cells to 0, as in the
//! paper, adds $\tau/\sqrt{2\pi}$ to every empty cell: with thousands of words that outweighs a topic's true words. Instead each cell is
//! replaced by its posterior mean under a gamma prior with the mean predicted by the totals of its word and its
//! topic: the totals are sums of many cells, and much less noisy.

/// Cells of the quadrature, in units of the noise: narrow ones where the prior is steep, and then quarters.
const NARROW: usize = 14;
const CELLS: usize = NARROW + 36;
/// From here on the prior is smooth enough for its first derivative.
const FAR: f64 = 5.0;

/// The posterior mean of non-negative numbers observed with Gaussian noise, under gamma priors of one shape.
pub(super) struct Shrinkage {
    shape: f64,
    /// The centre of mass and the mass of $s^{a-1}$ in each cell.
    points: [(f64, f64); CELLS],
}

impl Shrinkage {
    pub(super) fn new(shape: f64) -> Self {
        let border = |i: usize| match i {
            0 => 0.0,
            i if i <= NARROW => 0.5 * 0.01f64.powf(1.0 - i as f64 / NARROW as f64),
            i => 0.5 + 0.25 * (i - NARROW) as f64,
        };
        let integral = |i: usize, power: f64| (border(i + 1).powf(power) - border(i).powf(power)) / power;
        let points = std::array::from_fn(|i| {
            let mass = integral(i, shape);
            (integral(i, shape + 1.0) / mass, mass)
        });
        Self { shape, points }
    }

    /// $\mathrm{E}[s \mid \tilde s]$ for noise of standard deviation `sd` and a prior mean.
    pub(super) fn mean(&self, observed: f64, sd: f64, prior: f64) -> f64 {
        let (x, rate) = (observed / sd, self.shape * sd / prior);
        let mode = x - rate;
        if mode > FAR {
            return sd * (mode + (self.shape - 1.0) / mode);
        }
        // The largest exponent is factored out: x may be far below 0.
        let peak = mode.max(0.0);
        let peak = -0.5 * (x - peak).powi(2) - rate * peak;
        let (mut mass, mut moment) = (0.0, 0.0);
        for &(s, weight) in &self.points {
            let density = weight * (-0.5 * (x - s).powi(2) - rate * s - peak).exp();
            mass += density;
            moment += density * s;
        }
        // A prior that is narrower than all cells determines the result.
        if mass > 0.0 { sd * moment / mass } else { prior }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With shape 1 the posterior is a truncated normal of mean $\tilde s - \tau^2/m$, whose mean is known.
    #[test]
    fn exponential_prior_gives_a_truncated_normal() {
        let shrinkage = Shrinkage::new(1.0);
        for (observed, sd, prior) in [(3.0, 2.0, 5.0), (-4.0, 2.0, 5.0), (0.5, 1.0, 0.3), (30.0, 2.0, 3.0)] {
            let mean: f64 = observed - sd * sd / prior;
            let z: f64 = mean / sd;
            let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
            let expected = mean + sd * density / (0.5 * libm::erfc(-z / 2f64.sqrt()));
            let found = shrinkage.mean(observed, sd, prior);
            assert!(
                (found - expected).abs() < 0.02 * expected,
                "{observed} {sd} {prior}: {found} {expected}"
            );
        }
    }

    /// Both branches are the same posterior mean.
    #[test]
    fn large_counts_are_hardly_changed() {
        let shrinkage = Shrinkage::new(0.2);
        let near = shrinkage.mean(4.99 + 0.2, 1.0, 1.0);
        let far = shrinkage.mean(5.01 + 0.2, 1.0, 1.0);
        assert!((far - near - 0.02).abs() < 0.02, "{near} {far}");
        assert!((shrinkage.mean(1000.0, 1.0, 10.0) - 1000.0).abs() < 0.1);
    }

    /// Empty cells get almost nothing, where setting negative ones to 0 would leave 0.4 standard deviations.
    #[test]
    fn empty_cells_stay_empty() {
        let shrinkage = Shrinkage::new(0.2);
        let quantile = |i: usize| {
            // Normal quantiles by inverting the logistic approximation: symmetric about 0, which is sufficient here.
            let p = (i as f64 + 0.5) / 1000.0;
            (p / (1.0 - p)).ln() / 1.702
        };
        let mean = (0..1000).map(|i| shrinkage.mean(quantile(i), 1.0, 0.01)).sum::<f64>() / 1000.0;
        assert!(mean < 0.04, "{mean}");
    }
}
