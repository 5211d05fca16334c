//! Records cannot be written to a file.
fn main() {
    let records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    let _text = serde_json::to_string(&records);
}
