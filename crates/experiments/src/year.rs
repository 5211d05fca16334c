//! Time of DP-SEP on a network at the size of the Year data set, and memory beyond that of the records.
//!
//! The records are simulated: only their number and width matter.

use crate::error::ExperimentError;
use crate::memory::peak;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_accounting::{Event, Method, Sampling, calibrate};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Phase, Sep, SiteModel};
use reticent_core::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::Serialize;
use std::time::Instant;

/// Training records of the Year data set.
pub const RECORDS: usize = 463_715;
/// Its inputs.
pub const INPUTS: usize = 90;
/// Hidden units in the paper.
pub const HIDDEN: usize = 100;
/// Records in a batch.
pub const BATCH: usize = 256;
/// $\varepsilon$.
pub const EPSILON: f64 = 1.0;
/// $\delta$: well below one over the number of records.
pub const DELTA: f64 = 1e-7;

/// Measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// $N$.
    pub records: usize,
    /// Number of steps.
    pub steps: u64,
    /// Steps of 40 passes over as many records as the Year data set has.
    pub steps_of_year: u64,
    /// The noise multiplier of these.
    pub noise_multiplier: f64,
    /// Seconds of the calibration.
    pub seconds_to_plan: f64,
    /// Seconds of the steps.
    pub seconds: f64,
    /// Extrapolated seconds of all steps of the Year data set.
    pub seconds_of_year: f64,
    /// The bytes of the records.
    pub record_bytes: u64,
    /// The peak of the process beyond them, where it can be measured.
    pub peak_beyond_records: Option<u64>,
    /// Whether all predictions for a few records are numbers.
    pub finite: bool,
}

/// Number of complete steps of some passes.
#[must_use]
pub fn steps(records: usize, passes: f64) -> u64 {
    (passes * records as f64 / BATCH as f64).max(1.0) as u64
}

/// Generates records and takes the steps, on all threads of the current pool. `progress` gets the percentage that is finished.
///
/// # Errors
/// Errors of the library.
pub fn measure(records: usize, steps: u64, progress: impl Fn(usize)) -> Result<Measured, ExperimentError> {
    let model = Network::new(&[INPUTS, HIDDEN], OutputNoise::default())?;
    let clock = Instant::now();
    let event = |noise_multiplier| {
        let sampling = Sampling::Fixed { batch: BATCH as u64, records: records as u64 };
        Event::gaussian(noise_multiplier, sampling).repeat(steps)
    };
    // A share of delta covers the error bound of the noise.
    let adjacency = Adjacency::ReplaceOne;
    let noise_multiplier =
        calibrate::noise_multiplier(event, adjacency, EPSILON, 0.49 * DELTA, Method::Auto)?;
    let privacy = Privacy::new(EPSILON, DELTA, adjacency)?;
    let mut plan = Plan::new(records, adjacency);
    let geometry = Geometry::Ball { radius: 1.0 };
    let (sampler, width) = (Sampler::Fixed { batch: BATCH }, model.width());
    let sums = plan.sums(Sums { what: "sites".into(), width, geometry, sampler, noise_multiplier, steps })?;
    let rows = Records::new(values(records), INPUTS + 1)?;
    let mut wall = Wall::new(rows, NoiseSource::from_os()?, plan, &privacy, Box::new(Unlimited))?;
    let seconds_to_plan = clock.elapsed().as_secs_f64();
    let mut state = Sep::new(&model, records, &model.start(1, Start::Prior));
    let clock = Instant::now();
    let mut taken = 0;
    for hundredth in 1..=100 {
        let part = steps * hundredth / 100 - taken;
        // Small steps, so that noise keeps the state in its domain: only time is measured.
        let (coordinates, damping) = (Coordinates::Centred, Damping::Step(1e-3));
        let phase = Phase { sums, steps: part, coordinates, damping, clip: None };
        state.run(&model, &mut wall, &phase, Average::Last)?;
        taken += part;
        progress(hundredth as usize);
    }
    let seconds = clock.elapsed().as_secs_f64();
    let posterior = NetworkPosterior::new(&model, &state.fit(&model));
    let finite =
        values(10).chunks_exact(INPUTS + 1).all(|row| posterior.predict(&row[..INPUTS]).mean.is_finite());
    let record_bytes = (records * (INPUTS + 1) * size_of::<f64>()) as u64;
    let steps_of_year = self::steps(RECORDS, 40.0);
    Ok(Measured {
        records,
        steps,
        steps_of_year,
        noise_multiplier,
        seconds_to_plan,
        seconds,
        seconds_of_year: seconds * steps_of_year as f64 / steps as f64,
        record_bytes,
        peak_beyond_records: peak().map(|peak| peak.saturating_sub(record_bytes)),
        finite,
    })
}

/// Inputs between -1 and 1, and a target that depends on two of them.
fn values(records: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut values: Vec<f64> = Vec::with_capacity(records * (INPUTS + 1));
    for _ in 0..records {
        let first = values.len();
        values.extend((0..INPUTS).map(|_| rng.random_range(-1.0..1.0)));
        let target = values[first].abs() - values[first + 1];
        values.push((target / 2.0).clamp(-1.0, 1.0));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_is_measured() {
        // 40 * 463,715 / 256, rounded down.
        assert_eq!(steps(RECORDS, 40.0), 72_455);
        let found = measure(2000, 3, |_| ()).unwrap();
        assert!(found.finite && found.seconds > 0.0 && found.record_bytes == 2000 * 91 * 8);
        assert_eq!(found.peak_beyond_records.is_some(), cfg!(target_os = "linux"));
    }
}
