//! `reticent demo`: what one real run costs.

use std::fmt::Write as _;

use reticent_accounting::{Adjacency, Event, Method, Sampling, account, calibrate, compare};

use crate::account::comparison;
use crate::output::{Failure, rounded_up};

/// Stochastic expectation propagation on the naval propulsion data: 10,740 training records, one record a step, 40 passes
/// (Vinaroz and Park, DP-SEP).
const RECORDS: u64 = 10_740;
const PASSES: u64 = 40;
const DELTA: f64 = 1e-5;

pub(crate) fn run() -> Result<String, Failure> {
    let adjacency = Adjacency::ReplaceOne;
    let sampling = Sampling::Fixed { batch: 1, records: RECORDS };
    let run = |sigma: f64| Event::gaussian(sigma, sampling).repeat(RECORDS * PASSES);
    let noise = |method| calibrate::noise_multiplier(run, adjacency, 1.0, DELTA, method);
    let (tight, classic) = (noise(Method::Auto)?, noise(Method::Wang9)?);
    let pass = |sigma: f64| Event::gaussian(sigma, Sampling::Pass).repeat(PASSES);
    let shuffled = calibrate::noise_multiplier(pass, adjacency, 1.0, DELTA, Method::Exact)?;
    let cost = account(&run(tight), adjacency, DELTA, Method::Auto)?;

    let mut text = String::new();
    let _ = write!(
        text,
        "A hospital wants to release a posterior fitted by stochastic expectation propagation:\n\
         {RECORDS} records, one record a step, {PASSES} passes, epsilon 1 at delta {DELTA:e}.\n\n\
         How much noise does that take?\n  \
         {:<9} times the sensitivity: one record drawn afresh each step, our accountant\n  \
         {:<9} the same run by Theorem 9 of Wang et al. 2019, the bound the DP-SEP paper uses\n  \
         {:<9} if the passes are shuffled instead, which hides nothing provable\n\n\
         What the first costs, by every accountant that applies:\n\n",
        rounded_up(tight),
        rounded_up(classic),
        rounded_up(shuffled),
    );
    text.push_str(&comparison(&compare(&run(tight), adjacency, DELTA), cost.method));
    let _ = write!(
        text,
        "\nReceipt\n  \
         released      {} sums, each of 1 of {RECORDS} records drawn afresh, with Gaussian noise\n  \
         noise         {} times the replace-one sensitivity\n  \
         spent         epsilon {} at delta {DELTA:e} (this bound, computed exactly, is at least {:.4})\n  \
         accountant    {}\n  \
         neighbours    data sets that differ in one record; the number of records is public\n  \
         assumes       a record is a person; the noise and the choice of records stay secret\n\n\
         Next: reticent account --help, reticent calibrate --help\n",
        RECORDS * PASSES,
        rounded_up(tight),
        rounded_up(cost.epsilon.upper),
        (cost.epsilon.lower * 1e4).floor() / 1e4,
        cost.method,
    );
    Ok(text)
}
