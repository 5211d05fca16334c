//! Mutated inputs over all readers: no panic, no hang, no value in a message, and memory that is bounded.

#![allow(clippy::print_stderr, reason = "the number of accepted inputs is printed")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use reticent_mutations::{Dice, READERS, Reader, reader};

/// Number of inputs of each reader, by their speed; 20,000 in total.
const INPUTS: [(&str, u64); 7] = [
    ("csv", 6000),
    ("parquet", 5000),
    ("schema", 4000),
    ("plan", 1000),
    ("model_file", 2500),
    ("ledger", 1000),
    ("journal", 500),
];

/// Maximum memory for one input of at most 64 KiB: the parts of a Parquet file are compressed, and a ledger has a cache.
const MAX_MEMORY: usize = 1 << 28;

/// Allocator that tracks the bytes in use and their maximum.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MAX: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MAX.fetch_max(used, Ordering::Relaxed);
        // SAFETY: as the caller of this function promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller of this function promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The input of this number: a seed with one to three rounds of mutations, the same in every run.
fn input(reader: &Reader, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut dice = Dice::new(number);
    let mut bytes = dice.pick(seeds).clone();
    for _ in 0..=dice.below(3) {
        reader.mutate(&mut bytes, &mut dice);
    }
    bytes
}

/// Reads one input. Returns whether it was accepted, or a description of the failure.
fn outcome(reader: &Reader, bytes: &[u8]) -> Result<bool, String> {
    let before = USED.load(Ordering::Relaxed);
    MAX.store(before, Ordering::Relaxed);
    let accepted = catch_unwind(AssertUnwindSafe(|| reader.read(bytes))).map_err(|_| "a panic".to_owned())?;
    let peak = MAX.load(Ordering::Relaxed).saturating_sub(before);
    if peak <= MAX_MEMORY { Ok(accepted) } else { Err(format!("{peak} bytes of memory")) }
}

/// Memory is counted for the whole process, so one test runs at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn twenty_thousand_mutated_inputs_are_refused_or_used() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(INPUTS.map(|(name, _)| name).to_vec(), READERS.iter().map(Reader::name).collect::<Vec<_>>());
    let mut faults = Vec::new();
    for (name, inputs) in INPUTS {
        let reader = reader(name).expect("it is in the list");
        let seeds = reader.seeds();
        for (number, seed) in seeds.iter().enumerate() {
            assert_eq!(outcome(reader, seed), Ok(true), "{name}: seed {number} is valid");
        }
        let mut accepted = 0;
        for number in 0..inputs {
            let bytes = input(reader, &seeds, number);
            match outcome(reader, &bytes) {
                Ok(yes) => accepted += u64::from(yes),
                Err(fault) => faults
                    .push(format!("{name}, input {number}: {fault}: {:?}", String::from_utf8_lossy(&bytes))),
            }
        }
        eprintln!("{name}: {accepted} of {inputs} were accepted");
        assert!(
            (inputs / 100..inputs * 99 / 100).contains(&accepted),
            "{name}: mutations should leave between 1 % and 99 % of inputs valid"
        );
    }
    assert!(faults.is_empty(), "{} inputs: {}", faults.len(), faults.join("\n"));
}

/// Regression tests of the findings of fuzzing, in `fuzz/corpus` at the root.
#[test]
fn findings_of_fuzzing_are_handled() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let corpora = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for corpus in std::fs::read_dir(corpora).expect("the corpora") {
        let corpus = corpus.expect("a folder").path();
        let name = corpus.file_name().and_then(|name| name.to_str()).expect("a name");
        let reader = reader(name).unwrap_or_else(|| panic!("{name}: there is no such reader"));
        for file in std::fs::read_dir(&corpus).expect("a corpus") {
            let file = file.expect("a file").path();
            let bytes = std::fs::read(&file).expect("a file");
            assert!(catch_unwind(AssertUnwindSafe(|| reader.read(&bytes))).is_ok(), "{}", file.display());
        }
    }
}
