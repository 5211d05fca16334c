//! Processes are killed at random moments.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Fit, LEDGER, Random, rounds};

/// Fits and `ledger init` are killed at random moments, some of them again while they go on. None is charged without a model in the
/// end, none is charged less than it released. `RETICENT_KILLS=600` is the long form.
#[test]
fn random_kills_lose_nothing() {
    let kills = rounds("RETICENT_KILLS", 40);
    let fits = [Fit::of_one_release(), Fit::of_many_releases()];
    let mut random = Random(17);
    let (mut killed, mut unfinished, mut round) = (0, 0, 0u64);
    while killed < kills {
        round += 1;
        let fit = &fits[(round % 2) as usize];
        fit.clear();
        // How long it takes now, on a machine that may be busy.
        let begun = Instant::now();
        fit.must(&fit.init());
        let init = begun.elapsed();
        fit.must(&fit.fit());
        let whole = begun.elapsed() - init;
        fit.clear();
        let kill = |arguments: &str, random: &mut Random, usual: Duration| {
            let mut child =
                fit.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            sleep(Duration::from_nanos(random.below(usual.as_nanos() as u64 * 11 / 10)));
            child.kill().unwrap();
            u64::from(!child.wait().unwrap().success())
        };
        if round.is_multiple_of(4) {
            killed += kill(&fit.init(), &mut random, init);
        } else {
            fit.must(&fit.init());
        }
        if !fit.path(LEDGER).exists() || round.is_multiple_of(4) {
            fit.finish(&format!("round {round}, init"));
            continue;
        }
        killed += kill(&fit.fit(), &mut random, whole);
        fit.check_charged(&format!("round {round}"));
        while fit.path(super::JOURNAL).exists() && random.below(2) == 0 {
            killed += kill(&format!("{} --resume", fit.fit()), &mut random, whole);
            fit.check_charged(&format!("round {round}, resumed"));
        }
        unfinished += u64::from(fit.path(super::JOURNAL).exists());
        fit.finish(&format!("round {round}"));
    }
    #[allow(clippy::print_stderr, reason = "the figures of the long form")]
    {
        eprintln!("{killed} kills in {round} rounds: {unfinished} were resumed to their end, none was lost");
    }
}
