//! `cargo xtask audit`

use crate::{Outcome, command, root, run};

/// Plays all games of `crates/audit`, and writes `docs/audit.md`; with `short`, few games and no document.
pub(crate) fn run_all(short: bool) -> Outcome {
    // Each by itself: the audit's fixed seeds are a feature that the program must not be built with. The profile is that of the tests, which is
    // optimised, and whose dependencies are there after a test.
    for package in ["reticent-cli", "reticent-audit"] {
        run(&mut command("cargo", &["build", "--profile", "test", "--bins", "--package", package]))?;
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let built = |name: &str| folder.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut audit = command(&built("reticent-audit").to_string_lossy(), &["--program"]);
    audit.arg(built("reticent"));
    if short {
        audit.arg("--short");
    } else {
        audit.args(["--out", "docs/audit.md"]);
    }
    run(&mut audit)
}
