//! Bayesian posteriors under differential privacy.
//!
//! - [`Records`](wall::Records) are private. They enter a [`Wall`](wall::Wall), which releases only
//!   [noisy sums](wall::Released) and [tempered draws](wall::Drawn).
//! - A [`Plan`](wall::Plan) fixes all releases in advance. It is priced as a whole, checked against the budget
//!   ([`Privacy`](budget::Privacy)), and reserved in a [`Ledger`](budget::Ledger) before the first release.
//! - A [`Receipt`](receipt::Receipt) states what was spent, on which releases, and under which assumptions.
//! - A [model] defines the likelihood and the contribution of a record in an exponential [family]. An [engine] turns
//!   released sums into a posterior that accounts for the covariance of the noise. A [baseline] fits without privacy,
//!   for
//!   comparison.
//!
//! Inference only uses released values, so it is post-processing and costs no further privacy, whether it is right or
//! wrong.
//!
//! A private mixture of Gaussians, from records to a posterior that may be published:
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::family::Covariance;
//! use reticent_core::model::mixture::{Mixture, MixturePlan, NoiseVariance, Weights};
//! use reticent_core::wall::{NoiseSource, Records};
//!
//! // Two components in the plane with a wide prior.
//! let prior = [vec![0.0, 0.0], vec![0.0, 0.0]];
//! let model = Mixture::new(&prior, 10.0, Covariance::Full, NoiseVariance::Known(0.25), Weights::Uniform)?;
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let plan = MixturePlan::new(&model, 1000, &privacy)?; // no record has been read yet
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
//! The wall alone:
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
pub mod evaluation;
pub mod family;
pub mod field;
pub mod grid;
mod jobs;
pub mod math;
pub mod model;
pub mod observer;
pub mod receipt;
pub mod theory;
mod threads;
pub mod wall;
