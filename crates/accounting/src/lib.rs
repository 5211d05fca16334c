//! Privacy accounting: the cost of a sequence of differentially private releases.
//!
//! - An [`Event`] describes the releases: a [`Mechanism`] on records chosen by a [`Sampling`] scheme, composed and repeated.
//! - An [`Adjacency`] defines which data sets are neighbours.
//! - An accountant, selected by a [`Method`], turns both into a [`Cost`]: the $\varepsilon$ at a $\delta$, as a
//!   [`Bracket`](pld::Bracket) whose upper end is the guarantee.
//! - [`calibrate`] inverts this: it finds the noise, or the number of steps, that meets a target.
//! - [`filter`] decides whether one more run fits a cap, when runs are chosen after the results of others.
//!
//! The sampler selects the accounting. A pairing without a sound bound is an [`Error`] that names an accountant that has
//! one; nothing is assumed silently. **The noise multiplier is always the noise's standard deviation over the
//! sensitivity under the stated adjacency** (see [`Adjacency`]).
//!
//! ```
//! use reticent_accounting::{Adjacency, Event, Method, Sampling, account, calibrate};
//!
//! // 40 passes of one-record steps over 10,740 records, drawn afresh each step.
//! let run = |sigma| Event::gaussian(sigma, Sampling::Fixed { batch: 1, records: 10_740 }).repeat(40 * 10_740);
//! let sigma = calibrate::noise_multiplier(run, Adjacency::ReplaceOne, 1.0, 1e-5, Method::Auto).unwrap();
//! assert!((sigma - 0.646).abs() < 0.005);
//!
//! let cost = account(&run(sigma), Adjacency::ReplaceOne, 1e-5, Method::Auto).unwrap();
//! assert!(cost.epsilon.upper <= 1.0);
//! assert_eq!(cost.method, Method::Pld);
//! ```
//!
//! | scheme | adjacency | accountants |
//! |---|---|---|
//! | none, pass | both (pass: replace-one) | exact Gaussian, [`pld`], [`rdp`], [`zcdp`], [`composition`] |
//! | Poisson | add/remove | [`pld`] (both directions), [`rdp`] (Gaussian) |
//! | Poisson | replace-one | [`pld`] (Gaussian) |
//! | fixed size | replace-one | [`pld`], [`rdp`] by Theorem 9 and, for the Gaussian, Theorem 27 |

mod account;
pub mod calibrate;
pub mod composition;
mod error;
mod event;
pub mod filter;
pub mod gaussian;
mod normal;
pub mod pld;
mod quadrature;
pub mod rdp;
mod root;
pub mod zcdp;

pub use account::{Cost, Method, account, account_delta, compare, rounded_up};
pub use error::Error;
pub use event::{Adjacency, Event, Mechanism, Release, Sampling};
