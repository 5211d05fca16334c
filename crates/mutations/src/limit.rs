//! Resource limits of the process.

/// Calls `call` while files cannot grow beyond `bytes`: further writes fail, as on a full disk.
pub(crate) fn with_files_up_to<T>(bytes: u64, call: impl FnOnce() -> T) -> T {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the signal number and its disposition are valid, and the limit outlives the calls.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut before), 0, "getrlimit succeeds");
    }
    let set = |limit: &libc::rlimit| {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, limit) }, 0, "the soft limit can be changed");
    };
    set(&libc::rlimit { rlim_cur: bytes, ..before });
    let result = call();
    set(&before);
    result
}
