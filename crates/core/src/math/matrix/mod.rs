//! Dense matrices, row by row.
//!
//! Models have a handful of dimensions or hundreds. Matrices of a few rows go through `kernels` that the compiler inlines, small ones through plain
//! `loops`, and large ones through the `blocked` algorithms of a linear-algebra library, each from the size at which it is faster (`cargo bench
//! --bench matrix` measures both). Everything runs on one thread, and a result depends on the machine's vector instructions but not on the number of
//! threads.

pub mod blocked;
mod eigen;
mod kernels;
pub mod loops;

pub use eigen::{BLOCKED_EIGEN, Eigen, EigenError, eigen, gershgorin_bound, raise_eigenvalues};
pub use kernels::{cholesky, inverse, log_determinant, solve, solve_lower, times, times_factor};

/// Size from which [`blocked::multiply`] is used.
pub const BLOCKED_PRODUCT: usize = 16;
/// Size from which [`blocked::squares`] is used.
pub const BLOCKED_SQUARES: usize = 32;
/// Size from which [`blocked::cholesky`] is used.
pub const BLOCKED_CHOLESKY: usize = 128;
/// Size from which [`blocked::symmetric_inverse`] is used.
pub const BLOCKED_SYMMETRIC_INVERSE: usize = 256;
/// Size from which [`blocked::general_inverse`] is used.
pub const BLOCKED_GENERAL_INVERSE: usize = 32;

/// [`cholesky`] for large matrices.
#[must_use]
pub fn wide_cholesky(a: &[f64], size: usize, l: &mut [f64]) -> bool {
    if size < BLOCKED_CHOLESKY { loops::cholesky(a, size, l) } else { blocked::cholesky(a, size, l) }
}

/// The product of two square matrices.
#[must_use]
pub fn multiply(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    if size < BLOCKED_PRODUCT { loops::multiply(a, b, size) } else { blocked::multiply(a, b, size) }
}

/// $\sum_k w_k r_k r_k^T$ for rows $r_k$ of this length.
#[must_use]
pub fn weighted_squares(rows: &[f64], weights: &[f64], size: usize) -> Vec<f64> {
    if size < BLOCKED_PRODUCT {
        loops::weighted_squares(rows, weights, size)
    } else {
        blocked::weighted_squares(rows, weights, size)
    }
}

/// $\sum_k r_k r_k^T$ for rows $r_k$ of this length, which is a [stride](squares_stride): the upper triangle of a matrix in row order. The rest is
/// undefined.
pub fn squares(rows: &[f64], stride: usize, out: &mut Vec<f64>) {
    out.resize(stride * stride, 0.0);
    if stride < BLOCKED_SQUARES {
        loops::squares(rows, stride, out);
    } else {
        blocked::squares(rows, stride, out);
    }
}

/// The length of rows of so many numbers that [`squares`] reads, with zeros after them.
#[must_use]
pub fn squares_stride(size: usize) -> usize {
    if size < BLOCKED_SQUARES { size.next_multiple_of(loops::TILE) } else { size }
}

/// The transpose of a square matrix.
#[must_use]
pub fn transpose(a: &[f64], size: usize) -> Vec<f64> {
    (0..size * size).map(|k| a[k % size * size + k / size]).collect()
}

/// $AXA^T$, made symmetric to the last bit.
#[must_use]
pub fn sandwich(a: &[f64], x: &[f64], size: usize) -> Vec<f64> {
    let product = multiply(&multiply(a, x, size), &transpose(a, size), size);
    (0..size * size).map(|k| 0.5 * (product[k] + product[k % size * size + k / size])).collect()
}

/// The inverse of a symmetric positive definite matrix, symmetric to the last bit; `None` if it is not positive definite.
#[must_use]
pub fn symmetric_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    if size < BLOCKED_SYMMETRIC_INVERSE {
        loops::symmetric_inverse(a, size)
    } else {
        blocked::symmetric_inverse(a, size)
    }
}

/// The inverse of any square matrix, by elimination with row pivots; `None` if it is singular or not finite.
#[must_use]
pub fn general_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    if !a.iter().all(|x| x.is_finite()) {
        return None;
    }
    if size < BLOCKED_GENERAL_INVERSE {
        loops::general_inverse(a, size)
    } else {
        blocked::general_inverse(a, size)
    }
}

/// The running covariance of vectors.
#[derive(Debug, Clone)]
pub struct RunningCovariance {
    count: f64,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl RunningCovariance {
    /// Of vectors of this size, none yet.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { count: 0.0, sum: vec![0.0; size], squares: vec![0.0; size * size] }
    }

    /// Adds one vector.
    pub fn push(&mut self, x: &[f64]) {
        self.count += 1.0;
        self.sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        for (row, a) in self.squares.chunks_exact_mut(x.len()).zip(x) {
            row.iter_mut().zip(x).for_each(|(square, b)| *square += a * b);
        }
    }

    /// The covariance of all vectors so far, which is not finite if there are none.
    #[must_use]
    pub fn covariance(&self) -> Vec<f64> {
        let size = self.sum.len();
        let mean = |k: usize| self.sum[k] / self.count;
        (0..size * size).map(|k| self.squares[k] / self.count - mean(k / size) * mean(k % size)).collect()
    }
}

#[cfg(test)]
mod tests;
