//! Renyi differential privacy: a curve $\alpha \mapsto \varepsilon(\alpha)$ that adds up under composition.
//!
//! The curves are functions of the order; a [`Curve`] is one on a grid of orders, and a [`Conversion`] turns it into
//! $(\varepsilon, \delta)$.
//!
//! # Citation
//! I. Mironov. *Renyi Differential Privacy.* CSF 2017.

mod fixed;
mod poisson;

pub use fixed::{FixedSize, Theorem};
pub use poisson::poisson_gaussian;

use crate::Method;
use crate::error::{Error, check, check_delta};
use crate::event::{Adjacency, Event, Mechanism, Release, Sampling};
use crate::root::minimum;

/// How a bound $\varepsilon(\alpha)$ becomes an $(\varepsilon, \delta)$ guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// $\varepsilon = \varepsilon(\alpha) + \frac{\ln(1/\delta)}{\alpha-1}$ (Mironov 2017, Proposition 3).
    Classic,
    /// $\varepsilon = \varepsilon(\alpha) + \ln\frac{\alpha-1}{\alpha} - \frac{\ln\delta + \ln\alpha}{\alpha-1}$
    /// (Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21). Never worse.
    Improved,
}

impl Conversion {
    /// The $\varepsilon$ at `delta` of a bound `rdp` at order `alpha`, at least 0.
    pub fn epsilon(self, alpha: f64, rdp: f64, delta: f64) -> f64 {
        let epsilon = match self {
            Self::Classic => rdp - delta.ln() / (alpha - 1.0),
            Self::Improved => rdp + (-1.0 / alpha).ln_1p() - (delta.ln() + alpha.ln()) / (alpha - 1.0),
        };
        epsilon.max(0.0)
    }

    /// The $\ln\delta$ at `epsilon` of a bound `rdp` at order `alpha`, at most 0.
    pub fn log_delta(self, alpha: f64, rdp: f64, epsilon: f64) -> f64 {
        let log_delta = match self {
            Self::Classic => (alpha - 1.0) * (rdp - epsilon),
            Self::Improved => (alpha - 1.0) * (rdp - epsilon + (-1.0 / alpha).ln_1p()) - alpha.ln(),
        };
        log_delta.min(0.0)
    }
}

/// A Renyi curve on a grid of orders.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// A curve from `(order, bound)` pairs; every order must exceed 1.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, Error> {
        for &(order, bound) in &points {
            check(order > 1.0 && order.is_finite(), "Renyi order", "finite and above 1", order)?;
            check(bound >= 0.0, "Renyi divergence", "not negative", bound)?;
        }
        check(!points.is_empty(), "number of Renyi orders", "at least 1", 0.0)?;
        Ok(Self { points })
    }

    /// The `(order, bound)` pairs.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The best $\varepsilon$ at `delta` over the orders, and the order that gives it.
    pub fn epsilon(&self, delta: f64, conversion: Conversion) -> Result<(f64, f64), Error> {
        check_delta(delta)?;
        let candidates =
            self.points.iter().map(|&(order, rdp)| (conversion.epsilon(order, rdp, delta), order));
        Ok(candidates.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a curve has at least one point"))
    }

    /// The best $\ln\delta$ at `epsilon` over the orders.
    pub fn log_delta(&self, epsilon: f64, conversion: Conversion) -> f64 {
        let candidates = self.points.iter().map(|&(order, rdp)| conversion.log_delta(order, rdp, epsilon));
        candidates.fold(0.0, f64::min)
    }
}

/// The default orders: every tenth up to 11, every integer up to 256, then sparser to 4,096, so
/// that the best order of large and of tiny epsilons lies inside the grid.
pub fn default_orders() -> Vec<f64> {
    let fine = (11..110).map(|tenths| f64::from(tenths) / 10.0);
    let integers = (11..=256).map(f64::from);
    let sparse = (1..=16).map(|k| (256.0 * 2f64.powf(f64::from(k) / 4.0)).round());
    [1.01, 1.02, 1.05].into_iter().chain(fine).chain(integers).chain(sparse).collect()
}

