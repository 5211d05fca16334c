use std::cell::Cell;

/// The widest vectors that may be used.
#[derive(Clone, Copy, PartialEq)]
pub enum Most {
    Portable,
    Avx2,
    All,
}

std::thread_local!(pub static MAX: Cell<Most> = const { Cell::new(Most::All) });

/// Does some work with all that there is, without AVX-512, and without AVX2: the results must be the same.
pub fn same<T: PartialEq + std::fmt::Debug>(work: impl Fn() -> T) {
    let expected = work();
    for most in [Most::Avx2, Most::Portable] {
        MAX.set(most);
        let found = work();
        MAX.set(Most::All);
        assert_eq!(found, expected);
    }
}
