//! Panics that a forged model file may cause, as values.
//!
//! Models check what they are loaded from, but a posterior has many parts whose sizes must agree, and a part that nobody
//! checked is found by using it. What is made of a file that anyone may have written is made in here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is expected.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The result of some work, or nothing if it panicked. The panic is not reported.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                usual(panic);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    // Nothing that the work has changed is used after a panic.
    let result = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(before);
    result.ok()
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
