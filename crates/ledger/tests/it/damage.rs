//! Damage to the file is an error and never changes a budget.

use std::fs;
use std::path::Path;

use reticent_ledger::{Amount, Ledger, LedgerError};

use crate::spender::{ADJACENCY, Random, SCHEMA, gaussian_request, with_cap};

const MUTATIONS: u64 = 500;

/// All balances and histories of a ledger, serialised.
fn everything(path: &Path) -> Result<String, LedgerError> {
    let ledger = Ledger::open(path)?;
    let mut all = String::new();
    for data_set in ledger.data_sets()? {
        all += &serde_json::to_string(&ledger.account(&data_set.id)?).unwrap();
        all += &serde_json::to_string(&ledger.history(&data_set.id)?).unwrap();
    }
    Ok(all)
}

/// A ledger of two data sets, with charges in every state.
fn with_charges() -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, path, mut ledger) = with_cap(1.0, 1e-5);
    ledger.add_data_set("other", SCHEMA, Amount::new(2.0, 1e-6), ADJACENCY).unwrap();
    for round in 0..30 {
        let run = ledger.reserve(["trial", "other"][round % 2], &gaussian_request(0.01, 1e-8)).unwrap();
        if round % 5 == 1 {
            ledger.cancel(run.id()).unwrap();
        } else if round % 5 > 1 {
            ledger.start(&run).unwrap();
        }
        if round % 5 > 2 {
            ledger.settle(&run, Amount::new(0.005, 1e-9), "{}").unwrap();
        }
    }
    (folder, path)
}

/// One bit is flipped, some bytes are overwritten, or the file is cut short: the contents are unchanged, or opening fails.
#[test]
fn no_damage_is_silent() {
    let (folder, path) = with_charges();
    let (sound, contents) = (fs::read(&path).unwrap(), everything(&path).unwrap());
    let mut random = Random(3);
    let (mut refused, mut harmless) = (0, 0);
    for trial in 0..MUTATIONS {
        let damaged = folder.path().join(format!("damaged-{trial}"));
        let mut bytes = sound.clone();
        let place = random.below(bytes.len() as u64) as usize;
        match trial % 10 {
            0 => bytes.truncate(place),
            // At a page boundary, so that the rest is well formed.
            1 => bytes.truncate(place / 4096 * 4096),
            2 => bytes[place / 4096 * 4096..][..4096].fill(0),
            3 => (0..random.below(64)).for_each(|k| {
                let place = (place + k as usize) % sound.len();
                bytes[place] = random.below(256) as u8;
            }),
            _ => bytes[place] ^= 1 << random.below(8),
        }
        fs::write(&damaged, &bytes).unwrap();
        match everything(&damaged) {
            Ok(all) => {
                assert!(all == contents, "mutation {trial} at byte {place} was silent");
                harmless += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("\nhint: "), "{error}");
                refused += 1;
            }
        }
        fs::remove_file(&damaged).unwrap();
    }
    // Free space is most of a small file.
    assert!(refused > 50 && harmless > 0, "{refused} refused, {harmless} harmless");
}

/// Every bit of a cap and of a charge is flipped. The rows are located by their texts.
#[test]
fn no_flipped_bit_of_a_cap_or_charge_is_silent() {
    let (folder, path) = with_charges();
    let (sound, contents) = (fs::read(&path).unwrap(), everything(&path).unwrap());
    let damaged = folder.path().join("damaged");
    let mut refused = 0;
    // The integers of a data set follow its adjacency, and those of a charge its state.
    let name = sound
        .windows(16)
        .rposition(|part| part == b"otherreplace-one" || part.starts_with(b"a1b2replace-one"));
    let state = sound.windows(7).rposition(|part| part == b"settled");
    // Cap and limits: 42 bytes for these amounts. Amounts and figures of a charge: 31.
    let (name, state) = (name.expect("a data set") + 11, state.expect("a charge") + 7);
    for place in (name..name + 42).chain(state..state + 31) {
        for bit in 0..8 {
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << bit;
            fs::write(&damaged, &bytes).unwrap();
            match everything(&damaged) {
                Ok(all) => assert!(all == contents, "bit {bit} of byte {place} was silent"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

/// A missing or edited row is detected, even if every page is well formed.
#[test]
fn a_missing_row_is_detected() {
    for sql in [
        "DROP TRIGGER charge_stays; DELETE FROM charge WHERE id = 3",
        "DROP TRIGGER charge_stays; DROP TRIGGER data_set_stays; PRAGMA foreign_keys = OFF; DELETE FROM data_set WHERE id = 2",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET cap_epsilon = 5 * cap_epsilon",
        "DROP TRIGGER charge_moves_forward; UPDATE charge SET reserved_epsilon = 1, charged_epsilon = 1 WHERE id = 3",
        "DROP TRIGGER charge_moves_forward; UPDATE charge SET gaussian = 1 WHERE id = 3",
        "DROP TRIGGER charge_moves_forward; UPDATE charge SET renyi = 1 WHERE id = 3",
        "DROP TRIGGER charge_moves_forward; UPDATE charge SET renyi = NULL WHERE id = 3",
        "DROP TRIGGER charge_moves_forward; UPDATE charge SET deviation = 0 WHERE id = 3",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET limit_gaussian = 2 * limit_gaussian",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET limit_renyi = 2 * limit_renyi",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET limit_deviation = 2 * limit_deviation",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET limit_delta = 2 * limit_delta",
        "DROP TRIGGER data_set_is_fixed; UPDATE data_set SET filter_order = filter_order + 1",
        "DELETE FROM whole",
    ] {
        let (_folder, path) = with_charges();
        let schema = "SELECT sql FROM sqlite_schema WHERE type = 'trigger'";
        let connection = rusqlite::Connection::open(&path).unwrap();
        let triggers: Vec<String> = connection
            .prepare(schema)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        connection.execute_batch(sql).unwrap();
        // Restore the triggers, so that only the rows differ.
        for trigger in triggers {
            let _ = connection.execute_batch(&trigger);
        }
        drop(connection);
        assert!(
            matches!(everything(&path), Err(LedgerError::Corrupt { .. })),
            "{sql}: {:?}",
            everything(&path)
        );
    }
}
