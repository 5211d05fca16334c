//! Records cannot be printed.
fn main() {
    let records = reticent::wall::Records::new(vec![1.0], 1).unwrap();
    println!("{records:?}");
}
