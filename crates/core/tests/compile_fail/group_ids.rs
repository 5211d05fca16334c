//! A release can only be asked for by a name that a plan gave out.
fn main() {
    let _id = reticent_core::wall::SumId(0);
}
