//! Standard input, kept so that it can be read several times.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::SpooledTempFile;

/// Bytes that are kept in memory; more go to a temporary file.
const IN_MEMORY: usize = 1 << 26;

/// What was read from a stream that cannot be read twice: in memory, or in a temporary file without a name, which no other process
/// can open and which is gone with the process.
#[derive(Clone)]
pub(super) struct Spool(Arc<Mutex<SpooledTempFile>>);

impl Spool {
    pub(super) fn fill(mut input: impl Read) -> io::Result<Self> {
        let mut file = SpooledTempFile::new(IN_MEMORY);
        io::copy(&mut input, &mut file)?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// From the start. Several readers may be used in turns: each has a place of its own.
    pub(super) fn reader(&self) -> SpoolReader {
        SpoolReader { spool: self.clone(), at: 0 }
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the bytes: they are private.
        f.write_str("Spool")
    }
}

pub(super) struct SpoolReader {
    spool: Spool,
    at: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut file = self.spool.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(into)?;
        self.at += read as u64;
        Ok(read)
    }
}
