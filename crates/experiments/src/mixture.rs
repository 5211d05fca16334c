//! Mixtures of spherical Gaussians: the published data set, and as many fresh ones as wanted.
//!
//! The model is that of Vinaroz and Park, "Differentially private stochastic expectation propagation", section 6.1,
//! after Li, Hernandez-Lobato and Turner, "Stochastic expectation propagation", NeurIPS 2015:
//! `mu_j ~ N(m_j, v I)`, `h_n` uniform on the `J` components, `x_n ~ N(mu_{h_n}, s^2 I)`;
//! only the means `mu_j` are unknown.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use thiserror::Error;

use crate::numpy::RandomState;

/// Maximum number of proposals of means in [`simulate`].
const PROPOSALS: usize = 10_000;

/// Errors of the simulation of a mixture.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MixtureError {
    /// There are no records, components or dimensions.
    #[error("a mixture needs at least one record, component and dimension")]
    Empty,
    /// A variance is not a positive number, or the separation is negative.
    #[error("the {name} must be positive, but is {value}")]
    NotPositive {
        /// Name of the parameter.
        name: &'static str,
        /// The rejected value.
        value: f64,
    },
    /// Ten times the seed is beyond NumPy's 32 bits.
    #[error("ten times the seed {seed} does not fit in 32 bits")]
    Seed {
        /// The requested seed.
        seed: u32,
    },
    /// The coordinates of a mean sum to less than `1e-4`, where the published generator fails.
    #[error("seed {seed} draws a mean that the published generator refuses; choose another seed")]
    Refused {
        /// The requested seed.
        seed: u32,
    },
    /// No draw from the prior was separated enough.
    #[error(
        "none of {PROPOSALS} draws from the prior had means at least {separation} apart; \
         widen the prior or ask for less separation"
    )]
    TooCrowded {
        /// The requested separation.
        separation: f64,
    },
}

/// A data set with the model that inference is to assume and the answers it is to find. The lengths agree: one prior
/// mean for each mean, one label below `J` and `D` numbers for each record.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// `m_j`: the prior mean of each component's mean.
    pub prior_means: Vec<Vec<f64>>,
    /// `v`: the prior variance of every coordinate of a mean.
    pub prior_variance: f64,
    /// `s^2`: the variance of a record about its component's mean.
    pub noise_variance: f64,
    /// The means that the records were drawn about.
    pub means: Vec<Vec<f64>>,
    /// The component of each record.
    pub labels: Vec<usize>,
    /// The records, one after the other.
    pub x: Vec<f64>,
}

impl Mixture {
    /// `J`, the number of components.
    pub fn components(&self) -> usize {
        self.means.len()
    }

    /// `D`, the dimension of a record.
    pub fn dimension(&self) -> usize {
        self.means[0].len()
    }

    /// The records as slices of length `D`.
    pub fn records(&self) -> impl Iterator<Item = &[f64]> {
        self.x.chunks_exact(self.dimension())
    }
}

/// The published data set, number for number: `seed` 60, `n` 1000, `j` and `d` 4 for Table 1 and Figure 1.
///
/// The stream is that of the public code (`mvinaroz/stochastic-EP`, folder `MoG_code`, commit `d700bb3`). It differs
/// from the paper's text: a mean is `a + b z` with `a ~ N(0, I)` and `b = |N(0, I)|` from seed `10 * seed`, and
/// `z ~ N(0, I)` from `seed`, so the means do not have covariance `I` about a fixed `m`. Then come the labels, one at
/// a time, and the records with `s = 0.5`. Inference assumes `v = 10` and prior means drawn from seed 0.
pub fn paper_data(seed: u32, n: usize, j: usize, d: usize) -> Result<Mixture, MixtureError> {
    if n == 0 || j == 0 || d == 0 {
        return Err(MixtureError::Empty);
    }
    let mut rng = RandomState::new(seed.checked_mul(10).ok_or(MixtureError::Seed { seed })?);
    let centre = rng.randn_rows(j, d);
    let spread = rng.randn_rows(j, d);

    let mut rng = RandomState::new(seed);
    let mut means = rng.randn_rows(j, d);
    for (mean, (a, b)) in means.iter_mut().zip(centre.iter().zip(&spread)) {
        for (z, (a, b)) in mean.iter_mut().zip(a.iter().zip(b)) {
            *z = a + *z * b.abs();
        }
        if mean.iter().sum::<f64>().abs() < 1e-4 {
            return Err(MixtureError::Refused { seed });
        }
    }
    let weights = vec![1.0 / j as f64; j];
    let labels: Vec<usize> = (0..n).map(|_| rng.choice(&weights)).collect();
    let mut x = Vec::with_capacity(n * d);
    for &label in &labels {
        x.extend(means[label].iter().map(|mean| mean + rng.randn() * 0.5));
    }
    let prior_means = RandomState::new(0).randn_rows(j, d);
    Ok(Mixture { prior_means, prior_variance: 10.0, noise_variance: 0.25, means, labels, x })
}

/// Settings of [`simulate`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulation {
    /// Number of records.
    pub records: usize,
    /// `J`, the number of components.
    pub components: usize,
    /// `D`, the dimension of a record.
    pub dimension: usize,
    /// `v`: the means are drawn from `N(0, v I)`, and inference assumes the same.
    pub prior_variance: f64,
    /// `s^2`: the variance of a record about its component's mean.
    pub noise_variance: f64,
    /// Minimum Euclidean distance between two means; 0 for any draw.
    pub separation: f64,
}

