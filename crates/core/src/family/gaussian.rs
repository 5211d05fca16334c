use crate::math::{matrix, symmetric};
use serde::{Deserialize, Serialize};

/// The structure of the covariance of a [`Gaussian`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// Any positive definite matrix.
    Full,
    /// Independent coordinates.
    Diagonal,
    /// Independent coordinates of equal variance.
    Isotropic,
}

/// Gaussians with natural parameters $(\lambda, P)$: $P$ is the precision and $\lambda = P\mu$.
///
/// The coordinates of $P$ are isometric: those of [`symmetric`] for a full precision, the diagonal for a diagonal one, and
/// $\rho\sqrt{D}$ for $\rho I$.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaussian {
    /// Dimension $D$.
    pub dimension: usize,
    /// Structure of the covariance.
    pub covariance: Covariance,
}

/// A mean and a covariance matrix in row-major order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Mean $\mu$.
    pub mean: Vec<f64>,
    /// Covariance $V$, $D \times D$.
    pub covariance: Vec<f64>,
}

impl Gaussian {
    /// Number of natural parameters.
    #[must_use]
    pub fn width(self) -> usize {
        self.dimension
            + match self.covariance {
                Covariance::Full => symmetric::width(self.dimension),
                Covariance::Diagonal => self.dimension,
                Covariance::Isotropic => 1,
            }
    }

    /// Writes the precision matrix to `out`, in row-major order.
    #[inline(always)]
    pub fn precision(self, natural: &[f64], out: &mut [f64]) {
        let d = self.dimension;
        let coordinates = &natural[d..self.width()];
        if self.covariance == Covariance::Full {
            return symmetric::from_coordinates(coordinates, d, &mut out[..d * d]);
        }
        out[..d * d].fill(0.0);
        for i in 0..d {
            out[i * (d + 1)] = match self.covariance {
                Covariance::Isotropic => coordinates[0] / (d as f64).sqrt(),
                _ => coordinates[i],
            };
        }
    }

    /// Writes the coordinates of a precision matrix, projected to the structure of the family.
    #[inline(always)]
    pub fn set_precision(self, precision: &[f64], natural: &mut [f64]) {
        let d = self.dimension;
        let out = &mut natural[d..self.width()];
        match self.covariance {
            Covariance::Full => symmetric::to_coordinates(&precision[..d * d], d, out),
            Covariance::Diagonal => (0..d).for_each(|i| out[i] = precision[i * (d + 1)]),
            Covariance::Isotropic => {
                out[0] = (0..d).map(|i| precision[i * (d + 1)]).sum::<f64>() / (d as f64).sqrt();
            }
        }
    }

    /// The natural parameters of the member nearest in $KL(p \Vert \cdot)$ to any $p$ with these moments (moment
    /// matching); `None` if the covariance is not positive definite.
    #[must_use]
    pub fn natural(self, moments: &Moments) -> Option<Vec<f64>> {
        let d = self.dimension;
        let v = &moments.covariance;
        let mut precision = vec![0.0; d * d];
        match self.covariance {
            Covariance::Full => {
                let mut l = vec![0.0; d * d];
                if !matrix::cholesky(v, d, &mut l) {
                    return None;
                }
                matrix::inverse(&mut l, d, &mut precision);
            }
            Covariance::Diagonal => (0..d).for_each(|i| precision[i * (d + 1)] = 1.0 / v[i * (d + 1)]),
            Covariance::Isotropic => {
                let mean = (0..d).map(|i| v[i * (d + 1)]).sum::<f64>() / d as f64;
                (0..d).for_each(|i| precision[i * (d + 1)] = 1.0 / mean);
            }
        }
        let mut natural = vec![0.0; self.width()];
        self.set_precision(&precision, &mut natural);
        matrix::times(&precision, d, &moments.mean, &mut natural[..d]);
        self.is_proper(&natural).then_some(natural)
    }

    /// The moments of a member; `None` if its precision is not positive definite.
    #[must_use]
    pub fn moments(self, natural: &[f64]) -> Option<Moments> {
        let d = self.dimension;
        let (mut precision, mut l) = (vec![0.0; d * d], vec![0.0; d * d]);
        self.precision(natural, &mut precision);
        if !matrix::cholesky(&precision, d, &mut l) {
            return None;
        }
        let mut mean = natural[..d].to_vec();
        matrix::solve(&l, d, &mut mean);
        let mut covariance = vec![0.0; d * d];
        matrix::inverse(&mut l, d, &mut covariance);
        Some(Moments { mean, covariance })
    }

