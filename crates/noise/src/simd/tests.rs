use std::cell::Cell;

/// The widest vectors that may be used.
#[derive(Clone, Copy, PartialEq)]
pub enum Width {
    Portable,
    Avx2,
    All,
}

std::thread_local!(pub static MAX: Cell<Width> = const { Cell::new(Width::All) });

/// Runs `work` with all features, without AVX-512 and without AVX2, and compares the results.
pub fn same<T: PartialEq + std::fmt::Debug>(work: impl Fn() -> T) {
    let expected = work();
    for width in [Width::Avx2, Width::Portable] {
        MAX.set(width);
        let found = work();
        MAX.set(Width::All);
        assert_eq!(found, expected);
    }
}
