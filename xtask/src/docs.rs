//! `cargo xtask docs`

use crate::{Outcome, command, root};

/// The documentation of every crate, with `$...$` and `$$...$$` as formulas.
pub(crate) fn run() -> Outcome {
    let header = root().join("docs/formulas.html");
    let mut build = command("cargo", &["doc", "--workspace", "--no-deps"]);
    build.env("RUSTDOCFLAGS", format!("-D warnings --html-in-header {}", header.display()));
    crate::run(&mut build)
}
