//! A query of one's own: a private histogram of ages, through the wall of `reticent-core`.
//!
//! `cargo run --example custom_query`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall};

/// In which decade of life a record is: a vector with a single 1.
struct Decades;

impl Query for Decades {
    fn width(&self) -> usize {
        10
    }
    // A pure function of one record. It cannot fail: every value, also one that makes no sense, is in some decade.
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let decade = (record[0] / 10.0).clamp(0.0, 9.0) as usize;
        out[decade] = 1.0;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records = 5000;
    let mut plan = Plan::new(records, Adjacency::ReplaceOne);
    let counts = plan.sums(Sums {
        what: "records by decade".into(),
        width: 10,
        // Contributions have norm 1 and no negative part, so that exchanging one record moves the sum by sqrt 2 at most.
        geometry: Geometry::NonNegativeBall { radius: 1.0 },
        sampler: Sampler::Full,
        noise_multiplier: 5.0,
        steps: 1,
    })?;
    let ages = (0..records).map(|n| ((n * n) % 97) as f64).collect();
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?;
    let mut wall =
        Wall::new(Records::new(ages, 1)?, NoiseSource::from_os()?, plan, &privacy, Box::new(Unlimited))?;

    let released = wall.sum(counts, &Decades)?;
    for (decade, (count, sd)) in released.values.iter().zip(released.noise_sd.iter()).enumerate() {
        println!("{:>2} to {:>2} years: {count:>6.0} \u{b1} {:.0}", 10 * decade, 10 * decade + 9, 2.0 * sd);
    }
    println!("\n{}", wall.finish(0)?);
    Ok(())
}