    /// Whether the parameters are those of a proper density.
    #[must_use]
    pub fn is_proper(self, natural: &[f64]) -> bool {
        let d = self.dimension;
        let (mut precision, mut l) = (vec![0.0; d * d], vec![0.0; d * d]);
        self.precision(natural, &mut precision);
        matrix::cholesky(&precision, d, &mut l) && natural.iter().all(|x| x.is_finite())
    }

    /// Raises eigenvalues of the precision below `floor` to it, and keeps $\lambda$. Returns whether any was raised. A precision
    /// that is not finite is left as it is: [`is_proper`](Self::is_proper) and [`moments`](Self::moments) refuse it.
    pub fn project(self, natural: &mut [f64], floor: f64) -> bool {
        let d = self.dimension;
        match self.covariance {
            Covariance::Full => {
                // Checked at every step, and nearly always decided by the Gershgorin bound: every eigenvalue is
                // within the sum
                // of the off-diagonal elements of a row from its diagonal element.
                if matrix::gershgorin_bound(&natural[d..self.width()], d) >= floor {
                    return false;
                }
                let mut precision = vec![0.0; d * d];
                self.precision(natural, &mut precision);
                let raised = matrix::raise_eigenvalues(&mut precision, d, floor).unwrap_or(false);
                if raised {
                    self.set_precision(&precision, natural);
                }
                raised
            }
            Covariance::Diagonal | Covariance::Isotropic => {
                let low =
                    if self.covariance == Covariance::Isotropic { floor * (d as f64).sqrt() } else { floor };
                let mut raised = false;
                for x in &mut natural[d..self.width()] {
                    if x.is_nan() || *x < low {
                        (*x, raised) = (low, true);
                    }
                }
                raised
            }
        }
    }

    /// Adds $\pm Pm$ to $\lambda$ for a mean $m$, with the sign of `sign`.
    pub fn shift(self, mean: &[f64], natural: &mut [f64], sign: f64) {
        let d = self.dimension;
        let (lambda, coordinates) = natural.split_at_mut(d);
        match self.covariance {
            Covariance::Full => {
                let mut next = coordinates.iter();
                for i in 0..d {
                    for j in i..d {
                        let x = next.next().copied().unwrap_or_default() * sign;
                        if i == j {
                            lambda[i] += x * mean[i];
                        } else {
                            let x = x * std::f64::consts::FRAC_1_SQRT_2;
                            lambda[i] += x * mean[j];
                            lambda[j] += x * mean[i];
                        }
                    }
                }
            }
            Covariance::Diagonal => (0..d).for_each(|i| lambda[i] += sign * coordinates[i] * mean[i]),
            Covariance::Isotropic => {
                let precision = coordinates[0] / (d as f64).sqrt();
                (0..d).for_each(|i| lambda[i] += sign * precision * mean[i]);
            }
        }
    }

    /// $KL(p \Vert q)$ between two members; infinite if one is improper.
    #[must_use]
    pub fn kl(self, p: &[f64], q: &[f64]) -> f64 {
        match (self.moments(p), self.moments(q)) {
            (Some(p), Some(q)) => p.kl(&q),
            _ => f64::INFINITY,
        }
    }
}

