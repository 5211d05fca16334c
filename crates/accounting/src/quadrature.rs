//! Gauss-Legendre quadrature; all integrands of this crate are smooth and positive.

use std::sync::OnceLock;

/// Nodes and weights on $[-1, 1]$.
pub(crate) struct Rule(Vec<(f64, f64)>);

impl Rule {
    /// The `n`-point rule, by Newton's method on the Legendre polynomial.
    fn new(n: usize) -> Self {
        let rule = (0..n).map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut previous, mut p) = (1.0, x);
                for k in 2..=n {
                    let k = k as f64;
                    (previous, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k);
                }
                slope = n as f64 * (x * p - previous) / (x * x - 1.0);
                let step = p / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        });
        Self(rule.collect())
    }

    /// For panels on which the logarithm of the integrand changes by at most about `change`.
    pub(crate) fn short(change: f64) -> &'static Self {
        static RULES: OnceLock<[Rule; 2]> = OnceLock::new();
        let [four, eight] = RULES.get_or_init(|| [4, 8].map(Self::new));
        if change < 0.05 { four } else { eight }
    }

    /// For panels over which the integrand decays by forty e-folds.
    pub(crate) fn long() -> &'static Self {
        static RULE: OnceLock<Rule> = OnceLock::new();
        RULE.get_or_init(|| Self::new(64))
    }

    /// The nodes moved to $[a, b]$ with their weights.
    pub(crate) fn on(&self, a: f64, b: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
        self.0.iter().map(move |&(x, w)| (middle + half * x, half * w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_polynomials_and_a_decaying_exponential() {
        let rule = |r: &Rule, f: &dyn Fn(f64) -> f64| r.on(0.0, 1.0).map(|(x, w)| w * f(x)).sum::<f64>();
        for power in 0..16 {
            let value = rule(Rule::short(1.0), &|x| x.powi(power));
            assert!((value * f64::from(power + 1) - 1.0).abs() < 1e-14, "x^{power}: {value}");
        }
        let value: f64 = Rule::short(0.04).on(0.0, 0.04).map(|(x, w)| w * x.exp()).sum();
        assert!((value / 0.04f64.exp_m1() - 1.0).abs() < 1e-15, "{value}");
        let value = rule(Rule::long(), &|x| (-40.0 * x).exp());
        assert!((value * 40.0 - 1.0).abs() < 1e-13, "{value}");
    }
}