/// The default orders of fixed-size sampling: its bound is for integers, and costs one term per unit of the order.
pub fn default_integer_orders() -> Vec<f64> {
    (2..=256).chain([288, 320, 384, 448, 512, 640, 768, 896, 1024]).map(f64::from).collect()
}

/// The Renyi curve of an event; `theorem` selects the bound for fixed-size sampling, all other samplers have one curve.
pub(crate) fn curve(
    event: &Event,
    adjacency: Adjacency,
    orders: &[f64],
    theorem: Theorem,
) -> Result<Curve, Error> {
    let mut total = vec![0.0; orders.len()];
    for (release, times) in event.releases()? {
        let bounds = release_curve(release, adjacency, orders, theorem)?;
        for (sum, bound) in total.iter_mut().zip(bounds) {
            *sum += times as f64 * bound;
        }
    }
    Curve::new(orders.iter().copied().zip(total).collect())
}

/// Whether a release of the event has a bound for integer orders only.
pub(crate) fn requires_integer_orders(event: &Event) -> Result<bool, Error> {
    let amplified =
        |r: &Release| matches!(r.sampling, Sampling::Fixed { .. }) && !r.sampling.uses_all_records();
    Ok(event.releases()?.iter().any(|(release, _)| amplified(release)))
}

fn release_curve(
    release: Release,
    adjacency: Adjacency,
    orders: &[f64],
    theorem: Theorem,
) -> Result<Vec<f64>, Error> {
    let unsupported =
        |what, hint| Err(Error::Unsupported { method: Method::from(theorem), what, adjacency, hint });
    let Release { mechanism, sampling } = release;
    check_pairing(sampling, adjacency, Method::from(theorem))?;
    let unsampled = |order: f64| mechanism_rdp(mechanism, order);
    match (sampling, mechanism) {
        _ if sampling.uses_all_records() => Ok(orders.iter().map(|&a| unsampled(a)).collect()),
        (Sampling::Poisson { rate }, Mechanism::Gaussian { noise_multiplier }) => match adjacency {
            Adjacency::AddRemove => {
                orders.iter().map(|&order| poisson_gaussian(order, rate, noise_multiplier)).collect()
            }
            Adjacency::ReplaceOne => {
                unsupported("Poisson sampling", "use the pld accountant or add/remove adjacency")
            }
        },
        (Sampling::Poisson { .. }, _) => {
            unsupported("a Poisson-sampled mechanism other than the Gaussian", "use the pld accountant")
        }
        _ => {
            let highest = orders.iter().fold(2.0, |top: f64, &order| top.max(order.ceil())) as usize;
            let bound = FixedSize::new(mechanism, sampling.rate(), theorem, highest)?;
            Ok(orders.iter().map(|&order| bound.rdp(order)).collect())
        }
    }
}

/// Refuses samplers that no accountant has a bound for under the adjacency.
pub(crate) fn check_pairing(sampling: Sampling, adjacency: Adjacency, method: Method) -> Result<(), Error> {
    let what = match (sampling, adjacency) {
        (Sampling::Fixed { .. }, Adjacency::AddRemove) => "fixed-size sampling",
        (Sampling::Pass, Adjacency::AddRemove) => "shuffled passes",
        _ => return Ok(()),
    };
    let hint = "the number of records is fixed here: use replace-one adjacency, or Poisson sampling";
    Err(Error::Unsupported { method, what, adjacency, hint })
}

/// $\varepsilon(\alpha)$ of one release on all records.
pub fn mechanism_rdp(mechanism: Mechanism, order: f64) -> f64 {
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => gaussian(order, noise_multiplier),
        Mechanism::Laplace { noise_multiplier } => laplace(order, noise_multiplier),
        Mechanism::Pure { epsilon } => pure(order, epsilon),
        Mechanism::BoundedRange { epsilon } => bounded_range(order, epsilon),
    }
}

