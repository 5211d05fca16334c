//! The file: created once, checked on every opening, changed only inside transactions that reach the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::LedgerError;

const SCHEMA: &str = include_str!("schema.sql");
/// Marks a SQLite file as a ledger: "RTCL" in ASCII.
const APPLICATION_ID: i64 = 0x5254_434c;
/// Goes up when an older version could misread the file.
const FORMAT: i64 = 2;
/// Transactions take milliseconds, so a wait this long means that something is stuck.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// An open ledger file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    connection: Connection,
}

/// What stops a transaction: SQLite, or a rule of the ledger.
#[derive(Debug)]
pub(crate) enum Stop {
    Sqlite(rusqlite::Error),
    Rule(LedgerError),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<LedgerError> for Stop {
    fn from(error: LedgerError) -> Self {
        Self::Rule(error)
    }
}

impl Store {
    /// A new, empty ledger file. A crash on the way leaves a file that can be created over.
    pub fn create(path: &Path) -> Result<Self, LedgerError> {
        let path = absolute(path)?;
        if path.exists() && !path.is_file() {
            return Err(LedgerError::AlreadyExists { path });
        }
        // Looked at before the first write: a file that is not ours is left as it is.
        let vacant = Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
            .and_then(|store| Ok((store.read(|transaction| Ok(is_empty(transaction)?))?, store)));
        let mut store = match vacant {
            Ok((true, store)) => store,
            Ok((false, Self { path, .. })) | Err(LedgerError::NotALedger { path, .. }) => {
                return Err(LedgerError::AlreadyExists { path });
            }
            Err(error) => return Err(error),
        };
        store.use_write_ahead_log()?;
        let path = store.path.clone();
        store.write(|transaction| {
            // Looked at again under the write lock: of two processes that create one path, one wins.
            if !is_empty(transaction)? {
                return Err(LedgerError::AlreadyExists { path }.into());
            }
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// An existing ledger file, checked in full: a damaged index could hide charges from a sum.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let path = absolute(path)?;
        // Only looked at, never opened other than by SQLite: closing any handle of a file drops all POSIX locks that
        // this process holds on it, those of other connections included.
        match path.metadata() {
            Ok(file) if file.is_file() => {}
            Ok(_) => return Err(LedgerError::NotALedger { path, reason: "it is not a regular file" }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(LedgerError::Missing { path });
            }
            Err(error) => return Err(LedgerError::Storage { path, source: error.into() }),
        }
        let store = Self::connect(path, OpenFlags::empty())?;
        store.check()?;
        store.use_write_ahead_log()?;
        Ok(store)
    }

    fn connect(path: PathBuf, extra: OpenFlags) -> Result<Self, LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| fault(&path, error))?;
        // SQLite opens a file it may not write for reading only, without a word. Asked first of all, since any reading
        // would leave the files of a write-ahead log behind.
        if connection.is_readonly("main").map_err(|error| fault(&path, error))? {
            return Err(LedgerError::NotWritable { path });
        }
        let configure = || {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // FULL: a commit returns only once it is on the disk. On macOS that takes a full fsync.
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "checkpoint_fullfsync", true)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "cell_size_check", true)
        };
        configure().map_err(|error| fault(&path, error))?;
        Ok(Self { path, connection })
    }

    fn use_write_ahead_log(&self) -> Result<(), LedgerError> {
        let mode: String = self
            .connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            .map_err(|error| fault(&self.path, error))?;
        if mode.eq_ignore_ascii_case("wal") {
            Ok(())
        } else {
            Err(LedgerError::NoWriteAheadLog { path: self.path.clone(), mode })
        }
    }

    /// Whether this is a ledger of our format, whole, with all its tables, checks and triggers.
    fn check(&self) -> Result<(), LedgerError> {
        self.read(|transaction| {
            let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let path = || self.path.clone();
            if pragma("application_id")? != APPLICATION_ID {
                let reason = "it lacks the mark of a ledger";
                return Err(LedgerError::NotALedger { path: path(), reason }.into());
            }
            let found = pragma("user_version")?;
            if found != FORMAT {
                return Err(LedgerError::Format { path: path(), found, supported: FORMAT }.into());
            }
            let expected = Connection::open_in_memory()?;
            expected.execute_batch(SCHEMA)?;
            if structure(transaction)? != structure(&expected)? {
                let detail = "its tables were changed".to_owned();
                return Err(LedgerError::Corrupt { path: path(), detail }.into());
            }
            let detail: String = transaction.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if detail != "ok" {
                return Err(LedgerError::Corrupt { path: path(), detail }.into());
            }
            Ok(())
        })
    }

    /// Runs `work` as the only writer among all processes, and returns once its changes are on the disk.
    ///
    /// The write lock is taken first, so what `work` reads is still true when it writes.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop>,
    ) -> Result<T, LedgerError> {
        let path = &self.path;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| fault(path, error))?;
        // An early return drops the transaction, which rolls it back.
        let value = work(&transaction).map_err(|stop| stop.at(path))?;
        transaction.commit().map_err(|error| fault(path, error))?;
        Ok(value)
    }

    /// Runs `work` on one consistent state of the file, whatever other processes do meanwhile.
    pub fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop>) -> Result<T, LedgerError> {
        let transaction =
            self.connection.unchecked_transaction().map_err(|error| fault(&self.path, error))?;
        work(&transaction).map_err(|stop| stop.at(&self.path))
    }
}

