//! Small dense symmetric matrices, row by row.
//!
//! All loops are plain: models have a handful of dimensions, where these are faster than a linear-algebra library, and
//! faster still where the compiler knows the size.

use super::vector::wide_dot;
use reticent_noise::with_wide_vectors;

/// The Cholesky factor of a symmetric matrix (the lower triangle is read), or `false` if it is not positive definite.
///
/// `l` gets the lower triangle of the factor, with the *reciprocals* of its diagonal, as all that is done with it would
/// divide by that. Its upper triangle is left as it is.
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

/// The same for large matrices: sums are in lanes.
#[must_use]
pub fn wide_cholesky(a: &[f64], size: usize, l: &mut [f64]) -> bool {
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

/// $(LL^T)^{-1}$, symmetric, from the factor, which is lost.
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

/// Adds so many times a vector to another.
#[inline(always)]
fn add_times(to: &mut [f64], by: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += by * x);
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

/// The inverse of a symmetric positive definite matrix; `None` if it is not.
#[must_use]
pub fn symmetric_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    let (mut l, mut out) = (vec![0.0; size * size], vec![0.0; size * size]);
    if !wide_cholesky(a, size, &mut l) {
        return None;
    }
    with_wide_vectors(
        #[inline(always)]
        || wide_inverse(&mut l, size, &mut out),
    );
    Some(out)
}

/// As [`inverse`], by whole rows.
#[inline(always)]
fn wide_inverse(l: &mut [f64], size: usize, out: &mut [f64]) {
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

/// The inverse of any square matrix, by elimination with row pivots; `None` if it is singular.
#[must_use]
pub fn general_inverse(a: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut a = a.to_vec();
    let mut out: Vec<f64> = (0..size * size).map(|i| f64::from(u8::from(i / size == i % size))).collect();
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

/// The running mean and covariance of vectors.
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

    /// Takes one more.
    pub fn push(&mut self, x: &[f64]) {
        self.count += 1.0;
        self.sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        for (row, a) in self.squares.chunks_exact_mut(x.len()).zip(x) {
            row.iter_mut().zip(x).for_each(|(square, b)| *square += a * b);
        }
    }

    /// Their covariance.
    #[must_use]
    pub fn covariance(&self) -> Vec<f64> {
        let size = self.sum.len();
        let mean = |k: usize| self.sum[k] / self.count;
        (0..size * size).map(|k| self.squares[k] / self.count - mean(k / size) * mean(k % size)).collect()
    }
}

/// Eigenvalues of a symmetric matrix, in no order, with eigenvectors as the rows of the second result: by reflections to three diagonals, then by
/// rotations with implicit shifts. Of a matrix that is not finite, its diagonal.
///
/// # Citation
/// Golub and Van Loan, "Matrix computations", sections 8.3.1 and 8.3.3.
#[must_use]
pub fn eigen(matrix: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix[..size * size].to_vec();
    let mut vectors: Vec<f64> = (0..size * size).map(|i| f64::from(u8::from(i / size == i % size))).collect();
    let (mut values, mut off_diagonal) = (vec![0.0; size], vec![0.0; size]);
    let finite = a.iter().all(|x| x.is_finite());
    // So that squares neither overflow nor vanish.
    let scale = if finite { a.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs())) } else { 1.0 };
    a.iter_mut().for_each(|x| *x /= scale);
    with_wide_vectors(
        #[inline(always)]
        || {
            if finite {
                tridiagonalise(&mut a, size, &mut off_diagonal, &mut vectors);
            }
            (0..size).for_each(|k| values[k] = a[k * (size + 1)]);
            rotate_to_diagonal(&mut values, &mut off_diagonal, &mut vectors);
        },
    );
    values.iter_mut().for_each(|x| *x *= scale);
    (values, vectors)
}

/// Turns `a` into a matrix with three diagonals, and the rows of `vectors` with it: $HAH$ and $HV$ for a reflection $H = I - bvv^T$ that clears each
/// column below. What is beside the diagonal goes to `beside`.
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

