//! Ledgers of older formats.

use std::path::Path;

use reticent_ledger::{Amount, Composition, Ledger, LedgerError, State};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::spender::{ADJACENCY, SCHEMA, gaussian_request, request};

/// A ledger of format 2: with a write-ahead log that contains the newest charge.
fn format_2(path: &Path) -> Connection {
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
fn a_ledger_of_format_2_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let connection = format_2(&path);
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
fn a_damaged_ledger_of_format_2_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    format_2(&path).execute_batch("DROP TRIGGER charge_stays").unwrap();
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Corrupt { .. })));
}

/// A value of a row, as checksums of format 3 encode it.
enum Field {
    Number(i64),
    Text(&'static str),
    Null,
}

/// The SHA-256 of the fields, each after its kind and, for a text, its length.
fn checksum(table: &'static str, fields: &[Field]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for field in [Field::Text(table)].iter().chain(fields) {
        match field {
            Field::Number(number) => hash.update([&[1], &number.to_le_bytes()[..]].concat()),
            Field::Text(text) => {
                hash.update([&[2], &(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat());
            }
            Field::Null => hash.update([0]),
        }
    }
    hash.finalize().to_vec()
}

/// A ledger of format 3 with two data sets and a started charge of (0.3, 1e-6) on the first one.
fn format_3(path: &Path) -> Connection {
    use Field::{Null, Number, Text};
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(include_str!("../../src/schema_3.sql")).unwrap();
    connection.execute_batch("PRAGMA application_id = 1381253964; PRAGMA user_version = 3;").unwrap();
    let mut whole = vec![0; 32];
    let mut toggle = |checksum: &[u8]| whole.iter_mut().zip(checksum).for_each(|(sum, byte)| *sum ^= byte);
    for (key, name) in [(1, "trial"), (2, "other")] {
        let (cap, delta) = (1_000_000_000_000, 10_000_000_000_000);
        let texts = [Text(name), Text(SCHEMA), Text(ADJACENCY)];
        let row: Vec<Field> =
            [Number(key)].into_iter().chain(texts).chain([Number(cap), Number(delta), Number(7)]).collect();
        let checksum = checksum("data_set", &row);
        toggle(&checksum);
        let row = (key, name, SCHEMA, ADJACENCY, cap, delta, 7, checksum);
        connection.execute("INSERT INTO data_set VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", row).unwrap();
    }
    let (epsilon, delta) = (300_000_000_000, 1_000_000_000_000);
    let amount = || [Number(epsilon), Number(delta)];
    let row: Vec<Field> = [Number(4), Text("aa"), Number(1), Text("started")]
        .into_iter()
        .chain(amount())
        .chain(amount())
        .chain([Number(1), Number(2), Text("one"), Text("{}"), Null, Text("a.journal"), Text("d1")])
        .collect();
    let charge = checksum("charge", &row);
    toggle(&charge);
    connection
        .execute(
            "INSERT INTO charge VALUES (4, 'aa', 1, 'started', ?1, ?2, ?1, ?2, 1, 2, 'one', '{}', NULL, 'a.journal', 'd1', ?3)",
            (epsilon, delta, charge),
        )
        .unwrap();
    connection.execute("INSERT INTO whole VALUES (1, 2, 1, ?1)", [whole]).unwrap();
    connection
}

/// Charges without figures count by their epsilon and delta, as they did. A data set without charges gets the filters.
#[test]
fn a_ledger_of_format_3_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    drop(format_3(&path));
    let mut ledger = Ledger::open(&path).unwrap();
    let account = ledger.account("trial").unwrap();
    assert_eq!(account.composition, Some(Composition::Basic));
    assert_eq!((account.spent, account.remaining), (Amount::new(0.3, 1e-6), Amount::new(0.7, 9e-6)));
    assert_eq!(account.unfinished[0].journal.as_deref(), Some("a.journal"));
    let token = reticent_ledger::Token::from_text("aa");
    assert!(
        matches!(ledger.look_up(&token).unwrap(), Some((State::Started, Some(digest))) if digest == "d1")
    );
    // The rest of the cap, by basic composition and not a bit more.
    let _ = ledger.reserve("trial", &gaussian_request(0.7, 9e-6)).unwrap();
    assert!(matches!(ledger.reserve("trial", &gaussian_request(1e-6, 1e-12)), Err(LedgerError::Refused(_))));

    assert_eq!(ledger.account("other").unwrap().composition, None);
    for _ in 0..3 {
        let _ = ledger.reserve("other", &gaussian_request(0.5, 1e-6)).unwrap();
    }
    assert_eq!(ledger.account("other").unwrap().composition, Some(Composition::Joint));
    drop(ledger);
    assert_eq!(Ledger::open(&path).unwrap().history("other").unwrap().len(), 3);
}

#[test]
fn a_damaged_ledger_of_format_3_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for sql in
        ["DROP TRIGGER charge_stays", "UPDATE whole SET charges = 2", "UPDATE charge SET progress = 'd2'"]
    {
        let path = folder.path().join("budget.ledger");
        format_3(&path).execute_batch(sql).unwrap();
        assert!(matches!(Ledger::open(&path), Err(LedgerError::Corrupt { .. })), "{sql}");
        std::fs::remove_file(path).unwrap();
    }
}
