//! Records cannot be printed.
fn main() {
    let records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    println!("{records:?}");
}
