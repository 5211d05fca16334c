//! Temporary files for readers of paths.

use std::path::PathBuf;

use tempfile::TempDir;

/// A temporary folder of the thread, in `RETICENT_SCRATCH`, or in memory where possible: tens of thousands of files are written
/// to it.
fn folder() -> TempDir {
    let place = std::env::var_os("RETICENT_SCRATCH").map_or(PathBuf::from("/dev/shm"), PathBuf::from);
    let folder = tempfile::Builder::new().prefix("mutations-").tempdir_in(place);
    folder.or_else(|_| tempfile::tempdir()).expect("room for a folder")
}

thread_local! {
    static FOLDER: TempDir = folder();
}

/// The path of a file, which need not exist.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}

/// Writes a file, replacing an earlier one of the name.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    std::fs::write(&path, bytes).expect("room for a file");
    path
}
