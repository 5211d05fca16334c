use super::digamma;

/// Dirichlet densities with natural parameters $\alpha - 1$.
#[derive(Debug, Clone, PartialEq)]
pub struct Dirichlet {
    /// Concentration parameters $\alpha$, one for each category.
    pub concentration: Vec<f64>,
}

impl Dirichlet {
    /// The member with these natural parameters, which may be improper.
    #[must_use]
    pub fn from_natural(natural: &[f64]) -> Self {
        Self { concentration: natural.iter().map(|x| x + 1.0).collect() }
    }

    /// The natural parameters.
    #[must_use]
    pub fn natural(&self) -> Vec<f64> {
        self.concentration.iter().map(|x| x - 1.0).collect()
    }

    /// $\alpha_k/\sum\alpha$.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let total: f64 = self.concentration.iter().sum();
        self.concentration.iter().map(|x| x / total).collect()
    }

    /// Whether it is a proper density: all concentrations are positive.
    #[must_use]
    pub fn is_proper(&self) -> bool {
        self.concentration.iter().all(|&x| x > 0.0 && x.is_finite())
    }

    /// $KL(p \Vert q)$; infinite if one is improper.
    #[must_use]
    pub fn kl(&self, q: &Self) -> f64 {
        if !(self.is_proper() && q.is_proper()) {
            return f64::INFINITY;
        }
        let total: f64 = self.concentration.iter().sum();
        let constants = libm::lgamma(total) - libm::lgamma(q.concentration.iter().sum());
        let each = |(&p, &q): (&f64, &f64)| {
            libm::lgamma(q) - libm::lgamma(p) + (p - q) * (digamma(p) - digamma(total))
        };
        constants + self.concentration.iter().zip(&q.concentration).map(each).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With two categories it is a beta density: against quadrature.
    #[test]
    fn divergence_is_the_integral() {
        let p = Dirichlet { concentration: vec![2.0, 5.0] };
        let q = Dirichlet { concentration: vec![1.2, 1.7] };
        let log_density = |g: &Dirichlet, x: f64| {
            let (a, b) = (g.concentration[0], g.concentration[1]);
            libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
                + (a - 1.0) * x.ln()
                + (b - 1.0) * (1.0 - x).ln()
        };
        let integral: f64 = (1..1_000_000)
            .map(|k| k as f64 * 1e-6)
            .map(|x| log_density(&p, x).exp() * (log_density(&p, x) - log_density(&q, x)) * 1e-6)
            .sum();
        assert!((p.kl(&q) - integral).abs() < 1e-7, "{} {integral}", p.kl(&q));
        assert!(p.kl(&p).abs() < 1e-14);
        assert_eq!(p.kl(&Dirichlet { concentration: vec![0.0, 1.0] }), f64::INFINITY);
        assert_eq!(Dirichlet::from_natural(&p.natural()), p);
    }
}
