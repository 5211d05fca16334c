//! Ledgers.

use reticent_accounting::{Event, Sampling};
use reticent_ledger::{Amount, Ledger, LedgerError, Releases, Request};

use crate::{Dice, Reader, bytes, scratch};

pub(super) const READER: Reader = Reader { name: "ledger", seeds, mutate, read };

/// Fragments of ledgers.
const TOKENS: [&[u8]; 10] = [
    b"trial",
    b"replace-one",
    b"add/remove",
    b"reserved",
    b"started",
    b"settled",
    b"cancelled",
    b"SQLite format 3\0",
    b"CREATE TABLE",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
];

const DATA_SETS: [&str; 2] = ["trial", "survey"];

fn request() -> Request {
    Request {
        amount: Amount::new(0.25, 1e-7),
        schema_fingerprint: "5f1c".into(),
        adjacency: "replace-one".into(),
        purpose: "a look".into(),
        plan_json: r#"{"releases": 20}"#.into(),
        releases: Some(Releases { event: Event::gaussian(18.0, Sampling::None), deviation: 1e-30 }),
    }
}

fn remove() {
    for name in ["t.ledger", "t.ledger-wal", "t.ledger-shm", "t.ledger-journal"] {
        let _ = std::fs::remove_file(scratch::path(name));
    }
}

/// A ledger with one run in each state.
fn seeds() -> Vec<Vec<u8>> {
    remove();
    let path = scratch::path("t.ledger");
    let filled = || -> Result<(), LedgerError> {
        let mut ledger = Ledger::create(&path)?;
        for id in DATA_SETS {
            ledger.add_data_set(id, "5f1c", Amount::new(2.0, 1e-5), "replace-one")?;
        }
        let _reserved = ledger.reserve("trial", &request())?;
        let started = ledger.reserve("trial", &request())?;
        ledger.start(&started)?;
        let settled = ledger.reserve("trial", &request())?;
        ledger.start(&settled)?;
        ledger.settle(&settled, Amount::new(0.2, 0.0), r#"{"releases": 15}"#)?;
        let cancelled = ledger.reserve("survey", &request())?;
        ledger.cancel(cancelled.id())
    };
    filled().expect("a ledger can be written");
    vec![std::fs::read(&path).expect("it was just written")]
}

/// Pages refer to each other by number and to their cells by position, so most mutations keep the length.
fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match dice.below(8) {
        0 => bytes::mutate(bytes, dice, &TOKENS),
        // The file header and the schema of the tables, where changes have most effect.
        1 => {
            let first = bytes.len().min(4096);
            bytes::mutate_in_place(&mut bytes[..first], dice);
        }
        2 | 3 => overwrite(bytes, dice),
        _ => bytes::mutate_in_place(bytes, dice),
    }
}

/// Overwrites one token by another.
fn overwrite(bytes: &mut [u8], dice: &mut Dice) {
    let (old, new) = (*dice.pick(&TOKENS), *dice.pick(&TOKENS));
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, part)| *part == old).map(|(at, _)| at).collect();
    if !places.is_empty() {
        let at = *dice.pick(&places);
        bytes.iter_mut().skip(at).zip(new).for_each(|(byte, new)| *byte = *new);
    }
}

/// Whether it is a ledger that can be spent from. Asserts that charges do not exceed the cap.
fn read(bytes: &[u8]) -> bool {
    remove();
    let path = scratch::file("t.ledger", bytes);
    let mut ledger = match Ledger::open(&path) {
        Ok(ledger) => ledger,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal has a reason");
            return false;
        }
    };
    let Ok(data_sets) = ledger.data_sets() else { return false };
    for data_set in data_sets {
        let _ = ledger.history(&data_set.id);
        let _ = ledger.account(&data_set.id).map(|account| format!("{account:?}"));
    }
    let spent = spend(&mut ledger);
    if let Ok(account) = ledger.account(DATA_SETS[0]) {
        assert!(spent.is_err() || account.remaining.epsilon >= 0.0, "a ledger does not overspend");
    }
    spent.is_ok()
}

fn spend(ledger: &mut Ledger) -> Result<(), LedgerError> {
    let reservation = ledger.reserve(DATA_SETS[0], &request())?;
    ledger.start(&reservation)?;
    ledger.settle(&reservation, Amount::new(0.125, 0.0), "{}")
}
