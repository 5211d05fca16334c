//! A simulated table of patients. The seed is public: nobody is in it.

use std::fmt::Write as _;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// What is publicly known about it.
pub(super) const SCHEMA: &str = include_str!("clinic.toml");

/// Patients as a CSV file.
pub(super) fn table(records: usize, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = "age,bmi,pressure,albumin,smoker,emergency,stay\n".to_owned();
    for _ in 0..records {
        let mut normal = |mean: f64, sd: f64| -> f64 {
            let x: f64 = StandardNormal.sample(&mut rng);
            mean + sd * x
        };
        let age = normal(58.0, 16.0).clamp(18.0, 95.0);
        let bmi = normal(26.5, 4.5).clamp(15.0, 45.0);
        let pressure = normal(110.0 + 0.4 * age, 14.0).clamp(80.0, 220.0);
        let albumin = normal(44.0 - 0.08 * age, 4.0).clamp(20.0, 55.0);
        let noise = normal(0.0, 1.3);
        let smoker = match rng.random_range(0..10) {
            0..5 => "never",
            5..8 => "former",
            _ => "current",
        };
        let emergency = rng.random_bool(0.3);
        // Thin and heavy patients, the old, and those with little albumin stay longer; smoking makes emergencies worse.
        let smokes = f64::from(u8::from(smoker == "current"));
        let comes_in = f64::from(u8::from(emergency));
        let stay = 5.0
            + 0.012 * (bmi - 25.0).powi(2)
            + 4.0 / (1.0 + (-(age - 68.0) / 6.0).exp())
            + 0.22 * (40.0 - albumin).max(0.0)
            + comes_in * (2.0 + 1.5 * smokes)
            + 0.6 * smokes
            + noise;
        let stay = stay.clamp(0.0, 30.0);
        let _ = writeln!(text, "{age:.0},{bmi:.1},{pressure:.0},{albumin:.1},{smoker},{emergency},{stay:.1}");
    }
    text
}
