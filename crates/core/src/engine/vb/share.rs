use crate::wall::{Block, Geometry};

/// A block of statistics, and its share of the common noise.
///
/// One draw serves all blocks if block $b$, of norm at most $C_b$, is measured in units of $s_b$ and $\sum_b C_b^2/s_b^2 = 1$. Its noise then
/// has standard deviation $\propto s_b$ in each of its $d_b$ coordinates, and $\sum_b w_b d_b s_b^2$ is least for
///
/// $$s_b^2 = C_b \frac{\sum_j C_j\sqrt{w_j d_j}}{\sqrt{w_b d_b}}.$$
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Number of coordinates $d_b$.
    pub width: usize,
    /// Norm bound $C_b$ of the block of any record, inherent or by clipping.
    pub norm: f64,
    /// Cost $w_b$ of a unit of noise variance in one coordinate.
    pub weight: f64,
}

impl Share {
    /// The scales $s_b$: divided by them, a contribution has norm at most 1.
    #[must_use]
    pub fn scales(shares: &[Self]) -> Vec<f64> {
        let root = |share: &Self| (share.weight * share.width as f64).sqrt();
        let total: f64 = shares.iter().map(|share| share.norm * root(share)).sum();
        shares.iter().map(|share| (share.norm * total / root(share)).sqrt()).collect()
    }

    /// The domain that the blocks are clipped to jointly.
    #[must_use]
    pub fn geometry(shares: &[Self]) -> Geometry {
        let blocks =
            shares.iter().zip(Self::scales(shares)).map(|(share, scale)| Block { width: share.width, scale });
        Geometry::Blocks { radius: 1.0, blocks: blocks.collect() }
    }
}
