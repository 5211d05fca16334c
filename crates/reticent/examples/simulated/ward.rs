//! Simulated patients: nobody is in the table.

use std::fmt::Write as _;

/// What is publicly known about it.
pub(crate) const SCHEMA: &str = r#"
    target = { name = "readmitted", kind = "boolean" }
    features = [
        { name = "age", kind = "numeric", bounds = [18, 95], unit = "years" },
        { name = "emergency", kind = "boolean" },
    ]
"#;

/// A CSV file of so many patients, the same in each run. The old, and emergencies, are readmitted more often.
pub(crate) fn patients(number: u64) -> String {
    let mut text = "age,emergency,readmitted\n".to_owned();
    for n in 0..number {
        let (age, emergency) = (18 + scrambled(3 * n) % 78, scrambled(3 * n + 1) % 10 < 3);
        let risk = age + if emergency { 40 } else { 0 };
        let readmitted = scrambled(3 * n + 2) % 160 < risk;
        let _ = writeln!(text, "{age},{emergency},{readmitted}");
    }
    text
}

/// A number that looks random (the finaliser of SplitMix64).
fn scrambled(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 8
}
