//! Hostile input for every reader, shared by the fuzz targets in `fuzz/` and by the test of mutated inputs here.
//!
//! A [`Reader`] has seeds written by the project itself, mutations that keep enough of their structure to pass the first
//! checks, and a function that reads and uses such a file. It asserts what must hold for any bytes: no panic, no value of a record
//! in a message, and accepted files are sound.
//!
//! ```
//! use reticent_mutations::{Dice, reader};
//!
//! let schema = reader("schema").expect("there is one");
//! let (mut dice, mut bytes) = (Dice::new(1), schema.seeds()[0].clone());
//! assert!(schema.read(&bytes));
//! schema.mutate(&mut bytes, &mut dice);
//! let _ = schema.read(&bytes); // refused or not, without a panic
//! ```

mod bytes;
mod dice;
mod json;
mod limit;
mod readers;
mod scratch;
mod secrets;

pub use dice::Dice;
pub use readers::READERS;

/// A reader of untrusted files.
#[derive(Debug)]
pub struct Reader {
    name: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    mutate: fn(&mut Vec<u8>, &mut Dice),
    read: fn(&[u8]) -> bool,
}

impl Reader {
    /// Name of the reader and of its fuzz target.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Valid inputs to start from.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }

    /// Changes an input, which need not be valid.
    pub fn mutate(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        (self.mutate)(bytes, dice);
    }

    /// Whether an input is accepted.
    ///
    /// # Panics
    /// If the reader panics, a message contains a value of a record, or an unsound file is accepted.
    #[must_use]
    pub fn read(&self, bytes: &[u8]) -> bool {
        (self.read)(bytes)
    }
}

/// The reader of this name.
#[must_use]
pub fn reader(name: &str) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.name == name)
}
