//! Symmetric matrices as vectors of the same length.
//!
//! The upper triangle, row by row, with off-diagonals times $\sqrt2$: the Euclidean norm of the vector is the Frobenius
//! norm of the matrix. So a matrix is clipped by a [`Ball`](crate::wall::Geometry::Ball) without waste, and the noise
//! of an off-diagonal element has half the variance of a diagonal one. Sums of [outer products](crate::wall::Geometry::Outer) have the same noise, and
//! are released as the elements of the upper triangle.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Coordinates of a symmetric matrix of this size.
#[must_use]
pub fn width(size: usize) -> usize {
    size * (size + 1) / 2
}

/// The coordinates of a matrix given row by row, of which the upper triangle is read.
///
/// # Panics
/// If the lengths do not fit.
pub fn to_coordinates(matrix: &[f64], size: usize, out: &mut [f64]) {
    assert!(matrix.len() == size * size && out.len() == width(size), "lengths of matrix and coordinates");
    let mut next = out.iter_mut();
    for i in 0..size {
        for j in i..size {
            if let Some(out) = next.next() {
                *out = matrix[i * size + j] * if i == j { 1.0 } else { SQRT_2 };
            }
        }
    }
}

/// The matrix of the elements of an upper triangle, both row by row.
///
/// # Panics
/// If the lengths do not fit.
pub fn from_triangle(triangle: &[f64], size: usize, out: &mut [f64]) {
    assert!(out.len() == size * size && triangle.len() == width(size), "lengths of matrix and triangle");
    let mut rest = triangle;
    for i in 0..size {
        let (row, later) = rest.split_at(size - i);
        out[i * size + i..(i + 1) * size].copy_from_slice(row);
        (i + 1..size).zip(&row[1..]).for_each(|(j, x)| out[j * size + i] = *x);
        rest = later;
    }
}

/// The matrix of coordinates, row by row.
///
/// # Panics
/// If the lengths do not fit.
pub fn from_coordinates(coordinates: &[f64], size: usize, out: &mut [f64]) {
    assert!(
        out.len() == size * size && coordinates.len() == width(size),
        "lengths of matrix and coordinates"
    );
    let mut next = coordinates.iter();
    for i in 0..size {
        for j in i..size {
            if let Some(x) = next.next() {
                let x = x * if i == j { 1.0 } else { FRAC_1_SQRT_2 };
                (out[i * size + j], out[j * size + i]) = (x, x);
            }
        }
    }
}