/// Turns a matrix with these values on and beside its diagonal into a diagonal one, and the rows of `vectors` with it.
#[inline(always)]
fn rotate_to_diagonal(values: &mut [f64], off_diagonal: &mut [f64], vectors: &mut [f64]) {
    let size = values.len();
    for first in 0..size {
        // Two or three rounds are usual.
        for _ in 0..60 {
            let clear = |k: &usize| {
                off_diagonal[*k].abs() <= f64::EPSILON * (values[*k].abs() + values[*k + 1].abs())
            };
            let last = (first..size - 1).find(clear).unwrap_or(size - 1);
            if last == first {
                break;
            }
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
    }
}

/// A lower bound on the eigenvalues of a symmetric matrix in [isometric coordinates](crate::math::symmetric), by Gershgorin's circles.
#[must_use]
pub fn gershgorin_bound(coordinates: &[f64], size: usize) -> f64 {
    let mut least = f64::INFINITY;
    for row in 0..size {
        let mut bound = 0.0;
        // Element (i, j) with i <= j is at place i (2 size - i + 1) / 2 + j - i.
        let mut place = row;
        for i in 0..row {
            bound -= coordinates[place].abs();
            place += size - i - 1;
        }
        bound *= std::f64::consts::FRAC_1_SQRT_2;
        bound += coordinates[place];
        let rest = &coordinates[place + 1..place + size - row];
        bound -= std::f64::consts::FRAC_1_SQRT_2 * rest.iter().map(|x| x.abs()).sum::<f64>();
        if bound.is_nan() {
            return f64::NEG_INFINITY;
        }
        least = least.min(bound);
    }
    least
}

/// Raises the eigenvalues of a symmetric matrix to at least `floor`; whether any had to be.
pub fn raise_eigenvalues(matrix: &mut [f64], size: usize, floor: f64) -> bool {
    // A matrix less its floor that has a Cholesky factor has no eigenvalue below the floor, and that is found out fast.
    let mut shifted = matrix[..size * size].to_vec();
    (0..size).for_each(|k| shifted[k * (size + 1)] -= floor);
    let mut factor = vec![0.0; size * size];
    if wide_cholesky(&shifted, size, &mut factor) {
        return false;
    }
    let (values, vectors) = eigen(matrix, size);
    if values.iter().all(|&value| value >= floor) {
        return false;
    }
    for (value, vector) in values.iter().zip(vectors.chunks_exact(size)).filter(|(value, _)| **value < floor)
    {
        for (row, a) in matrix.chunks_exact_mut(size).zip(vector) {
            row.iter_mut().zip(vector).for_each(|(out, b)| *out += (floor - value) * a * b);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A well-conditioned matrix with irregular entries.
    fn example(size: usize) -> Vec<f64> {
        let b: Vec<f64> = (0..size * size).map(|k| (k as f64 * 1.7).sin()).collect();
        let cell = |i: usize, j: usize| (0..size).map(|k| b[i * size + k] * b[j * size + k]).sum::<f64>();
        (0..size * size)
            .map(|k| cell(k / size, k % size) + if k / size == k % size { 0.5 } else { 0.0 })
            .collect()
    }

    #[test]
    fn inverse_and_solve_undo_the_matrix() {
        for size in [1, 2, 4, 7] {
            let a = example(size);
            let mut l = vec![0.0; size * size];
            assert!(cholesky(&a, size, &mut l));
            let x: Vec<f64> = (0..size).map(|k| (k as f64).cos()).collect();
            let mut b = vec![0.0; size];
            times(&a, size, &x, &mut b);
            let mut by_solve = b.clone();
            solve(&l, size, &mut by_solve);
            let mut inverted = vec![0.0; size * size];
            inverse(&mut l, size, &mut inverted);
            let mut by_inverse = vec![0.0; size];
            times(&inverted, size, &b, &mut by_inverse);
            for k in 0..size {
                assert!((by_solve[k] - x[k]).abs() < 1e-12 && (by_inverse[k] - x[k]).abs() < 1e-12, "{size}");
            }
        }
    }

    #[test]
    fn general_inverse_undoes_any_matrix() {
        let a: Vec<f64> = (0..25).map(|k| ((k * k) as f64 * 0.37).sin()).collect();
        let product = multiply(&a, &general_inverse(&a, 5).unwrap(), 5);
        for (k, x) in product.iter().enumerate() {
            assert!((x - f64::from(u8::from(k % 6 == 0))).abs() < 1e-11, "{product:?}");
        }
        assert_eq!(general_inverse(&[1.0, 2.0, 2.0, 4.0], 2), None);
        for size in [1, 2, 5, 8, 9, 23, 101] {
            let symmetric = example(size);
            let inverse = symmetric_inverse(&symmetric, size).unwrap();
            assert_eq!(inverse, transpose(&inverse, size));
            let unit = |k: usize| f64::from(u8::from(k.is_multiple_of(size + 1)));
            let product = multiply(&symmetric, &inverse, size);
            assert!(product.iter().enumerate().all(|(k, x)| (x - unit(k)).abs() < 1e-9), "{size}");
        }
        assert_eq!(symmetric_inverse(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn eigenvalues_rebuild_the_matrix_and_can_be_raised() {
        let mut a = example(5);
        for k in 0..5 {
            a[k * 6] -= 2.0;
        }
        let sorted = |a: &[f64]| {
            let mut values = eigen(a, 5).0;
            values.sort_by(f64::total_cmp);
            values
        };
        let before = sorted(&a);
        assert!(before[0] < 0.0);
        let original = a.clone();
        assert!(!raise_eigenvalues(&mut a, 5, -100.0) && a == original);
        assert!(raise_eigenvalues(&mut a, 5, 0.3));
        for (low, value) in before.iter().zip(sorted(&a)) {
            assert!((value - low.max(0.3)).abs() < 1e-12, "{low} {value}");
        }
    }

    /// $V^TV = I$ and $V^T\mathrm{diag}(\lambda)V = A$: at many sizes, with eigenvalues that coincide or are 0, and of matrices of few elements.
    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let corners = |size: usize| {
            let mut a = vec![0.0; size * size];
            (a[0], a[size * size - 1]) = (3.0, -1.0);
            (a[size - 1], a[(size - 1) * size]) = (1e-3, 1e-3);
            a
        };
        let ones = |size: usize| vec![1.0; size * size];
        let tiny = |size: usize| example(size).iter().map(|x| 1e-170 * x).collect();
        let zero = |size: usize| vec![0.0; size * size];
        for make in [&example as &dyn Fn(usize) -> Vec<f64>, &corners, &ones, &tiny, &zero] {
            for size in [1, 2, 3, 4, 17, 64] {
                let a = make(size);
                let (values, vectors) = eigen(&a, size);
                let scale = a.iter().fold(0.0f64, |most, x| most.max(x.abs())) * size as f64;
                for i in 0..size {
                    for j in 0..size {
                        let sum = |f: &dyn Fn(usize) -> f64| (0..size).map(f).sum::<f64>();
                        let (of, unit) = (|k: usize| k * size, f64::from(u8::from(i == j)));
                        let gram = sum(&|k| vectors[of(i) + k] * vectors[of(j) + k]);
                        assert!((gram - unit).abs() < 1e-13 * (10 + size) as f64, "{size}: {gram}");
                        let found = sum(&|k| values[k] * vectors[of(k) + i] * vectors[of(k) + j]);
                        assert!((found - a[of(i) + j]).abs() <= 1e-13 * scale, "{size} {i} {j}: {found}");
                    }
                }
            }
        }
        let broken = [1.0, f64::NAN, f64::NAN, 2.0];
        assert_eq!(eigen(&broken, 2).0, [1.0, 2.0]);
    }

    #[test]
    fn circles_bound_eigenvalues() {
        for size in [1, 2, 4, 6] {
            let mut a = example(size);
            (0..size).for_each(|k| a[k * (size + 1)] += 3.0);
            let mut coordinates = vec![0.0; crate::math::symmetric::width(size)];
            crate::math::symmetric::to_coordinates(&a, size, &mut coordinates);
            let row = |i: usize| -> f64 {
                a[i * (size + 1)] - (0..size).filter(|&j| j != i).map(|j| a[i * size + j].abs()).sum::<f64>()
            };
            let direct = (0..size).map(row).fold(f64::INFINITY, f64::min);
            assert!((gershgorin_bound(&coordinates, size) - direct).abs() < 1e-12);
            assert!(eigen(&a, size).0.iter().all(|&x| x >= direct - 1e-12));
        }
        assert_eq!(gershgorin_bound(&[f64::NAN, 0.0, 1.0], 2), f64::NEG_INFINITY);
    }

    #[test]
    fn wide_factors_are_factors() {
        for size in [1, 7, 8, 33] {
            let mut a = example(size);
            (0..size).for_each(|k| a[k * (size + 1)] += size as f64);
            let (mut narrow, mut wide) = (vec![0.0; size * size], vec![0.0; size * size]);
            assert!(cholesky(&a, size, &mut narrow) && wide_cholesky(&a, size, &mut wide));
            assert!(narrow.iter().zip(&wide).all(|(a, b)| (a - b).abs() < 1e-12));
            a[size * size - 1] = -1.0;
            assert!(!wide_cholesky(&a, size, &mut wide));
        }
    }

    #[test]
    fn matrices_that_are_not_positive_are_refused() {
        let mut l = [0.0; 4];
        assert!(!cholesky(&[1.0, 2.0, 2.0, 1.0], 2, &mut l));
        assert!(!cholesky(&[f64::NAN, 0.0, 0.0, 1.0], 2, &mut l));
        assert!(!cholesky(&[f64::INFINITY, 0.0, 0.0, 1.0], 2, &mut l));
    }
}
