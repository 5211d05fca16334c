//! A file that is not a sound ledger is an error, never a panic and never an empty budget.

use std::fs;
use std::path::Path;

use reticent_ledger::{Amount, Ledger, LedgerError, State};
use rusqlite::Connection;

use crate::spender::{ADJACENCY, SCHEMA, request, spawn, spawned, with_cap};

#[test]
fn what_was_written_is_read_back() {
    let (_folder, path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &request(0.25, 1e-6)).unwrap();
    ledger.start(&run).unwrap();
    // More digits than an f64 holds: a receipt is stored verbatim.
    let receipt = r#"{"epsilon": 0.12345678901234567890, "what": "sum"}"#;
    ledger.settle(&run, Amount::new(0.2, 1e-7), receipt).unwrap();
    let _ = ledger.reserve("trial", &request(0.5, 0.0)).unwrap();
    drop(ledger);

    let ledger = Ledger::open(&path).unwrap();
    let history = ledger.history("trial").unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].state, State::Settled);
    assert_eq!(history[0].reserved, Amount::new(0.25, 1e-6));
    assert_eq!(history[0].charged, Amount::new(0.2, 1e-7));
    assert_eq!(history[0].purpose, "a test");
    assert_eq!(history[0].receipt.as_ref().unwrap().get(), receipt);
    assert_eq!(history[1].state, State::Reserved);
    assert!(history[1].receipt.is_none());
    let shape: String =
        history[0].reserved_at.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00Z");

    let mut account = ledger.account("trial").unwrap();
    account.data_set.added_at = "then".into();
    account.unfinished[0].reserved_at = "then".into();
    assert_eq!(
        serde_json::to_string(&account).unwrap(),
        r#"{"id":"trial","schema_fingerprint":"a1b2","adjacency":"replace-one","cap":{"epsilon":1.0,"delta":0.00001},"added_at":"then","composition":"basic","spent":{"epsilon":0.7,"delta":1e-7},"remaining":{"epsilon":0.3,"delta":9.9e-6},"sum":{"epsilon":0.7,"delta":1e-7},"unsettled":{"epsilon":0.5,"delta":0.0},"counts":{"reserved":1,"started":0,"settled":1,"cancelled":0},"unfinished":[{"id":2,"state":"reserved","purpose":"a test","charged":{"epsilon":0.5,"delta":0.0},"reserved_at":"then","journal":null}]}"#
    );
    assert!(serde_json::to_string(&history).unwrap().contains(&format!("\"receipt\":{receipt}")));
}

#[test]
fn missing_existing_and_foreign_files_are_distinguished() {
    let (folder, path, ledger) = with_cap(1.0, 1e-5);
    drop(ledger);
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(Ledger::open(at("absent")), Err(LedgerError::Missing { path }) if path == at("absent")));
    assert!(!at("absent").exists());
    assert!(matches!(Ledger::open(""), Err(LedgerError::Storage { .. })));
    assert!(matches!(Ledger::create(&path), Err(LedgerError::AlreadyExists { .. })));
    assert!(matches!(Ledger::open(folder.path()), Err(LedgerError::NotALedger { .. })));
    assert!(matches!(Ledger::create(folder.path()), Err(LedgerError::AlreadyExists { .. })));
    assert!(matches!(Ledger::create(at("no/folder")), Err(LedgerError::NotWritable { .. })));

    let table = "age,dose\n".repeat(1000);
    fs::write(at("table.csv"), &table).unwrap();
    assert!(matches!(Ledger::open(at("table.csv")), Err(LedgerError::NotALedger { .. })));
    let created = Ledger::create(at("table.csv"));
    assert!(matches!(created, Err(LedgerError::AlreadyExists { .. })), "{created:?}");
    assert_eq!(fs::read_to_string(at("table.csv")).unwrap(), table);

    Connection::open(at("other.db")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let before = fs::read(at("other.db")).unwrap();
    assert!(matches!(Ledger::open(at("other.db")), Err(LedgerError::NotALedger { .. })));
    assert!(matches!(Ledger::create(at("other.db")), Err(LedgerError::AlreadyExists { .. })));
    assert_eq!(fs::read(at("other.db")).unwrap(), before);

    // A crash during creation leaves an empty file, which a second creation completes.
    fs::write(at("empty"), "").unwrap();
    assert!(matches!(Ledger::open(at("empty")), Err(LedgerError::NotALedger { .. })));
    Ledger::create(at("empty")).unwrap();
    Ledger::open(at("empty")).unwrap();
    // So does a crash of an older version after it set the journal mode.
    Connection::open(at("half")).unwrap().execute_batch("PRAGMA journal_mode = WAL").unwrap();
    Ledger::open_or_create(at("half")).unwrap();
    Ledger::open_or_create(at("half")).unwrap();
    assert!(matches!(Ledger::open_or_create(at("table.csv")), Err(LedgerError::NotALedger { .. })));
}

