//! Every call that changes a file fails in turn, and in another run the process dies there.

use super::{Fit, shim};

/// In turn each call fails, once or with all that follow (a full disk), or kills the process. Afterwards the fit can be finished,
/// at no further cost; and a failure states what stays charged and what to do.
fn every_point(fit: &Fit, how: &str, command: &dyn Fn(&Fit) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    let begun = fit.folder();
    let mut points = 0u64;
    loop {
        points += 1;
        fit.put(&begun);
        let (at, number) = (points.to_string(), folder.path().join("count"));
        let settings = [("SHIM_HOW", how), ("SHIM_AT", &at), ("SHIM_COUNT", number.to_str().unwrap())];
        let output = fit.shimmed(&shim, &command(fit), &settings);
        let made: u64 = std::fs::read_to_string(&number).unwrap().trim().parse().unwrap();
        if made < points {
            assert!(output.status.success());
            break;
        }
        let when = format!("{how} at call {points}: {}", String::from_utf8_lossy(&output.stderr));
        if how != "kill" && !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.starts_with("error: ") && error.contains("\nhint: "), "{when}");
            assert_eq!(output.status.code(), Some(1), "{when}");
            if fit.path(super::JOURNAL).exists()
                && !fit.account()["unfinished"].as_array().unwrap().is_empty()
            {
                assert!(error.contains("stays charged"), "{when}");
            }
        }
        fit.finish(&when);
    }
    // Else the shim has not seen the disk, and nothing is shown.
    assert!(points > 5, "{points}");
}

fn with_ledger(fit: Fit) -> Fit {
    fit.must(&fit.init());
    fit
}

#[test]
fn every_failure_and_every_kill_can_be_resumed() {
    let fit = with_ledger(Fit::of_one_release());
    for how in ["fail", "full", "kill"] {
        every_point(&fit, how, &Fit::fit);
        fit.clear();
        fit.must(&fit.init());
    }
}

#[test]
fn bought_bounds_and_their_fit_can_be_resumed_as_one() {
    let fit = with_ledger(Fit::of_many_releases());
    every_point(&fit, "kill", &Fit::fit);
}

/// A run that goes on may die too, any number of times.
#[test]
fn a_resumed_run_can_be_resumed() {
    let fit = with_ledger(Fit::of_one_release());
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    super::stopped_before_the_model(&fit, &shim);
    for how in ["fail", "kill"] {
        every_point(&fit, how, &|fit| format!("{} --resume", fit.fit()));
        fit.clear();
        fit.must(&fit.init());
        super::stopped_before_the_model(&fit, &shim);
    }
}

#[test]
fn a_killed_init_is_finished_by_the_next() {
    let fit = Fit::of_one_release();
    for how in ["fail", "kill"] {
        every_point(&fit, how, &Fit::init);
        fit.clear();
    }
}