/// A data set drawn from the model; its means are redrawn until they have the requested separation.
pub fn simulate(rng: &mut impl Rng, simulation: &Simulation) -> Result<Mixture, MixtureError> {
    let Simulation { records, components, dimension, prior_variance, noise_variance, separation } =
        *simulation;
    if records == 0 || components == 0 || dimension == 0 {
        return Err(MixtureError::Empty);
    }
    for (name, value) in [("prior variance", prior_variance), ("noise variance", noise_variance)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(MixtureError::NotPositive { name, value });
        }
    }
    if separation.is_nan() || separation < 0.0 {
        return Err(MixtureError::NotPositive { name: "separation", value: separation });
    }
    let normals = |rng: &mut _, scale: f64| -> Vec<f64> {
        let draw = |_| scale * Distribution::<f64>::sample(&StandardNormal, rng);
        (0..dimension).map(draw).collect()
    };
    let means = (0..PROPOSALS)
        .map(|_| (0..components).map(|_| normals(rng, prior_variance.sqrt())).collect::<Vec<_>>())
        .find(|means| min_distance(means) >= separation)
        .ok_or(MixtureError::TooCrowded { separation })?;
    let labels: Vec<usize> = (0..records).map(|_| rng.random_range(0..components)).collect();
    let mut x = Vec::with_capacity(records * dimension);
    for &label in &labels {
        let noise = normals(rng, noise_variance.sqrt());
        x.extend(means[label].iter().zip(noise).map(|(mean, noise)| mean + noise));
    }
    let prior_means = vec![vec![0.0; dimension]; components];
    Ok(Mixture { prior_means, prior_variance, noise_variance, means, labels, x })
}

/// `||a - b||^2`.
pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn min_distance(means: &[Vec<f64>]) -> f64 {
    let pairs = means.iter().enumerate().flat_map(|(i, a)| means[..i].iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| squared_distance(a, b).sqrt()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    #[track_caller]
    fn assert_close(ours: &[f64], numpy: &[f64]) {
        assert_eq!(ours.len(), numpy.len());
        for (a, b) in ours.iter().zip(numpy) {
            assert!((a - b).abs() <= 1e-15 * b.abs().max(1.0), "{a} is not {b}");
        }
    }

    // The figures were printed by NumPy 2.4.6 from the same stream.

    #[test]
    fn the_four_dimensional_data_set_is_the_published_one() {
        let data = paper_data(60, 1000, 4, 4).unwrap();
        let first = [-0.5718375865648907, -0.6740036186374222, -1.0764081704921247, -3.0406949232314138];
        assert_close(&data.means[0], &first);
        let last = [2.2269173023942552, -1.5243573137891138, -1.261918698732093, 1.8691848366667596];
        assert_close(&data.means[3], &last);
        assert_eq!(data.labels[..12], [2, 3, 1, 3, 2, 3, 1, 2, 3, 0, 3, 0]);
        let sizes = [0, 1, 2, 3].map(|j| data.labels.iter().filter(|&&label| label == j).count());
        assert_eq!(sizes, [261, 256, 260, 223]);
        let first = [-1.1214929692497346, 0.4714841099615341, -1.1346807165950787, 0.40029092637097197];
        assert_close(&data.x[..4], &first);
        let last = [2.8987783573902943, -1.5470893909227805, -1.1439439746889484, 2.8980540177044185];
        assert_close(&data.x[3996..], &last);
        let prior = [1.764052345967664, 0.4001572083672233, 0.9787379841057392, 2.240893199201458];
        assert_close(&data.prior_means[0], &prior);
        let prior = [0.7610377251469934, 0.12167501649282841, 0.44386323274542566, 0.33367432737426683];
        assert_close(&data.prior_means[3], &prior);
    }

    #[test]
    fn the_two_dimensional_data_set_is_the_published_one() {
        let data = paper_data(60, 1000, 4, 2).unwrap();
        assert_close(&data.means[0], &[-0.6313590525024217, -1.2269422492007764]);
        assert_eq!(data.labels[..12], [1, 3, 0, 2, 1, 0, 2, 2, 2, 0, 2, 3]);
        assert_close(&data.x[..2], &[-1.3094808296731983, 0.12156183777050067]);
        assert_close(&data.x[1998..], &[-1.6663128242868246, 0.021653478243269908]);
    }

    /// A hash of all 4,000 and 2,000 numbers, as NumPy gives them. It holds where the logarithm rounds as glibc's does.
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    #[test]
    fn every_record_equals_numpy_to_the_bit() {
        for (d, hash) in [(4, 0x25c4_c3bc_5605_9b87), (2, 0x270e_831c_49c5_fac5)] {
            let x = paper_data(60, 1000, 4, d).unwrap().x;
            let fold = |hash: u64, x: &f64| (hash ^ x.to_bits()).wrapping_mul(0x100_0000_01b3);
            assert_eq!(x.iter().fold(0, fold), hash);
        }
    }

    #[test]
    fn simulated_means_keep_their_distance() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let simulation = Simulation {
            records: 50,
            components: 3,
            dimension: 2,
            prior_variance: 10.0,
            noise_variance: 0.25,
            separation: 4.0,
        };
        let data = simulate(&mut rng, &simulation).unwrap();
        assert!(min_distance(&data.means) >= 4.0);
        assert_eq!((data.components(), data.dimension(), data.records().count()), (3, 2, 50));
        let crowded = Simulation { separation: 1e3, ..simulation };
        assert_eq!(simulate(&mut rng, &crowded), Err(MixtureError::TooCrowded { separation: 1e3 }));
        let flat = Simulation { noise_variance: 0.0, ..simulation };
        let refused = MixtureError::NotPositive { name: "noise variance", value: 0.0 };
        assert_eq!(simulate(&mut rng, &flat), Err(refused));
    }
}
