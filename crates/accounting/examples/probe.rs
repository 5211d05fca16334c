//! Probe.
use reticent_accounting::*;
use std::time::Instant;
fn main() {
    let cases = [
        (Sampling::Poisson { rate: 0.001 }, 1.5, 100_000u64, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.001 }, 1.5, 100_000, Adjacency::ReplaceOne),
        (Sampling::Fixed { batch: 1, records: 1000 }, 1.5, 100_000, Adjacency::ReplaceOne),
        (Sampling::Fixed { batch: 1, records: 10740 }, 0.646, 429_600, Adjacency::ReplaceOne),
        (Sampling::Poisson { rate: 1e-4 }, 0.5, 1_000_000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 1e-9 }, 0.2, 1_000_000_000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 1e-9 }, 1.0, 1_000_000_000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 1e-6 }, 1.0, 100_000_000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.01 }, 0.6, 100, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.01 }, 0.6, 10000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.5 }, 3.0, 100000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.5 }, 0.2, 1000000000, Adjacency::AddRemove),
        (Sampling::Poisson { rate: 0.1 }, 1e4, 1000, Adjacency::AddRemove),
        (Sampling::Fixed { batch: 5, records: 100 }, 1.24, 20, Adjacency::ReplaceOne),
        (Sampling::Fixed { batch: 1, records: 463715 }, 0.441, 463715*40, Adjacency::ReplaceOne),
    ];
    for (s, sigma, steps, adj) in cases {
        for tol in [0.5, 0.01, 1e-3, 1e-4] {
            let t = Instant::now();
            let b = pld::PldAccountant::with_tolerance(tol).unwrap().epsilon(&Event::gaussian(sigma, s).repeat(steps), adj, 1e-5).unwrap();
            println!("{s:?} {sigma} {steps} {adj} tol {tol}: [{:.6}, {:.6}] rel {:.1e}  {:.2} ms", b.lower, b.upper, b.width()/b.upper, t.elapsed().as_secs_f64()*1e3);
        }
    }
    for s in [Sampling::None] {
    let t = Instant::now();
    let e = Event::release(Mechanism::Laplace{noise_multiplier: 10.0}, s).repeat(100);
    let b = pld::PldAccountant::default().epsilon(&e, Adjacency::AddRemove, 1e-5).unwrap();
    println!("{b:?} {:?}", t.elapsed());
    let e = Event::release(Mechanism::BoundedRange{epsilon: 0.1}, s).repeat(400);
    let b = pld::PldAccountant::default().epsilon(&e, Adjacency::AddRemove, 1e-6).unwrap();
    println!("{b:?} {:?} zcdp {:?}", t.elapsed(), account(&e, Adjacency::AddRemove, 1e-6, Method::Zcdp));
    }
}
