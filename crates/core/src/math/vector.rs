//! Vectors, and the logistic function.

/// $a \cdot b$, in the order of the elements.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $a \cdot b$ in eight lanes, so that the compiler need not keep the order of additions.
#[inline(always)]
pub fn wide_dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let (a, b) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.0.iter().zip(b.0) {
        for l in 0..LANES {
            lanes[l] += a[l] * b[l];
        }
    }
    lanes.iter().sum::<f64>() + a.1.iter().zip(b.1).map(|(a, b)| a * b).sum::<f64>()
}

/// $\lVert x \rVert_2$.
#[inline]
pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// $\sigma(x) = 1/(1 + e^{-x})$, without overflow. Contributions of records depend on it, so it is the same on every platform, which the exponential
/// of the standard library is not.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// $\log\sigma(x)$, however far out.
#[inline]
pub fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logistic_function_is_right_far_out() {
        for x in [-800.0, -40.0, -1.0, 0.0, 0.5, 30.0, 800.0] {
            assert!((sigmoid(x) + sigmoid(-x) - 1.0).abs() < 1e-15);
            assert!(log_sigmoid(x) <= 0.0 && log_sigmoid(x).is_finite());
            assert!((log_sigmoid(x).exp() - sigmoid(x)).abs() < 1e-15);
        }
    }

    #[test]
    fn both_products_agree() {
        let a: Vec<f64> = (0..37).map(|k| f64::from(k).sin()).collect();
        let b: Vec<f64> = (0..37).map(|k| f64::from(k).cos()).collect();
        assert!((dot(&a, &b) - wide_dot(&a, &b)).abs() < 1e-13);
        assert!((norm(&a).powi(2) - dot(&a, &a)).abs() < 1e-13);
    }
}
