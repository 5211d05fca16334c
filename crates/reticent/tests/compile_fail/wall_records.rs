//! The wall does not give its records back.
fn look(wall: reticent::wall::Wall) -> reticent::wall::Records {
    wall.records
}

fn main() {}
