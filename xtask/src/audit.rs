//! `cargo xtask audit`

use crate::{Outcome, command, root, run};

/// Runs the audit of `crates/audit` and writes `docs/audit.md`; with `short`, few games and no document.
pub(crate) fn run_all(short: bool) -> Outcome {
    // Two builds: the audit enables fixed seeds, a feature that the program must not be built with. The audit is built with the program
    // among the selected packages, so that both have the same features of all other dependencies, which are then built once. The profile is
    // that of the tests, which is optimised.
    let program: &[&str] = &["--package", "reticent-cli", "--bin", "reticent"];
    let audit: &[&str] =
        &["--package", "reticent-audit", "--package", "reticent-cli", "--bin", "reticent-audit"];
    for packages in [program, audit] {
        run(command("cargo", &["build", "--profile", "test"]).args(packages))?;
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
