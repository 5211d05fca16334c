//! Joint distributions of coordinates.

use super::{NormalMarginal, Term};
use crate::math::matrix;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::fmt::Debug;

/// The distribution of one number.
pub trait Marginal: Debug + Send + Sync {
    /// Mean.
    fn mean(&self) -> f64;
    /// Standard deviation.
    fn sd(&self) -> f64;
    /// Standard deviation without the privacy noise.
    fn records_sd(&self) -> f64;
    /// The quantile of a probability.
    fn quantile(&self, probability: f64) -> f64;
    /// The probability below a number.
    fn below(&self, x: f64) -> f64;
    /// A draw.
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64;
}

/// A number in other units: `centre + scale * x`.
#[derive(Debug)]
pub struct Scaled {
    /// The distribution of $x$.
    pub of: Box<dyn Marginal>,
    /// The value of $x = 0$.
    pub centre: f64,
    /// The factor of $x$: positive.
    pub scale: f64,
}

impl Marginal for Scaled {
    fn mean(&self) -> f64 {
        self.centre + self.scale * self.of.mean()
    }
    fn sd(&self) -> f64 {
        self.scale * self.of.sd()
    }
    fn records_sd(&self) -> f64 {
        self.scale * self.of.records_sd()
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.centre + self.scale * self.of.quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        self.of.below((x - self.centre) / self.scale)
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        self.centre + self.scale * self.of.draw(rng)
    }
}

/// A joint distribution of coordinates.
#[derive(Debug)]
pub enum Joint {
    /// Linear functions of Gaussian variables.
    Gaussian(GaussianJoint),
    /// Independent coordinates.
    Independent(Vec<Box<dyn Marginal>>),
    /// Draws of a chain.
    Sampled(Sampled),
}

/// Linear functions of Gaussian variables.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianJoint {
    /// The means of the variables.
    pub mean: Vec<f64>,
    /// Their covariance.
    pub covariance: Covariance,
    /// Their covariance without the privacy noise.
    pub records: Covariance,
    /// The coordinates.
    pub terms: Vec<Term>,
}

/// A covariance matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Covariance {
    /// All elements, row by row.
    Full(Vec<f64>),
    /// Independent variables: the variances.
    Diagonal(Vec<f64>),
}

impl Covariance {
    /// Full or diagonal, by the number of elements for so many variables.
    #[must_use]
    pub fn of(elements: Vec<f64>, variables: usize) -> Self {
        if elements.len() == variables && variables > 1 {
            Self::Diagonal(elements)
        } else {
            Self::Full(elements)
        }
    }

    /// The variance of a linear function.
    #[must_use]
    pub fn variance(&self, term: &Term) -> f64 {
        self.between(term, term).max(0.0)
    }

    /// The covariance of two linear functions.
    #[must_use]
    pub fn between(&self, first: &Term, second: &Term) -> f64 {
        let sum = |element: &dyn Fn(usize, usize) -> f64| -> f64 {
            let row = |&(i, a): &(usize, f64)| {
                a * second.weights.iter().map(|&(j, b)| b * element(i, j)).sum::<f64>()
            };
            first.weights.iter().map(row).sum()
        };
        match self {
            Self::Diagonal(variances) => sum(&|i, j| if i == j { variances[i] } else { 0.0 }),
            Self::Full(elements) => {
                let size = elements.len().isqrt();
                sum(&|i, j| elements[i * size + j])
            }
        }
    }

    /// A matrix $L$ with $LL^T$ the covariance, as far as it is positive semidefinite.
    fn factor(&self) -> Factor {
        match self {
            Self::Diagonal(variances) => {
                Factor::Diagonal(variances.iter().map(|v| v.max(0.0).sqrt()).collect())
            }
            Self::Full(elements) => {
                let size = elements.len().isqrt();
                match matrix::eigen(elements, size) {
                    Ok(found) => Factor::Full(found.mapped(|value| value.max(0.0).sqrt()), size),
                    // Independent variables with the same variances.
                    Err(_) => Factor::Diagonal(
                        (0..size).map(|k| elements[k * (size + 1)].max(0.0).sqrt()).collect(),
                    ),
                }
            }
        }
    }
}

pub(super) enum Factor {
    Diagonal(Vec<f64>),
    Full(Vec<f64>, usize),
}

/// Draws of a chain, and what is known beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// A row for each draw, with a number for each coordinate.
    pub draws: Vec<f64>,
    /// The standard deviation of each coordinate without the privacy noise. One that is larger than that of the draws, such as infinity where there is no
    /// noise, counts as that of the draws.
    pub records_sd: Vec<f64>,
}

impl Sampled {
    fn width(&self) -> usize {
        self.records_sd.len()
    }

