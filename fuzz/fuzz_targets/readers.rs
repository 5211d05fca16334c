//! The fuzz target of every reader of `reticent-mutations`, with its seeds and mutations: one program, since building and linking take most of
//! the time. The variable `RETICENT_READER` names the reader; without it, the names of all are printed.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use reticent_mutations::{Dice, READERS, Reader, reader};

static READER: LazyLock<&Reader> = LazyLock::new(|| {
    let Some(name) = std::env::var_os("RETICENT_READER") else {
        READERS.iter().for_each(|reader| println!("{}", reader.name()));
        std::process::exit(0);
    };
    let found = name.to_str().and_then(reader);
    found.unwrap_or_else(|| panic!("{name:?}: there is no such reader"))
});

// Panics that a reader catches, such as those of the Parquet library, are no findings: the reader keeps the aborting panic hook of libFuzzer
// from being called.
fuzz_target!(init: write_seeds(), |bytes: &[u8]| {
    let _ = READER.read(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed)
});

/// Writes the seeds into the folder `RETICENT_SEEDS`, if it is set.
fn write_seeds() {
    let reader = *READER;
    let Some(folder) = std::env::var_os("RETICENT_SEEDS") else { return };
    for (number, seed) in reader.seeds().iter().enumerate() {
        std::fs::write(Path::new(&folder).join(format!("seed-{number}")), seed).expect("room for the seeds");
    }
}

/// A structure-aware mutation, or one of libFuzzer, which uses values from traced comparisons.
fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice::new(u64::from(seed));
    if dice.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[..size].to_vec();
    READER.mutate(&mut bytes, &mut dice);
    let size = bytes.len().min(max_size);
    data[..size].copy_from_slice(&bytes[..size]);
    size
}
