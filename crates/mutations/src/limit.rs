//! Limits of the process.

/// Calls this while files cannot grow beyond so many bytes: writing more fails, as on a full disk.
pub(crate) fn with_files_up_to<T>(bytes: u64, call: impl FnOnce() -> T) -> T {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the signal is one that there is, and to ignore it is a way to handle it. The other two calls get a limit that lives
    // until they return.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut before), 0, "a process has limits");
    }
    let set = |limit: &libc::rlimit| {
        // SAFETY: as above.
        assert_eq!(
            unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, limit) },
            0,
            "a limit can be lowered, and raised again"
        );
    };
    set(&libc::rlimit { rlim_cur: bytes, ..before });
    let result = call();
    set(&before);
    result
}
