//! The methods that are compared, each on one split.

use super::{Adult, Split, auc};
use crate::baseline::{Dpvi, ObjectivePerturbation};
use crate::error::{ExperimentError, by_name};
use reticent_accounting::Sampling;
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::vb::{Composition, ExpectationModel, StepSize, Vb};
use reticent_core::family::{Gamma, Moments};
use reticent_core::model::logistic::{LogisticPlan, VariationalLogistic};
use reticent_core::wall::{NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A way to fit a logistic regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Weighted scores, the method of this project.
    Scores,
    /// Algorithm 5, all records in each of a few steps, tightly accounted.
    Vips,
    /// The same with strong composition.
    VipsStrong,
    /// Variational inference with clipped gradients.
    Dpvi,
    /// Objective perturbation with Gaussian noise.
    Objective,
    /// Objective perturbation without a delta.
    ObjectivePure,
    /// Algorithm 5 with the sampling, steps and noise of the paper.
    VipsPrinted,
    /// Weighted scores without privacy.
    OpenScores,
    /// Algorithm 5 without privacy.
    OpenVb,
}

/// The noise of the paper's experiment, the epsilon printed for it at a delta of 1e-3, and the sampling rate and steps.
pub const VIPS_PRINTED: ([(f64, f64); 3], f64, u64) = ([(1.0, 0.8), (6.0, 0.05), (12.0, 0.025)], 0.004, 100);
/// Steps of Algorithm 5 about all records.
const VIPS_STEPS: u64 = 10;
const PRIOR: Gamma = Gamma { shape: 1.0, rate: 1.0 };

/// Scores of a fit on test records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The fitted method.
    pub method: Method,
    /// Epsilon of the budget, or the noise multiplier of the printed experiment. `None` without privacy.
    pub asked: Option<f64>,
    /// Epsilon at the delta of the experiment, tightly accounted.
    pub epsilon: Option<f64>,
    /// The split.
    pub run: u64,
    /// The area under the curve of mean scores, by which the paper ranks records.
    pub auc: f64,
    /// The mean log-likelihood of a test record.
    pub log_likelihood: f64,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 9] = [
        Self::Scores,
        Self::Vips,
        Self::VipsStrong,
        Self::Dpvi,
        Self::Objective,
        Self::ObjectivePure,
        Self::VipsPrinted,
        Self::OpenScores,
        Self::OpenVb,
    ];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scores => "scores",
            Self::Vips => "vips",
            Self::VipsStrong => "vips-strong",
            Self::Dpvi => "dpvi",
            Self::Objective => "objective",
            Self::ObjectivePure => "objective-pure",
            Self::VipsPrinted => "vips-printed",
            Self::OpenScores => "open-scores",
            Self::OpenVb => "open-vb",
        }
    }

    /// The budgets that apply to it.
    #[must_use]
    pub fn budgets(self, epsilons: &[f64]) -> Vec<Option<f64>> {
        match self {
            Self::OpenScores | Self::OpenVb => vec![None],
            Self::VipsPrinted => VIPS_PRINTED.0.iter().map(|(sigma, _)| Some(*sigma)).collect(),
            _ => epsilons.iter().copied().map(Some).collect(),
        }
    }

    /// Fits and tests on a split.
    ///
    /// # Errors
    /// [`ExperimentError`].
    pub fn run(
        self,
        data: &Adult,
        split: &Split,
        asked: Option<f64>,
        delta: f64,
        run: u64,
    ) -> Result<Outcome, ExperimentError> {
        let inputs = data.inputs();
        let records = || Records::new(split.train.clone(), inputs + 1);
        let source = NoiseSource::from_os()?;
        // A level is 1, and a number at most 1.
        let radius = (data.columns.len() as f64 + 1.0).sqrt();
        let budget = asked.unwrap_or(1.0);
        let privacy = Privacy::new(budget, delta, Adjacency::ReplaceOne)?;
        let score =
            |predict: &dyn Fn(&[f64]) -> [f64; 2], epsilon| tested(self, asked, epsilon, run, split, predict);
        match self {
            Self::Scores => {
                let plan = LogisticPlan::new(&data.columns, split.records, 1.0, Some(&privacy))?;
                let epsilon = plan.price(delta)?.epsilon.upper;
                let fit = plan.fit(records()?, source, Some(&privacy), Box::new(Unlimited))?.0;
                Ok(score(&|x| [fit.predict(x).mean, fit.positive(x)], Some(epsilon)))
            }
            Self::OpenScores => {
                let plan = LogisticPlan::new(&data.columns, split.records, 1.0, None)?;
                let fit = plan.fit_openly(records()?, source)?;
                Ok(score(&|x| [fit.predict(x).mean, fit.positive(x)], None))
            }
            Self::Dpvi => {
                let settings = Dpvi::default();
                let noise = settings.noise_multiplier(split.records, &privacy)?;
                let (moments, receipt) = settings.fit(
                    records()?,
                    split.records,
                    inputs,
                    source,
                    noise,
                    &privacy,
                    Box::new(Unlimited),
                )?;
                let epsilon = receipt.guarantee.cost().map(|cost| cost.epsilon.upper);
                Ok(score(&|x| prediction(&moments, x), epsilon))
            }
            Self::Objective | Self::ObjectivePure => {
                let delta = if self == Self::Objective { delta } else { 0.0 };
                let method = ObjectivePerturbation { epsilon: budget, delta, ridge: 1.0, radius };
                let mean = method.fit(&split.train, inputs, run)?;
                let covariance = vec![0.0; mean.len() * mean.len()];
                let moments = Moments { mean, covariance };
                Ok(score(&|x| prediction(&moments, x), asked))
            }
            Self::Vips | Self::VipsStrong | Self::VipsPrinted | Self::OpenVb => {
                let (moments, epsilon) = self.vips(split, inputs, radius, asked, &privacy)?;
                Ok(score(&|x| prediction(&moments, x), epsilon))
            }
        }
    }

    /// Algorithm 5, with its cost.
    fn vips(
        self,
        split: &Split,
        inputs: usize,
        radius: f64,
        asked: Option<f64>,
        privacy: &Privacy,
    ) -> Result<(Moments, Option<f64>), ExperimentError> {
        let mut model = VariationalLogistic::new(inputs, PRIOR, radius);
        let n = split.records;
        let (sampler, steps) = match self {
            Self::VipsPrinted => {
                let batch = ((VIPS_PRINTED.1 * n as f64) as usize).max(1);
                (Sampler::Fixed { batch }, VIPS_PRINTED.2)
            }
            Self::OpenVb => (Sampler::Full, 3 * VIPS_STEPS),
            _ => (Sampler::Full, VIPS_STEPS),
        };
        let noise_multiplier = match self {
            Self::Vips => Composition::Tight.noise_multiplier(Sampling::None, steps, privacy)?,
            Self::VipsStrong => Composition::Strong.noise_multiplier(Sampling::None, steps, privacy)?,
            _ => asked.unwrap_or(1.0),
        };
        let width = model.width();
        let mut plan = Plan::new(n, Adjacency::ReplaceOne);
        let (what, geometry) = ("expected statistics".to_owned(), model.geometry());
        let id = plan.sums(Sums { what, width, geometry, sampler, noise_multiplier, steps })?;
        let records = Records::new(split.train.clone(), inputs + 1)?;
        let (source, ledger) = (NoiseSource::from_os()?, Box::new(Unlimited));
        let (mut wall, epsilon) = if asked.is_none() {
            (Wall::without_privacy(records, source, plan, ledger)?, None)
        } else {
            let cost = plan.price(privacy.delta())?.epsilon.upper;
            let paid = Privacy::new(cost * (1.0 + 1e-9) + 1e-12, privacy.delta(), Adjacency::ReplaceOne)?;
            (Wall::new(records, source, plan, &paid, ledger)?, Some(cost))
        };
        let mut vb = Vb::new(n, vec![0.0; width]);
        for step in 0..steps {
            // As in the code of the authors, the first step has size 1. Batches of all records are averaged with privacy.
            let size = match self {
                Self::VipsPrinted if step > 0 => StepSize::Decay { delay: 1024.0, forgetting: 0.7 },
                Self::Vips | Self::VipsStrong => StepSize::Average,
                _ => StepSize::Full,
            };
            vb.step(&mut model, &mut wall, id, size)?;
        }
        Ok((Moments { mean: model.mean, covariance: model.covariance }, epsilon))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = ExperimentError;
    fn from_str(name: &str) -> Result<Self, ExperimentError> {
        by_name("method", name, &Self::ALL, Self::name)
    }
}