impl Moments {
    /// $KL(p \Vert q) = \frac12 [\operatorname{tr} V_q^{-1} V_p + (\mu_q - \mu_p)^T V_q^{-1} (\mu_q - \mu_p) - D + \log(|V_q|/|V_p|)]$
    /// between Gaussians with these moments; infinite if a covariance is not positive definite.
    #[must_use]
    pub fn kl(&self, q: &Self) -> f64 {
        let d = self.mean.len();
        let (mut lp, mut lq) = (vec![0.0; d * d], vec![0.0; d * d]);
        if !(matrix::cholesky(&self.covariance, d, &mut lp) && matrix::cholesky(&q.covariance, d, &mut lq)) {
            return f64::INFINITY;
        }
        let mut gap: Vec<f64> = self.mean.iter().zip(&q.mean).map(|(p, q)| q - p).collect();
        matrix::solve_lower(&lq, d, &mut gap);
        let mut trace = 0.0;
        for j in 0..d {
            let unit: Vec<f64> = (0..d).map(|i| f64::from(u8::from(i == j))).collect();
            let mut column = vec![0.0; d];
            matrix::times_factor(&lp, d, &unit, &mut column);
            matrix::solve_lower(&lq, d, &mut column);
            trace += column.iter().map(|x| x * x).sum::<f64>();
        }
        let logs = matrix::log_determinant(&lq, d) - matrix::log_determinant(&lp, d);
        0.5 * (trace + gap.iter().map(|x| x * x).sum::<f64>() - d as f64 + logs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Moments {
        Moments { mean: vec![1.0, -2.0], covariance: vec![2.0, 0.3, 0.3, 0.5] }
    }

    #[test]
    fn moments_and_natural_parameters_are_inverse() {
        let family = Gaussian { dimension: 2, covariance: Covariance::Full };
        let natural = family.natural(&example()).unwrap();
        let back = family.moments(&natural).unwrap();
        for (a, b) in
            back.mean.iter().chain(&back.covariance).zip(example().mean.iter().chain(&example().covariance))
        {
            assert!((a - b).abs() < 1e-14, "{back:?}");
        }
    }

    /// A restricted family keeps the mean and the variances: no member is nearer.
    #[test]
    fn restricted_families_match_moments() {
        for covariance in [Covariance::Diagonal, Covariance::Isotropic] {
            let family = Gaussian { dimension: 2, covariance };
            let best = family.natural(&example()).unwrap();
            let kl = |natural: &[f64]| example().kl(&family.moments(natural).unwrap());
            for k in 0..family.width() {
                for step in [-1e-3, 1e-3] {
                    let mut other = best.clone();
                    other[k] += step;
                    assert!(kl(&other) > kl(&best), "{covariance:?} {k}");
                }
            }
        }
    }

    /// The norm of the coordinates is the Frobenius norm, in every family.
    #[test]
    fn coordinates_are_isometric() {
        for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Isotropic] {
            let family = Gaussian { dimension: 3, covariance };
            let natural: Vec<f64> = (0..family.width()).map(|k| 1.0 + k as f64).collect();
            let mut precision = [0.0; 9];
            family.precision(&natural, &mut precision);
            let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((norm(&precision) - norm(&natural[3..])).abs() < 1e-13);
            let mut back = natural.clone();
            family.set_precision(&precision, &mut back);
            assert!(back.iter().zip(&natural).all(|(a, b)| (a - b).abs() < 1e-13));
        }
    }

    #[test]
    fn divergence_has_its_known_values() {
        let wide = Moments { mean: vec![0.0, 0.0], covariance: vec![10.0, 0.0, 0.0, 10.0] };
        let unit = Moments { mean: vec![0.0, 0.0], covariance: vec![1.0, 0.0, 0.0, 1.0] };
        assert_eq!(unit.kl(&unit), 0.0);
        // (tr + log det) / 2 - 1 with trace 0.2 and log 100.
        assert!((unit.kl(&wide) - (0.1 + 10f64.ln() - 1.0)).abs() < 1e-14);
        assert!((wide.kl(&unit) - (10.0 - 10f64.ln() - 1.0)).abs() < 1e-13);
        assert_eq!(
            unit.kl(&Moments { covariance: vec![-1.0, 0.0, 0.0, 1.0], ..unit.clone() }),
            f64::INFINITY
        );
    }

    #[test]
    fn projection_raises_only_low_eigenvalues() {
        for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Isotropic] {
            let family = Gaussian { dimension: 2, covariance };
            let mut natural = vec![-1.0; family.width()];
            assert!(!family.is_proper(&natural));
            assert!(family.project(&mut natural, 0.1) && family.is_proper(&natural));
            assert_eq!(natural[..2], [-1.0, -1.0]);
            let same = family.natural(&example()).unwrap();
            let mut projected = same.clone();
            assert!(!family.project(&mut projected, 0.1) && projected == same);
        }
    }
}
