//! Kernels for matrices of a few rows, inlined into loops over records, where the compiler may know the size.

/// The Cholesky factor of a symmetric matrix (the lower triangle is read), or `false` if it is not positive definite.
///
/// `l` gets the lower triangle of the factor, with the *reciprocals* of its diagonal, as all that is done with it would
/// divide by that. Its upper triangle is left as it is. For large matrices, see [`wide_cholesky`](super::wide_cholesky).
#[inline(always)]
#[must_use]
pub fn cholesky(a: &[f64], size: usize, l: &mut [f64]) -> bool {
    let (a, l) = (&a[..size * size], &mut l[..size * size]);
    for i in 0..size {
        for j in 0..=i {
            let mut rest = a[i * size + j];
            for k in 0..j {
                rest -= l[i * size + k] * l[j * size + k];
            }
            if i != j {
                l[i * size + j] = rest * l[j * size + j];
            } else if rest > 0.0 && rest < f64::INFINITY {
                l[i * size + i] = 1.0 / rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// The product of a factor and a vector, $Lx$.
pub fn times_factor(l: &[f64], size: usize, x: &[f64], out: &mut [f64]) {
    for i in 0..size {
        let below: f64 = (0..i).map(|k| l[i * size + k] * x[k]).sum();
        out[i] = below + x[i] / l[i * (size + 1)];
    }
}

/// The logarithm of the determinant of $LL^T$.
#[inline(always)]
#[must_use]
pub fn log_determinant(l: &[f64], size: usize) -> f64 {
    -2.0 * (0..size).map(|i| l[i * size + i]).product::<f64>().ln()
}

/// $L^{-1} b$, in place.
#[inline(always)]
pub fn solve_lower(l: &[f64], size: usize, b: &mut [f64]) {
    let (l, b) = (&l[..size * size], &mut b[..size]);
    for i in 0..size {
        let mut rest = b[i];
        for k in 0..i {
            rest -= l[i * size + k] * b[k];
        }
        b[i] = rest * l[i * size + i];
    }
}

/// $(LL^T)^{-1} b$, in place.
#[inline(always)]
pub fn solve(l: &[f64], size: usize, b: &mut [f64]) {
    solve_lower(l, size, b);
    let (l, b) = (&l[..size * size], &mut b[..size]);
    for i in (0..size).rev() {
        let mut rest = b[i];
        for k in i + 1..size {
            rest -= l[k * size + i] * b[k];
        }
        b[i] = rest * l[i * size + i];
    }
}

/// $(LL^T)^{-1}$, symmetric, from the factor, which is overwritten. For large matrices, see
/// [`symmetric_inverse`](super::symmetric_inverse).
#[inline(always)]
pub fn inverse(l: &mut [f64], size: usize, out: &mut [f64]) {
    let (l, out) = (&mut l[..size * size], &mut out[..size * size]);
    // L^-1 in place.
    for j in 0..size {
        for i in j + 1..size {
            let mut sum = 0.0;
            for k in j..i {
                sum -= l[i * size + k] * l[k * size + j];
            }
            l[i * size + j] = sum * l[i * size + i];
        }
    }
    for i in 0..size {
        for j in 0..=i {
            let mut sum = 0.0;
            for k in i..size {
                sum += l[k * size + i] * l[k * size + j];
            }
            (out[i * size + j], out[j * size + i]) = (sum, sum);
        }
    }
}

/// The product of a matrix and a vector.
#[inline(always)]
pub fn times(a: &[f64], size: usize, x: &[f64], out: &mut [f64]) {
    let (a, x, out) = (&a[..size * size], &x[..size], &mut out[..size]);
    for i in 0..size {
        let mut sum = 0.0;
        for k in 0..size {
            sum += a[i * size + k] * x[k];
        }
        out[i] = sum;
    }
}
