//! Plain loops over rows: faster than blocked algorithms up to the sizes that [`matrix`](super) states.

use super::eigen::{Eigen, EigenError};
use crate::math::vector::wide_dot;
use reticent_noise::with_wide_vectors;

/// Sweeps that an eigenvalue may take; two or three are usual.
pub(super) const MAX_SWEEPS: usize = 60;

/// Strides of [`squares`] are multiples of this.
pub const TILE: usize = 4;

/// [`wide_cholesky`](super::wide_cholesky), with sums in lanes.
#[must_use]
pub fn cholesky(a: &[f64], size: usize, l: &mut [f64]) -> bool {
    let mut positive = true;
    with_wide_vectors(
        #[inline(always)]
        || {
            for i in 0..size {
                let (above, row) = l.split_at_mut(i * size);
                for j in 0..i {
                    let other = &above[j * size..][..=j];
                    row[j] = (a[i * size + j] - wide_dot(&row[..j], &other[..j])) * other[j];
                }
                let rest = a[i * size + i] - wide_dot(&row[..i], &row[..i]);
                positive &= rest > 0.0 && rest < f64::INFINITY;
                row[i] = 1.0 / rest.sqrt();
            }
        },
    );
    positive
}

/// The product of two square matrices.
#[must_use]
pub fn multiply(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    with_wide_vectors(
        #[inline(always)]
        || {
            for (row, a) in out.chunks_exact_mut(size).zip(a.chunks_exact(size)) {
                a.iter().zip(b.chunks_exact(size)).for_each(|(a, b)| add_times(row, *a, b));
            }
        },
    );
    out
}

/// Adds a multiple of a vector to another.
#[inline(always)]
fn add_times(to: &mut [f64], by: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += by * x);
}

/// [`squares`](super::squares), a tile of the sum at a time, which stays in registers.
pub fn squares(rows: &[f64], stride: usize, out: &mut [f64]) {
    with_wide_vectors(
        #[inline(always)]
        || {
            for i in (0..stride).step_by(TILE) {
                let mut j = i;
                while j + 2 * TILE <= stride {
                    tile::<{ 2 * TILE }>(rows, stride, (i, j), out);
                    j += 2 * TILE;
                }
                if j < stride {
                    tile::<TILE>(rows, stride, (i, j), out);
                }
            }
        },
    );
}

