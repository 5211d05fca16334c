//! Probabilistic backpropagation on a regression data set, over its splits: root mean squared error and log-likelihood of the test
//! parts, in the units of the target.
//!
//! **Not private**: inputs and targets are scaled by the moments of the training part, as in the papers, and nothing is noised.
//!
//! ```text
//! UCI_DATA=folder cargo run --release --example uci -- kin8nm sep 10
//! ```
//!
//! The folder has `<name>.csv`, rows with the target last and no header, and `<name>.splits`: for each split a line with the
//! number of training rows and then all row numbers, those for training first. Methods: sep, wide (SEP from the wide start),
//! ep, adf; linear (regression with unknown noise); vi (mean-field variational inference); sgd (DP-SGD without its noise); and
//! dp-sgd, with the noise for an epsilon of 1, were the moments public.

#![allow(clippy::print_stdout, reason = "an example reports")]

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use reticent::baseline::{DpSgd, Variational};
use reticent::budget::{Adjacency, Privacy, Unlimited};
use reticent::engine::{Average, Coordinates, Damping, Ep, Fit, Noise, Phase, Sep, SiteModel, adf_pass, ep};
use reticent::family::{Covariance, Gamma};
use reticent::model::Prediction;
use reticent::model::linear::{Linear, LinearPosterior, Response};
use reticent::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use std::error::Error;
use std::time::Instant;

const PASSES: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, method, splits] = &arguments[..] else {
        return Err("usage: uci <data set> sep|wide|ep|adf|linear|vi|sgd|dp-sgd <splits>".into());
    };
    let folder = std::env::var("UCI_DATA")?;
    let table = read(&std::fs::read_to_string(format!("{folder}/{name}.csv"))?)?;
    let orders = std::fs::read_to_string(format!("{folder}/{name}.splits"))?;
    let hidden = if name == "protein" { 100 } else { 50 };
    let mut found = Vec::new();
    for (seed, line) in orders.lines().take(splits.parse()?).enumerate() {
        let numbers = line.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let (train, test) = numbers[1..].split_at(numbers[0]);
        let pick = |rows: &[usize]| rows.iter().map(|&n| table[n].clone()).collect::<Vec<_>>();
        let clock = Instant::now();
        let (error, likelihood) = evaluate(&pick(train), &pick(test), method, hidden, seed as u64 + 1)?;
        println!(
            "{name} {method} {seed}: {error:.5} {likelihood:.4}  {:.1} s",
            clock.elapsed().as_secs_f64()
        );
        found.push((error, likelihood));
    }
    let summary = |values: Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        format!("{mean:.5} +- {:.5}", spread.sqrt())
    };
    let (errors, likelihoods) = found.into_iter().unzip();
    println!("{name} {method}: RMSE {}, log-likelihood {}", summary(errors), summary(likelihoods));
    Ok(())
}

fn read(text: &str) -> Result<Vec<Vec<f64>>, std::num::ParseFloatError> {
    text.lines().map(|line| line.split(',').map(str::parse).collect()).collect()
}

fn evaluate(
    train: &[Vec<f64>],
    test: &[Vec<f64>],
    method: &str,
    hidden: usize,
    seed: u64,
) -> Result<(f64, f64), Box<dyn Error>> {
    let (n, width) = (train.len(), train[0].len());
    let moments: Vec<(f64, f64)> = (0..width)
        .map(|k| {
            let mean = train.iter().map(|row| row[k]).sum::<f64>() / n as f64;
            let variance = train.iter().map(|row| (row[k] - mean).powi(2)).sum::<f64>() / n as f64;
            // A constant column: rounding may leave a little more than nothing.
            (mean, if variance.sqrt() > 1e-9 * mean.abs() { variance.sqrt() } else { 1.0 })
        })
        .collect();
    let scale =
        |row: &[f64]| -> Vec<f64> { row.iter().zip(&moments).map(|(x, (m, s))| (x - m) / s).collect() };
    let values: Vec<f64> = train.iter().flat_map(|row| scale(row)).collect();
    let predict = fitted(values, n, method, hidden, seed)?;
    let unit = moments[width - 1].1;
    let (mut squares, mut likelihood) = (0.0, 0.0);
    for row in test {
        let row = scale(row);
        let prediction = predict(&row[..width - 1]);
        squares += ((row[width - 1] - prediction.mean) * unit).powi(2);
        likelihood += prediction.log_likelihood(row[width - 1]) - unit.ln();
    }
    let count = test.len() as f64;
    Ok(((squares / count).sqrt(), likelihood / count))
}

