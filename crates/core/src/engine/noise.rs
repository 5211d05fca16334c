use crate::family::Gaussian;
use crate::math::matrix;
use reticent_noise::with_wide_vectors;
use std::ops::Range;

/// A group of coordinates at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Index of the first coordinate.
    pub first: usize,
    /// Distance between consecutive coordinates.
    pub stride: usize,
    /// Number of coordinates.
    pub len: usize,
}

impl From<Range<usize>> for Block {
    fn from(range: Range<usize>) -> Self {
        Self { first: range.start, stride: 1, len: range.len() }
    }
}

impl Block {
    /// Indices of the coordinates.
    pub fn coordinates(self) -> impl Iterator<Item = usize> {
        (0..self.len).map(move |i| self.first + i * self.stride)
    }
}

/// The covariance of the privacy noise accumulated in natural parameters. It is exact, since released sums are only
/// mapped linearly.
///
/// It is block diagonal. All blocks share a factor, so that damping costs one multiplication. Variances are stored
/// separately, so that adding unmapped noise is plain vector code.
#[derive(Debug, Clone)]
pub struct Noise {
    factor: f64,
    blocks: Vec<Block>,
    variances: Vec<f64>,
    /// The elements below the diagonal, row by row and block after block.
    covariances: Vec<f64>,
    /// Index of the first element of each block in `covariances`.
    starts: Vec<usize>,
    /// The first $n$ blocks are the pairs $(k, n + k)$, so that their covariances are vectors too.
    pairs: usize,
}

impl Noise {
    /// No noise, in these groups of coordinates.
    #[must_use]
    pub fn none(blocks: Vec<Block>) -> Self {
        let below = |block: &Block| block.len * block.len.saturating_sub(1) / 2;
        let mut size = 0;
        let start = |block: &Block| {
            size += below(block);
            size - below(block)
        };
        let starts = blocks.iter().map(start).collect();
        let (covariances, variances) = (vec![0.0; size], vec![0.0; blocks.iter().map(|b| b.len).sum()]);
        let n = blocks.first().map_or(0, |block| block.stride);
        let paired = |(k, block): (usize, &Block)| *block == Block { first: k, stride: n, len: 2 };
        let pairs = if blocks.iter().enumerate().take(n).filter(|b| paired(*b)).count() == n { n } else { 0 };
        Self { factor: 1.0, blocks, variances, covariances, starts, pairs }
    }

