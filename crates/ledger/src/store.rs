//! The file: created once, verified on every opening, changed only in durable transactions.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reticent_files::{Access, AtomicFile};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::LedgerError;
use crate::migrate::{self, OLDER};
use crate::rows;

pub(crate) const SCHEMA: &str = include_str!("schema.sql");
/// Marks a SQLite file as a ledger: "RTCL" in ASCII.
const APPLICATION_ID: i64 = 0x5254_434c;
/// Increased when an older version could misinterpret the file.
pub(crate) const FORMAT: i64 = 4;
/// Transactions take milliseconds, so a wait this long indicates a stuck process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// An open ledger file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    connection: Connection,
}

/// Why a transaction is rolled back: an error of SQLite, a rule of the ledger, or damage to the file.
#[derive(Debug)]
pub(crate) enum DbError {
    Sqlite(rusqlite::Error),
    Rule(LedgerError),
    Damage(String),
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<LedgerError> for DbError {
    fn from(error: LedgerError) -> Self {
        Self::Rule(error)
    }
}

impl Store {
    /// Creates a ledger file without data sets. A crash during creation, also of an older version, leaves a file without tables,
    /// which the next call completes.
    pub fn create(path: &Path) -> Result<Self, LedgerError> {
        let path = absolute(path)?;
        match reticent_files::create_empty(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_file() => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(LedgerError::AlreadyExists { path });
            }
            Err(error) => return Err(unwritable(path, error)),
        }
        // Inspected before the first write: a file that is not a ledger is not modified.
        let emptiness = Self::connect(path).and_then(|store| {
            store.require_writable()?;
            Ok((store.read_raw(|transaction| Ok(is_empty(transaction)?))?, store))
        });
        let mut store = match emptiness {
            Ok((true, store)) => store,
            Ok((false, Self { path, .. })) | Err(LedgerError::NotALedger { path, .. }) => {
                return Err(LedgerError::AlreadyExists { path });
            }
            Err(error) => return Err(error),
        };
        store.use_rollback_journal()?;
        let path = store.path.clone();
        store.write_raw(|transaction| {
            // Checked again under the write lock: of two processes that create one path, one succeeds.
            if !is_empty(transaction)? {
                return Err(LedgerError::AlreadyExists { path }.into());
            }
            transaction.execute_batch(SCHEMA)?;
            rows::begin(transaction)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// Opens an existing ledger file to read and write, verified in full. An older format is converted.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let mut store = Self::find(path)?;
        store.require_writable()?;
        let format = store.format()?;
        let older = OLDER.into_iter().find(|(older, _)| *older == format);
        if let Some((_, schema)) = older {
            store.check(format, schema)?;
        }
        // Only for a ledger: this modifies a file that has a write-ahead log.
        if older.is_some() || format == FORMAT {
            store.use_rollback_journal()?;
        }
        if older.is_some() {
            store.write_raw(|transaction| {
                // Another process may have converted it meanwhile.
                if pragma(transaction, "user_version")? == format {
                    migrate::convert(transaction, format)?;
                    transaction.pragma_update(None, "user_version", FORMAT)?;
                }
                Ok(())
            })?;
        }
        store.check(FORMAT, SCHEMA)?;
        Ok(store)
    }

    /// Opens an existing ledger file on a medium that may be read-only.
    pub fn open_to_read(path: &Path) -> Result<Self, LedgerError> {
        let store = Self::find(path)?;
        if !store.read_only()? {
            drop(store);
            return Self::open(path);
        }
        let found = store.format()?;
        if OLDER.iter().any(|(older, _)| *older == found) {
            return Err(LedgerError::OldFormat { path: store.path, found });
        }
        store.check(FORMAT, SCHEMA)?;
        Ok(store)
    }

    fn find(path: &Path) -> Result<Self, LedgerError> {
        let path = absolute(path)?;
        // Metadata only; SQLite alone opens the file: closing any handle of a file drops all POSIX locks that
        // this process holds on it, those of other connections included.
        match path.metadata() {
            Ok(file) if file.is_file() => Self::connect(path),
            Ok(_) => Err(LedgerError::NotALedger { path, reason: "it is not a regular file" }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(LedgerError::Missing { path }),
            Err(error) => Err(LedgerError::Storage { path, source: error.into() }),
        }
    }

    fn connect(path: PathBuf) -> Result<Self, LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| db_error(&path, error))?;
        let configure = || {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // EXTRA: a commit returns once it is durable, the removal of its rollback journal included. On macOS
            // that requires a full fsync.
            connection.pragma_update(None, "synchronous", "EXTRA")?;
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "checkpoint_fullfsync", true)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "cell_size_check", true)
        };
        configure().map_err(|error| db_error(&path, error))?;
        Ok(Self { path, connection })
    }

    /// SQLite silently opens a file without write permission for reading only; and a change needs a journal in the same folder.
    fn read_only(&self) -> Result<bool, LedgerError> {
        let file = self.connection.is_readonly("main").map_err(|error| db_error(&self.path, error))?;
        Ok(file || AtomicFile::create(&self.path, Access::Owner).is_err())
    }

    fn require_writable(&self) -> Result<(), LedgerError> {
        if self.read_only()? { Err(LedgerError::NotWritable { path: self.path.clone() }) } else { Ok(()) }
    }

    /// A write-ahead log is unsafe for a charge: SQLite treats a damaged one as a shorter one. A rollback journal has the
    /// previous contents, so a charge is in the file itself when its transaction ends.
    fn use_rollback_journal(&self) -> Result<(), LedgerError> {
        let mode: String = self
            .connection
            .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))
            .map_err(|error| db_error(&self.path, error))?;
        if mode.eq_ignore_ascii_case("delete") {
            Ok(())
        } else {
            Err(LedgerError::NoRollbackJournal { path: self.path.clone(), mode })
        }
    }

    /// The format of the file, if it is a ledger.
    fn format(&self) -> Result<i64, LedgerError> {
        self.read_raw(|transaction| {
            let not = |reason| LedgerError::NotALedger { path: self.path.clone(), reason };
            if is_empty(transaction)? && pragma(transaction, "application_id")? == 0 {
                let reason = "it is empty, and becomes one when `ledger init` is run to its end";
                return Err(not(reason).into());
            }
            if pragma(transaction, "application_id")? != APPLICATION_ID {
                return Err(not("it lacks the mark of a ledger").into());
            }
            Ok(pragma(transaction, "user_version")?)
        })
    }

    /// Verifies format, tables, checks, triggers and rows: a damaged index could hide charges from a sum.
    fn check(&self, format: i64, schema: &str) -> Result<(), LedgerError> {
        let found = self.format()?;
        self.read_raw(|transaction| {
            let path = || self.path.clone();
            if found != format {
                return Err(LedgerError::Format { path: path(), found, supported: FORMAT }.into());
            }
            let expected = Connection::open_in_memory()?;
            expected.execute_batch(schema)?;
            if structure(transaction)? != structure(&expected)? {
                return Err(DbError::Damage("its tables were changed".to_owned()));
            }
            let detail: String = transaction.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if detail != "ok" {
                return Err(DbError::Damage(detail));
            }
            // Format 2 has no checksums.
            if format > 2 { rows::verify(transaction, format) } else { Ok(()) }
        })
    }

    /// Runs `work` as the only writer among all processes on rows that were verified, and returns once its changes are on the
    /// disk.
    ///
    /// The write lock is taken first, so what `work` reads is still current when it writes.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, LedgerError> {
        self.write_raw(|transaction| {
            rows::verify(transaction, FORMAT)?;
            work(transaction)
        })
    }

    /// As [`write`](Self::write), without verifying the rows, which may not exist yet.
    fn write_raw<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, LedgerError> {
        let path = &self.path;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| db_error(path, error))?;
        // An early return drops the transaction, which rolls it back.
        let value = work(&transaction).map_err(|stop| stop.at(path))?;
        transaction.commit().map_err(|error| db_error(path, error))?;
        Ok(value)
    }

    /// Runs `work` on one consistent and verified snapshot of the file.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, LedgerError> {
        self.read_raw(|transaction| {
            rows::verify(transaction, FORMAT)?;
            work(transaction)
        })
    }

    fn read_raw<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, DbError>,
    ) -> Result<T, LedgerError> {
        let transaction =
            self.connection.unchecked_transaction().map_err(|error| db_error(&self.path, error))?;
        work(&transaction).map_err(|stop| stop.at(&self.path))
    }

    /// 128 random bits, in hexadecimal digits.
    pub fn random(&self) -> Result<String, LedgerError> {
        self.connection
            .query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))
            .map_err(|error| db_error(&self.path, error))
    }
}

