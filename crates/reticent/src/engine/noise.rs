use crate::family::Gaussian;
use crate::matrix;
use reticent_noise::with_wide_vectors;
use std::ops::Range;

/// The covariance of the privacy noise that has accumulated in natural parameters: exact, since everything done to
/// released sums is linear.
///
/// It is block diagonal. All blocks share a factor, so that damping costs one multiplication; and noise that was not mapped is kept
/// apart as a diagonal, so that adding it is plain vector code.
#[derive(Debug, Clone)]
pub struct Noise {
    factor: f64,
    blocks: Vec<Range<usize>>,
    diagonal: Vec<f64>,
    /// The rest, row by row and block after block.
    matrices: Vec<f64>,
    /// Where each block starts in them.
    starts: Vec<usize>,
    /// Whether all blocks are pairs.
    pairs: bool,
}

impl Noise {
    /// No noise yet, in these groups of coordinates.
    #[must_use]
    pub fn none(blocks: Vec<Range<usize>>) -> Self {
        let diagonal = vec![0.0; blocks.iter().map(Range::len).sum()];
        let mut size = 0;
        let start = |block: &Range<usize>| {
            size += block.len() * block.len();
            size - block.len() * block.len()
        };
        let starts = blocks.iter().map(start).collect();
        let matrices = vec![0.0; size];
        let pairs = blocks.iter().all(|block| block.len() == 2);
        Self { factor: 1.0, blocks, diagonal, matrices, starts, pairs }
    }

    /// The same groups of coordinates without noise.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::none(self.blocks.clone())
    }

    /// The noise of a multiple.
    pub fn scale(&mut self, by: f64) {
        self.factor *= by * by;
        // A factor of nothing could not be undone by what is added later.
        if self.factor < 1e-200 {
            let factor = self.factor;
            self.matrices.iter_mut().chain(&mut self.diagonal).for_each(|x| *x *= factor);
            self.factor = 1.0;
        }
    }

    /// Adds independent noise of these standard deviations, times `by`.
    pub fn add(&mut self, sd: &[f64], by: f64) {
        let by = by * by / self.factor;
        with_wide_vectors(
            #[inline(always)]
            || self.diagonal.iter_mut().zip(sd).for_each(|(x, sd)| *x += by * sd * sd),
        );
    }

    /// Adds independent noise of these standard deviations after a linear map that mixes no blocks, times `by`.
    pub fn add_mapped(&mut self, sd: &[f64], by: f64, mut map: impl FnMut(&mut [f64])) {
        let by = by * by / self.factor;
        let widest = if self.pairs { 2 } else { self.blocks.iter().map(Range::len).max().unwrap_or(0) };
        let mut image = vec![0.0; sd.len()];
        for i in 0..widest {
            // The i-th coordinate of every block at once.
            if self.pairs {
                for (image, sd) in image.as_chunks_mut::<2>().0.iter_mut().zip(sd.as_chunks::<2>().0) {
                    *image = if i == 0 { [sd[0], 0.0] } else { [0.0, sd[1]] };
                }
            } else {
                image.fill(0.0);
                for block in self.blocks.iter().filter(|block| i < block.len()) {
                    image[block.start + i] = sd[block.start + i];
                }
            }
            map(&mut image);
            if self.pairs {
                self.add_squares_of_pairs(&image, by);
                continue;
            }
            for (block, first) in self.blocks.iter().zip(&self.starts) {
                let (size, image) = (block.len(), &image[block.clone()]);
                let matrix = &mut self.matrices[*first..][..size * size];
                for row in 0..size {
                    for column in 0..size {
                        matrix[row * size + column] += by * image[row] * image[column];
                    }
                }
            }
        }
    }

    /// Adds $x x^T$ for each pair.
    fn add_squares_of_pairs(&mut self, image: &[f64], by: f64) {
        let matrices = self.matrices.as_chunks_mut::<4>().0.iter_mut();
        with_wide_vectors(
            #[inline(always)]
            || {
                for (matrix, &[x, y]) in matrices.zip(image.as_chunks::<2>().0) {
                    let (xx, xy, yy) = (by * x * x, by * x * y, by * y * y);
                    *matrix = [matrix[0] + xx, matrix[1] + xy, matrix[2] + xy, matrix[3] + yy];
                }
            },
        );
    }

    /// Adds another one times a factor, as covariances add.
    pub fn add_covariance(&mut self, other: &Self, by: f64) {
        let by = by * other.factor / self.factor;
        self.matrices.iter_mut().zip(&other.matrices).for_each(|(x, y)| *x += by * y);
        self.diagonal.iter_mut().zip(&other.diagonal).for_each(|(x, y)| *x += by * y);
    }

    /// The covariance in a block.
    fn block(&self, block: usize) -> Vec<f64> {
        let (range, first) = (self.blocks[block].clone(), self.starts[block]);
        let size = range.len();
        let mut matrix = self.matrices[first..first + size * size].to_vec();
        matrix.iter_mut().step_by(size + 1).zip(&self.diagonal[range]).for_each(|(x, d)| *x += d);
        matrix.iter_mut().for_each(|x| *x *= self.factor);
        matrix
    }

    /// The covariance of a linear map of the noise in one block: `map` replaces coordinates by their image, of the same
    /// length.
    #[must_use]
    pub fn image(&self, block: usize, mut map: impl FnMut(&mut [f64])) -> Vec<f64> {
        let size = self.blocks[block].len();
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

    /// The covariance of the noise in the mean of such a Gaussian, to first order: $V\Sigma V$, with $\Sigma$ at the mean.
    #[must_use]
    pub fn in_mean(&self, block: usize, family: Gaussian, mean: &[f64], covariance: &[f64]) -> Vec<f64> {
        matrix::sandwich(covariance, &self.in_gradient(block, family, mean), family.dimension)
    }

    /// The variance in each coordinate.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        let each = self.blocks.iter().zip(&self.starts).flat_map(|(block, first)| {
            block.clone().enumerate().map(move |(i, k)| (first + i * (block.len() + 1), k))
        });
        each.map(|(i, k)| (self.matrices[i] + self.diagonal[k]) * self.factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the covariance written out by hand: $z \leftarrow \frac12 z + M e$ twice, with $M = ((1, 2), (0, 1))$.
    #[test]
    fn recursion_and_maps_are_exact() {
        let shear = |x: &mut [f64]| x[0] += 2.0 * x[1];
        let mut noise = Noise::none(vec![0..2, 2..3]);
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
        // Undoing the shear leaves what was put in.
        let undone = noise.image(0, |x| x[0] -= 2.0 * x[1]);
        assert!(
            (undone[0] - by).abs() < 1e-12 && undone[1].abs() < 1e-12 && (undone[3] - 9.0 * by).abs() < 1e-12
        );
        assert!((noise.variances()[2] - 4.0 * by).abs() < 1e-12);
    }

    #[test]
    fn forgetting_everything_leaves_room_for_more() {
        let mut noise = Noise::none(std::iter::once(0..1).collect());
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