/// The tile of so many columns at this place.
#[inline(always)]
fn tile<const COLUMNS: usize>(rows: &[f64], stride: usize, (i, j): (usize, usize), out: &mut [f64]) {
    let mut sums = [[0.0; COLUMNS]; TILE];
    for row in rows.chunks_exact(stride) {
        let (Some(a), Some(b)) = (row[i..].first_chunk::<TILE>(), row[j..].first_chunk::<COLUMNS>()) else {
            return;
        };
        for (sums, a) in sums.iter_mut().zip(a) {
            sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
    for (k, sums) in sums.iter().enumerate() {
        out[(i + k) * stride + j..][..COLUMNS].copy_from_slice(sums);
    }
}

/// $\sum_k w_k r_k r_k^T$ for rows $r_k$ of this length.
#[must_use]
pub fn weighted_squares(rows: &[f64], weights: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    for (vector, weight) in rows.chunks_exact(size).zip(weights) {
        for (row, a) in out.chunks_exact_mut(size).zip(vector) {
            row.iter_mut().zip(vector).for_each(|(out, b)| *out += weight * a * b);
        }
    }
    out
}

/// [`symmetric_inverse`](super::symmetric_inverse), by a factor and its inverse.
#[must_use]
pub fn symmetric_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    let (mut l, mut out) = (vec![0.0; size * size], vec![0.0; size * size]);
    if !cholesky(a, size, &mut l) {
        return None;
    }
    with_wide_vectors(
        #[inline(always)]
        || inverse(&mut l, size, &mut out),
    );
    Some(out)
}

/// $(LL^T)^{-1}$ by whole rows, from the factor, which is overwritten.
#[inline(always)]
fn inverse(l: &mut [f64], size: usize, out: &mut [f64]) {
    let mut sum = vec![0.0; size];
    for i in 0..size {
        let (above, row) = l.split_at_mut(i * size);
        let by = row[i];
        sum[..i].fill(0.0);
        for (k, (x, above)) in row[..i].iter().zip(above.chunks_exact(size)).enumerate() {
            add_times(&mut sum[..=k], *x, above);
        }
        row[..i].iter_mut().zip(&sum).for_each(|(x, sum)| *x = -by * sum);
    }
    for row in l.chunks_exact(size).enumerate().map(|(k, row)| &row[..=k]) {
        for (i, (x, out)) in row.iter().zip(out.chunks_exact_mut(size)).enumerate() {
            add_times(&mut out[..=i], *x, row);
        }
    }
    for i in 0..size {
        (0..i).for_each(|j| out[j * size + i] = out[i * size + j]);
    }
}

/// [`general_inverse`](super::general_inverse), by elimination with row pivots.
#[must_use]
pub fn general_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut a = a.to_vec();
    let mut out = identity(size);
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&i, &j| a[i * size + column].abs().total_cmp(&a[j * size + column].abs()))?;
        let by = a[pivot * size + column].recip();
        if !by.is_finite() {
            return None;
        }
        for k in 0..size {
            a.swap(pivot * size + k, column * size + k);
            out.swap(pivot * size + k, column * size + k);
            a[column * size + k] *= by;
            out[column * size + k] *= by;
        }
        for row in (0..size).filter(|&row| row != column) {
            let by = a[row * size + column];
            for k in 0..size {
                a[row * size + k] -= by * a[column * size + k];
                out[row * size + k] -= by * out[column * size + k];
            }
        }
    }
    Some(out)
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|i| f64::from(u8::from(i / size == i % size))).collect()
}

/// [`eigen`](super::eigen()) of a finite matrix whose largest element is about 1, by Householder reflections to a tridiagonal matrix and rotations with
/// implicit shifts. Eigenvalues are in no order.
///
/// # Errors
/// [`EigenError::NoConvergence`].
///
/// # Citation
/// Golub and Van Loan, "Matrix computations", sections 8.3.1 and 8.3.3.
pub fn eigen(matrix: &[f64], size: usize) -> Result<Eigen, EigenError> {
    eigen_within(matrix, size, MAX_SWEEPS)
}

/// The same with a maximum of sweeps for an eigenvalue.
pub(super) fn eigen_within(matrix: &[f64], size: usize, sweeps: usize) -> Result<Eigen, EigenError> {
    let mut a = matrix[..size * size].to_vec();
    let mut vectors = identity(size);
    let (mut values, mut off_diagonal) = (vec![0.0; size], vec![0.0; size]);
    let mut converged = false;
    with_wide_vectors(
        #[inline(always)]
        || {
            tridiagonalise(&mut a, size, &mut off_diagonal, &mut vectors);
            (0..size).for_each(|k| values[k] = a[k * (size + 1)]);
            converged = rotate_to_diagonal(&mut values, &mut off_diagonal, &mut vectors, sweeps);
        },
    );
    if converged { Ok(Eigen { values, vectors }) } else { Err(EigenError::NoConvergence { size }) }
}

