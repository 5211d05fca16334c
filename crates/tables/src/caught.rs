//! Panics of the Parquet reader, which some damaged files cause, as errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// The result of a call that does not panic. The message of one that does is not printed: it may contain what was read.
///
/// What the call has changed is not to be used after a panic.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                hook(info);
            }
        }));
    });
    let before = SILENT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call)).ok();
    SILENT.set(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none_and_others_are_heard_again() {
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(|| -> u8 { panic!("not printed") }), None);
        assert!(!SILENT.get());
    }
}
