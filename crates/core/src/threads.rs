//! The thread pool for sums and chains.
//!
//! The pool is not the global one of the process: a process that forks after a fit (as `multiprocessing` in Python
//! does) has none of the threads of its parent, and a global pool would wait for them forever. The child creates a
//! new pool.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Maximum number of threads per core, and in total, that `RAYON_NUM_THREADS` may request: more threads would only
/// cost memory and time.
const MAX_THREADS: (usize, usize) = (4, 256);

/// The pool, and the id of the process that created it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs work in the pool. In a thread of another pool it runs there, so that a caller may choose the number of
/// threads.
pub(crate) fn install<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match (rayon::current_thread_index(), pool()) {
        (None, Some(pool)) => pool.install(work),
        // If no pool could be created, the caller's thread does the work.
        _ => work(),
    }
}

/// Number of threads of [`install`]. Results do not depend on it.
pub(crate) fn number() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => pool().map_or(1, |pool| pool.current_num_threads()),
    }
}

fn pool() -> Option<Arc<ThreadPool>> {
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = kept.as_ref()
        && *owner == process
    {
        return Some(Arc::clone(pool));
    }
    let requested = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(limited(requested, cores)).build().ok()?);
    // A pool of the parent is never dropped: that would wait for its threads.
    std::mem::forget(kept.replace((process, Arc::clone(&pool))));
    Some(pool)
}

/// The requested number of threads, or one per core, within bounds. 0 is no request.
fn limited(requested: Option<usize>, cores: usize) -> usize {
    let most = cores.saturating_mul(MAX_THREADS.0).clamp(1, MAX_THREADS.1);
    requested.filter(|&requested| requested > 0).unwrap_or(cores).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_limited() {
        assert_eq!(
            [None, Some(0), Some(1), Some(5), Some(99_999)].map(|requested| limited(requested, 2)),
            [2, 2, 1, 5, 8]
        );
        assert_eq!(limited(Some(usize::MAX), 1000), 256);
        assert_eq!(limited(None, 0), 1);
    }

    #[test]
    fn a_pool_of_the_caller_is_used() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(number), 3);
        assert_eq!(pool.install(|| install(rayon::current_num_threads)), 3);
    }
}
