//! A spending process is killed at 200 random moments. The ledger charges every release that was made.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use reticent_ledger::{Amount, Ledger, LedgerError, State};

use crate::spender::{ADJACENCY, Random, Releases, SCHEMA, fresh, request, spawn, spawned};

const KILLS: u64 = 200;
/// In thousandths of epsilon, and of delta in units of 1e-5, so that the test adds in integers.
const CAP: u64 = 1000;

fn amount(thousandths: u64) -> Amount {
    Amount::new(thousandths as f64 / 1e3, thousandths as f64 / 1e8)
}

fn thousandths(amount: Amount) -> u64 {
    (amount.epsilon * 1e3).round() as u64
}

#[test]
fn two_hundred_kills_never_lose_a_charge() {
    let (folder, path, ledger) = fresh();
    drop(ledger);
    let mut random = Random(7);
    let mut unfinished = 0;
    for round in 0..KILLS {
        let mut child = spawn("crash::spends_until_killed", folder.path(), round);
        // Mostly after the child has begun to spend, sometimes while it opens the ledger.
        let ready = folder.path().join(format!("ready-{round}"));
        while round % 8 != 0 && !ready.exists() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(200));
        }
        sleep(Duration::from_micros(random.below(30_000)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "the child ended by itself: {status}");
        unfinished = check(&path, folder.path());
    }
    // Otherwise no kill came between reserving and settling, and the test is vacuous. On a busy machine there are fewer releases than kills.
    assert!(unfinished > 0);
    assert!(Releases::read(folder.path(), "releases").len() as u64 > KILLS / 4);
}

/// Every release is charged, no cap is exceeded, and the file is sound. Returns the number of unfinished charges.
fn check(path: &Path, folder: &Path) -> u64 {
    // Opening runs the full integrity check.
    let ledger = Ledger::open(path).unwrap();
    let mut released = BTreeMap::<i64, u64>::new();
    for line in Releases::read(folder, "releases") {
        let (id, cost) = line.split_once(' ').unwrap();
        *released.entry(id.parse().unwrap()).or_default() += cost.parse::<u64>().unwrap();
    }
    let mut unfinished = 0;
    for data_set in ledger.data_sets().unwrap() {
        let mut total = 0;
        for charge in ledger.history(&data_set.id).unwrap() {
            let cost = released.remove(&charge.id).unwrap_or(0);
            let charged = thousandths(charge.charged);
            assert!(charged >= cost, "charge {} covers {charged}, released {cost}", charge.id);
            assert!(cost == 0 || matches!(charge.state, State::Started | State::Settled), "{charge:?}");
            total += charged;
        }
        let account = ledger.account(&data_set.id).unwrap();
        assert_eq!(thousandths(account.spent), total);
        assert!(total <= CAP, "{total} charged to {}", data_set.id);
        unfinished += account.counts.reserved + account.counts.started;
    }
    assert!(released.is_empty(), "released without a charge: {released:?}");
    unfinished
}

/// Spends one data set after another, two releases per run, until it is killed.
#[test]
#[ignore = "a process of two_hundred_kills_never_lose_a_charge"]
fn spends_until_killed() {
    let Some((folder, round)) = spawned() else { return };
    let mut random = Random(1000 + round);
    let mut ledger = Ledger::open(folder.join("budget.ledger")).unwrap();
    let mut releases = Releases::append(&folder, "releases");
    std::fs::write(folder.join(format!("ready-{round}")), "").unwrap();
    let mut data_set = ledger.data_sets().unwrap().len();
    loop {
        let requested = 20 + random.below(200);
        let reservation = match ledger.reserve(
            &format!("trial-{data_set}"),
            &request(amount(requested).epsilon, amount(requested).delta),
        ) {
            Ok(reservation) => reservation,
            Err(LedgerError::Refused(_) | LedgerError::UnknownDataSet { .. }) => {
                data_set += 1;
                ledger.add_data_set(&format!("trial-{data_set}"), SCHEMA, amount(CAP), ADJACENCY).unwrap();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        if random.below(8) == 0 {
            ledger.cancel(reservation.id()).unwrap();
            continue;
        }
        ledger.start(&reservation).unwrap();
        let first = random.below(requested);
        let second = random.below(requested - first + 1);
        releases.publish(&format!("{} {first}", reservation.id()));
        releases.publish(&format!("{} {second}", reservation.id()));
        ledger.settle(&reservation, amount(first + second), r#"{"releases": 2}"#).unwrap();
    }
}
