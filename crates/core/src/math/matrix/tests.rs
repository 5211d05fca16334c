use super::*;
use crate::math::symmetric;

/// Sizes on both sides of every crossover, and of the size from which the library divides and conquers.
const SIZES: [usize; 14] = [1, 2, 3, 5, 8, 15, 17, 31, 33, 63, 64, 101, 130, 260];

/// A well-conditioned matrix with irregular entries.
fn example(size: usize) -> Vec<f64> {
    let b = irregular(size);
    let cell = |i: usize, j: usize| (0..size).map(|k| b[i * size + k] * b[j * size + k]).sum::<f64>();
    (0..size * size).map(|k| cell(k / size, k % size) + 0.5 * unit(size, k)).collect()
}

/// A general matrix with irregular entries.
fn irregular(size: usize) -> Vec<f64> {
    (0..size * size).map(|k| (k as f64 * 1.7).sin() + ((k * k % 9973) as f64 * 0.37).cos()).collect()
}

fn unit(size: usize, k: usize) -> f64 {
    f64::from(u8::from(k.is_multiple_of(size + 1)))
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The largest difference of two matrices over the largest element of the first.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest(a)
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

/// $AA^{-1} = I$, at sizes of both algorithms.
#[test]
fn inverses_undo_the_matrix() {
    for size in SIZES {
        let symmetric = example(size);
        let inverse = symmetric_inverse(&symmetric, size).unwrap();
        assert_eq!(inverse, transpose(&inverse, size));
        for (a, inverse) in
            [(symmetric, inverse), (irregular(size), { general_inverse(&irregular(size), size).unwrap() })]
        {
            let product = multiply(&a, &inverse, size);
            let scale = largest(&a) * largest(&inverse) * size as f64;
            for (k, x) in product.iter().enumerate() {
                assert!((x - unit(size, k)).abs() <= 1e-13 * scale, "{size}: {x}");
            }
        }
    }
}

/// Loops and blocked algorithms have the same results but for rounding, at sizes at which only one of them is used.
#[test]
fn loops_and_blocked_algorithms_agree() {
    for size in SIZES {
        let (a, b) = (example(size), irregular(size));
        let close = |a: &[f64], b: &[f64]| assert!(difference(a, b) < 1e-10, "{size}: {}", difference(a, b));
        close(&loops::multiply(&a, &b, size), &blocked::multiply(&a, &b, size));
        let weights: Vec<f64> = (0..size).map(|k| 1.0 - k as f64).collect();
        let squares = blocked::weighted_squares(&b, &weights, size);
        close(&loops::weighted_squares(&b, &weights, size), &squares);
        assert_eq!(squares, transpose(&squares, size));
        let (mut one, mut other) = (vec![7.0; size * size], vec![7.0; size * size]);
        assert!(loops::cholesky(&a, size, &mut one) && blocked::cholesky(&a, size, &mut other));
        close(&one, &other);
        let inverses = [loops::symmetric_inverse(&a, size), blocked::symmetric_inverse(&a, size)];
        close(inverses[0].as_ref().unwrap(), inverses[1].as_ref().unwrap());
        let inverses = [loops::general_inverse(&b, size), blocked::general_inverse(&b, size)];
        close(inverses[0].as_ref().unwrap(), inverses[1].as_ref().unwrap());
        let values = [loops::eigen(&a, size), blocked::eigen(&a, size)].map(|found| {
            let mut values = found.unwrap().values;
            values.sort_by(f64::total_cmp);
            values
        });
        close(&values[0], &values[1]);
    }
}

/// Memory is not always aligned alike, and threads may call at the same time.
#[test]
fn results_do_not_depend_on_addresses_or_threads() {
    let all = |a: &[f64], size: usize| {
        let mut l = vec![0.0; size * size];
        assert!(wide_cholesky(a, size, &mut l));
        let Eigen { values, vectors } = eigen(a, size).unwrap();
        let inverses = [symmetric_inverse(a, size).unwrap(), general_inverse(a, size).unwrap()];
        [l, values, vectors, multiply(a, a, size), inverses.concat()]
    };
    for size in [20, 65, 131, 257] {
        let a = example(size);
        let expected = all(&a, size);
        let shifted = |offset: usize| [vec![0.0; offset], a.clone()].concat();
        let threads: Vec<_> = (0..5).map(|offset| (offset, shifted(offset))).collect();
        std::thread::scope(|scope| {
            for (offset, shifted) in &threads {
                let expected = &expected;
                scope.spawn(move || assert!(all(&shifted[*offset..], size) == *expected, "{size} {offset}"));
            }
        });
    }
}

#[test]
fn matrices_without_an_inverse_are_refused() {
    assert_eq!(general_inverse(&[1.0, 2.0, 2.0, 4.0], 2), None);
    assert_eq!(symmetric_inverse(&[1.0, 2.0, 2.0, 1.0], 2), None);
    for size in SIZES {
        let last = size * size - 1;
        for wrong in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            let mut a = example(size);
            a[last] = wrong;
            assert_eq!(symmetric_inverse(&a, size), None, "{size} {wrong}");
            assert_eq!(blocked::symmetric_inverse(&a, size), None, "{size} {wrong}");
            let mut l = vec![0.0; size * size];
            assert!(!wide_cholesky(&a, size, &mut l), "{size} {wrong}");
            assert!(!blocked::cholesky(&a, size, &mut l), "{size} {wrong}");
            if !wrong.is_finite() {
                assert_eq!(general_inverse(&a, size), None, "{size} {wrong}");
            }
        }
        let mut singular = irregular(size);
        singular[..size].fill(0.0);
        assert_eq!(general_inverse(&singular, size), None);
        assert_eq!(blocked::general_inverse(&singular, size), None);
    }
}