/// The Gaussian mechanism: $\alpha / 2\sigma^2$.
pub fn gaussian(order: f64, noise_multiplier: f64) -> f64 {
    0.5 * order / (noise_multiplier * noise_multiplier)
}

/// The Laplace mechanism of scale $b$ (Mironov 2017, Proposition 6):
/// $\frac{1}{\alpha-1}\ln\left[\frac{\alpha}{2\alpha-1}e^{(\alpha-1)/b} + \frac{\alpha-1}{2\alpha-1}e^{-\alpha/b}\right]$.
pub fn laplace(order: f64, scale: f64) -> f64 {
    let up = (order - 1.0) / scale;
    let share = order / (2.0 * order - 1.0);
    let inner = if order / scale < 1.0 {
        // The first-order terms cancel by E[e^-L] = 1; what is left is of second order.
        laplace_second_order(order, scale).ln_1p()
    } else if up < 1.0 {
        (share * up.exp_m1() + (1.0 - share) * (-order / scale).exp_m1()).ln_1p()
    } else {
        up + (share + (1.0 - share) * (-(2.0 * order - 1.0) / scale).exp()).ln()
    };
    inner / (order - 1.0)
}

/// $A_\alpha - 1$ for the Laplace mechanism with small exponents, by its Taylor series: the series of the two
/// exponentials weighted $\alpha$ and $\alpha-1$ over $2\alpha-1$, where the linear terms cancel.
fn laplace_second_order(order: f64, scale: f64) -> f64 {
    let (up, down) = ((order - 1.0) / scale, order / scale);
    // sum_k [ order * up^k + (order - 1) * (-down)^k ] / k!  from k = 2; order*up = (order-1)*down = common.
    let common = order * up;
    let (mut power_up, mut power_down, mut factorial, mut sum) = (1.0, 1.0, 1.0, 0.0);
    for k in 2..24 {
        power_up *= up;
        power_down *= -down;
        factorial *= f64::from(k);
        sum += common * (power_up - power_down) / factorial;
    }
    sum / (2.0 * order - 1.0)
}

/// Any $\varepsilon$-DP mechanism: randomised response is the worst of them,
/// $\frac{1}{\alpha-1}\ln\frac{\sinh(\alpha\varepsilon)-\sinh((\alpha-1)\varepsilon)}{\sinh\varepsilon}$
/// (Bun and Steinke 2016, Proposition 3.3), and never more than $\varepsilon$ or $\alpha\varepsilon^2/2$.
pub fn pure(order: f64, epsilon: f64) -> f64 {
    // (sinh(ax) - sinh((a-1)x)) / sinh x = cosh((a-1/2)x) / cosh(x/2), in logarithms.
    let log_cosh = |x: f64| {
        if x < 1.0 {
            (2.0 * (0.5 * x).sinh().powi(2)).ln_1p()
        } else {
            x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2
        }
    };
    let exact = (log_cosh((order - 0.5) * epsilon) - log_cosh(0.5 * epsilon)) / (order - 1.0);
    exact.min(epsilon).min(0.5 * order * epsilon * epsilon)
}

/// Any $\varepsilon$-bounded-range mechanism: the worst generalised randomised response (Dong, Durfee, Rogers 2020),
/// in closed form, and never more than $\alpha\varepsilon^2/8$ (Cesar and Rogers 2021) or $\varepsilon$.
///
/// The pair has log ratio $t$ with probability $p = (e^\varepsilon - e^t)/(e^\varepsilon - 1)$ and $t - \varepsilon$
/// else; the maximum over $z = e^t$ of $z^{\alpha-1}(c_0 - z c_1)/(e^\varepsilon-1)$ with
/// $c_0 = e^\varepsilon - e^{(1-\alpha)\varepsilon}$, $c_1 = 1 - e^{(1-\alpha)\varepsilon}$ is at
/// $z = \frac{\alpha-1}{\alpha}\frac{c_0}{c_1}$.
pub fn bounded_range(order: f64, epsilon: f64) -> f64 {
    let zcdp = order * epsilon * epsilon / 8.0;
    // All terms are divided by e^epsilon, so that a large epsilon does not overflow.
    let c0 = -(-order * epsilon).exp_m1();
    let c1 = -((1.0 - order) * epsilon).exp_m1();
    let log_z = epsilon + ((order - 1.0) / order * c0 / c1).ln();
    let log_moment = (order - 1.0) * log_z + (c0 / order).ln() - (-(-epsilon).exp_m1()).ln();
    let exact = log_moment / (order - 1.0);
    if exact.is_nan() { zcdp.min(epsilon) } else { exact.max(0.0).min(zcdp).min(epsilon) }
}

