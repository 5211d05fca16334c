#![allow(missing_docs, clippy::print_stdout)]
use reticent_reproduce::table::Quartiles;
use reticent_reproduce::table1::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let sets: u32 = args[1].parse().unwrap();
    let d: usize = args[2].parse().unwrap();
    let printed: u64 = args[3].parse().unwrap();
    let table = Table1 {
        seeds: (0..sets).map(|k| 60 + k).collect(),
        records: 1000,
        components: 4,
        dimension: d,
        delta: 1e-5,
        epsilons: vec![1.0, 5.0, 5.5, 50.0],
        printed_passes: (printed > 0).then_some(printed),
        nuts: false,
    };
    let t = std::time::Instant::now();
    let all = table.run(|_| ()).unwrap();
    for m in table.methods() {
        let of = |f: fn(&Outcome) -> f64| {
            let v: Vec<f64> = all.iter().filter(|o| o.method == m).map(f).collect();
            let q = Quartiles::of(&v).unwrap();
            format!("{:.3e} [{:.2e} {:.2e}]", q.median, q.lower, q.upper)
        };
        println!(
            "{:40} F {}  KL {} naive {} cover {} first KL {:.3}",
            m.to_string(),
            of(|o| o.published_f),
            of(|o| o.kl),
            of(|o| o.naive_kl),
            of(|o| o.covered),
            all.iter().find(|o| o.method == m).unwrap().kl
        );
    }
    println!("{:?}", t.elapsed());
}
