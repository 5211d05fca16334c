//! Exponential families in flat natural parameters.
//!
//! A member of a family is a slice of natural parameters. Multiplying densities adds the slices, so a cavity, a site
//! and an average of sites are all made by plain arithmetic; only turning them into moments needs to know the family.
//! Symmetric matrices are in the isometric coordinates of [`symmetric`](crate::math::symmetric), so that the Euclidean norm of
//! a slice, and so clipping it, means the same for all of them.

mod beta;
mod dirichlet;
mod gamma;
mod gaussian;
mod truncated;

pub use beta::Beta;
pub(crate) use beta::bisect;
pub use dirichlet::Dirichlet;
pub use gamma::{Gamma, digamma};
pub use gaussian::{Covariance, Gaussian, Moments};
pub use truncated::TruncatedDirichlet;
