//! Records cannot be copied.
fn main() {
    let records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    let _second = records.clone();
}
