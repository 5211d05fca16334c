//! Memory of inference, beyond that of the records.
//!
//! EP keeps a site for each record, SEP one for all. The peak is that of a whole process, so each measurement needs a
//! process of its own, which calls [`work`] and then [`peak`].

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Phase, SiteModel, ep, sep};
use reticent_core::family::Covariance;
use reticent_core::model::mixture::{Mixture, NoiseVariance, Weights};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::Serialize;

use crate::error::ExperimentError;
use crate::mixture::{Simulation, simulate};

/// $J$.
pub const COMPONENTS: usize = 4;
/// $D$.
pub const DIMENSION: usize = 4;
/// Steps of SEP: its memory does not depend on how many.
pub const STEPS: u64 = 2000;

/// The engine under measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// DP-SEP through the wall, one record a step.
    Sep,
    /// EP, one pass.
    Ep,
}

/// The bytes of the records.
#[must_use]
pub fn size_of_records(records: usize) -> u64 {
    (records * DIMENSION * size_of::<f64>()) as u64
}

/// Runs an engine on simulated records.
///
/// # Errors
/// Errors of the library.
pub fn work(engine: Engine, records: usize) -> Result<(), ExperimentError> {
    let means = vec![vec![0.0; DIMENSION]; COMPONENTS];
    let noise = NoiseVariance::Known(0.25);
    let model = Mixture::new(&means, 10.0, Covariance::Full, noise, Weights::Uniform)?;
    let values = values(records)?;
    match engine {
        Engine::Ep => drop(ep(&model, &values, DIMENSION, 1, 0.5)),
        Engine::Sep => {
            let privacy = Privacy::new(1.0, 1e-8, Adjacency::ReplaceOne)?;
            let mut plan = Plan::new(records, privacy.adjacency());
            let sums = plan.sums(Sums {
                what: "sites".into(),
                width: model.width(),
                geometry: Geometry::Ball { radius: 1.0 },
                sampler: Sampler::Fixed { batch: 1 },
                noise_multiplier: 10.0,
                steps: STEPS,
            })?;
            let source = NoiseSource::from_os()?;
            let rows = Records::new(values, DIMENSION)?;
            let mut wall = Wall::new(rows, source, plan, &privacy, Box::new(Unlimited))?;
            let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
            let phase = Phase { sums, steps: STEPS, coordinates, damping, clip: None };
            sep(&model, &mut wall, records, &vec![0.0; model.width()], &[phase], Average::Last)?;
        }
    }
    Ok(())
}

/// A thousand records, repeated: their values do not matter, and nothing else may take memory.
fn values(records: usize) -> Result<Vec<f64>, ExperimentError> {
    let simulation = Simulation {
        records: 1000,
        components: COMPONENTS,
        dimension: DIMENSION,
        prior_variance: 10.0,
        noise_variance: 0.25,
        separation: 0.0,
    };
    let data = simulate(&mut ChaCha8Rng::seed_from_u64(1), &simulation)?;
    let mut values = Vec::with_capacity(records * DIMENSION);
    values.extend(data.x.iter().copied().cycle().take(records * DIMENSION));
    Ok(values)
}

/// Peak memory of this process in bytes: `VmHWM` of `/proc/self/status`, on Linux.
#[must_use]
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_work_and_the_peak_is_read() {
        work(Engine::Sep, 100).unwrap();
        work(Engine::Ep, 100).unwrap();
        assert_eq!(size_of_records(100), 3200);
        assert_eq!(peak().is_some(), cfg!(target_os = "linux"));
    }
}