    /// The same groups of coordinates without noise.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::none(self.blocks.clone())
    }

    /// Scales the noise as a random vector.
    pub fn scale(&mut self, by: f64) {
        self.factor *= by * by;
        // A factor of 0 could not be divided out when noise is added later.
        if self.factor < 1e-200 {
            let factor = self.factor;
            self.covariances.iter_mut().chain(&mut self.variances).for_each(|x| *x *= factor);
            self.factor = 1.0;
        }
    }

    /// Adds independent noise of these standard deviations, times `by`.
    pub fn add(&mut self, sd: &[f64], by: f64) {
        let by = by * by / self.factor;
        with_wide_vectors(
            #[inline(always)]
            || self.variances.iter_mut().zip(sd).for_each(|(x, sd)| *x += by * sd * sd),
        );
    }

    /// Adds independent noise of these standard deviations, times `by`, after a linear map that does not mix blocks.
    pub fn add_mapped(&mut self, sd: &[f64], by: f64, mut map: impl FnMut(&mut [f64])) {
        // Runs without privacy have no noise, and mapping each coordinate would be cubic.
        if sd.iter().all(|sd| *sd == 0.0) {
            return;
        }
        let by = by * by / self.factor;
        let widest = self.blocks.iter().map(|block| block.len).max().unwrap_or(0);
        let mut image = vec![0.0; sd.len()];
        for i in 0..widest {
            // The i-th coordinate of every block at once.
            image.fill(0.0);
            if i < 2 {
                let part = i * self.pairs..(i + 1) * self.pairs;
                image[part.clone()].copy_from_slice(&sd[part]);
            }
            for block in &self.blocks[self.pairs..] {
                block.coordinates().skip(i).take(1).for_each(|k| image[k] = sd[k]);
            }
            map(&mut image);
            self.add_square(&image, by);
        }
    }

    /// Adds independent noise of these standard deviations, times `by`, after the map $x_k + s_k x_{n+k}$ of the
    /// first $n$ coordinates, which are paired with the next $n$.
    ///
    /// # Panics
    /// If the coordinates are not paired in this way.
    pub fn add_sheared(&mut self, sd: &[f64], by: f64, shear: &[f64]) {
        assert_eq!(shear.len(), self.pairs, "one shear for each pair");
        let (n, by) = (self.pairs, by * by / self.factor);
        let (xx, rest) = self.variances.split_at_mut(n);
        let (yy, others) = rest.split_at_mut(n);
        with_wide_vectors(
            #[inline(always)]
            || {
                let all = self.covariances[..n].iter_mut().zip(xx.iter_mut().zip(yy));
                for (((xy, (xx, yy)), s), (x, y)) in all.zip(shear).zip(sd.iter().zip(&sd[n..])) {
                    let square = by * y * y;
                    *xx += by * x * x + s * s * square;
                    *xy += s * square;
                    *yy += square;
                }
            },
        );
        others.iter_mut().zip(&sd[2 * n..]).for_each(|(x, sd)| *x += by * sd * sd);
    }

    /// Adds $x x^T$ in each block.
    fn add_square(&mut self, x: &[f64], by: f64) {
        let n = self.pairs;
        let (variances, covariances) = (self.variances.split_at_mut(n), &mut self.covariances[..n]);
        with_wide_vectors(
            #[inline(always)]
            || {
                let all = covariances.iter_mut().zip(variances.0.iter_mut().zip(variances.1));
                for ((xy, (xx, yy)), (x, y)) in all.zip(x.iter().zip(&x[n..])) {
                    *xx += by * x * x;
                    *xy += by * x * y;
                    *yy += by * y * y;
                }
            },
        );
        for (block, first) in self.blocks.iter().zip(&self.starts).skip(n) {
            let mut below = self.covariances[*first..].iter_mut();
            for (i, k) in block.coordinates().enumerate() {
                self.variances[k] += by * x[k] * x[k];
                block.coordinates().take(i).zip(&mut below).for_each(|(l, xy)| *xy += by * x[k] * x[l]);
            }
        }
    }

    /// Adds another covariance times a factor.
    pub fn add_covariance(&mut self, other: &Self, by: f64) {
        let by = by * other.factor / self.factor;
        self.covariances.iter_mut().zip(&other.covariances).for_each(|(x, y)| *x += by * y);
        self.variances.iter_mut().zip(&other.variances).for_each(|(x, y)| *x += by * y);
    }

    /// The covariance in a block.
    fn block(&self, block: usize) -> Vec<f64> {
        let (mut below, block) = (self.covariances[self.starts[block]..].iter(), self.blocks[block]);
        let mut matrix = vec![0.0; block.len * block.len];
        for (i, k) in block.coordinates().enumerate() {
            matrix[i * block.len + i] = self.variances[k] * self.factor;
            for (j, xy) in (0..i).zip(&mut below) {
                matrix[i * block.len + j] = xy * self.factor;
                matrix[j * block.len + i] = xy * self.factor;
            }
        }
        matrix
    }

    /// The covariance of a linear map of the noise in one block: `map` replaces coordinates by their image, of the same
    /// length.
    #[must_use]
    pub fn image(&self, block: usize, mut map: impl FnMut(&mut [f64])) -> Vec<f64> {
        let size = self.blocks[block].len;
        let mut half = self.block(block);
        for row in half.chunks_exact_mut(size) {
            map(row);
        }
        // Rows are mapped; now the columns.
        let mut out = vec![0.0; size * size];
        let mut column = vec![0.0; size];
        for j in 0..size {
            (0..size).for_each(|i| column[i] = half[i * size + j]);
            map(&mut column);
            (0..size).for_each(|i| out[i * size + j] = column[i]);
        }
        out
    }

    /// The covariance $\Sigma$ of the noise in $\lambda - Pm$, for a Gaussian whose natural parameters are this block and a vector $m$.
    #[must_use]
    pub fn in_gradient(&self, block: usize, family: Gaussian, m: &[f64]) -> Vec<f64> {
        let (d, size) = (family.dimension, family.width());
        let image = self.image(block, |noise| family.shift(m, noise, -1.0));
        (0..d * d).map(|ij| image[ij / d * size + ij % d]).collect()
    }

    /// The covariance of the noise in the mean of such a Gaussian, to first order: $V\Sigma V$, with $\Sigma$ at the
    /// mean.
    #[must_use]
    pub fn in_mean(&self, block: usize, family: Gaussian, mean: &[f64], covariance: &[f64]) -> Vec<f64> {
        matrix::sandwich(covariance, &self.in_gradient(block, family, mean), family.dimension)
    }

    /// The variance in each coordinate.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        self.variances.iter().map(|x| x * self.factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the covariance written out by hand: $z \leftarrow \frac12 z + M e$ twice, with $M = ((1, 2), (0, 1))$.
    #[test]
    fn recursion_and_maps_are_exact() {
        let shear = |x: &mut [f64]| x[0] += 2.0 * x[1];
        let mut noise = Noise::none(vec![Block::from(0..2), Block::from(2..3)]);
        for _ in 0..2 {
            noise.scale(0.5);
            noise.add_mapped(&[1.0, 3.0, 2.0], 0.7, |x| shear(&mut x[..2]));
        }
        // M diag(1, 9) M' = ((37, 18), (18, 9)), times 0.49 (1 + 1/4).
        let by = 0.49 * 1.25;
        let block = noise.image(0, |_| ());
        for (found, expected) in block.iter().zip([37.0, 18.0, 18.0, 9.0]) {
            assert!((found - by * expected).abs() < 1e-12, "{block:?}");
        }
        // Undoing the shear recovers the original noise.
        let undone = noise.image(0, |x| x[0] -= 2.0 * x[1]);
        assert!(
            (undone[0] - by).abs() < 1e-12 && undone[1].abs() < 1e-12 && (undone[3] - 9.0 * by).abs() < 1e-12
        );
        assert!((noise.variances()[2] - 4.0 * by).abs() < 1e-12);
    }

    /// The same noise in the same blocks, with adjacent and with separated coordinates, and with a block that is not
    /// a pair.
    #[test]
    fn the_order_of_coordinates_does_not_matter() {
        let mut near = Noise::none([0..2, 2..4, 4..6, 6..9].map(Block::from).to_vec());
        let apart = |first| Block { first, stride: 3, len: 2 };
        let mut far = Noise::none(vec![apart(0), apart(1), apart(2), Block::from(6..9)]);
        let place = [0, 3, 1, 4, 2, 5, 6, 7, 8];
        let sd = |k: usize| 1.0 + k as f64;
        for by in [0.7, 0.3] {
            near.scale(0.5);
            far.scale(0.5);
            near.add_mapped(&std::array::from_fn::<_, 9, _>(sd), by, |x| {
                (0..3).for_each(|k| x[2 * k] += (k as f64 - 0.5) * x[2 * k + 1]);
                x[6] += 2.0 * x[7] - x[8];
            });
            let mut moved = [0.0; 9];
            (0..9).for_each(|k| moved[place[k]] = sd(k));
            far.add_mapped(&moved, by, |x| {
                (0..3).for_each(|k| x[k] += (k as f64 - 0.5) * x[3 + k]);
                x[6] += 2.0 * x[7] - x[8];
            });
        }
        assert!(near.image(1, |_| ())[1] != 0.0);
        for block in 0..4 {
            assert_eq!(near.image(block, |_| ()), far.image(block, |_| ()));
        }
        let (near, far) = (near.variances(), far.variances());
        assert!((0..9).all(|k| near[k] == far[place[k]]));
    }

    #[test]
    fn shears_are_maps() {
        let pair = |first| Block { first, stride: 2, len: 2 };
        let [mut found, mut expected] =
            [(); 2].map(|()| Noise::none(vec![pair(0), pair(1), Block::from(4..6)]));
        for (by, s) in [(0.7, [2.0, -1.0]), (0.5, [0.1, 3.0])] {
            let sd = [1.0, 3.0, 2.0, 0.5, 4.0, 5.0];
            found.scale(0.9);
            expected.scale(0.9);
            found.add_sheared(&sd, by, &s);
            expected.add_mapped(&sd, by, |x| (0..2).for_each(|k| x[k] += s[k] * x[2 + k]));
        }
        for block in 0..3 {
            let (found, expected) = (found.image(block, |_| ()), expected.image(block, |_| ()));
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14 * (1.0 + b.abs())));
        }
        assert!(found.image(1, |_| ())[1] != 0.0);
    }

    #[test]
    fn a_factor_of_zero_can_be_added_to() {
        let mut noise = Noise::none(vec![Block::from(0..1)]);
        noise.add(&[5.0], 1.0);
        noise.scale(0.0);
        noise.add(&[2.0], 1.0);
        assert_eq!(noise.variances(), [4.0]);
        for _ in 0..10_000 {
            noise.scale(0.5);
            noise.add(&[1.0], 0.5);
        }
        assert!((noise.variances()[0] - 0.25 / 0.75).abs() < 1e-12);
    }
}
