use std::cell::Cell;

std::thread_local!(pub static PORTABLE: Cell<bool> = const { Cell::new(false) });

/// Does some work without AVX2.
pub fn portable<T>(work: impl FnOnce() -> T) -> T {
    PORTABLE.set(true);
    let result = work();
    PORTABLE.set(false);
    result
}
