//! The cost of a fit in memory, time and file size, from public numbers.

use crate::model::ModelError;
use std::fmt;

/// Simple operations (a multiplication and an addition, with their loads) per second of one core: lower than for most
/// machines, so that times are overestimated rather than underestimated.
pub const OPERATIONS_PER_SECOND: f64 = 2e8;

/// The resources of a planned fit, to about an order of magnitude for operations and within a factor of 2 for files.
/// It depends only on public numbers of the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Peak memory in bytes, without the records.
    pub memory: f64,
    /// Simple operations on one core, see [`OPERATIONS_PER_SECOND`].
    pub operations: f64,
    /// Bytes of the model file.
    pub file_bytes: f64,
}

/// Memory of the program itself, in bytes.
const BASE_MEMORY: f64 = 20e6;

/// Size of a model file without its arrays: the schema, the plan, the receipt and the names of arrays, in bytes.
const BASE_FILE: f64 = 6e3;

impl Estimate {
    /// From the number of values in memory, of operations, and of values in the file.
    #[must_use]
    pub fn new(numbers: f64, operations: f64, kept: f64) -> Self {
        Self { memory: BASE_MEMORY + 8.0 * numbers, operations, file_bytes: BASE_FILE + 8.0 * kept }
    }

    /// Adds releases: their number, their width, the number of records and the operations for each record and
    /// coordinate. Each thread has its own sums.
    #[must_use]
    pub fn releases(mut self, times: f64, width: f64, records: f64, each: f64) -> Self {
        self.memory += 8.0 * 16.0 * width;
        self.operations += times * (records * each + 30.0 * width);
        self
    }

    /// Seconds on one core, at [`OPERATIONS_PER_SECOND`].
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.operations / OPERATIONS_PER_SECOND
    }

    /// Checks the estimate against limits. NaN is within no limit.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] with the estimate and the limits.
    pub fn check(&self, limits: &Limits) -> Result<(), ModelError> {
        let within = self.memory <= limits.memory
            && self.seconds() <= limits.seconds
            && self.file_bytes <= limits.file_bytes;
        if within { Ok(()) } else { Err(ModelError::TooLarge { estimate: *self, limits: *limits }) }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, file) = (Bytes(self.memory), Bytes(self.file_bytes));
        write!(f, "about {memory} of memory, {} on one core and a file of {file}", Seconds(self.seconds()))
    }
}

/// Limits of a fit that is not explicitly allowed to be large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: f64,
    /// Seconds on one core.
    pub seconds: f64,
    /// Bytes of the model file.
    pub file_bytes: f64,
}

impl Default for Limits {
    /// 4 GiB of memory, half an hour, and a file of 256 MB.
    fn default() -> Self {
        Self { memory: 4.0 * 1024.0 * 1024.0 * 1024.0, seconds: 1800.0, file_bytes: 256e6 }
    }
}

impl Limits {
    /// No limits.
    #[must_use]
    pub fn none() -> Self {
        Self { memory: f64::MAX, seconds: f64::MAX, file_bytes: f64::MAX }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, file) = (Bytes(self.memory), Bytes(self.file_bytes));
        write!(f, "{memory}, {} and {file}", Seconds(self.seconds))
    }
}

/// Bytes with a unit.
struct Bytes(f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
        match units.into_iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, _)) if self.0 >= 1e15 => write!(f, "{:.1e} TB", self.0 / unit),
            Some((unit, name)) => write!(f, "{} {name}", two_digits(self.0 / unit)),
            None => write!(f, "{:.0} bytes", self.0),
        }
    }
}

/// Seconds in a readable unit.
struct Seconds(f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
        match units.into_iter().find(|(unit, _)| self.0 >= 2.0 * unit) {
            Some((unit, name)) if self.0 >= 1e8 => write!(f, "{:.1e} {name}", self.0 / unit),
            Some((unit, name)) => write!(f, "{} {name}", two_digits(self.0 / unit)),
            None => write!(f, "{} s", two_digits(self.0)),
        }
    }
}

fn two_digits(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { format!("{x:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_in_units_for_people() {
        let estimate = Estimate { memory: 31e9, operations: 2e8 * 7300.0, file_bytes: 815e6 };
        assert_eq!(estimate.to_string(), "about 31 GB of memory, 2.0 hours on one core and a file of 815 MB");
        assert_eq!(Limits::default().to_string(), "4.3 GB, 30 minutes and 256 MB");
        assert!(estimate.check(&Limits::default()).is_err() && estimate.check(&Limits::none()).is_ok());
        let unknown = Estimate { memory: f64::NAN, ..estimate };
        assert!(unknown.check(&Limits::none()).is_err(), "what is not a number is within no limit");
    }
}
