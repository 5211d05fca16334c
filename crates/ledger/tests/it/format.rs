//! Ledgers of the previous format.

use std::path::Path;

use reticent_ledger::{Amount, Ledger, State};
use rusqlite::Connection;

use crate::spender::{ADJACENCY, SCHEMA, request};

/// A ledger of the previous version: with a write-ahead log that contains the newest charge.
fn previous_format(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    connection.execute_batch(include_str!("../../src/schema_2.sql")).unwrap();
    connection
        .execute_batch(
            "PRAGMA application_id = 1381253964; PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE);
             INSERT INTO data_set VALUES (1, 'trial', 'a1b2', 'replace-one', 1000000000000, 10000000000000, 1700000000);
             INSERT INTO data_set VALUES (2, 'Žižkov 2', 'a1b2', 'add/remove', 1000000000000, 0, 1700000000);
             INSERT INTO charge VALUES (1, 'aa', 1, 'settled', 300000000000, 0, 200000000000, 0, 1, 2, 'one', '{}', '{\"r\": 1}');
             INSERT INTO charge VALUES (5, 'bb', 1, 'started', 100000000000, 0, 100000000000, 0, 1, 2, 'two', '{}', NULL);",
        )
        .unwrap();
    connection
}

#[test]
fn a_ledger_of_the_previous_format_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let connection = previous_format(&path);
    // As after a crash: the log still exists.
    let copied = folder.path().join("copied.ledger");
    std::fs::copy(&path, &copied).unwrap();
    std::fs::copy(folder.path().join("budget.ledger-wal"), folder.path().join("copied.ledger-wal")).unwrap();
    drop(connection);
    for path in [&path, &copied] {
        let mut ledger = Ledger::open(path).unwrap();
        let account = ledger.account("trial").unwrap();
        assert_eq!((account.data_set.cap, account.spent.epsilon), (Amount::new(1.0, 1e-5), 0.3));
        let history = ledger.history("trial").unwrap();
        assert_eq!(
            history.iter().map(|charge| (charge.id, charge.state)).collect::<Vec<_>>(),
            [(1, State::Settled), (5, State::Started)]
        );
        assert_eq!(history[0].receipt.as_ref().unwrap().get(), "{\"r\": 1}");
        // An id that would be refused now is still valid.
        assert_eq!(ledger.account("Žižkov 2").unwrap().remaining.epsilon, 1.0);
        assert_eq!(ledger.reserve("trial", &request(0.7, 0.0)).unwrap().id(), 6);
        assert!(ledger.reserve("trial", &request(0.1, 0.0)).is_err());
        drop(ledger);
        Ledger::open(path).unwrap().add_data_set("new", SCHEMA, Amount::new(1.0, 0.0), ADJACENCY).unwrap();
    }
    assert!(!folder.path().join("copied.ledger-wal").exists());
}

#[test]
fn a_damaged_ledger_of_the_previous_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    previous_format(&path).execute_batch("DROP TRIGGER charge_stays").unwrap();
    assert!(matches!(Ledger::open(&path), Err(reticent_ledger::LedgerError::Corrupt { .. })));
}