#[test]
fn eigenvalues_rebuild_the_matrix_and_can_be_raised() {
    for size in [5, BLOCKED_EIGEN - 1, BLOCKED_EIGEN, 150] {
        let mut a = example(size);
        // Half of the eigenvalues become negative.
        let middle = sorted(&a, size)[size / 2];
        (0..size).for_each(|k| a[k * (size + 1)] -= middle);
        let before = sorted(&a, size);
        assert!(before[0] < 0.0);
        let (original, scale) = (a.clone(), largest(&before));
        assert_eq!(raise_eigenvalues(&mut a, size, -10.0 * scale), Ok(false));
        assert_eq!(a, original);
        assert_eq!(raise_eigenvalues(&mut a, size, 0.3), Ok(true));
        for (low, value) in before.iter().zip(sorted(&a, size)) {
            assert!((value - low.max(0.3)).abs() < 1e-12 * scale, "{size}: {low} {value}");
        }
    }
}

fn sorted(a: &[f64], size: usize) -> Vec<f64> {
    let mut values = eigen(a, size).unwrap().values;
    values.sort_by(f64::total_cmp);
    values
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
    let identity = |size: usize| (0..size * size).map(|k| unit(size, k)).collect();
    for make in [&example as &dyn Fn(usize) -> Vec<f64>, &corners, &ones, &tiny, &zero, &identity] {
        for size in [1, 2, 3, 4, 17, BLOCKED_EIGEN - 1, BLOCKED_EIGEN, 130, 260] {
            let a = make(size);
            let found = eigen(&a, size).unwrap();
            let gram = multiply(&found.vectors, &transpose(&found.vectors, size), size);
            for (k, x) in gram.iter().enumerate() {
                assert!((x - unit(size, k)).abs() < 1e-13 * (10 + size) as f64, "{size}: {x}");
            }
            let scale = largest(&a) * size as f64;
            for (found, a) in found.mapped(|value| value).iter().zip(&a) {
                assert!((found - a).abs() <= 1e-13 * scale, "{size}: {found} {a}");
            }
        }
    }
}

