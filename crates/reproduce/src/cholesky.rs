//! Cholesky factors of small matrices, row-major.

/// `L` with `A = L L^T`, or `None` if the symmetric matrix `A` is not positive definite.
pub(crate) fn cholesky(a: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| l[i * d + k] * l[j * d + k]).sum();
            let rest = a[i * d + j] - inner;
            if i != j {
                l[i * d + j] = rest / l[j * d + j];
            } else if rest > 0.0 && rest.is_finite() {
                l[i * d + i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(l)
}

/// `L^-1 b`.
pub(crate) fn solve_lower(l: &[f64], b: &[f64]) -> Vec<f64> {
    let d = b.len();
    let mut y = vec![0.0; d];
    for i in 0..d {
        let inner: f64 = (0..i).map(|k| l[i * d + k] * y[k]).sum();
        y[i] = (b[i] - inner) / l[i * d + i];
    }
    y
}

/// `log det(L L^T)`.
pub(crate) fn log_determinant(l: &[f64], d: usize) -> f64 {
    2.0 * (0..d).map(|i| l[i * d + i].ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_solve_and_determinant() {
        // [[4, 2], [2, 5]] = L L^T with L = [[2, 0], [1, 2]], determinant 16.
        let l = cholesky(&[4.0, 2.0, 2.0, 5.0], 2).unwrap();
        assert_eq!(l, [2.0, 0.0, 1.0, 2.0]);
        assert_eq!(solve_lower(&l, &[2.0, 5.0]), [1.0, 2.0]);
        assert!((log_determinant(&l, 2) - 16f64.ln()).abs() < 1e-15);
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
        assert_eq!(cholesky(&[f64::NAN], 1), None);
    }
}
