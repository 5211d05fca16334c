//! One job: a fit to the training part, scored on the test part.

use super::network::Backpropagation;
use super::scaling::Scaling;
use super::{Budget, Data, Job, Method, Peer, Split};
use crate::error::ExperimentError;
use crate::table1::{number_of_word, number_or_word};
use reticent_core::baseline::{DpSgd, Variational};
use reticent_core::budget::{Privacy, Unlimited};
use reticent_core::model::Prediction;
use reticent_core::model::regression::RegressionPlan;
use reticent_core::wall::{NoiseSource, Records};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Scores of a fit on the test part, in the units of the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The root of the mean squared error.
    #[serde(serialize_with = "number_or_word", deserialize_with = "number_of_word")]
    pub rmse: f64,
    /// The mean logarithm of the density of targets.
    #[serde(serialize_with = "number_or_word", deserialize_with = "number_of_word")]
    pub log_likelihood: f64,
    /// The share of targets in their 95 % intervals.
    pub coverage: f64,
    /// Seconds of the fit, on one core.
    pub seconds: f64,
}

/// Passes of variational inference for each of the others.
const VARIATIONAL_PASSES: usize = 5;

/// Hidden units of private networks, on every set: fewer than without privacy, since each weight has its noise.
const PRIVATE_UNITS: usize = 40;

/// The predictive distribution of a target.
struct Said {
    mean: f64,
    log_density: f64,
    /// The 95 % interval.
    interval: (f64, f64),
}

/// A predictor, from inputs and the target itself, all scaled.
type Predictor = Box<dyn Fn(&[f64], f64) -> Said>;

/// Tail probabilities of 95 % intervals.
const ENDS: (f64, f64) = (0.025, 0.975);

/// Runs a job.
///
/// # Errors
/// Errors of the library.
pub fn evaluate(data: &Data, split: &Split, job: &Job) -> Result<Figures, ExperimentError> {
    if job.method.is_private() != job.budget.is_some() {
        return Err(ExperimentError::Budget);
    }
    let scaling = match (job.method, &job.budget) {
        (_, Some(Budget { public_moments: true, .. })) => Scaling::by_public_moments(data, &split.train),
        (Method::Middle, _) | (_, Some(_)) => Scaling::by_bounds(data.set.bounds()),
        (_, None) => Scaling::by_moments(data, &split.train),
    };
    let values: Vec<f64> = split.train.iter().flat_map(|&row| scaling.of(data.row(row))).collect();
    let clock = Instant::now();
    let predictor = fit(values, split.train.len(), data.set.inputs(), job)?;
    let seconds = clock.elapsed().as_secs_f64();
    let (mut squares, mut likelihood, mut covered) = (0.0, 0.0, 0.0);
    let unit = scaling.unit();
    for &row in &split.test {
        let (inputs, target) = data.row(row).split_at(data.set.inputs());
        let target = scaling.target(target[0]);
        let said = predictor(&scaling.of(inputs), target);
        squares += ((target - said.mean) * unit).powi(2);
        likelihood += said.log_density - unit.ln();
        covered += f64::from(said.interval.0 <= target && target <= said.interval.1);
    }
    let count = split.test.len() as f64;
    Ok(Figures {
        rmse: (squares / count).sqrt(),
        log_likelihood: likelihood / count,
        coverage: covered / count,
        seconds,
    })
}

