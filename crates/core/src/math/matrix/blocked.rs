//! Blocked algorithms of `faer`, on one thread: models run in parallel over records, and a result must not depend on the number of threads.
//!
//! This is the only file that uses `faer`. Matrices are row by row here and in column order there; symmetric ones are the same in both.

use super::eigen::{Eigen, EigenError};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::evd::{self, ComputeEigenvectors, SelfAdjointEvdParams};
use faer::linalg::lu::partial_pivoting as lu;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par, Spec};

/// The product of two square matrices.
#[must_use]
pub fn multiply(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    let [a, b] = [a, b].map(|x| MatRef::from_row_major_slice(x, size, size));
    matmul(MatMut::from_row_major_slice_mut(&mut out, size, size), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// $\sum_k w_k r_k r_k^T$ for rows $r_k$ of this length, symmetric to the last bit.
#[must_use]
pub fn weighted_squares(rows: &[f64], weights: &[f64], size: usize) -> Vec<f64> {
    let weighted: Vec<f64> =
        rows.chunks_exact(size).zip(weights).flat_map(|(row, w)| row.iter().map(move |x| w * x)).collect();
    let mut out = vec![0.0; size * size];
    triangular::matmul(
        MatMut::from_row_major_slice_mut(&mut out, size, size),
        BlockStructure::TriangularLower,
        Accum::Replace,
        MatRef::from_column_major_slice(&weighted, size, weights.len()),
        BlockStructure::Rectangular,
        MatRef::from_row_major_slice(rows, weights.len(), size),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    for i in 0..size {
        (0..i).for_each(|j| out[j * size + i] = out[i * size + j]);
    }
    out
}

/// [`squares`](super::squares).
pub fn squares(rows: &[f64], size: usize, out: &mut [f64]) {
    let count = rows.len() / size;
    // The lower triangle in column order is the upper one row by row.
    triangular::matmul(
        MatMut::from_column_major_slice_mut(out, size, size),
        BlockStructure::TriangularLower,
        Accum::Replace,
        MatRef::from_column_major_slice(rows, size, count),
        BlockStructure::Rectangular,
        MatRef::from_row_major_slice(rows, count, size),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// [`wide_cholesky`](super::wide_cholesky).
#[must_use]
pub fn cholesky(a: &[f64], size: usize, l: &mut [f64]) -> bool {
    for (i, (to, from)) in l.chunks_exact_mut(size).zip(a.chunks_exact(size)).enumerate() {
        to[..=i].copy_from_slice(&from[..=i]);
    }
    if !factor(MatMut::from_row_major_slice_mut(&mut l[..size * size], size, size)) {
        return false;
    }
    let diagonal = l.iter_mut().step_by(size + 1);
    diagonal.fold(true, |finite, x| {
        *x = x.recip();
        finite && *x > 0.0 && x.is_finite()
    })
}

/// The factor in the place of the lower triangle; `false` if the matrix is not positive definite.
fn factor(a: MatMut<'_, f64>) -> bool {
    let mut memory =
        MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(a.nrows(), Par::Seq, Spec::default()));
    let stack = MemStack::new(&mut memory);
    llt::factor::cholesky_in_place(a, Default::default(), Par::Seq, stack, Spec::default()).is_ok()
}

/// [`symmetric_inverse`](super::symmetric_inverse).
#[must_use]
pub fn symmetric_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut l = transposed_lower(a, size);
    if !factor(MatMut::from_column_major_slice_mut(&mut l, size, size)) {
        return None;
    }
    let mut out = vec![0.0; size * size];
    let mut memory = MemBuffer::new(llt::inverse::inverse_scratch::<f64>(size, Par::Seq));
    llt::inverse::inverse(
        MatMut::from_column_major_slice_mut(&mut out, size, size),
        MatRef::from_column_major_slice(&l, size, size),
        Par::Seq,
        MemStack::new(&mut memory),
    );
    // The lower triangle in column order is the upper one row by row.
    for i in 0..size {
        (0..i).for_each(|j| out[i * size + j] = out[j * size + i]);
    }
    out.iter().all(|x| x.is_finite()).then_some(out)
}

/// The lower triangle of a matrix, in column order.
fn transposed_lower(a: &[f64], size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    for (i, row) in a.chunks_exact(size).enumerate() {
        row[..=i].iter().enumerate().for_each(|(j, x)| out[j * size + i] = *x);
    }
    out
}

/// [`general_inverse`](super::general_inverse) of a finite matrix.
#[must_use]
pub fn general_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    // The inverse of the transpose is the transpose of the inverse, so that the order of elements does not matter.
    let mut factors = a[..size * size].to_vec();
    let (mut forward, mut backward) = (vec![0_usize; size], vec![0_usize; size]);
    let mut memory =
        MemBuffer::new(lu::factor::lu_in_place_scratch::<usize, f64>(size, size, Par::Seq, Spec::default()));
    let (_, permutation) = lu::factor::lu_in_place(
        MatMut::from_column_major_slice_mut(&mut factors, size, size),
        &mut forward,
        &mut backward,
        Par::Seq,
        MemStack::new(&mut memory),
        Spec::default(),
    );
    if !factors.iter().step_by(size + 1).all(|pivot| pivot.recip().is_finite()) {
        return None;
    }
    let mut out = vec![0.0; size * size];
    let mut memory = MemBuffer::new(lu::inverse::inverse_scratch::<usize, f64>(size, Par::Seq));
    let factors = MatRef::from_column_major_slice(&factors, size, size);
    lu::inverse::inverse(
        MatMut::from_column_major_slice_mut(&mut out, size, size),
        factors,
        factors,
        permutation,
        Par::Seq,
        MemStack::new(&mut memory),
    );
    Some(out)
}

/// [`eigen`](super::eigen()) of a finite matrix whose largest element is about 1. Eigenvalues ascend.
///
/// # Errors
/// [`EigenError::NoConvergence`].
pub fn eigen(matrix: &[f64], size: usize) -> Result<Eigen, EigenError> {
    let (mut values, mut vectors) = (vec![0.0; size], vec![0.0; size * size]);
    let params: Spec<SelfAdjointEvdParams, f64> = Spec::default();
    let mut memory = MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(
        size,
        ComputeEigenvectors::Yes,
        Par::Seq,
        params,
    ));
    evd::self_adjoint_evd(
        MatRef::from_row_major_slice(&matrix[..size * size], size, size),
        DiagMut::from_slice_mut(&mut values),
        Some(MatMut::from_column_major_slice_mut(&mut vectors, size, size)),
        Par::Seq,
        MemStack::new(&mut memory),
        params,
    )
    .map_err(|evd::EvdError::NoConvergence| EigenError::NoConvergence { size })?;
    Ok(Eigen { values, vectors })
}