impl DbError {
    fn at(self, path: &Path) -> LedgerError {
        match self {
            Self::Sqlite(error) => db_error(path, error),
            Self::Rule(error) => error,
            Self::Damage(detail) => LedgerError::Corrupt { path: path.to_owned(), detail },
        }
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn unwritable(path: PathBuf, error: std::io::Error) -> LedgerError {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::NotFound
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotADirectory => LedgerError::NotWritable { path },
        _ => LedgerError::Storage { path, source: error.into() },
    }
}

/// SQLite treats `:memory:`, `file:...` and the empty name specially; an absolute path is always a file.
fn absolute(path: &Path) -> Result<PathBuf, LedgerError> {
    std::path::absolute(path)
        .map_err(|error| LedgerError::Storage { path: path.into(), source: error.into() })
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// The SQL of tables, indexes and triggers, without those internal to SQLite.
fn structure(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Converts an error of SQLite.
fn db_error(path: &Path, error: rusqlite::Error) -> LedgerError {
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

    /// A killed process loses nothing that reached the kernel, so durability under a power cut is tested by the settings.
    #[test]
    fn every_connection_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        for store in [Store::create(&path).unwrap(), Store::open(&path).unwrap()] {
            let pragma =
                |name| store.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(pragma("synchronous"), 3);
            assert_eq!(pragma("fullfsync"), 1);
            assert_eq!(pragma("foreign_keys"), 1);
            let mode: String =
                store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, "delete");
        }
    }

    #[test]
    fn errors_of_sqlite_become_errors_of_the_ledger() {
        let name = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            format!("{:?}", db_error(Path::new("x"), error)).split(' ').next().unwrap_or_default().to_owned()
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
