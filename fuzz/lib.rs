//! What the targets share: each is one reader of `reticent-mutations`, with its seeds and its own mutations.

use reticent_mutations::{Dice, Reader, reader};

/// The reader of a target.
pub fn of_target(name: &str) -> &'static Reader {
    reader(name).expect("a target is named after its reader")
}

/// Writes what fuzzing starts from into the folder that `RETICENT_SEEDS` names, if it is set.
pub fn write_seeds(reader: &Reader) {
    let Some(folder) = std::env::var_os("RETICENT_SEEDS") else { return };
    for (number, seed) in reader.seeds().iter().enumerate() {
        let file = std::path::Path::new(&folder).join(format!("seed-{number}"));
        std::fs::write(file, seed).expect("room for the seeds");
    }
}

/// A mutation that keeps the structure, or one of libFuzzer's, which come from the compared values it has seen.
pub fn mutate(reader: &Reader, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut dice = Dice::new(u64::from(seed));
    if dice.below(2) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let mut bytes = data[..size].to_vec();
    reader.mutate(&mut bytes, &mut dice);
    let size = bytes.len().min(most);
    data[..size].copy_from_slice(&bytes[..size]);
    size
}

/// A fuzz target. Panics that a reader catches, as those of the Parquet library, are none to libFuzzer: what catches them keeps its
/// hook, which aborts, from being called.
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
