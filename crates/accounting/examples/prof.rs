//! p
use reticent_accounting::*;
fn main(){ let e=Event::gaussian(1.5, Sampling::Poisson{rate:0.001}).repeat(100000); let mut s=0.0; let t=std::time::Instant::now(); for _ in 0..200 { s+=pld::PldAccountant::with_tolerance(0.5).unwrap().epsilon(&e, Adjacency::AddRemove, 1e-5).unwrap().upper;} println!("{s} {:?}", t.elapsed()/200);}
