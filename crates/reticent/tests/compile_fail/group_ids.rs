//! A release can only be asked for by a name that a plan gave out.
fn main() {
    let _id = reticent::wall::SumId(0);
}
