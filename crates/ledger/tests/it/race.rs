//! Concurrent processes spend from one cap, and concurrent threads create one file.

use std::path::Path;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::Duration;

use reticent_ledger::{Account, Ledger, LedgerError, Request};

use reticent_accounting::filter::{Figures, Limits};
use reticent_accounting::{Adjacency, Method, account};

use crate::spender::{Releases, gaussian_request, request, spawn, spawned, with_cap};

const PROCESSES: u64 = 8;
/// Does not divide the cap, so that the last request is refused.
const REQUEST: f64 = 0.0023;
const GRANTS: usize = 434; // floor(1 / 0.0023)

#[test]
fn eight_processes_never_overspend_one_cap() {
    let (folder, _path, ledger) = with_cap(1.0, 1e-5);
    let granted = race(folder.path(), "race::spends_until_refused");
    assert_eq!(granted, GRANTS);
    let account = ledger.account("trial").unwrap();
    assert_eq!(account.counts.settled, GRANTS as u64);
    assert!(account.spent.epsilon <= 1.0 && account.spent.delta <= 1e-5);
    assert!(account.remaining.epsilon < REQUEST, "{account:?}");
}

/// One Gaussian release each, at a hundredth of the delta of the cap.
const JOINT: (f64, f64) = (0.05, 1e-7);

/// By the filters, whose largest number of grants is computed here from the figures of one run and the limits.
#[test]
fn eight_processes_never_overspend_the_joint_cost() {
    let (folder, _path, ledger) = with_cap(1.0, 1e-5);
    let request = gaussian_request(JOINT.0, JOINT.1);
    let event = request.releases.unwrap().event;
    let limits = Limits::of(1_000_000_000_000, 10_000_000_000_000).unwrap();
    let each = Figures::of(&event, Adjacency::ReplaceOne, limits.order, 1e-30).unwrap();
    let most = (limits.gaussian / each.gaussian.unwrap()).max(limits.renyi / each.renyi.unwrap());
    let granted = race(folder.path(), "race::spends_jointly_until_refused");
    assert_eq!(granted as i64, most);
    let exact = account(&event.repeat(granted as u64), Adjacency::ReplaceOne, 1e-5, Method::Exact).unwrap();
    let account: Account = ledger.account("trial").unwrap();
    assert!(exact.epsilon.upper <= account.spent.epsilon && account.spent.epsilon <= 1.0, "{account:?}");
    assert!(account.sum.epsilon > 2.0, "basic composition would have refused: {account:?}");
}

/// The number of releases of all processes together, as counted by them and not by the ledger.
fn race(folder: &Path, process: &str) -> usize {
    let mut children: Vec<_> = (0..PROCESSES).map(|n| spawn(process, folder, n)).collect();
    let ready = |n: u64| folder.join(format!("releases-{n}")).exists();
    while !(0..PROCESSES).all(ready) {
        assert!(
            children.iter_mut().all(|child| child.try_wait().unwrap().is_none()),
            "a process ended early"
        );
        sleep(Duration::from_millis(1));
    }
    std::fs::write(folder.join("go"), "").unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let counts: Vec<usize> =
        (0..PROCESSES).map(|n| Releases::read(folder, &format!("releases-{n}")).len()).collect();
    assert!(counts.iter().filter(|&&count| count > 0).count() > 1, "no race took place: {counts:?}");
    counts.iter().sum()
}

#[test]
#[ignore = "a process of eight_processes_never_overspend_one_cap"]
fn spends_until_refused() {
    spend_all(&request(REQUEST, 1e-9));
}

#[test]
#[ignore = "a process of eight_processes_never_overspend_the_joint_cost"]
fn spends_jointly_until_refused() {
    spend_all(&gaussian_request(JOINT.0, JOINT.1));
}

fn spend_all(request: &Request) {
    let Some((folder, number)) = spawned() else { return };
    let mut ledger = Ledger::open(folder.join("budget.ledger")).unwrap();
    let mut releases = Releases::append(&folder, &format!("releases-{number}"));
    while !folder.join("go").exists() {
        sleep(Duration::from_micros(100));
    }
    loop {
        let reservation = match ledger.reserve("trial", request) {
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
