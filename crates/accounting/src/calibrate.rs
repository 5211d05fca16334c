//! The parameter that meets a target, instead of the target a parameter meets.

use crate::account::{Method, account};
use crate::error::{Error, check_delta, check_epsilon};
use crate::event::{Adjacency, Event};
use crate::gaussian;
use crate::root::boundary;

/// Relative tolerance of the noise multiplier.
pub const TOLERANCE: f64 = 1e-6;

/// The noise multipliers searched; no sensible mechanism is outside.
const SMALLEST: f64 = 1e-3;
const LARGEST: f64 = 1e9;

/// The smallest noise multiplier (to a relative $10^{-6}$) for which `event` costs at most `epsilon` at `delta`.
///
/// The answer meets the target: `account` on it reports at most `epsilon`.
pub fn noise_multiplier(
    event: impl Fn(f64) -> Event,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    method: Method,
) -> Result<f64, Error> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    let cost = |sigma: f64| account(&event(sigma), adjacency, delta, method).map(|cost| cost.epsilon.upper);
    // Logarithms make the search scale-free and the curve nearly straight.
    let excess = |x: f64| cost(x.exp()).map(|upper| (upper.max(1e-300) / epsilon).ln());
    // A single unsampled Gaussian release would need this; sampling and composition move it, so bracket from there.
    let guess = gaussian::noise_multiplier(epsilon, delta)?.clamp(SMALLEST, LARGEST).ln();
    let (mut x, mut value) = (guess, excess(guess)?);
    let mut stride = 0.5;
    let sign = value > 0.0;
    let other = loop {
        let next = (x + if sign { stride } else { -stride }).clamp(SMALLEST.ln(), LARGEST.ln());
        if next == x {
            return if sign { Err(unreachable(method, epsilon, value.exp() * epsilon)) } else { Ok(x.exp()) };
        }
        let at_next = excess(next)?;
        if (at_next > 0.0) != sign {
            break (next, at_next);
        }
        (x, value) = (next, at_next);
        stride *= 1.6;
    };
    let (outside, inside) = if sign { ((x, value), other) } else { (other, (x, value)) };
    // A root in x with absolute tolerance: shift so that the relative one means the same.
    let shift = 1.0 - outside.0.min(inside.0);
    let moved = |(x, value): (f64, f64)| (x + shift, value);
    let resolution = TOLERANCE / (1.0 + (inside.0 - outside.0).abs());
    let x = boundary(moved(outside), moved(inside), resolution, |x| excess(x - shift))?;
    Ok((x - shift).exp())
}

/// The largest number of repetitions of `event` that cost at most `epsilon` at `delta`; 0 when a single one costs more.
pub fn steps(event: &Event, adjacency: Adjacency, epsilon: f64, delta: f64, method: Method) -> Result<u64, Error> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    let fits = |times: u64| {
        account(&event.clone().repeat(times), adjacency, delta, method).map(|cost| cost.epsilon.upper <= epsilon)
    };
    const MOST: u64 = 1 << 50;
    if !fits(1)? {
        return Ok(0);
    }
    let (mut enough, mut too_many) = (1, 2);
    while fits(too_many)? {
        enough = too_many;
        too_many *= 4;
        if too_many > MOST {
            return Ok(enough);
        }
    }
    while too_many - enough > 1 {
        let middle = enough + (too_many - enough) / 2;
        if fits(middle)? { enough = middle } else { too_many = middle }
    }
    Ok(enough)
}

fn unreachable(method: Method, target: f64, floor: f64) -> Error {
    let reason = format!("its bound stays at {floor:.4} however large the noise");
    let hint = match method {
        Method::Wang9 | Method::Wang27 | Method::Rdp => "use the pld accountant, whose bound goes to zero",
        _ => "use a larger epsilon or fewer steps",
    };
    Error::Unreachable { method, target, reason, hint }
}