impl Stop {
    fn at(self, path: &Path) -> LedgerError {
        match self {
            Self::Sqlite(error) => fault(path, error),
            Self::Rule(error) => error,
        }
    }
}

/// SQLite gives `:memory:`, `file:...` and the empty name meanings of their own; an absolute path has only one.
fn absolute(path: &Path) -> Result<PathBuf, LedgerError> {
    std::path::absolute(path)
        .map_err(|error| LedgerError::Storage { path: path.into(), source: error.into() })
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// The statements that made the tables, without what SQLite keeps for itself.
fn structure(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// What an error of SQLite means to the owner of the file.
fn fault(path: &Path, error: rusqlite::Error) -> LedgerError {
    let path = path.to_owned();
    if let rusqlite::Error::FromSqlConversionFailure(..)
    | rusqlite::Error::InvalidColumnType(..)
    | rusqlite::Error::IntegralValueOutOfRange(..) = error
    {
        return LedgerError::Corrupt { path, detail: error.to_string() };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => LedgerError::NotALedger { path, reason: "it is not a SQLite file" },
        Some(ErrorCode::DatabaseCorrupt) => LedgerError::Corrupt { path, detail: error.to_string() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Busy { path },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            LedgerError::NotWritable { path }
        }
        _ => LedgerError::Storage { path, source: error.into() },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    /// A killed process loses nothing that reached the kernel, so only the settings say what a power cut would do.
    #[test]
    fn every_connection_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        for store in [Store::create(&path).unwrap(), Store::open(&path).unwrap()] {
            let pragma =
                |name| store.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(pragma("synchronous"), 2);
            assert_eq!(pragma("fullfsync"), 1);
            assert_eq!(pragma("foreign_keys"), 1);
            let mode: String =
                store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
    }

    /// SQLite before 3.51.3 could damage a write-ahead log when two processes wrote and reset it at one moment.
    #[test]
    fn the_bundled_sqlite_has_the_write_ahead_log_repair() {
        assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
    }

    #[test]
    fn errors_of_sqlite_become_errors_of_the_ledger() {
        let name = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            format!("{:?}", fault(Path::new("x"), error)).split(' ').next().unwrap_or_default().to_owned()
        };
        for (code, expected) in [
            (ffi::SQLITE_BUSY, "Busy"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "Busy"),
            (ffi::SQLITE_LOCKED, "Busy"),
            (ffi::SQLITE_READONLY, "NotWritable"),
            (ffi::SQLITE_READONLY_DIRECTORY, "NotWritable"),
            (ffi::SQLITE_CANTOPEN, "NotWritable"),
            (ffi::SQLITE_PERM, "NotWritable"),
            (ffi::SQLITE_NOTADB, "NotALedger"),
            (ffi::SQLITE_CORRUPT, "Corrupt"),
            (ffi::SQLITE_FULL, "Storage"),
            (ffi::SQLITE_IOERR_FSYNC, "Storage"),
        ] {
            assert_eq!(name(code), expected);
        }
    }
}