/// What is not finite has no eigenvalues, and a maximum of sweeps that is reached is an error.
#[test]
fn eigenvalues_that_are_not_found_are_errors() {
    for size in [2, 5, BLOCKED_EIGEN, 130] {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut a = example(size);
            (a[1], a[size]) = (wrong, wrong);
            assert_eq!(eigen(&a, size), Err(EigenError::NotFinite { size }));
            let bits = |a: &[f64]| a.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let before = bits(&a);
            assert_eq!(raise_eigenvalues(&mut a, size, 0.0), Err(EigenError::NotFinite { size }));
            assert_eq!(bits(&a), before);
        }
        let a = example(size);
        for sweeps in [0, 1] {
            // A matrix of two rows needs one sweep.
            let expected =
                if size == 2 && sweeps == 1 { Ok(()) } else { Err(EigenError::NoConvergence { size }) };
            assert_eq!(loops::eigen_within(&a, size, sweeps).map(|_| ()), expected, "{size} {sweeps}");
        }
        assert!(loops::eigen_within(&a, size, loops::MAX_SWEEPS).is_ok());
    }
}

/// Without eigenvalues, the Gershgorin bound still keeps every eigenvalue at the floor or above.
#[test]
fn eigenvalues_that_do_not_converge_are_raised_by_the_gershgorin_bound() {
    for size in [2, 5, 70] {
        let mut a = example(size);
        (0..size).for_each(|k| a[k * (size + 1)] -= 2.0);
        let before = a.clone();
        let not_found = Err(EigenError::NoConvergence { size });
        assert_eq!(eigen::raise(&mut a, size, 0.3, not_found.clone()), Ok(true));
        assert!(sorted(&a, size)[0] >= 0.3);
        let off_diagonal = |k: &usize| !k.is_multiple_of(size + 1);
        assert!((0..size * size).filter(off_diagonal).all(|k| a[k] == before[k]));
        let raised = a.clone();
        assert_eq!(eigen::raise(&mut a, size, 0.2, not_found), Ok(false));
        assert_eq!(a, raised);
    }
}

#[test]
fn circles_bound_eigenvalues() {
    for size in [1, 2, 4, 6] {
        let mut a = example(size);
        (0..size).for_each(|k| a[k * (size + 1)] += 3.0);
        let mut coordinates = vec![0.0; symmetric::width(size)];
        symmetric::to_coordinates(&a, size, &mut coordinates);
        let row = |i: usize| -> f64 {
            a[i * (size + 1)] - (0..size).filter(|&j| j != i).map(|j| a[i * size + j].abs()).sum::<f64>()
        };
        let direct = (0..size).map(row).fold(f64::INFINITY, f64::min);
        assert!((gershgorin_bound(&coordinates, size) - direct).abs() < 1e-12);
        assert!(sorted(&a, size)[0] >= direct - 1e-12);
    }
    assert_eq!(gershgorin_bound(&[f64::NAN, 0.0, 1.0], 2), f64::NEG_INFINITY);
}

/// Only the lower triangle is read, and the upper triangle of the factor is left as it is.
#[test]
fn wide_factors_are_factors() {
    for size in [1, 7, 8, 33, 130] {
        let mut a = example(size);
        (0..size).for_each(|k| a[k * (size + 1)] += size as f64);
        let mut narrow = vec![0.5; size * size];
        assert!(cholesky(&a, size, &mut narrow));
        (0..size * size).filter(|k| k % size > k / size).for_each(|k| a[k] = f64::NAN);
        for factor in [loops::cholesky, blocked::cholesky] {
            let mut wide = vec![0.5; size * size];
            assert!(factor(&a, size, &mut wide));
            assert!(narrow.iter().zip(&wide).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}

#[test]
fn matrices_that_are_not_positive_are_refused() {
    let mut l = [0.0; 4];
    assert!(!cholesky(&[1.0, 2.0, 2.0, 1.0], 2, &mut l));
    assert!(!cholesky(&[f64::NAN, 0.0, 0.0, 1.0], 2, &mut l));
    assert!(!cholesky(&[f64::INFINITY, 0.0, 0.0, 1.0], 2, &mut l));
}
