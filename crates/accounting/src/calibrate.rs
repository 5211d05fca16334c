//! Calibration: the noise multiplier or the number of steps that meets a target epsilon.

use crate::account::{Method, account, account_by};
use crate::error::{Error, check_delta, check_epsilon};
use crate::event::{Adjacency, Event};
use crate::gaussian;
use crate::pld::PldAccountant;
use crate::root::boundary;

/// Relative tolerance of the noise multiplier.
pub const TOLERANCE: f64 = 1e-6;

/// The range of noise multipliers searched.
const SMALLEST: f64 = 1e-3;
const LARGEST: f64 = 1e9;

/// The smallest noise multiplier (to a relative $10^{-6}$) for which `event` costs at most `epsilon` at `delta`.
///
/// The result meets the target: [`account`] on it reports at most `epsilon`.
pub fn noise_multiplier(
    event: impl Fn(f64) -> Event,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    method: Method,
) -> Result<f64, Error> {
    noise_multiplier_by(event, adjacency, epsilon, delta, method, PldAccountant::default())
}

/// [`noise_multiplier`], with the tolerance of `pld` where that accountant is used: a wider tolerance is faster and
/// gives slightly more noise.
pub fn noise_multiplier_by(
    event: impl Fn(f64) -> Event,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    method: Method,
    pld: PldAccountant,
) -> Result<f64, Error> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    // A single unsampled Gaussian release would need this; sampling and composition move it.
    let guess = gaussian::noise_multiplier(epsilon, delta)?.clamp(SMALLEST, LARGEST);
    let rough =
        Search { event: &event, adjacency, epsilon, delta, method, pld: PldAccountant::with_tolerance(0.5)? };
    let near = rough.smallest(guess, 0.5, 1e-3)?;
    // From there a few steps of the precise accountant are enough.
    let precise = Search { pld, ..rough };
    precise.smallest(near, 2e-3, TOLERANCE)
}

/// A search for the smallest noise multiplier that meets a target.
struct Search<'a, F> {
    event: &'a F,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    method: Method,
    pld: PldAccountant,
}

impl<F: Fn(f64) -> Event> Search<'_, F> {
    /// By how much, in logarithms, the cost exceeds the target at noise multiplier $e^x$: scale-free and nearly
    /// linear.
    fn excess(&self, x: f64) -> Result<f64, Error> {
        let cost = account_by(&(self.event)(x.exp()), self.adjacency, self.delta, self.method, self.pld)?;
        Ok((cost.epsilon.upper.max(1e-300) / self.epsilon).ln())
    }

    /// The multiplier, to a relative `tolerance`, searched for around `guess` in growing strides.
    fn smallest(&self, guess: f64, stride: f64, tolerance: f64) -> Result<f64, Error> {
        let (lowest, highest) = (SMALLEST.ln(), LARGEST.ln());
        let mut x = guess.ln();
        let mut value = self.excess(x)?;
        let mut stride = stride;
        let too_little_noise = value > 0.0;
        let other = loop {
            let next = (x + if too_little_noise { stride } else { -stride }).clamp(lowest, highest);
            if next == x {
                return if too_little_noise { Err(self.unreachable(value)) } else { Ok(x.exp()) };
            }
            let at_next = self.excess(next)?;
            if (at_next > 0.0) != too_little_noise {
                break (next, at_next);
            }
            (x, value) = (next, at_next);
            stride *= 1.6;
        };
        let (outside, inside) = if too_little_noise { ((x, value), other) } else { (other, (x, value)) };
        // Shifted so that both ends are near 1: there a relative tolerance in x is one in the multiplier.
        let shift = 1.0 - outside.0.min(inside.0);
        let moved = |(x, value): (f64, f64)| (x + shift, value);
        let resolution = tolerance / (1.0 + (inside.0 - outside.0).abs());
        let x = boundary(moved(outside), moved(inside), resolution, |x| self.excess(x - shift))?;
        Ok((x - shift).exp())
    }

    fn unreachable(&self, excess: f64) -> Error {
        let floor = excess.exp() * self.epsilon;
        let reason = format!("its bound stays at {floor:.4} however large the noise");
        let hint = match self.method {
            Method::Wang9 | Method::Wang27 | Method::Rdp => {
                "use the pld accountant, whose bound goes to zero"
            }
            _ => "use a larger epsilon or fewer steps",
        };
        Error::Unreachable { method: self.method, target: self.epsilon, reason, hint }
    }
}

