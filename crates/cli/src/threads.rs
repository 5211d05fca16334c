//! How many threads there are.

/// For each core, and altogether. `RAYON_NUM_THREADS` may ask for as many: more would only take memory and time from each other.
const MAX_THREADS: (usize, usize) = (4, 256);

/// Starts the threads that releases are added up by. Results do not depend on their number.
pub(crate) fn start() {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // If threads cannot be started, or have been, those that there are do the work.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(number(asked, cores)).build_global();
}

/// As many as asked for, or one for each core, within bounds. 0 asks for nothing.
fn number(asked: Option<usize>, cores: usize) -> usize {
    let most = cores.saturating_mul(MAX_THREADS.0).clamp(1, MAX_THREADS.1);
    asked.filter(|&asked| asked > 0).unwrap_or(cores).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn as_many_threads_as_asked_for_within_bounds() {
        assert_eq!(
            [None, Some(0), Some(1), Some(5), Some(99_999)].map(|asked| number(asked, 2)),
            [2, 2, 1, 5, 8]
        );
        assert_eq!(number(Some(usize::MAX), 1000), 256);
        assert_eq!(number(None, 0), 1);
    }
}
