use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::math::matrix::{log_determinant, solve};

/// Draws per setting.
const DRAWS: usize = 20_000;

fn normal(rng: &mut StdRng) -> f64 {
    StandardNormal.sample(rng)
}

fn normals(rng: &mut StdRng, count: usize, sd: f64) -> Vec<f64> {
    (0..count).map(|_| sd * normal(rng)).collect()
}

/// Symmetric noise with these standard deviations on and off the diagonal.
fn symmetric(rng: &mut StdRng, size: usize, diagonal: f64, off: f64) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    for i in 0..size {
        for j in i..size {
            let x = normal(rng) * if i == j { diagonal } else { off };
            (out[i * size + j], out[j * size + i]) = (x, x);
        }
    }
    out
}

/// $GG^T / d + 0.3 I$ with standard normal $G$.
fn positive_definite(rng: &mut StdRng, size: usize) -> Vec<f64> {
    let g = normals(rng, size * size, 1.0);
    let cell = |i: usize, j: usize| {
        inner(&g[i * size..(i + 1) * size], &g[j * size..(j + 1) * size]) / size as f64
            + if i == j { 0.3 } else { 0.0 }
    };
    (0..size * size).map(|ij| cell(ij / size, ij % size)).collect()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn product(a: &[f64], x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    times(a, x.len(), x, &mut out);
    out
}

/// $\mathrm{KL}(N(\mu, \Sigma) \Vert N(\mu_p, \Sigma_p))$ from its definition, with `away` $= \mu_p - \mu$.
fn kl(covariance: &[f64], away: &[f64], covariance_p: &[f64]) -> f64 {
    let size = away.len();
    let (mut l, mut l_p) = (vec![0.0; size * size], vec![0.0; size * size]);
    assert!(cholesky(covariance, size, &mut l));
    if !cholesky(covariance_p, size, &mut l_p) {
        return f64::INFINITY;
    }
    let mut solved = away.to_vec();
    solve(&l_p, size, &mut solved);
    let logs = log_determinant(&l_p, size) - log_determinant(&l, size);
    let mut precision_p = vec![0.0; size * size];
    inverse(&mut l_p, size, &mut precision_p);
    (logs + inner(&precision_p, covariance) - size as f64 + inner(away, &solved)) / 2.0
}

/// A divergence after moment noise.
fn moment_kl(rng: &mut StdRng, covariance: &[f64], size: usize, noise: MomentNoise) -> f64 {
    let e = symmetric(rng, size, noise.covariance_sd, noise.covariance_sd);
    let away = normals(rng, size, noise.mean_sd);
    kl(covariance, &away, &plus(covariance, &e))
}

/// A divergence after natural noise `g` and `f`.
fn natural_kl(precision: &[f64], mean: &[f64], g: &[f64], f: &[f64]) -> f64 {
    let size = mean.len();
    let noisy = plus(precision, f);
    let mut l = vec![0.0; size * size];
    if !cholesky(&noisy, size, &mut l) {
        return f64::INFINITY;
    }
    let mut mean_p = plus(&product(precision, mean), g);
    solve(&l, size, &mut mean_p);
    let away: Vec<f64> = mean_p.iter().zip(mean).map(|(p, q)| p - q).collect();
    kl(&inverted(precision, size), &away, &inverted(&noisy, size))
}

/// Divergences after natural noise whose off-diagonals are `off` times the diagonals.
fn natural_kls(rng: &mut StdRng, precision: &[f64], mean: &[f64], noise: NaturalNoise, off: f64) -> Vec<f64> {
    let size = mean.len();
    let draw = |_| {
        let g = normals(rng, size, noise.shift_sd);
        let f = symmetric(rng, size, noise.precision_sd, off * noise.precision_sd);
        natural_kl(precision, mean, &g, &f)
    };
    (0..DRAWS).map(draw).collect()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Panics if the average is more than four standard errors and a share `slack` away from `expected`.
fn assert_average(values: &[f64], expected: f64, slack: f64, what: &str) {
    let mean = average(values);
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let error = (square / values.len() as f64).sqrt();
    // The standard error must be small for the test to be able to fail.
    assert!(error < 0.02 * expected, "{what}: {error} of {expected}");
    assert!((mean - expected).abs() <= 4.0 * error + slack * expected, "{what}: {mean} and not {expected}");
}

/// Panics if the share of values at or above `a` is more than three standard errors above `bound`.
fn assert_tail(values: &[f64], a: f64, bound: f64, what: &str) {
    let share = values.iter().filter(|&&kl| kl >= a).count() as f64 / values.len() as f64;
    let error = (bound * (1.0 - bound) / values.len() as f64).sqrt();
    assert!(
        (0.0..=1.0).contains(&bound) && share <= bound + 3.0 * error,
        "{what}, a = {a}: {share} above {bound}"
    );
}

const LEVELS: [f64; 3] = [0.01, 0.05, 0.2];
const MULTIPLES: [f64; 5] = [1.5, 3.0, 10.0, 100.0, 1e6];

/// False alarms: at most 0.00135 in each of 105 comparisons if the bound were exact; it is not, so far fewer.
#[test]
fn moment_noise_stays_below_the_bound() {
    let mut rng = StdRng::seed_from_u64(41);
    for size in 2..=8 {
        let covariance = positive_definite(&mut rng, size);
        for level in LEVELS {
            let noise = MomentNoise { mean_sd: 2.0 * level, covariance_sd: level };
            let kls: Vec<f64> = (0..DRAWS).map(|_| moment_kl(&mut rng, &covariance, size, noise)).collect();
            let precision = inverted(&covariance, size);
            let leading = inner(&precision, &iid_square(&precision, size, level)) / 4.0
                + 2.0 * level * level * trace(&precision, size);
            for multiple in MULTIPLES {
                let a = multiple * leading;
                assert_tail(&kls, a, tail_bound(&covariance, size, noise, a), &format!("{size}, {level}"));
            }
        }
    }
}

/// False alarms: as above.
#[test]
fn natural_noise_stays_below_the_bound() {
    let mut rng = StdRng::seed_from_u64(42);
    for size in 2..=8 {
        let (precision, mean) = (positive_definite(&mut rng, size), normals(&mut rng, size, 1.0));
        for level in LEVELS {
            let noise = NaturalNoise { shift_sd: level, precision_sd: level };
            let kls = natural_kls(&mut rng, &precision, &mean, noise, 0.5_f64.sqrt());
            let leading = expected_kl_isometric(&precision, &mean, size, noise);
            for multiple in MULTIPLES {
                let a = multiple * leading;
                let bound = tail_bound_isometric(&precision, &mean, size, noise, a);
                assert_tail(&kls, a, bound, &format!("{size}, {level}"));
            }
        }
    }
}

/// With $v = 4 \cdot 10^{-4}$ or less, $\rho = 0.2$ leaves $d e^{-50}$ and Markov's inequality over $1 - \rho$.
#[test]
fn bounds_for_small_noise_are_close_to_markov() {
    let mut rng = StdRng::seed_from_u64(43);
    for size in 2..=8 {
        let matrix = positive_definite(&mut rng, size);
        let s = inverted(&matrix, size);
        // v <= 2 tr(S) |S| sd^2 for both kinds of noise.
        let sd = 0.02 / (2.0 * trace(&s, size) * largest_eigenvalue(&s, size)).sqrt();

        let noise = NaturalNoise { shift_sd: sd, precision_sd: sd };
        let mean = vec![1.0; size];
        let a = 10.0 * expected_kl_isometric(&matrix, &mean, size, noise);
        let bound = tail_bound_isometric(&matrix, &mean, size, noise, a);
        assert!((0.1..0.1 / 0.8 + 1e-9).contains(&bound), "{bound}");

        let noise = MomentNoise { mean_sd: sd, covariance_sd: sd };
        let a = 10.0 * (inner(&s, &iid_square(&s, size, sd)) / 4.0 + sd * sd * trace(&s, size) / 2.0);
        let bound = tail_bound(&matrix, size, noise, a);
        assert!((0.1..0.1 / 0.64 + 1e-9).contains(&bound), "{bound}");
    }
}

/// False alarms: 6e-5 in each of 14 comparisons. The slack is for terms of the fourth order: with
/// $\Vert W \Vert$ about 0.03 their relative size is a few $\Vert W \Vert^2$.
#[test]
fn leading_order_is_the_mean_at_small_noise() {
    let mut rng = StdRng::seed_from_u64(44);
    for size in 2..=8 {
        let (precision, mean) = (positive_definite(&mut rng, size), normals(&mut rng, size, 1.0));
        let noise = NaturalNoise { shift_sd: 0.006, precision_sd: 0.003 };
        let what = format!("size {size}");
        let kls = natural_kls(&mut rng, &precision, &mean, noise, 1.0);
        assert_average(&kls, expected_kl(&precision, &mean, size, noise), 0.01, &what);
        let kls = natural_kls(&mut rng, &precision, &mean, noise, 0.5_f64.sqrt());
        assert_average(&kls, expected_kl_isometric(&precision, &mean, size, noise), 0.01, &what);
    }
}

/// The elements of $F$ are independent, so $\mathbb{E} F A F$ is the sum of their own squares.
#[test]
fn mean_square_is_the_sum_over_elements() {
    let mut rng = StdRng::seed_from_u64(50);
    for size in 1..=8 {
        let a = positive_definite(&mut rng, size);
        let sum = |off: f64| {
            let mut sum = vec![0.0; size * size];
            for (i, j) in (0..size).flat_map(|i| (i..size).map(move |j| (i, j))) {
                let mut f = vec![0.0; size * size];
                let x = 0.4 * if i == j { 1.0 } else { off };
                (f[i * size + j], f[j * size + i]) = (x, x);
                sum = plus(&sum, &sandwich(&f, &a, size));
            }
            sum
        };
        let agree = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(agree(&sum(1.0), &iid_square(&a, size, 0.4)), "{size}");
        assert!(agree(&sum(0.5_f64.sqrt()), &isometric_square(&a, size, 0.4)), "{size}");
    }
}

/// False alarms: 6e-5 in each of 14 comparisons.
#[test]
fn mean_of_the_squared_relative_noise() {
    let mut rng = StdRng::seed_from_u64(45);
    for size in 2..=8 {
        let a = positive_definite(&mut rng, size);
        for (off, square) in
            [(1.0, iid_square(&a, size, 1.0)), (0.5_f64.sqrt(), isometric_square(&a, size, 1.0))]
        {
            let draw = |_| {
                let f = symmetric(&mut rng, size, 1.0, off);
                inner(&f, &sandwich(&a, &f, size))
            };
            let squares: Vec<f64> = (0..10 * DRAWS).map(draw).collect();
            assert_average(&squares, inner(&a, &square), 0.0, &format!("size {size}"));
        }
    }
}

/// For a huge $a$ only $2 e^{-\rho^2 / 2v}$ is left, at the largest $\rho$ of the grid.
#[test]
fn variance_of_the_relative_noise_by_hand() {
    let left = |v: f64| 2.0 * (-0.999_f64.powi(2) / (2.0 * v)).exp();
    // S = (2, 1; 1, 2), so M = (4, 1; 1, 4) / 100, and both have the eigenvector (1, 1): v = 3 * 5 / 100.
    let covariance = [2.0 / 3.0, -1.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0];
    let noise = MomentNoise { mean_sd: 1.0, covariance_sd: 0.1 };
    assert!((tail_bound(&covariance, 2, noise, 1e300) - left(0.15)).abs() < 1e-13);
    // The same Sigma: M = (6, 1; 1, 6) / 200, so v = 3 * 7 / 200.
    let noise = NaturalNoise { shift_sd: 1.0, precision_sd: 0.1 };
    assert!((tail_bound_isometric(&covariance, &[1.0, 2.0], 2, noise, 1e300) - left(0.105)).abs() < 1e-13);
}

#[test]
fn general_noise_has_the_special_cases() {
    let mut rng = StdRng::seed_from_u64(46);
    for size in 1..=8 {
        let (precision, mean) = (positive_definite(&mut rng, size), normals(&mut rng, size, 1.0));
        let noise = NaturalNoise { shift_sd: 0.7, precision_sd: 0.4 };
        let general = |off_diagonal: f64| {
            let mut variances = vec![off_diagonal; size * size];
            (0..size).for_each(|i| variances[i * (size + 1)] = 1.0);
            let in_triangle = (0..size).flat_map(|i| (i..size).map(move |j| i * size + j));
            let of_precision = in_triangle.map(|ij| noise.precision_sd.powi(2) * variances[ij]);
            let diagonal: Vec<f64> =
                std::iter::repeat_n(noise.shift_sd.powi(2), size).chain(of_precision).collect();
            let n = diagonal.len();
            let covariance: Vec<f64> =
                (0..n * n).map(|k| if k / n == k % n { diagonal[k / n] } else { 0.0 }).collect();
            expected_kl_general(&precision, &mean, size, &covariance)
        };
        // A coordinate off the diagonal is sqrt(2) times the element.
        let iid = expected_kl(&precision, &mean, size, noise);
        assert!((general(2.0) / iid - 1.0).abs() < 1e-12, "{size}");
        let isometric = expected_kl_isometric(&precision, &mean, size, noise);
        assert!((general(1.0) / isometric - 1.0).abs() < 1e-12, "{size}");
    }
}

/// The shift and all elements correlated. False alarms: 6e-5 in each of 8 comparisons.
#[test]
fn general_noise_may_be_correlated() {
    let mut rng = StdRng::seed_from_u64(47);
    for size in [2, 3, 5, 8] {
        let (precision, mean) = (positive_definite(&mut rng, size), normals(&mut rng, size, 1.0));
        let n = size + width(size);
        let noise_covariance: Vec<f64> = positive_definite(&mut rng, n).iter().map(|x| 1e-5 * x).collect();
        let mut factor = vec![0.0; n * n];
        assert!(cholesky(&noise_covariance, n, &mut factor));
        let expected = expected_kl_general(&precision, &mean, size, &noise_covariance);
        let covariance = inverted(&precision, size);
        let (mut quadratics, mut kls) = (Vec::new(), Vec::new());
        for _ in 0..DRAWS {
            let mut x = vec![0.0; n];
            crate::math::matrix::times_factor(&factor, n, &normals(&mut rng, n, 1.0), &mut x);
            let mut f = vec![0.0; size * size];
            from_coordinates(&x[size..], size, &mut f);
            let moved = product(&f, &mean);
            let r: Vec<f64> = x.iter().zip(&moved).map(|(g, moved)| g - moved).collect();
            let from_precision = inner(&f, &sandwich(&covariance, &f, size)) / 4.0;
            quadratics.push(from_precision + inner(&r, &product(&covariance, &r)) / 2.0);
            kls.push(natural_kl(&precision, &mean, &x[..size], &f));
        }
        assert_average(&quadratics, expected, 0.0, &format!("quadratic part, size {size}"));
        assert_average(&kls, expected, 0.01, &format!("divergence, size {size}"));
    }
}

/// $d = 1$: $\sigma_F^2 / 4 L^2 + (\sigma_g^2 + \sigma_F^2 \mu^2) / 2 L$.
#[test]
fn one_dimension_by_hand() {
    let noise = NaturalNoise { shift_sd: 0.5, precision_sd: 0.2 };
    let expected = 0.04 / (4.0 * 9.0) + (0.25 + 0.04 * 4.0) / 6.0;
    assert!((expected_kl(&[3.0], &[2.0], 1, noise) - expected).abs() < 1e-15);
    assert!((expected_kl_isometric(&[3.0], &[2.0], 1, noise) - expected).abs() < 1e-15);
    let correlated = [0.25, 0.05, 0.05, 0.04];
    // Less mu cov(g, F) / L.
    let general = expected_kl_general(&[3.0], &[2.0], 1, &correlated);
    assert!((general - (expected - 2.0 * 0.05 / 3.0)).abs() < 1e-15);
}

/// $d = 1$, $\Sigma = \mu = 2$: the bounds are the minima of their formulas, up to the width of the grid.
#[test]
fn one_dimensional_bounds_by_hand() {
    let minimum = |bound: &dyn Fn(f64) -> f64| {
        (1..100_000).map(|k| bound(f64::from(k) / 100_000.0)).fold(f64::INFINITY, f64::min)
    };
    // W = E / 2 with E of sd 0.1, and a mean of sd 0.3.
    let moment = minimum(&|rho: f64| {
        (-rho * rho / (2.0 * 0.0025)).exp()
            + (0.0025 / (4.0 * (1.0 - rho).powi(2)) + 0.09 / (2.0 * 2.0 * (1.0 - rho))) / 0.2
    });
    let bound = tail_bound(&[2.0], 1, MomentNoise { mean_sd: 0.3, covariance_sd: 0.1 }, 0.2);
    assert!(bound >= moment && bound < moment * 1.001, "{bound} {moment}");
    // W = 2 F with F of sd 0.1, and r = g - 2 F with g of sd 0.05.
    let natural = minimum(&|rho: f64| {
        (-rho * rho / (2.0 * 0.04)).exp() + (0.04 / 4.0 + 2.0 * (0.0025 + 0.04) / 2.0) / (0.5 * (1.0 - rho))
    });
    let noise = NaturalNoise { shift_sd: 0.05, precision_sd: 0.1 };
    let bound = tail_bound_isometric(&[0.5], &[2.0], 1, noise, 0.5);
    assert!(bound >= natural && bound < natural * 1.001, "{bound} {natural}");
}

/// In theory the mean falls to a tenth or less: a false alarm needs an average of 20000 draws that is wrong by a
/// factor of ten.
#[test]
fn concentrated_posteriors_diverge_less() {
    let mut rng = StdRng::seed_from_u64(48);
    for size in [2, 5, 8] {
        let (precision, mean) = (positive_definite(&mut rng, size), normals(&mut rng, size, 1.0));
        let sharper: Vec<f64> = precision.iter().map(|x| 10.0 * x).collect();
        let noise = NaturalNoise { shift_sd: 0.01, precision_sd: 0.01 };
        let before = expected_kl_isometric(&precision, &mean, size, noise);
        let after = expected_kl_isometric(&sharper, &mean, size, noise);
        assert!(after <= before / 10.0 && after >= before / 100.0, "{before} {after}");
        let off = 0.5_f64.sqrt();
        let before = average(&natural_kls(&mut rng, &precision, &mean, noise, off));
        let after = average(&natural_kls(&mut rng, &sharper, &mean, noise, off));
        assert!(after < before, "{before} {after}");
    }
}

/// $\Sigma = I$, $\sigma_2 = 0.4$: $p$ is not positive definite with probability 0.063, whatever $a$ is. False alarms:
/// 6e-5 for the probability; the bounds are not random.
#[test]
fn printed_bound_falls_below_the_probability_of_an_improper_posterior() {
    let mut rng = StdRng::seed_from_u64(49);
    let identity = [1.0, 0.0, 0.0, 1.0];
    let noise = MomentNoise { mean_sd: 0.0, covariance_sd: 0.4 };
    let draws = 10 * DRAWS;
    let infinite = (0..draws).filter(|_| moment_kl(&mut rng, &identity, 2, noise).is_infinite()).count();
    let share = infinite as f64 / draws as f64;
    let error = (share / draws as f64).sqrt();
    assert!((share - 0.063).abs() < 4.0 * error + 0.0005, "{share}");

    for power in -6..=15 {
        let bound = tail_bound(&identity, 2, noise, 10.0_f64.powi(power));
        assert!((0.063..=1.0).contains(&bound), "{power}: {bound}");
    }
    assert!(printed_tail_bound(&identity, 2, noise, 0.01, 4.0, 1e4) < 0.02);
}

/// $d = 1$, $\Sigma = 2$: $m = \sqrt{2 \log 2} \sigma_2 / 2$.
#[test]
fn printed_bound_by_hand() {
    let noise = MomentNoise { mean_sd: 0.6, covariance_sd: 0.2 };
    let m = (2.0 * 2.0_f64.ln()).sqrt() * 0.1;
    let expected = ((1.0 + m).ln() - 1.0 + (0.36 / 2.0 + 1.0) * (1.5 + 0.5 + m - 1.0) / 0.75) / (2.0 * 0.3);
    assert!((printed_tail_bound(&[2.0], 1, noise, 0.5, 1.5, 0.3) - expected).abs() < 1e-14);
}

#[test]
fn zero_noise_gives_zero_divergence() {
    let noise = MomentNoise { mean_sd: 0.0, covariance_sd: 0.0 };
    assert!(tail_bound(&[2.0], 1, noise, 1e-9) == 0.0);
    let noise = NaturalNoise { shift_sd: 0.0, precision_sd: 0.0 };
    assert!(tail_bound_isometric(&[2.0], &[1.0], 1, noise, 1e-9) == 0.0);
}
