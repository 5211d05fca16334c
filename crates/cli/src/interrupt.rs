//! Ctrl-C: the first cancels a fit between two releases, the second ends the process at once. The ledger is right in both cases.

use std::sync::OnceLock;

use reticent::Cancel;

/// The exit code of a process that SIGINT has ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// The flag that Ctrl-C sets, from now on.
pub(crate) fn listen() -> Cancel {
    static CANCEL: OnceLock<Cancel> = OnceLock::new();
    CANCEL
        .get_or_init(|| {
            let cancel = Cancel::new();
            let stop = cancel.clone();
            // Without a handler Ctrl-C ends the process, as the second one does anyway.
            let _ = ctrlc::set_handler(move || {
                if stop.is_cancelled() {
                    std::process::exit(INTERRUPTED);
                }
                stop.cancel();
            });
            cancel
        })
        .clone()
}
