//! The parameters of a posterior, named and in the units of the schema: summaries and joint draws.
//!
//! A model states its parameters as [blocks](Block): a [joint distribution](Joint) of a few coordinates, and the parameters that are functions
//! of one coordinate each. [`Parameters::summary`] and [`Parameters::draws`] are the same for every model, so that the two agree.

mod joint;
mod marginals;
mod terms;

pub use joint::{Covariance, GaussianJoint, Joint, Marginal, Sampled, Scaled};
pub use marginals::{BetaMarginal, Fixed, POINT_ESTIMATE};
pub(crate) use terms::odds_ratios;
pub use terms::{Term, effect_unit, linear_terms};

use crate::math::normal;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::Serialize;

/// Probabilities of the quantiles of a [`Summary`].
pub const SUMMARY_QUANTILES: [f64; 5] = [0.025, 0.25, 0.5, 0.75, 0.975];

/// A parameter: a function of one coordinate of its block.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The variable that it is an element of, in lower case with underscores, such as `coefficient`.
    pub variable: &'static str,
    /// Its place: the name of each dimension of the variable, and the label there. Empty for a scalar.
    pub place: Vec<(&'static str, String)>,
    /// The unit of its value, such as `days/year`.
    pub unit: Option<String>,
    /// What it is compared with, such as "against never", or the change that it is for, such as "+1 years".
    pub note: Option<String>,
    /// The value that means no effect: that of the probability of direction. None where there is no such value.
    pub null: Option<f64>,
    /// The coordinate of the block.
    pub coordinate: usize,
    /// The function of the coordinate.
    pub transform: Transform,
}

impl Parameter {
    /// A parameter that is the coordinate itself, without unit, note and null value.
    #[must_use]
    pub fn new(variable: &'static str, place: Vec<(&'static str, String)>, coordinate: usize) -> Self {
        let (unit, note, null, transform) = (None, None, None, Transform::Identity);
        Self { variable, place, unit, note, null, coordinate, transform }
    }

    /// The same with a note.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// The same with a unit, if there is one.
    #[must_use]
    pub fn with_unit(self, unit: Option<&str>) -> Self {
        Self { unit: unit.map(str::to_owned), ..self }
    }

    /// The variable and the labels: `coefficient[age]`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.place.is_empty() {
            return self.variable.to_owned();
        }
        let labels: Vec<&str> = self.place.iter().map(|(_, label)| label.as_str()).collect();
        format!("{}[{}]", self.variable, labels.join(", "))
    }
}

/// An increasing function of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transform {
    /// The coordinate itself.
    Identity,
    /// Its exponential: an odds ratio of a difference of log odds.
    Exp,
}

impl Transform {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Identity => x,
            Self::Exp => x.exp(),
        }
    }

    fn inverse(self, y: f64) -> f64 {
        match self {
            Self::Identity => y,
            Self::Exp => y.ln(),
        }
    }
}

/// Coordinates with a joint distribution, and parameters that depend on one of them each. Blocks are independent of each other.
#[derive(Debug)]
pub struct Block {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The distribution of the coordinates.
    pub joint: Joint,
}

/// All parameters of a posterior.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The blocks, in the order in which parameters are shown.
    pub blocks: Vec<Block>,
}

/// The posterior of a parameter, in its own units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The variable and the labels: `coefficient[age]`.
    pub name: String,
    /// The variable that it is an element of.
    pub variable: &'static str,
    /// The name of each dimension of the variable, and the label there.
    pub place: Vec<(&'static str, String)>,
    /// The unit of its value.
    pub unit: Option<String>,
    /// What it is compared with.
    pub note: Option<String>,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// The part of the standard deviation that is due to the records: that without privacy noise.
    pub records_sd: f64,
    /// The part that is due to the privacy noise: the root of the difference of the variances.
    pub privacy_sd: f64,
    /// The quantiles at [`SUMMARY_QUANTILES`].
    pub quantiles: [f64; 5],
    /// The probability that the parameter is on the side of its null value on which its median is.
    pub direction: Option<f64>,
}

impl Summary {
    /// The central 95 % interval.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        (self.quantiles[0], self.quantiles[4])
    }
}

