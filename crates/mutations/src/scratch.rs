//! Files for readers that want one.

use std::path::PathBuf;

use tempfile::TempDir;

/// A folder that is gone with the thread, where `RETICENT_SCRATCH` says, or in memory where that can be had: tens of thousands of
/// files go through it.
fn folder() -> TempDir {
    let place = std::env::var_os("RETICENT_SCRATCH").map_or(PathBuf::from("/dev/shm"), PathBuf::from);
    let folder = tempfile::Builder::new().prefix("mutations-").tempdir_in(place);
    folder.or_else(|_| tempfile::tempdir()).expect("room for a folder")
}

thread_local! {
    static FOLDER: TempDir = folder();
}

/// The path of a file, which may not be there.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}

/// A file with these bytes, in the place of the last one of the name.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    std::fs::write(&path, bytes).expect("room for a file");
    path
}
