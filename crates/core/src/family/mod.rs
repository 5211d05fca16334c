//! Exponential families in flat natural parameters.
//!
//! A member of a family is a slice of natural parameters. Multiplying densities adds the slices, so cavities, sites
//! and averages of sites are sums of slices; only moments depend on the family. Symmetric matrices are in the
//! isometric coordinates of [`symmetric`](crate::math::symmetric), so the Euclidean norm of a slice, and clipping it,
//! does not depend on the family.

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
