//! How much memory records may take.

use std::fs;

/// The memory that is assumed where the system does not state it.
const UNKNOWN: u64 = 4 << 30;

/// Bytes of encoded records that a run keeps in memory unless it is stated otherwise: a quarter of what the machine has, or of what the control group of
/// the process may have. More records are read again for each release.
#[must_use]
pub fn default_memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    [machine, limit].into_iter().flatten().min().unwrap_or(UNKNOWN) / 4
}

/// The bytes that the first line of `/proc/meminfo` states.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Numbers in so many bytes.
pub(crate) fn numbers(bytes: u64) -> usize {
    usize::try_from(bytes / 8).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_its_line() {
        assert_eq!(total("MemFree: 7 kB\nMemTotal:       24576 kB\nMemAvailable: 1 kB\n"), Some(24 << 20));
        assert_eq!(total("MemTotal: many kB"), None);
        assert!(default_memory() > 1 << 20);
    }
}
