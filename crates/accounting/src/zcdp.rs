//! Zero-concentrated differential privacy: $\varepsilon(\alpha) \le \rho\alpha$ at every order; $\rho$ adds up.
//!
//! # Citation
//! M. Bun, T. Steinke. *Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds.* TCC 2016.
//! M. Cesar, R. Rogers. *Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for Data
//! Analytics.* ALT 2021 (bounded range).

use crate::Method;
use crate::error::{Error, check, check_delta};
use crate::event::{Adjacency, Event, Mechanism, Sampling};
use crate::rdp::{Conversion, best_real_order, check_pairing};

/// The $\rho$ of one release on all records.
pub fn rho(mechanism: Mechanism) -> f64 {
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => 0.5 / (noise_multiplier * noise_multiplier),
        Mechanism::Laplace { noise_multiplier } => pure_rho(1.0 / noise_multiplier),
        Mechanism::Pure { epsilon } => pure_rho(epsilon),
        Mechanism::BoundedRange { epsilon } => (epsilon * epsilon / 8.0).min(pure_rho(epsilon)),
    }
}

/// $\varepsilon$-DP implies $\varepsilon\tanh(\varepsilon/2)$-zCDP (Bun and Steinke 2016, Proposition 3.3, sharpened),
/// which is never above $\varepsilon^2/2$.
fn pure_rho(epsilon: f64) -> f64 {
    epsilon * (0.5 * epsilon).tanh()
}

/// The $\rho$ of an event. Sampled releases have no finite useful $\rho$ and are refused.
pub fn event_rho(event: &Event, adjacency: Adjacency) -> Result<f64, Error> {
    let mut total = 0.0;
    for (release, times) in event.releases()? {
        check_pairing(release.sampling, adjacency, Method::Zcdp)?;
        if !release.sampling.uses_all_records() {
            let what = match release.sampling {
                Sampling::Poisson { .. } => "Poisson sampling",
                _ => "fixed-size sampling",
            };
            let hint = "zCDP does not profit from sampling: use the pld or the rdp accountant";
            return Err(Error::Unsupported { method: Method::Zcdp, what, adjacency, hint });
        }
        total += times as f64 * rho(release.mechanism);
    }
    Ok(total)
}

/// The $\varepsilon$ at `delta` of $\rho$-zCDP, over all real orders.
///
/// ```
/// use reticent_accounting::{rdp::Conversion, zcdp};
/// let epsilon = zcdp::epsilon(0.1, 1e-5, Conversion::Improved).unwrap();
/// assert!((epsilon - 1.914_238_832).abs() < 1e-8);
/// ```
pub fn epsilon(rho: f64, delta: f64, conversion: Conversion) -> Result<f64, Error> {
    check(rho >= 0.0 && rho.is_finite(), "rho", "finite and not negative", rho)?;
    check_delta(delta)?;
    Ok(match conversion {
        Conversion::Classic => rho + 2.0 * (rho * -delta.ln()).sqrt(),
        Conversion::Improved => best_real_order(delta, conversion, |order| rho * order).0,
    })
}

/// The $\ln\delta$ at `epsilon` of $\rho$-zCDP, over all real orders.
pub fn log_delta(rho: f64, epsilon: f64, conversion: Conversion) -> Result<f64, Error> {
    check(rho >= 0.0 && rho.is_finite(), "rho", "finite and not negative", rho)?;
    check(epsilon >= 0.0, "epsilon", "not negative", epsilon)?;
    let value = |x: f64| {
        let order = 1.0 + x.exp();
        conversion.log_delta(order, rho * order, epsilon)
    };
    Ok(crate::root::minimum(-12.0, 25.0, 90, value).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Randomised response is the worst pure mechanism, so it suffices that its curve stays below the line.
    #[test]
    fn pure_rho_dominates_the_renyi_curve_of_randomised_response() {
        for exponent in -8..5 {
            let epsilon = 2f64.powi(exponent);
            for step in -40..60 {
                let order = 1.0 + (f64::from(step) / 5.0).exp();
                let curve = crate::rdp::pure(order, epsilon);
                assert!(curve <= pure_rho(epsilon) * order * (1.0 + 1e-9), "{epsilon} {order}");
            }
        }
    }

    #[test]
    fn epsilon_and_delta_are_inverse() {
        for rho in [1e-4, 0.1, 3.0] {
            for delta in [1e-3, 1e-9] {
                let e = epsilon(rho, delta, Conversion::Improved).unwrap();
                let back = log_delta(rho, e, Conversion::Improved).unwrap().exp();
                assert!((back / delta - 1.0).abs() < 1e-6, "{rho} {delta}: {back}");
                assert!(e <= epsilon(rho, delta, Conversion::Classic).unwrap());
            }
        }
    }
}