/// The largest number of repetitions of `event` that cost at most `epsilon` at `delta`; 0 when a single one costs more.
pub fn steps(
    event: &Event,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    method: Method,
) -> Result<u64, Error> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    let fits = |times: u64| {
        account(&event.clone().repeat(times), adjacency, delta, method)
            .map(|cost| cost.epsilon.upper <= epsilon)
    };
    const MAX: u64 = 1 << 50;
    if !fits(1)? {
        return Ok(0);
    }
    let (mut enough, mut too_many) = (1, 2);
    while fits(too_many)? {
        enough = too_many;
        too_many *= 4;
        if too_many > MAX {
            return Ok(enough);
        }
    }
    while too_many - enough > 1 {
        let middle = enough + (too_many - enough) / 2;
        if fits(middle)? { enough = middle } else { too_many = middle }
    }
    Ok(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Mechanism, Sampling};

    #[test]
    fn the_answer_meets_the_target_and_a_little_less_does_not() {
        let cases = [
            (Sampling::None, 1, Adjacency::AddRemove, Method::Auto),
            (Sampling::Pass, 40, Adjacency::ReplaceOne, Method::Exact),
            (Sampling::Poisson { rate: 0.01 }, 1000, Adjacency::AddRemove, Method::Rdp),
            (Sampling::Poisson { rate: 0.01 }, 1000, Adjacency::AddRemove, Method::Pld),
            (Sampling::Poisson { rate: 0.01 }, 1000, Adjacency::ReplaceOne, Method::Pld),
            (Sampling::Fixed { batch: 5, records: 500 }, 1000, Adjacency::ReplaceOne, Method::Wang27),
            (Sampling::Fixed { batch: 5, records: 500 }, 1000, Adjacency::ReplaceOne, Method::Auto),
        ];
        for (sampling, steps, adjacency, method) in cases {
            for epsilon in [0.3, 1.0, 8.0] {
                let event = |sigma| Event::gaussian(sigma, sampling).repeat(steps);
                let sigma = noise_multiplier(event, adjacency, epsilon, 1e-5, method).unwrap();
                let cost = |sigma| account(&event(sigma), adjacency, 1e-5, method).unwrap().epsilon.upper;
                assert!(cost(sigma) <= epsilon, "{sampling:?} {method}");
                // The pld accountant is itself only as exact as its bracket, so allow it that.
                let less = if matches!(method, Method::Pld | Method::Auto) { 1.0 - 1e-3 } else { 1.0 - 3e-6 };
                assert!(cost(sigma * less) > epsilon, "{sampling:?} {method}: {sigma} is not the smallest");
            }
        }
    }

    /// Laplace noise of scale $1/\varepsilon$ and a little less, since delta is not zero.
    #[test]
    fn laplace_scale_is_calibrated() {
        let event = |scale| Event::release(Mechanism::Laplace { noise_multiplier: scale }, Sampling::None);
        let scale = noise_multiplier(event, Adjacency::AddRemove, 0.5, 1e-6, Method::Pld).unwrap();
        assert!((0.999 * 2.0..=2.0).contains(&scale), "{scale}");
    }

    /// Theorem 9 stays above 0.311 for N = 1000 and 100 passes however large the noise; below that only its
    /// minimum with the unamplified mechanism helps, at extreme noise, and its orders limit that too.
    #[test]
    fn an_unreachable_target_is_an_error_with_a_hint() {
        let event =
            |sigma| Event::gaussian(sigma, Sampling::Fixed { batch: 1, records: 1000 }).repeat(100_000);
        let by_theorem_9 =
            |epsilon| noise_multiplier(event, Adjacency::ReplaceOne, epsilon, 1e-5, Method::Wang9);
        let tight = noise_multiplier(event, Adjacency::ReplaceOne, 0.02, 1e-5, Method::Pld).unwrap();
        assert!(by_theorem_9(0.02).unwrap() > 100.0 * tight);
        let error = by_theorem_9(1e-3).unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }) && error.to_string().contains("pld"), "{error}");
    }

    #[test]
    fn steps_is_the_maximum_within_the_budget() {
        let step = Event::gaussian(2.0, Sampling::Poisson { rate: 0.01 });
        let maximum = steps(&step, Adjacency::AddRemove, 1.0, 1e-5, Method::Rdp).unwrap();
        let cost = |n| account(&step.clone().repeat(n), Adjacency::AddRemove, 1e-5, Method::Rdp).unwrap();
        assert!(cost(maximum).epsilon.upper <= 1.0 && cost(maximum + 1).epsilon.upper > 1.0);
        let expensive = Event::gaussian(0.1, Sampling::None);
        assert_eq!(steps(&expensive, Adjacency::AddRemove, 1.0, 1e-5, Method::Auto).unwrap(), 0);
    }
}
