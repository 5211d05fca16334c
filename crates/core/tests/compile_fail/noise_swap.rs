//! The generators of two sources cannot be exchanged.
fn main() {
    let mut a = reticent_core::wall::NoiseSource::from_os().unwrap();
    let mut b = reticent_core::wall::NoiseSource::from_os().unwrap();
    std::mem::swap(a.coins().unwrap().0, b.coins().unwrap().0);
}
