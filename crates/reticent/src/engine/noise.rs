use std::ops::Range;

/// The covariance of the privacy noise that has accumulated in natural parameters: exact, since everything done to
/// released sums is linear.
///
/// It is block diagonal. All blocks share a factor, so that damping costs one multiplication.
#[derive(Debug, Clone)]
pub struct Noise {
    factor: f64,
    blocks: Vec<Range<usize>>,
    matrices: Vec<Vec<f64>>,
}

impl Noise {
    /// No noise yet, in these groups of coordinates.
    #[must_use]
    pub fn none(blocks: Vec<Range<usize>>) -> Self {
        let matrices = blocks.iter().map(|block| vec![0.0; block.len() * block.len()]).collect();
        Self { factor: 1.0, blocks, matrices }
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
            self.matrices.iter_mut().flatten().for_each(|x| *x *= factor);
            self.factor = 1.0;
        }
    }

    /// Adds independent noise of these standard deviations, times `by`.
    pub fn add(&mut self, sd: &[f64], by: f64) {
        let by = by * by / self.factor;
        for (block, matrix) in self.blocks.iter().zip(&mut self.matrices) {
            let size = block.len();
            for (i, sd) in sd[block.clone()].iter().enumerate() {
                matrix[i * (size + 1)] += by * sd * sd;
            }
        }
    }

    /// Adds independent noise of these standard deviations after a linear map that mixes no blocks, times `by`.
    pub fn add_mapped(&mut self, sd: &[f64], by: f64, mut map: impl FnMut(&mut [f64])) {
        let by = by * by / self.factor;
        let widest = self.blocks.iter().map(Range::len).max().unwrap_or(0);
        let mut image = vec![0.0; sd.len()];
        for i in 0..widest {
            // The i-th coordinate of every block at once.
            image.fill(0.0);
            for block in self.blocks.iter().filter(|block| i < block.len()) {
                image[block.start + i] = sd[block.start + i];
            }
            map(&mut image);
            for (block, matrix) in
                self.blocks.iter().zip(&mut self.matrices).filter(|(block, _)| i < block.len())
            {
                let (size, image) = (block.len(), &image[block.clone()]);
                for row in 0..size {
                    for column in 0..size {
                        matrix[row * size + column] += by * image[row] * image[column];
                    }
                }
            }
        }
    }

    /// Adds another one times a factor, as covariances add.
    pub fn add_covariance(&mut self, other: &Self, by: f64) {
        let by = by * other.factor / self.factor;
        for (matrix, other) in self.matrices.iter_mut().zip(&other.matrices) {
            matrix.iter_mut().zip(other).for_each(|(x, y)| *x += by * y);
        }
    }

    /// The covariance of a linear map of the noise in one block: `map` replaces coordinates by their image, of the same
    /// length.
    #[must_use]
    pub fn image(&self, block: usize, mut map: impl FnMut(&mut [f64])) -> Vec<f64> {
        let size = self.blocks[block].len();
        let mut half = self.matrices[block].clone();
        for row in half.chunks_exact_mut(size) {
            map(row);
        }
        // Rows are mapped; now the columns.
        let mut out = vec![0.0; size * size];
        let mut column = vec![0.0; size];
        for j in 0..size {
            (0..size).for_each(|i| column[i] = half[i * size + j]);
            map(&mut column);
            (0..size).for_each(|i| out[i * size + j] = column[i] * self.factor);
        }
        out
    }

    /// The variance in each coordinate.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        let diagonal = |(block, matrix): (&Range<usize>, &Vec<f64>)| -> Vec<f64> {
            (0..block.len()).map(|i| matrix[i * (block.len() + 1)] * self.factor).collect()
        };
        self.blocks.iter().zip(&self.matrices).flat_map(diagonal).collect()
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
