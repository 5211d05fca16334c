//! Flipped bits and truncations of what is on the disk are noticed.

use super::{Fit, Folder, JOURNAL, LEDGER, Random, shim, stopped_before_the_model};

const FLIPS: u64 = 120;

/// A copy with one bit flipped, or cut short.
fn damaged(sound: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    let place = random.below(bytes.len() as u64) as usize;
    if random.below(4) == 0 {
        bytes.truncate(place);
    } else {
        bytes[place] ^= 1 << random.below(8);
    }
    bytes
}

/// A run whose journal is damaged goes on with all of its releases or not at all: none is made a second time.
#[test]
fn a_damaged_journal_of_a_run_is_noticed() {
    let fit = Fit::of_many_releases();
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    fit.must(&fit.init());
    let (stopped, _) = stopped_before_the_model(&fit, &shim);
    let resume = format!("{} --resume", fit.fit());
    fit.must(&resume);
    let model = fit.folder()[super::MODEL].clone();
    let mut random = Random(5);
    let (mut refused, mut harmless) = (0, 0);
    for trial in 0..FLIPS {
        let mut folder = stopped.clone();
        folder.insert(JOURNAL.to_owned(), damaged(&stopped[JOURNAL], &mut random));
        fit.put(&folder);
        let output = fit.command(&resume).output().unwrap();
        if output.status.success() {
            assert!(fit.folder()[super::MODEL] == model, "trial {trial}: it went on from other releases");
            harmless += 1;
        } else {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.starts_with("error: ") && error.contains("\nhint: "), "trial {trial}: {error}");
            assert_eq!(fit.account()["spent"]["epsilon"].as_f64(), Some(fit.cost), "trial {trial}");
            refused += 1;
        }
    }
    assert!(refused > FLIPS / 2, "{refused} refused, {harmless} harmless");
}

/// The rollback journal of a ledger, left by a kill in the middle of a transaction and then damaged: the ledger is as before the
/// transaction, or as after it, or refused; nothing that was committed is lost.
#[test]
fn a_damaged_rollback_journal_is_noticed() {
    let fit = Fit::of_one_release();
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    fit.must(&fit.init());
    let show = format!("ledger history {} --data-set people --json", fit.path(LEDGER).display());
    let history = || {
        let output = fit.command(&show).output().unwrap();
        output.status.success().then_some(output.stdout)
    };
    let mut random = Random(6);
    let (mut hot, mut trials) = (0, 0);
    let begun = fit.folder();
    for at in 1.. {
        fit.put(&begun);
        let at = at.to_string();
        let output = fit.shimmed(&shim, &fit.fit(), &[("SHIM_HOW", "kill"), ("SHIM_AT", &at)]);
        if output.status.success() {
            break;
        }
        let killed: Folder = fit.folder();
        let Some(journal) = killed.get("budget.ledger-journal").filter(|journal| !journal.is_empty()) else {
            continue;
        };
        hot += 1;
        // As before the transaction, and as after it.
        let before = history().expect("a sound rollback journal");
        let mut without = killed.clone();
        without.remove("budget.ledger-journal");
        fit.put(&without);
        let after = history();
        for _ in 0..10 {
            let mut folder = killed.clone();
            folder.insert("budget.ledger-journal".to_owned(), damaged(journal, &mut random));
            fit.put(&folder);
            let found = history();
            let known = found.is_none() || found.as_ref() == Some(&before) || found == after;
            assert!(known, "call {at}: {}", String::from_utf8_lossy(&found.unwrap_or_default()));
            trials += 1;
        }
    }
    assert!(hot > 5 && trials > 50, "{hot} {trials}");
}
