//! The domains that contributions are clipped to, and the sensitivity of each.

use super::outer;
use crate::math::symmetric;
use serde::{Deserialize, Serialize};

/// The domain that contributions are clipped to. The sensitivity follows from the domain; no caller states one.
///
/// # Privacy
/// One record moves the sum by at most the *norm bound* (the largest norm in the domain) under add/remove adjacency and
/// by at most the *diameter* (the largest distance in it) under replace-one:
///
/// | domain | norm | norm bound | diameter |
/// |---|---|---|---|
/// | `Ball` | $L_2$ | $C$ | $2C$, antipodes |
/// | `NonNegativeBall` | $L_2$ | $C$ | $\sqrt2 C$: $u \cdot v \ge 0$, so $\lVert u-v\rVert^2 \le 2C^2$; disjoint supports |
/// | `Box` | $L_2$ | farthest corner from 0 | diagonal |
/// | `L1Ball` | $L_1$ | $C$ | $2C$ |
/// | `Blocks` | $L_2$ of blocks over their scales | $C$ | $2C$, all blocks together |
/// | `Outer` | Frobenius, of $vv^T$ | $C^2$ | $\sqrt2 C^2$: $\langle vv^T, uu^T\rangle = (v \cdot u)^2 \ge 0$; orthogonal vectors |
///
/// Clipping itself happens on the integer lattice, where the same bounds hold exactly. Attacked by
/// `search_reaches_and_never_exceeds_the_sensitivity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Geometry {
    /// Vectors of Euclidean norm at most `radius`; longer ones are scaled down to it.
    Ball {
        /// Clipping norm $C$.
        radius: f64,
    },
    /// The same without negative coordinates, which are set to 0 first.
    NonNegativeBall {
        /// Clipping norm $C$.
        radius: f64,
    },
    /// Each coordinate between its own bounds.
    Box {
        /// Lower bound of each coordinate.
        lower: Vec<f64>,
        /// Upper bound of each coordinate.
        upper: Vec<f64>,
    },
    /// Vectors whose absolute values sum to at most `radius`. Released with Laplace noise; all others with Gaussian.
    L1Ball {
        /// Clipping norm $C$.
        radius: f64,
    },
    /// Blocks of different units, clipped once as one vector in a public metric: $\sum_b \lVert x_b\rVert^2/s_b^2 \le C^2$.
    Blocks {
        /// Clipping norm $C$.
        radius: f64,
        /// Consecutive blocks of coordinates, whose widths sum to that of the contribution.
        blocks: Vec<Block>,
    },
    /// Outer products $vv^T$ of vectors of Euclidean norm at most `radius`; longer vectors are scaled down to it. A query writes the $m$
    /// coordinates of $v$. The release has the $m(m+1)/2$ elements of the upper triangle of the sum, row by row, and the noise of an off-diagonal
    /// element has half the variance of that of a diagonal one.
    Outer {
        /// Clipping norm $C$ of $v$.
        radius: f64,
    },
}

/// Consecutive coordinates in the same unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Number of coordinates.
    pub width: usize,
    /// The scale $s_b$ that coordinates are divided by.
    pub scale: f64,
}

/// Which distance between contributions the sensitivity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// The largest norm of a contribution: add/remove adjacency.
    Norm,
    /// The largest distance between two contributions: replace-one adjacency.
    Diameter,
    /// For Poisson samples under replace-one adjacency: the record may also be absent, and the accountant's
    /// dominating pair has each of the two records within half the sensitivity of an empty contribution, whatever the
    /// domain.
    TwiceNorm,
}

impl Geometry {
    /// Sensitivity of a sum to one record.
    pub(super) fn distance(&self, distance: Distance) -> f64 {
        match (self, distance) {
            (Self::Box { lower, upper }, Distance::Diameter) => {
                norm(lower.iter().zip(upper).map(|(l, u)| u - l))
            }
            (Self::Box { lower, upper }, _) => {
                let norm_bound = norm(lower.iter().zip(upper).map(|(l, u)| l.abs().max(u.abs())));
                if distance == Distance::TwiceNorm { 2.0 * norm_bound } else { norm_bound }
            }
            _ => self.norm_bound() * self.radii_squared(distance).sqrt(),
        }
    }

    /// The squared sensitivity over the squared norm bound: an integer.
    pub(super) fn radii_squared(&self, distance: Distance) -> f64 {
        match (self, distance) {
            (_, Distance::Norm) => 1.0,
            (Self::NonNegativeBall { .. } | Self::Outer { .. }, Distance::Diameter) => 2.0,
            _ => 4.0,
        }
    }

    /// The largest norm of a contribution.
    #[must_use]
    pub fn largest_norm(&self) -> f64 {
        self.distance(Distance::Norm)
    }

    fn norm_bound(&self) -> f64 {
        match *self {
            Self::Ball { radius } | Self::NonNegativeBall { radius } | Self::L1Ball { radius } => radius,
            Self::Blocks { radius, .. } => radius,
            Self::Outer { radius } => radius * radius,
            Self::Box { .. } => f64::NAN,
        }
    }

    /// Why the domain is invalid for contributions of this width, if it is.
    pub(super) fn fault(&self, width: usize) -> Option<&'static str> {
        let sane = |x: f64| (1e-100..=1e100).contains(&x);
        match self {
            Self::Box { lower, upper } => {
                let ordered = lower.iter().zip(upper).all(|(l, u)| l <= u && l.abs().max(u.abs()) <= 1e100);
                let complete = lower.len() == width && upper.len() == width;
                (!(complete && ordered && sane(self.distance(Distance::Diameter)))).then_some(
                    "a box needs a lower and an upper bound for each coordinate, and a positive width",
                )
            }
            Self::Blocks { blocks, .. }
                if blocks.iter().map(|b| b.width).sum::<usize>() != width
                    || !blocks.iter().all(|b| b.width <= width && sane(b.scale)) =>
            {
                Some("blocks need positive scales, and widths that add up to that of the query")
            }
            Self::Outer { .. } if symmetric::width(outer::size(width)) != width => {
                Some("outer products of m coordinates need a width of m (m + 1) / 2")
            }
            _ => (!sane(self.norm_bound())).then_some("the largest norm must be between 1e-100 and 1e100"),
        }
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}