    fn count(&self) -> usize {
        self.draws.len() / self.width().max(1)
    }

    /// The sorted draws of each coordinate.
    fn marginals(&self) -> Vec<Box<dyn Marginal>> {
        let width = self.width();
        let one = |(k, &records_sd): (usize, &f64)| {
            let mut sorted: Vec<f64> = self.draws.iter().skip(k).step_by(width).copied().collect();
            sorted.sort_by(f64::total_cmp);
            Box::new(Empirical { sorted, records_sd }) as Box<dyn Marginal>
        };
        self.records_sd.iter().enumerate().map(one).collect()
    }
}

/// Sorted draws.
#[derive(Debug)]
struct Empirical {
    sorted: Vec<f64>,
    records_sd: f64,
}

impl Marginal for Empirical {
    fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.sorted.len() as f64
    }
    fn sd(&self) -> f64 {
        let (mean, n) = (self.mean(), self.sorted.len() as f64);
        (self.sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt()
    }
    fn records_sd(&self) -> f64 {
        self.records_sd
    }
    fn quantile(&self, probability: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let at = (probability * self.sorted.len() as f64 - 0.5).clamp(0.0, last as f64);
        let (low, high) = (at as usize, (at as usize + 1).min(last));
        self.sorted.get(low).map_or(f64::NAN, |a| a + (self.sorted[high] - a) * (at - low as f64))
    }
    fn below(&self, x: f64) -> f64 {
        self.sorted.partition_point(|draw| *draw < x) as f64 / self.sorted.len() as f64
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        use rand::RngExt;
        self.quantile(rng.random())
    }
}

impl Joint {
    /// The distribution of each coordinate.
    pub(super) fn marginals(&self) -> Vec<Box<dyn Marginal + '_>> {
        match self {
            Self::Gaussian(joint) => {
                let one = |term: &Term| {
                    let sd = joint.covariance.variance(term).sqrt();
                    let records_sd = joint.records.variance(term).sqrt();
                    Box::new(NormalMarginal { mean: term.at(&joint.mean), sd, records_sd })
                        as Box<dyn Marginal>
                };
                joint.terms.iter().map(one).collect()
            }
            Self::Independent(marginals) => marginals
                .iter()
                .map(|marginal| Box::new(Borrowed(&**marginal)) as Box<dyn Marginal + '_>)
                .collect(),
            Self::Sampled(sampled) => sampled.marginals(),
        }
    }

    /// Prepares so many draws.
    pub(super) fn sampler(&self, count: usize) -> Sampler<'_> {
        match self {
            Self::Gaussian(joint) => Sampler::Gaussian(joint, joint.covariance.factor()),
            Self::Independent(marginals) => Sampler::Independent(marginals),
            Self::Sampled(sampled) => Sampler::Sampled { sampled, next: 0, count },
        }
    }
}

/// A marginal by reference.
#[derive(Debug)]
struct Borrowed<'a>(&'a dyn Marginal);

impl Marginal for Borrowed<'_> {
    fn mean(&self) -> f64 {
        self.0.mean()
    }
    fn sd(&self) -> f64 {
        self.0.sd()
    }
    fn records_sd(&self) -> f64 {
        self.0.records_sd()
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.0.quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        self.0.below(x)
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        self.0.draw(rng)
    }
}

/// Draws from a joint distribution, one after the other.
pub(super) enum Sampler<'a> {
    Gaussian(&'a GaussianJoint, Factor),
    Independent(&'a [Box<dyn Marginal>]),
    Sampled { sampled: &'a Sampled, next: usize, count: usize },
}

impl Sampler<'_> {
    /// The coordinates of the next draw.
    pub(super) fn next(&mut self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Self::Gaussian(joint, factor) => {
                let normal: Vec<f64> = joint.mean.iter().map(|_| StandardNormal.sample(rng)).collect();
                let mut variables = joint.mean.clone();
                match factor {
                    Factor::Diagonal(sds) => {
                        variables.iter_mut().zip(sds).zip(&normal).for_each(|((x, sd), z)| *x += *sd * z);
                    }
                    Factor::Full(factor, size) => {
                        let mut added = vec![0.0; *size];
                        matrix::times(factor, *size, &normal, &mut added);
                        variables.iter_mut().zip(&added).for_each(|(x, add)| *x += add);
                    }
                }
                joint.terms.iter().map(|term| term.at(&variables)).collect()
            }
            Self::Independent(marginals) => marginals.iter().map(|marginal| marginal.draw(rng)).collect(),
            // Spread evenly over the chain.
            Self::Sampled { sampled, next, count } => {
                let chosen = *next * sampled.count() / (*count).max(1);
                *next += 1;
                sampled.draws[chosen * sampled.width()..][..sampled.width()].to_vec()
            }
        }
    }
}