/// The best $\varepsilon$ at `delta` of a curve known at every real order, with the order that gives it.
pub(crate) fn best_real_order(delta: f64, conversion: Conversion, rdp: impl Fn(f64) -> f64) -> (f64, f64) {
    // In x = ln(alpha - 1), over which the objective is unimodal for the convex curves we have.
    let (x, epsilon) = minimum(-12.0, 25.0, 90, |x: f64| {
        let order = 1.0 + x.exp();
        conversion.epsilon(order, rdp(order), delta)
    });
    (epsilon, 1.0 + x.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn improved_conversion_is_never_worse() {
        for order in [1.1, 2.0, 17.0, 300.0] {
            for delta in [1e-2, 1e-5, 1e-12] {
                let (new, old) = (
                    Conversion::Improved.epsilon(order, 0.7, delta),
                    Conversion::Classic.epsilon(order, 0.7, delta),
                );
                assert!(new <= old);
            }
        }
    }

    #[test]
    fn small_exponents_keep_their_digits() {
        // To second order the Laplace, pure and bounded-range curves are alpha/(2b^2)..., alpha eps^2/2, alpha eps^2/8.
        for order in [1.5, 2.0, 32.0] {
            let tiny = 1e-7;
            assert!((laplace(order, 1.0 / tiny) / (0.5 * order * tiny * tiny) - 1.0).abs() < 1e-5);
            assert!((pure(order, tiny) / (0.5 * order * tiny * tiny) - 1.0).abs() < 1e-5);
            assert!(bounded_range(order, tiny) <= order * tiny * tiny / 8.0);
        }
        // The branches of the Laplace curve meet.
        for (order, scale) in [2.0, 5.0, 50.0].into_iter().flat_map(|a| [(a, a), (a, a - 1.0)]) {
            let (a, b) = (laplace(order, scale * (1.0 + 1e-9)), laplace(order, scale * (1.0 - 1e-9)));
            assert!((a / b - 1.0).abs() < 1e-7, "{order}: {a} {b}");
        }
    }

    #[test]
    fn no_curve_exceeds_its_pure_bound() {
        for order in [1.01, 1.5, 3.0, 40.0, 1000.0] {
            for epsilon in [1e-6, 1e-3, 0.1, 1.0, 10.0, 800.0] {
                assert!(laplace(order, 1.0 / epsilon) <= epsilon * (1.0 + 1e-12), "{order} {epsilon}");
                assert!(pure(order, epsilon) <= epsilon);
                let range = bounded_range(order, epsilon);
                assert!(
                    range >= 0.0 && range <= pure(order, epsilon) * (1.0 + 1e-9),
                    "{order} {epsilon} {range}"
                );
            }
        }
    }

    #[test]
    fn sampler_and_adjacency_must_fit() {
        let fixed = Event::gaussian(1.0, Sampling::Fixed { batch: 1, records: 10 });
        assert!(curve(&fixed, Adjacency::AddRemove, &[2.0], Theorem::Nine).is_err());
        let poisson = Event::gaussian(1.0, Sampling::Poisson { rate: 0.1 });
        assert!(curve(&poisson, Adjacency::ReplaceOne, &[2.0], Theorem::Nine).is_err());
        assert!(curve(&poisson, Adjacency::AddRemove, &[2.0], Theorem::Nine).is_ok());
    }
}
