//! Concurrent processes spend from one cap, and concurrent threads create one file.

use std::sync::Barrier;
use std::thread::sleep;
use std::time::Duration;

use reticent_ledger::{Ledger, LedgerError};

use crate::spender::{Releases, request, spawn, spawned, with_cap};

const PROCESSES: u64 = 8;
/// Does not divide the cap, so that the last request is refused.
const REQUEST: f64 = 0.0023;
const GRANTS: usize = 434; // floor(1 / 0.0023)

#[test]
fn eight_processes_never_overspend_one_cap() {
    let (folder, _path, ledger) = with_cap(1.0, 1e-5);
    let mut children: Vec<_> =
        (0..PROCESSES).map(|n| spawn("race::spends_until_refused", folder.path(), n)).collect();
    let ready = |n: u64| folder.path().join(format!("releases-{n}")).exists();
    while !(0..PROCESSES).all(ready) {
        assert!(
            children.iter_mut().all(|child| child.try_wait().unwrap().is_none()),
            "a process ended early"
        );
        sleep(Duration::from_millis(1));
    }
    std::fs::write(folder.path().join("go"), "").unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    // The number of releases, as counted by the processes and not by the ledger.
    let counts: Vec<usize> =
        (0..PROCESSES).map(|n| Releases::read(folder.path(), &format!("releases-{n}")).len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), GRANTS, "{counts:?}");
    assert!(counts.iter().filter(|&&count| count > 0).count() > 1, "no race took place: {counts:?}");
    let account = ledger.account("trial").unwrap();
    assert_eq!(account.counts.settled, GRANTS as u64);
    assert!(account.spent.epsilon <= 1.0 && account.spent.delta <= 1e-5);
    assert!(account.remaining.epsilon < REQUEST, "{account:?}");
}

#[test]
#[ignore = "a process of eight_processes_never_overspend_one_cap"]
fn spends_until_refused() {
    let Some((folder, number)) = spawned() else { return };
    let mut ledger = Ledger::open(folder.join("budget.ledger")).unwrap();
    let mut releases = Releases::append(&folder, &format!("releases-{number}"));
    let request = request(REQUEST, 1e-9);
    while !folder.join("go").exists() {
        sleep(Duration::from_micros(100));
    }
    loop {
        let reservation = match ledger.reserve("trial", &request) {
            Ok(reservation) => reservation,
            Err(LedgerError::Refused(_)) => return,
            Err(error) => panic!("{error}"),
        };
        ledger.start(&reservation).unwrap();
        releases.publish("released");
        ledger.settle(&reservation, request.amount, "{}").unwrap();
    }
}

#[test]
fn one_of_many_concurrent_creations_succeeds() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget.ledger");
        let barrier = Barrier::new(8);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let create = || {
                barrier.wait();
                Ledger::create(&path).map(drop)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
        for error in outcomes.into_iter().filter_map(Result::err) {
            assert!(matches!(error, LedgerError::AlreadyExists { .. } | LedgerError::Busy { .. }), "{error}");
        }
        Ledger::open(&path).unwrap();
    }
}
