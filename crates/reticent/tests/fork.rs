//! A process that forks after a fit, as `multiprocessing` of Python does, can fit and predict in the child.
#![cfg(unix)]

use std::path::Path;
use std::time::{Duration, Instant};

use reticent::{Adjacency, Fit, Privacy, SavedModel, Schema};

const SCHEMA: &str = r#"
target = { name = "y", kind = "boolean" }
features = [{ name = "a", kind = "numeric", bounds = [0, 1] }, { name = "b", kind = "boolean" }]
"#;
/// The child takes less than a second. A pool whose threads are not there waits forever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fits without and with privacy, and predictions for all records.
fn fit_and_predict(folder: &Path) -> Result<(), reticent::Error> {
    let (data, out) = (folder.join("data.csv"), folder.join("child.reticent"));
    Fit::new("logistic", &Schema::parse(SCHEMA)?)?.without_privacy().run(data.clone())?;
    private_fit(&data, &out)?;
    SavedModel::load(&out)?.predict(data, folder.join("predictions.csv"))?;
    Ok(())
}

fn private_fit(data: &Path, out: &Path) -> Result<(), reticent::Error> {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?;
    Fit::new("logistic", &Schema::parse(SCHEMA)?)?.privacy(privacy).out(out).run(data.to_path_buf())?;
    Ok(())
}

/// The prediction for a record in the middle of all bounds.
fn prediction(file: &Path) -> String {
    let model = SavedModel::load(file).unwrap();
    format!("{:?}", model.posterior().predict_row(&model.middle(), &[]))
}

#[test]
fn a_fork_after_a_fit_does_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20_000).map(|n| format!("0.{},{},{}\n", n % 97, n % 2, n % 97 > 40)).collect();
    std::fs::write(folder.path().join("data.csv"), format!("a,b,y\n{rows}")).unwrap();
    let parent = folder.path().join("parent.reticent");
    private_fit(&folder.path().join("data.csv"), &parent).unwrap();

    // SAFETY: no other thread of this process holds a lock that the child needs. It leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let done = std::panic::catch_unwind(|| fit_and_predict(folder.path()).is_ok()).unwrap_or(false);
        // SAFETY: it ends the child at once, without the clean-up of the parent's test harness.
        unsafe { libc::_exit(if done { 0 } else { 1 }) }
    }
    let started = Instant::now();
    let mut status = 0;
    // SAFETY: `status` outlives each call.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if started.elapsed() > PATIENCE {
            // SAFETY: the child has not been waited for, so its number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs: it waits for threads of its parent");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child failed");
    let predictions = std::fs::read_to_string(folder.path().join("predictions.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 20_001);
    // The noise of the child is its own: with that of its parent, it would have released the same values.
    assert_ne!(prediction(&parent), prediction(&folder.path().join("child.reticent")));
}
