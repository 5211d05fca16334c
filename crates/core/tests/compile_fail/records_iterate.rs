//! Records cannot be iterated.
fn main() {
    let records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    for _record in records {}
}
