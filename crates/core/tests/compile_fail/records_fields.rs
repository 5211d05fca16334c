//! Records have no public fields and no method that returns rows.
fn main() {
    let mut records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    let _values = &records.values;
    records.blocks(None, |_, _| ());
    let _count = records.units;
}
