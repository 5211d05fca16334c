//! Where one record's contribution may lie, and so how far one record can move a sum.

use serde::{Deserialize, Serialize};

/// The domain that contributions are clipped to. It carries its sensitivity; no caller ever states one.
///
/// # Privacy
/// One record moves the sum by at most the *reach* (the largest norm in the domain) under add/remove adjacency and
/// by at most the *diameter* (the largest distance in it) under replace-one:
///
/// | domain | norm | reach | diameter |
/// |---|---|---|---|
/// | `Ball` | $L_2$ | $C$ | $2C$, antipodes |
/// | `NonNegativeBall` | $L_2$ | $C$ | $\sqrt2 C$: $u \cdot v \ge 0$, so $\lVert u-v\rVert^2 \le 2C^2$; disjoint supports |
/// | `Box` | $L_2$ | farthest corner from 0 | diagonal |
/// | `L1Ball` | $L_1$ | $C$ | $2C$ |
/// | `Blocks` | $L_2$ of blocks over their scales | $C$ | $2C$, all blocks together |
///
/// Clipping itself happens on the integer lattice, where the same bounds hold exactly. Attacked by
/// `search_reaches_and_never_exceeds_the_sensitivity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Geometry {
    /// Vectors of Euclidean norm at most `radius`; longer ones are shortened.
    Ball {
        /// $C$.
        radius: f64,
    },
    /// The same without negative coordinates, which are set to 0 first.
    NonNegativeBall {
        /// $C$.
        radius: f64,
    },
    /// Each coordinate between its own bounds.
    Box {
        /// Lower bounds.
        lower: Vec<f64>,
        /// Upper bounds.
        upper: Vec<f64>,
    },
    /// Vectors whose absolute values sum to at most `radius`. Released with Laplace noise; all others with Gaussian.
    L1Ball {
        /// $C$.
        radius: f64,
    },
    /// Blocks of different units, clipped once as one vector in a public metric: $\sum_b \lVert x_b\rVert^2/s_b^2 \le C^2$.
    Blocks {
        /// $C$.
        radius: f64,
        /// The blocks, in order.
        blocks: Vec<Block>,
    },
}

/// Neighbouring coordinates in the same unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// How many coordinates.
    pub width: usize,
    /// The length $s_b$ that counts as 1.
    pub scale: f64,
}

/// Which distance the noise is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    Reach,
    Diameter,
    /// For Poisson samples under replace-one adjacency: the record may also be absent, and the accountant's pair
    /// takes each of the two records to be within half its sensitivity of nothing, whatever the domain.
    TwiceReach,
}

impl Geometry {
    /// How far one record can move a sum.
    pub(super) fn distance(&self, distance: Distance) -> f64 {
        match (self, distance) {
            (Self::Box { lower, upper }, Distance::Diameter) => {
                norm(lower.iter().zip(upper).map(|(l, u)| u - l))
            }
            (Self::Box { lower, upper }, _) => {
                let reach = norm(lower.iter().zip(upper).map(|(l, u)| l.abs().max(u.abs())));
                if distance == Distance::TwiceReach { 2.0 * reach } else { reach }
            }
            _ => self.radius() * self.radii_squared(distance).sqrt(),
        }
    }

    /// The square of a distance, in radii: an integer.
    pub(super) fn radii_squared(&self, distance: Distance) -> f64 {
        match (self, distance) {
            (_, Distance::Reach) => 1.0,
            (Self::NonNegativeBall { .. }, Distance::Diameter) => 2.0,
            _ => 4.0,
        }
    }

    /// The largest norm of a contribution.
    #[must_use]
    pub fn largest_norm(&self) -> f64 {
        self.distance(Distance::Reach)
    }

    fn radius(&self) -> f64 {
        match *self {
            Self::Ball { radius } | Self::NonNegativeBall { radius } | Self::L1Ball { radius } => radius,
            Self::Blocks { radius, .. } => radius,
            Self::Box { .. } => f64::NAN,
        }
    }

    /// What is wrong with it for contributions of this width, if anything.
    pub(super) fn fault(&self, width: usize) -> Option<&'static str> {
        let sane = |x: f64| (1e-100..=1e100).contains(&x);
        match self {
            Self::Box { lower, upper } => {
                let ordered = lower.iter().zip(upper).all(|(l, u)| l <= u && l.abs().max(u.abs()) <= 1e100);
                let whole = lower.len() == width && upper.len() == width;
                (!(whole && ordered && sane(self.distance(Distance::Diameter)))).then_some(
                    "a box needs a lower and an upper bound for each coordinate, and a positive width",
                )
            }
            Self::Blocks { blocks, .. }
                if blocks.iter().map(|b| b.width).sum::<usize>() != width
                    || !blocks.iter().all(|b| b.width <= width && sane(b.scale)) =>
            {
                Some("blocks need positive scales, and widths that add up to that of the query")
            }
            _ => (!sane(self.radius())).then_some("the radius must be between 1e-100 and 1e100"),
        }
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}