/// What predicts a target from inputs.
type Predictor = Box<dyn Fn(&[f64]) -> Prediction>;

fn fitted(
    values: Vec<f64>,
    n: usize,
    method: &str,
    hidden: usize,
    seed: u64,
) -> Result<Predictor, Box<dyn Error>> {
    let inputs = values.len() / n - 1;
    let posterior = match method {
        "linear" => {
            let noise = Response::Unknown(Gamma { shape: 6.0, rate: 6.0 });
            let model = Linear::new(inputs, 1.0, Covariance::Full, noise)?;
            let natural = ep(&model, &values, inputs + 1, 3, 0.7);
            let fit = Fit { natural, noise: Noise::none(model.blocks()), projections: 0 };
            let posterior = LinearPosterior::new(&model, &fit).ok_or("no density")?;
            return Ok(Box::new(move |x| posterior.predict(x)));
        }
        "vi" => Variational { hidden: vec![hidden], seed, ..Variational::default() }.fit(&values, inputs)?,
        "sgd" | "dp-sgd" => {
            let settings = DpSgd { hidden: vec![hidden], seed, ..DpSgd::default() };
            let (records, source) = (Records::new(values, inputs + 1)?, NoiseSource::from_os()?);
            if method == "sgd" {
                let steps = (100 * n / 64) as u64;
                let settings = DpSgd { batch: 64, steps, clip: 10.0, learning_rate: 0.02, ..settings };
                settings.fit_without_noise(records, n, inputs, source, Box::new(Unlimited))?.0
            } else {
                let privacy = Privacy::new(1.0, 1e-5, Adjacency::AddRemove)?;
                let plan = settings.plan(n, &privacy)?;
                plan.fit(records, inputs, source, &privacy, Box::new(Unlimited))?.0
            }
        }
        _ => network(values, n, method, hidden, seed)?,
    };
    Ok(Box::new(move |x| posterior.predict(x)))
}

/// Probabilistic backpropagation.
fn network(
    values: Vec<f64>,
    n: usize,
    method: &str,
    hidden: usize,
    seed: u64,
) -> Result<NetworkPosterior, Box<dyn Error>> {
    let width = values.len() / n;
    let mut model = Network::new(&[width - 1, hidden], OutputNoise::default())?;
    let start = model.start(seed, if method == "wide" { Start::Wide { records: n } } else { Start::Usual });
    let mut order: Vec<usize> = (0..n).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let fit = match method {
        "sep" | "wide" => {
            let mut plan = Plan::new(n, Adjacency::ReplaceOne);
            let sums = plan.sums(Sums {
                what: "sites".into(),
                width: model.width(),
                geometry: Geometry::Ball { radius: 1.0 },
                sampler: Sampler::Pass { batch: 1 },
                noise_multiplier: 1.0,
                steps: (PASSES * n) as u64,
            })?;
            let (records, source) = (Records::new(values, width)?, NoiseSource::from_os()?);
            let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited))?;
            let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
            let phase = Phase { sums, steps: n as u64, coordinates, damping, clip: None };
            let mut state = Sep::new(&model, n, &start);
            for _ in 0..PASSES {
                state.run(&model, &mut wall, &phase, Average::Last)?;
                model.refine_prior(&state.fit(&model).natural);
            }
            state.fit(&model)
        }
        "ep" => {
            let mut state = Ep::new(&model, &values, width, &start);
            for _ in 0..PASSES {
                order.shuffle(&mut rng);
                state.pass(&model, &values, order.iter().copied(), 0.4);
                model.refine_prior(&state.natural(&model));
            }
            state.fit(&model)
        }
        "adf" => {
            let mut likelihood = start;
            let mut natural = Vec::new();
            for _ in 0..PASSES {
                order.shuffle(&mut rng);
                adf_pass(&model, &values, width, order.iter().copied(), &mut likelihood);
                natural = model.prior().iter().zip(&likelihood).map(|(p, l)| p + l).collect();
                model.refine_prior(&natural);
                natural = model.prior().iter().zip(&likelihood).map(|(p, l)| p + l).collect();
            }
            Fit { natural, noise: Noise::none(model.blocks()), projections: 0 }
        }
        _ => return Err("unknown method".into()),
    };
    println!("  projections {}, prior precision {:.3}", fit.projections, model.prior_precision());
    Ok(NetworkPosterior::new(&model, &fit))
}
