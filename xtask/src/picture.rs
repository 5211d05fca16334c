//! `cargo xtask picture`

use crate::{Outcome, command, run};

/// Draws the picture of the README anew, from fits that are made for it.
pub(crate) fn draw() -> Outcome {
    let example =
        ["run", "--release", "--package", "reticent", "--example", "picture", "--", "docs/picture.svg"];
    run(&mut command("cargo", &example))
}
