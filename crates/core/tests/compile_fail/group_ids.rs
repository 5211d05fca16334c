//! A release needs an id that a plan returned.
fn main() {
    let _id = reticent_core::wall::SumId(0);
}
