//! What a sequence of releases costs, and the noise that meets a budget.
//!
//! `cargo run --example accountant`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use reticent::accounting::{Adjacency, Event, Mechanism, Method, Sampling, account, calibrate};

fn main() -> Result<(), reticent::accounting::Error> {
    // 1000 noisy sums, each about a Poisson sample of one record in a hundred.
    let steps = |noise_multiplier: f64| {
        Event::release(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate: 0.01 })
            .repeat(1000)
    };
    let cost = account(&steps(1.0), Adjacency::AddRemove, 1e-5, Method::Auto)?;
    println!("noise multiplier 1: epsilon between {:.4} and {:.4}", cost.epsilon.lower, cost.epsilon.upper);

    let needed = calibrate::noise_multiplier(steps, Adjacency::AddRemove, 1.0, 1e-5, Method::Auto)?;
    println!("epsilon 1: noise multiplier {needed:.4}");
    Ok(())
}
