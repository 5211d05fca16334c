//! Records have no fields to read and no rows to ask for.
fn main() {
    let records = reticent::wall::Records::new(vec![1.0], 1).unwrap();
    let _values = &records.values;
    let _row = records.row(0);
    let _count = records.rows();
}
