//! Atomic, durable file writes with owner-only permissions.
//!
//! - An [`AtomicFile`] is written under a temporary name and renamed when it is complete and synchronised to the disk.
//! - [`Access`] is its file mode.
//! - [`open_private`], [`create_empty`], [`remove`], [`sync_folder`] and [`is_at`] serve a journal beside such a file.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model");
//! use std::io::Write as _;
//! use reticent_files::{Access, AtomicFile};
//!
//! let new = AtomicFile::create(&path, Access::Owner)?;
//! new.file()?.write_all(b"all of it")?;
//! assert!(!path.exists());
//! new.finish()?;
//! assert_eq!(std::fs::read(&path)?, b"all of it");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Crashes
//! A temporary file has a hidden name that is derived from that of the file, and is locked by its writer. An unlocked one
//! was left by a crashed process; the next process that writes or removes the same file removes it.
//!
//! No symbolic link is followed: temporary files are new, and a link at the place of the file is replaced, not written
//! through. On file systems without hard links, [`AtomicFile::finish_new`] checks and then renames, which is not atomic.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// Permissions of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Mode 0600: for secrets and unpublished results.
    Owner,
    /// As the umask of the process allows: for public contents.
    Umask,
}

/// Suffix of the name of a temporary file.
const SUFFIX: &str = ".tmp";
/// Hexadecimal digits in the name of a temporary file.
const DIGITS: usize = 16;
/// Maximum number of attempts; one fails only if another process cleans up at the same moment.
const MAX_ATTEMPTS: usize = 100;

/// A file that gets its name when it is complete and on the disk.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` once the file has its name.
    temporary: Option<PathBuf>,
    file: File,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file, and removes those left by crashed writers of the same file.
    ///
    /// # Errors
    /// If the folder cannot be written to, or `path` names no file.
    pub fn create(path: &Path, access: Access) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        clean(path);
        for _ in 0..MAX_ATTEMPTS {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{:0DIGITS$x}{SUFFIX}", RandomState::new().hash_one(0)));
            let temporary = path.with_file_name(hidden);
            let file = match options(access).create_new(true).open(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let new = Self { temporary: Some(temporary), file, path: path.to_owned() };
            // Between creation and locking, another process may have removed it as a leftover. A file system without locks is fine.
            let lost = matches!(new.file.try_lock(), Err(fs::TryLockError::WouldBlock));
            if !lost && new.temporary.as_ref().is_some_and(|place| is_at(&new.file, place)) {
                return Ok(new);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A handle to write to.
    ///
    /// # Errors
    /// If the process has too many open files.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Renames the file to its path, replacing an existing one. Contents and name are durable when it returns.
    ///
    /// # Errors
    /// Of the operating system. An error after the renaming may leave the file in place.
    pub fn finish(mut self) -> io::Result<File> {
        self.file.sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        sync_folder(&self.path)?;
        self.file.try_clone()
    }

    /// As [`finish`](Self::finish), but never replaces an existing file.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the path exists.
    pub fn finish_new(self) -> io::Result<File> {
        self.file.sync_all()?;
        let Some(temporary) = &self.temporary else { return self.file.try_clone() };
        match fs::hard_link(temporary, &self.path) {
            Ok(()) => {}
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // Not every file system has hard links.
            Err(_) => return self.finish(),
        }
        let (file, path) = (self.file.try_clone()?, self.path.clone());
        // Removes the temporary name. If that fails, the next writer removes it.
        drop(self);
        sync_folder(&path)?;
        Ok(file)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // If this fails, the next writer removes it.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Checks that `path` can be written, without changing it: to be called before expensive work.
///
/// # Errors
/// As those of [`AtomicFile::create`].
pub fn check_writable(path: &Path) -> io::Result<()> {
    AtomicFile::create(path, Access::Owner).map(drop)
}

/// Writes a file atomically, replacing an existing one.
///
/// # Errors
/// As those of [`AtomicFile`].
pub fn write(path: &Path, access: Access, bytes: &[u8]) -> io::Result<()> {
    let new = AtomicFile::create(path, access)?;
    io::Write::write_all(&mut new.file()?, bytes)?;
    new.finish().map(drop)
}

/// Creates an empty file with mode 0600 at a path that does not exist. Durable when it returns.
///
/// No handle of it is ever open: closing one would drop the POSIX locks that other threads of the process hold on the file.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the path exists, or the error of the folder.
pub fn create_empty(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the name is a string that ends with a zero byte and outlives the call.
        if unsafe { libc::mknod(name.as_ptr(), libc::S_IFREG | 0o600, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    #[cfg(not(target_os = "linux"))]
    drop(options(Access::Owner).create_new(true).open(path)?);
    sync_folder(path)
}

/// Opens an existing regular file to read and write, without following links.
///
/// # Errors
/// If it does not exist, or is a symbolic link or not a regular file.
pub fn open_private(path: &Path) -> io::Result<File> {
    let file = options(Access::Owner).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Removes a file, and temporary files left by crashed writers of it. Durable when it returns.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    clean(path);
    sync_folder(path)
}

/// Makes the names in the folder of `path` durable.
///
/// # Errors
/// If the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // On other systems a folder cannot be opened as a file, so nothing can be done.
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

/// Whether an open file is the one at this path (same device and inode).
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let of = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let named = fs::symlink_metadata(path).map(of);
        file.metadata().map(of).is_ok_and(|opened| named.is_ok_and(|named| named == opened))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Removes temporary files of `path` that no running writer has locked.
pub fn clean(path: &Path) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(entries) = fs::read_dir(folder(path)) else { return };
    for entry in entries.flatten() {
        let temporary = entry.file_name();
        let middle = temporary.to_str().and_then(|text| {
            text.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(SUFFIX)
        });
        if !middle.is_some_and(|text| text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit())) {
            continue;
        }
        let Ok(file) = open_private(&entry.path()) else { continue };
        if file.try_lock().is_ok() {
            // Under the lock, since a writer could lock it in between. Another process may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn options(access: Access) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NOFOLLOW);
        if access == Access::Owner {
            options.mode(0o600);
        }
    }
    #[cfg(not(unix))]
    let _ = access;
    options
}

#[cfg(test)]
mod tests;
