//! Bayesian posteriors under differential privacy.
//!
//! - [`Records`](wall::Records) are private. They go into a [`Wall`](wall::Wall), and nothing else comes out of it than
//!   [noisy sums](wall::Released) and [tempered draws](wall::Drawn).
//! - A [`Plan`](wall::Plan) says beforehand what will be released. It is priced as a whole, compared with the
//!   [`Privacy`](budget::Privacy) asked for, and reserved in a [`Ledger`](budget::Ledger) before the first release.
//! - A [`Receipt`](receipt::Receipt) says what was spent, on what, and under which assumptions.
//!
//! - A [model] says what one record tells about the parameters, in an exponential [family]; an
//!   [engine] turns released sums into a posterior, and knows the covariance of the noise in it. A [baseline] is what to compare
//!   it with.
//!
//! All inference is done on what was released, so it cannot cost more privacy, however clever or wrong it is.
//!
//! A private mixture of Gaussians, from records to a posterior that may be published:
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::family::Covariance;
//! use reticent_core::model::mixture::{Mixture, MixturePlan, NoiseVariance, Weights};
//! use reticent_core::wall::{NoiseSource, Records};
//!
//! // Two components in the plane; nothing is known about where they are but a wide prior.
//! let prior = [vec![0.0, 0.0], vec![0.0, 0.0]];
//! let model = Mixture::new(&prior, 10.0, Covariance::Full, NoiseVariance::Known(0.25), Weights::Uniform)?;
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let plan = MixturePlan::new(&model, 1000, &privacy)?; // no record has been seen yet
//!
//! let values = (0..1000).flat_map(|n| if n % 2 == 0 { [1.5, 1.0] } else { [-1.0, 0.5] }).collect();
//! let records = Records::new(values, 2)?;
//! let (posterior, receipt) =
//!     plan.fit(&model, records, NoiseSource::from_os()?, &privacy, Box::new(Unlimited))?;
//! for component in &posterior.components {
//!     println!("mean {:?}, covariance {:?}", component.mean, component.moments().covariance);
//! }
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The wall by itself:
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall};
//!
//! struct Mean; // the sum of the records themselves
//! impl Query for Mean {
//!     fn width(&self) -> usize {
//!         2
//!     }
//!     fn contribute(&self, record: &[f64], out: &mut [f64]) {
//!         out.copy_from_slice(record);
//!     }
//! }
//!
//! let mut plan = Plan::new(1000, Adjacency::ReplaceOne);
//! let sums = plan.sums(Sums {
//!     what: "sum of the records".into(),
//!     width: 2,
//!     geometry: Geometry::Ball { radius: 1.0 },
//!     sampler: Sampler::Full,
//!     noise_multiplier: 4.0,
//!     steps: 1,
//! })?;
//! let records = Records::new(vec![0.5; 2000], 2)?;
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let mut wall = Wall::new(records, NoiseSource::from_os()?, plan, &privacy, Box::new(Unlimited))?;
//!
//! let released = wall.sum(sums, &Mean)?;
//! assert!((released.values[0] - 500.0).abs() < 10.0 * released.noise_sd[0]);
//! println!("{}", wall.finish(0)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod baseline;
pub mod bounds;
pub mod budget;
pub mod engine;
pub mod family;
pub mod field;
pub mod grid;
pub mod math;
pub mod model;
pub mod observer;
pub mod receipt;
pub mod theory;
mod threads;
pub mod wall;