/// Turns `a` into a tridiagonal matrix, and the rows of `vectors` with it: $HAH$ and $HV$ for a reflection $H = I - bvv^T$ that clears each
/// column below the off-diagonal.
#[inline(always)]
fn tridiagonalise(a: &mut [f64], size: usize, off_diagonal: &mut [f64], vectors: &mut [f64]) {
    let (mut v, mut p) = (vec![0.0; size], vec![0.0; size]);
    for k in 0..size.saturating_sub(1) {
        let below = k + 1..size;
        below.clone().for_each(|i| v[i] = a[i * size + k]);
        let length = wide_dot(&v[below.clone()], &v[below.clone()]).sqrt();
        // The sign that does not cancel.
        off_diagonal[k] = if v[k + 1] > 0.0 { -length } else { length };
        v[k + 1] -= off_diagonal[k];
        let square = wide_dot(&v[below.clone()], &v[below.clone()]);
        // A column that is clear already has v = 0, or one that is too short to square.
        if k + 2 >= size || square < 1e-300 {
            off_diagonal[k] = a[(k + 1) * size + k];
            continue;
        }
        let b = 2.0 / square;
        let v = &v[below.clone()];
        let p = &mut p[below.clone()];
        let row = |i: usize| i * size + k + 1..(i + 1) * size;
        p.iter_mut().zip(below.clone()).for_each(|(p, i)| *p = b * wide_dot(&a[row(i)], v));
        let along = 0.5 * b * wide_dot(v, p);
        p.iter_mut().zip(v).for_each(|(p, v)| *p -= along * v);
        for (i, (vi, pi)) in below.clone().zip(v.iter().zip(&*p)) {
            let others = v.iter().zip(&*p);
            a[row(i)].iter_mut().zip(others).for_each(|(a, (vj, pj))| *a -= vi * pj + pi * vj);
        }
        let mut sum = vec![0.0; size];
        for (vi, row) in v.iter().zip(vectors[(k + 1) * size..].chunks_exact(size)) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += b * vi * x);
        }
        for (vi, row) in v.iter().zip(vectors[(k + 1) * size..].chunks_exact_mut(size)) {
            row.iter_mut().zip(&sum).for_each(|(x, sum)| *x -= vi * sum);
        }
    }
}

/// Turns a tridiagonal matrix into a diagonal one, and the rows of `vectors` with it; whether every off-diagonal element became negligible.
#[inline(always)]
fn rotate_to_diagonal(
    values: &mut [f64],
    off_diagonal: &mut [f64],
    vectors: &mut [f64],
    max_sweeps: usize,
) -> bool {
    let size = values.len();
    for first in 0..size {
        let mut sweeps = 0;
        loop {
            let clear = |k: &usize| {
                off_diagonal[*k].abs() <= f64::EPSILON * (values[*k].abs() + values[*k + 1].abs())
            };
            let last = (first..size - 1).find(clear).unwrap_or(size - 1);
            if last == first {
                break;
            }
            if sweeps == max_sweeps {
                return false;
            }
            sweeps += 1;
            sweep(values, off_diagonal, vectors, first, last);
        }
    }
    true
}

/// One sweep of rotations over the rows between two negligible off-diagonal elements.
#[inline(always)]
fn sweep(values: &mut [f64], off_diagonal: &mut [f64], vectors: &mut [f64], first: usize, last: usize) {
    let size = values.len();
    // The eigenvalue of the first two that is nearer to the first.
    let half = (values[first + 1] - values[first]) / (2.0 * off_diagonal[first]);
    let shift = off_diagonal[first] / (half + half.hypot(1.0).copysign(half));
    let mut g = values[last] - values[first] + shift;
    let (mut sine, mut cosine, mut taken, mut whole) = (1.0, 1.0, 0.0, true);
    for i in (first..last).rev() {
        let (f, b) = (sine * off_diagonal[i], cosine * off_diagonal[i]);
        let r = f.hypot(g);
        off_diagonal[i + 1] = r;
        if r == 0.0 {
            values[i + 1] -= taken;
            whole = false;
            break;
        }
        (sine, cosine) = (f / r, g / r);
        g = values[i + 1] - taken;
        let turn = (values[i] - g) * sine + 2.0 * cosine * b;
        taken = sine * turn;
        values[i + 1] = g + taken;
        g = cosine * turn - b;
        let (above, below) = vectors.split_at_mut((i + 1) * size);
        let rows = above[i * size..].iter_mut().zip(&mut below[..size]);
        rows.for_each(|(x, y)| (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y));
    }
    if whole {
        values[first] -= taken;
        off_diagonal[first] = g;
    }
    off_diagonal[last] = 0.0;
}
