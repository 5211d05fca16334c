//! Records have no fields to read and no rows to ask for.
fn main() {
    let mut records = reticent_core::wall::Records::new(vec![1.0], 1).unwrap();
    let _values = &records.values;
    records.blocks(None, |_, _| ());
    let _count = records.rows;
}
