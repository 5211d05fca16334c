//! Files that are there in full or not at all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that takes its name only when it is complete. Until then it is a hidden one beside it.
pub(crate) struct AtomicFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { temporary: NamedTempFile::new_in(folder)?, path: path.to_owned() })
    }

    /// To write to.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.temporary.as_file().try_clone()
    }

    /// Gives the file its name, once what was written is on the disk.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(self.path)?;
        Ok(())
    }
}