/// Joint draws of all parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    /// The name of each parameter.
    pub names: Vec<String>,
    /// A row for each draw, with a number for each parameter.
    pub values: Vec<f64>,
}

impl Draws {
    /// The draws of a parameter.
    pub fn column(&self, parameter: usize) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().skip(parameter).step_by(self.names.len().max(1)).copied()
    }
}

impl Parameters {
    /// Parameters of these blocks.
    #[must_use]
    pub fn new(blocks: Vec<Block>) -> Self {
        Self { blocks }
    }

    /// All parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.blocks.iter().flat_map(|block| &block.parameters)
    }

    /// The posterior of each parameter.
    #[must_use]
    pub fn summary(&self) -> Vec<Summary> {
        self.blocks.iter().flat_map(Block::summary).collect()
    }

    /// Joint draws of all parameters. The seed is public: draws are post-processing. A posterior that is represented by draws of
    /// a chain has only so many different ones; more repeat them.
    #[must_use]
    pub fn draws(&self, count: usize, seed: u64) -> Draws {
        let names: Vec<String> = self.iter().map(Parameter::name).collect();
        let mut values = vec![0.0; names.len() * count];
        let mut first = 0;
        for (k, block) in self.blocks.iter().enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(k as u64);
            let mut sampler = block.joint.sampler(count);
            for row in values.chunks_exact_mut(names.len().max(1)) {
                let drawn = sampler.next(&mut rng);
                for (out, parameter) in row[first..].iter_mut().zip(&block.parameters) {
                    *out = parameter.transform.of(drawn[parameter.coordinate]);
                }
            }
            first += block.parameters.len();
        }
        Draws { names, values }
    }
}

impl Block {
    fn summary(&self) -> Vec<Summary> {
        let marginals = self.joint.marginals();
        let one = |parameter: &Parameter| {
            let marginal = &*marginals[parameter.coordinate];
            let transform = parameter.transform;
            let quantiles = SUMMARY_QUANTILES.map(|p| transform.of(marginal.quantile(p)));
            let (mean, sd, records_sd) = moments(marginal, transform);
            let records_sd = records_sd.min(sd);
            let direction = parameter.null.map(|null| {
                let below = marginal.below(transform.inverse(null));
                below.max(1.0 - below)
            });
            Summary {
                name: parameter.name(),
                variable: parameter.variable,
                place: parameter.place.clone(),
                unit: parameter.unit.clone(),
                note: parameter.note.clone(),
                mean,
                sd,
                records_sd,
                privacy_sd: (sd * sd - records_sd * records_sd).max(0.0).sqrt(),
                quantiles,
                direction,
            }
        };
        self.parameters.iter().map(one).collect()
    }
}

/// Mean and standard deviation of a function of a coordinate, and the standard deviation without privacy noise.
fn moments(marginal: &dyn Marginal, transform: Transform) -> (f64, f64, f64) {
    match transform {
        Transform::Identity => (marginal.mean(), marginal.sd(), marginal.records_sd()),
        // Exact if the coordinate is Gaussian, as log odds are.
        Transform::Exp => {
            let log_normal = |sd: f64| {
                let mean = (marginal.mean() + 0.5 * sd * sd).exp();
                (mean, mean * (sd * sd).exp_m1().sqrt())
            };
            let (mean, sd) = log_normal(marginal.sd());
            (mean, sd, log_normal(marginal.records_sd()).1)
        }
    }
}

/// A normal marginal, with its standard deviation without privacy noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalMarginal {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Standard deviation without privacy noise.
    pub records_sd: f64,
}

impl Marginal for NormalMarginal {
    fn mean(&self) -> f64 {
        self.mean
    }
    fn sd(&self) -> f64 {
        self.sd
    }
    fn records_sd(&self) -> f64 {
        self.records_sd
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.mean + self.sd * normal::quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        if self.sd > 0.0 {
            normal::cdf((x - self.mean) / self.sd)
        } else {
            f64::from(u8::from(self.mean < x))
        }
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        use rand_distr::{Distribution, StandardNormal};
        let normal: f64 = StandardNormal.sample(rng);
        self.mean + self.sd * normal
    }
}

#[cfg(test)]
mod tests;
