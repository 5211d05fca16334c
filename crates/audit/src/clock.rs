//! CPU time of games, which depends little on other processes of the machine.

/// A clock in seconds from some start.
pub type Clock = fn() -> f64;

/// The CPU time of this thread.
#[must_use]
pub fn of_thread() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock id is valid, and `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The CPU time of all child processes that have ended.
#[must_use]
pub fn of_children() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` outlives the call, and zero is a valid value of every field.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn work_takes_cpu_time_and_sleeping_takes_none() {
        let started = of_thread();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(of_thread() - started < 0.05);
        for n in 0..10_000_000u64 {
            black_box(n);
        }
        assert!(of_thread() > started);
        let before = of_children();
        assert!(std::process::Command::new("ls").output().is_ok_and(|output| output.status.success()));
        assert!(of_children() > before);
    }
}
