//! Panics that a forged model file may cause, caught and returned as values.
//!
//! Models check what they are loaded from, but a posterior has many parts whose sizes must agree, and a part that was not checked fails
//! when it is used. So posteriors of files that anyone may have written are used in [`guarded`] only.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is expected.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The result of some work, or none if it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = EXPECTED.replace(true);
    // Nothing that the work has changed is used after a panic.
    let result = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(before);
    result.ok()
}

/// Keeps panics that this library catches from being printed, by a panic hook of the process; other panics are reported as before.
///
/// For programs that open models of strangers: a forged one can cause panics, which are errors to the caller. Panics of queries, whose messages may
/// reveal a record, are never printed: the wall prevents it.
pub fn silence_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                hook(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value() {
        assert_eq!(guarded(|| 7), Some(7));
        let none: [u8; 0] = [];
        assert_eq!(guarded(|| none[std::hint::black_box(0)]), None);
        assert_eq!(guarded(|| guarded(|| none[std::hint::black_box(0)])), Some(None));
    }
}
