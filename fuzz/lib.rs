//! Shared code of the targets: each is one reader of `reticent-mutations`, with its seeds and mutations.

use reticent_mutations::{Dice, Reader, reader};

/// The reader of a target.
pub fn of_target(name: &str) -> &'static Reader {
    reader(name).expect("a target is named after its reader")
}

/// Writes the seeds into the folder `RETICENT_SEEDS`, if it is set.
pub fn write_seeds(reader: &Reader) {
    let Some(folder) = std::env::var_os("RETICENT_SEEDS") else { return };
    for (number, seed) in reader.seeds().iter().enumerate() {
        let file = std::path::Path::new(&folder).join(format!("seed-{number}"));
        std::fs::write(file, seed).expect("room for the seeds");
    }
}

/// A structure-aware mutation, or one of libFuzzer, which uses values from traced comparisons.
pub fn mutate(reader: &Reader, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice::new(u64::from(seed));
    if dice.below(2) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[..size].to_vec();
    reader.mutate(&mut bytes, &mut dice);
    let size = bytes.len().min(max_size);
    data[..size].copy_from_slice(&bytes[..size]);
    size
}

/// A fuzz target. Panics that a reader catches, such as those of the Parquet library, are no findings: the reader keeps the aborting
/// panic hook of libFuzzer from being called.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        ::libfuzzer_sys::fuzz_target!(
            init: $crate::write_seeds($crate::of_target($name)),
            |bytes: &[u8]| {
                let _ = $crate::of_target($name).read(bytes);
            }
        );
        ::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate($crate::of_target($name), data, size, max_size, seed)
        });
    };
}
