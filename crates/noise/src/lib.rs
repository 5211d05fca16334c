//! Exact noise for differential privacy from a cryptographic generator, one to two nanoseconds per draw.
//!
//! A [`NoiseSource`] is seeded by the operating system's entropy and lends three generators, each with a stream of its own, and
//! makes the keys of samples:
//!
//! - [`Gaussian`]: $\lfloor S \cdot N(0,1) \rfloor$ on the integers, for sums with a bound in $L_2$.
//! - [`Laplace`]: integers with $P(z) \propto e^{-|z|/t}$, for sums with a bound in $L_1$.
//! - [`Coins`]: exactly uniform and exactly dyadic choices, for sampling records.
//! - [`SampleKey`]: a Poisson sample that can be drawn in parts, wherever these are.
//!
//! ```
//! use reticent_noise::{NoiseSource, Resolution};
//!
//! let mut source = NoiseSource::from_os()?;
//! let batch = source.coins()?.subset(1_000, 10)?; // ten of a thousand records
//! // Sums of contributions in lattice units, released with a noise of standard deviation 0.5.
//! let step = 0.5 / Resolution::Bits23.units_per_sigma() as f64;
//! let mut released = [0.0; 2];
//! source.gaussian(Resolution::Bits23)?.release(&[3_141_592, -2_718_281], step, &mut released)?;
//! # Ok::<(), reticent_noise::NoiseError>(())
//! ```
//!
//! # Privacy
//! No floating-point number takes part in a draw (attacks on floating-point noise: Mironov, CCS 2012; Haney et al., 2022).
//! [`TV_PER_DRAW`] bounds the remaining error. Not covered: an adversary who reads this process's memory, a virtual machine
//! resumed twice from one snapshot, and time. The time of a Gaussian block depends weakly on how many of its draws are rare,
//! and that of a Laplace draw on its size (Jin et al., S&P 2022): do not let an adversary time single draws.
//!
//! Results depend on the seed only: not on the processor, nor on how draws are split into calls.
#![deny(unsafe_code)]

mod chacha;
mod coins;
mod error;
mod fixed;
mod gaussian;
mod laplace;
mod remainder;
mod sample;
mod simd;
mod source;
mod tables;

pub use chacha::Rounds;
pub use coins::Coins;
pub use error::NoiseError;
pub use gaussian::{Gaussian, Resolution, TV_PER_DRAW};
pub use laplace::Laplace;
pub use sample::SampleKey;
pub use simd::with_wide_vectors;
pub use source::{NoiseSource, Provenance};