fn fit(values: Vec<f64>, records: usize, inputs: usize, job: &Job) -> Result<Predictor, ExperimentError> {
    let (hidden, passes) = (job.hidden.unwrap_or(job.set.hidden()), job.passes.unwrap_or(40));
    let seed = job.split as u64 + 1;
    Ok(match job.method {
        Method::Vi => {
            let passes = VARIATIONAL_PASSES * passes;
            let settings = Variational { hidden: vec![hidden], passes, seed, ..Variational::default() };
            let (rows, source) = (Records::new(values, inputs + 1)?, NoiseSource::from_os()?);
            let (posterior, _) = settings.fit(rows, records, inputs, source, Box::new(Unlimited))?;
            gaussian(move |x| posterior.predict(x))
        }
        Method::Adf | Method::Ep | Method::Sep | Method::SepClipped => {
            let posterior = Backpropagation { hidden, passes, seed }.fit(job.method, values, inputs)?;
            gaussian(move |x| posterior.predict(x))
        }
        Method::DpSep | Method::Regression | Method::Linear => regression(values, records, inputs, job)?,
        Method::DpSgd => dp_sgd(values, records, inputs, job)?,
        Method::Middle => Box::new(|_, target: f64| Said {
            mean: 0.0,
            // Uniform between the bounds.
            log_density: if target.abs() <= 1.0 { -std::f64::consts::LN_2 } else { f64::NEG_INFINITY },
            interval: (2.0 * ENDS.0 - 1.0, 2.0 * ENDS.1 - 1.0),
        }),
    })
}

fn privacy(job: &Job) -> Result<Privacy, ExperimentError> {
    let Budget { epsilon, delta, adjacency, .. } = job.budget.ok_or(ExperimentError::Budget)?;
    Ok(Privacy::new(epsilon, delta, adjacency)?)
}

fn regression(
    values: Vec<f64>,
    records: usize,
    inputs: usize,
    job: &Job,
) -> Result<Predictor, ExperimentError> {
    let privacy = privacy(job)?;
    let plan = match job.method {
        Method::DpSep => RegressionPlan::network(inputs, &[PRIVATE_UNITS], records, &privacy)?,
        Method::Linear => RegressionPlan::linear(inputs, records, &privacy)?,
        _ => RegressionPlan::new(inputs, records, &privacy)?,
    };
    let (rows, source) = (Records::new(values, inputs + 1)?, NoiseSource::from_os()?);
    let (posterior, _) = plan.fit(rows, source, &privacy, Box::new(Unlimited))?;
    Ok(Box::new(move |x, target| {
        let prediction = posterior.predict(x);
        let end = |probability| posterior.quantile(&prediction, probability);
        Said {
            mean: prediction.mean,
            log_density: prediction.log_likelihood(target),
            interval: (end(ENDS.0), end(ENDS.1)),
        }
    }))
}

fn dp_sgd(
    mut values: Vec<f64>,
    records: usize,
    inputs: usize,
    job: &Job,
) -> Result<Predictor, ExperimentError> {
    let privacy = privacy(job)?;
    let Peer { input_scale, target_scale, settings } = job.dp_sgd.clone().ok_or(ExperimentError::Budget)?;
    let batch = settings.batch.min(records);
    let plan = DpSgd { seed: job.split as u64 + 1, batch, ..settings }.plan(records, &privacy)?;
    for row in values.chunks_exact_mut(inputs + 1) {
        row[..inputs].iter_mut().for_each(|x| *x *= input_scale);
        row[inputs] *= target_scale;
    }
    let (rows, source) = (Records::new(values, inputs + 1)?, NoiseSource::from_os()?);
    let (posterior, _) = plan.fit(rows, inputs, source, &privacy, Box::new(Unlimited))?;
    Ok(gaussian(move |x| {
        let scaled: Vec<f64> = x.iter().map(|x| x * input_scale).collect();
        let Prediction { mean, variance, noise_variance } = posterior.predict(&scaled);
        let square = target_scale * target_scale;
        Prediction {
            mean: mean / target_scale,
            variance: variance / square,
            noise_variance: noise_variance / square,
        }
    }))
}

fn gaussian(predict: impl Fn(&[f64]) -> Prediction + 'static) -> Predictor {
    Box::new(move |x, target| {
        let prediction = predict(x);
        Said {
            mean: prediction.mean,
            log_density: prediction.log_likelihood(target),
            interval: (prediction.quantile(ENDS.0), prediction.quantile(ENDS.1)),
        }
    })
}