/// SQLite treats these names as a database in memory, which would lose the charges.
#[test]
fn special_names_are_plain_files() {
    let (folder, _path, ledger) = with_cap(1.0, 1e-5);
    drop(ledger);
    assert!(spawn("files::in_a_folder", folder.path(), 0).wait().unwrap().success());
    assert!(folder.path().join(":memory:").is_file());
}

#[test]
#[ignore = "a process of special_names_are_plain_files, since it changes its working folder"]
fn in_a_folder() {
    let Some((folder, _)) = spawned() else { return };
    std::env::set_current_dir(folder).unwrap();
    Ledger::create(":memory:")
        .unwrap()
        .add_data_set("trial", SCHEMA, Amount::new(1.0, 0.0), ADJACENCY)
        .unwrap();
    assert_eq!(Ledger::open(":memory:").unwrap().data_sets().unwrap().len(), 1);
}

fn edit(path: &Path, sql: &str) -> rusqlite::Result<()> {
    Connection::open(path)?.execute_batch(sql)
}

#[test]
fn another_format_or_another_structure_is_refused() {
    for (sql, format) in [
        ("PRAGMA user_version = 5", true),
        ("DROP TRIGGER charge_stays", false),
        ("DROP TABLE charge", false),
        ("CREATE TABLE extra (x)", false),
    ] {
        let (_folder, path, ledger) = with_cap(1.0, 1e-5);
        drop(ledger);
        edit(&path, sql).unwrap();
        match Ledger::open(&path) {
            Err(LedgerError::Format { found: 5, supported: 4, .. }) => assert!(format),
            Err(LedgerError::Corrupt { .. }) => assert!(!format),
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn triggers_forbid_lowering_a_charge() {
    let (_folder, path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &request(0.5, 1e-6)).unwrap();
    ledger.start(&run).unwrap();
    for sql in [
        "DELETE FROM charge",
        "DELETE FROM data_set",
        "UPDATE data_set SET cap_epsilon = 9000000000000",
        "UPDATE charge SET charged_epsilon = 0",
        "UPDATE charge SET state = 'reserved'",
        "UPDATE charge SET state = 'cancelled', charged_epsilon = 0, charged_delta = 0",
        "UPDATE charge SET state = 'settled', receipt = '{}', charged_epsilon = -1",
        "UPDATE charge SET state = 'settled', receipt = '{}', reserved_epsilon = 9, charged_epsilon = 9",
        "UPDATE charge SET charged_epsilon = 'nothing'",
        "UPDATE charge SET state = 'settled', receipt = '{}', gaussian = 0, deviation = 0",
        "UPDATE data_set SET limit_gaussian = 9",
    ] {
        assert!(edit(&path, sql).is_err(), "{sql}");
    }
    assert_eq!(ledger.account("trial").unwrap().spent, Amount::new(0.5, 1e-6));
}

#[cfg(unix)]
mod permissions {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;

    /// As an ordinary user, since nothing is read-only to root.
    #[test]
    fn a_ledger_that_cannot_be_written_is_an_error() {
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (folder_mode, file_mode) in [(0o777, 0o444), (0o555, 0o666)] {
            let (folder, path, ledger) = with_cap(1.0, 1e-5);
            drop(ledger);
            mode(folder.path(), folder_mode);
            mode(&path, file_mode);
            // Root cannot run a test binary that only root can reach, so it runs a copy.
            let root =
                fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
            let copies = tempfile::tempdir().unwrap();
            mode(copies.path(), 0o755);
            let program = copies.path().join("it");
            fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            mode(&program, 0o755);
            let mut command = Command::new(program);
            command
                .args(["--exact", "files::permissions::as_an_ordinary_user", "--ignored"])
                .env("LEDGER_TEST_FOLDER", folder.path())
                .env("LEDGER_TEST_ARGUMENT", "0")
                .current_dir("/");
            if root {
                command.uid(65534).gid(65534);
            }
            // A fork in another thread may still hold the copy open for writing.
            let output = loop {
                match command.output() {
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                    output => break output.unwrap(),
                }
            };
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            mode(folder.path(), 0o777);
        }
    }

    #[test]
    #[ignore = "a process of a_ledger_that_cannot_be_written_is_an_error"]
    fn as_an_ordinary_user() {
        let Some((folder, _)) = spawned() else { return };
        let opened = Ledger::open(folder.join("budget.ledger"));
        assert!(matches!(opened, Err(LedgerError::NotWritable { .. })), "{opened:?}");
        // It can be read, but not changed.
        let mut read = Ledger::open_to_read(folder.join("budget.ledger")).unwrap();
        assert_eq!(read.account("trial").unwrap().remaining, Amount::new(1.0, 1e-5));
        assert!(read.history("trial").unwrap().is_empty());
        let reserved = read.reserve("trial", &request(0.5, 0.0));
        assert!(matches!(reserved, Err(LedgerError::NotWritable { .. })), "{reserved:?}");
        if fs::metadata(&folder).unwrap().permissions().readonly() {
            let created = Ledger::create(folder.join("new.ledger"));
            assert!(matches!(created, Err(LedgerError::NotWritable { .. })), "{created:?}");
        }
    }
}
