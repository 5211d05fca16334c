//! `cargo xtask bench`

use crate::{Outcome, command, root, run};

/// Pinned versions of the peers, those of the published figures.
const PEERS: [&str; 2] = ["dp-accounting==0.6.0", "autodp==0.2.3.1"];

pub(crate) fn accounting(peers: bool) -> Outcome {
    let mut bench = command("cargo", &["bench", "--package", "reticent-accounting", "--bench", "accounting"]);
    if peers {
        let python = root().join(".venv/bin/python");
        if !python.exists() {
            run(&mut command("python3", &["-m", "venv", ".venv"]))?;
            run(&mut command(".venv/bin/pip", &["install", "--quiet", PEERS[0], PEERS[1]]))?;
        }
        bench.env("RETICENT_PEERS_PYTHON", python);
    }
    run(&mut bench)
}