/// The mean score, and the probability of class 1 under Gaussian weights: the logistic function of the mean score, drawn towards 1/2 by its variance.
///
/// # Citation
/// MacKay, "The evidence framework applied to classification networks", Neural Computation 1992.
fn prediction(weights: &Moments, inputs: &[f64]) -> [f64; 2] {
    let x: Vec<f64> = inputs.iter().copied().chain([1.0]).collect();
    let dot = |a: &[f64]| a.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>();
    let variance: f64 = weights
        .covariance
        .chunks_exact(x.len())
        .zip(&x)
        .filter(|(_, x)| **x != 0.0)
        .map(|(row, x)| x * dot(row))
        .sum();
    let score = dot(&weights.mean);
    let drawn = score / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt();
    [score, 1.0 / (1.0 + (-drawn).exp())]
}

/// Scores a classifier, given as mean scores and probabilities.
fn tested(
    method: Method,
    asked: Option<f64>,
    epsilon: Option<f64>,
    run: u64,
    split: &Split,
    predict: &dyn Fn(&[f64]) -> [f64; 2],
) -> Outcome {
    let width = split.train.len() / split.records;
    let (mut scores, mut classes, mut total) = (Vec::new(), Vec::new(), 0.0);
    for record in split.test.chunks_exact(width) {
        let (inputs, class) = record.split_at(width - 1);
        let [score, p] = predict(inputs);
        let p = p.clamp(1e-12, 1.0 - 1e-12);
        total += if class[0] > 0.0 { p } else { 1.0 - p }.ln();
        scores.push(score);
        classes.push(class[0]);
    }
    let log_likelihood = total / classes.len() as f64;
    Outcome { method, asked, epsilon, run, auc: auc(&scores, &classes), log_likelihood }
}
