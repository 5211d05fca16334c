//! Records by privacy unit: all rows of a person together, wherever they are in the files.
//!
//! # Privacy
//! The rows of a unit are those whose values in one column are the same. A row without a value there is a unit of its own. Which rows a unit has is a
//! function of these values alone, so data sets that differ in all rows of one unit give the same other units, with the same rows in the same order.
//! Attacked by `exchanging_a_unit_changes_that_unit_alone`.
//!
//! Values of the column are not kept: each becomes a number of 128 bits by SHA-256 under a key of the run, and rows are found by that. They
//! do not leave this module either, and the number of rows is not shown.
//!
//! Of a unit with more rows than a public number, so many count, chosen by secret coins: what a unit counts as is a function of its own rows and of
//! coins that do not depend on any record.

mod sealed;

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};

use crate::encode::Encoder;
use crate::error::TableError;
use crate::schema::{PrivacyUnit, Schema};
use crate::source::Source;
use sealed::Sealed;

/// Identifies a unit during a run.
pub type UnitKey = u128;

/// The secret key that turns the values of a unit column into [`UnitKey`]s.
pub(crate) type UnitSecret = [u8; 32];

/// Numbers of a unit that are kept at most, 32 MB: of one with more rows, a random part counts.
const MAX_NUMBERS: usize = 1 << 22;
/// Parts that rows are divided into by their units, and the bytes of each that are collected before they are written: 64 MB with the room that a vector
/// grows by.
const PARTS: usize = 2048;
const PART_BYTES: usize = 1 << 14;
/// Numbers in a block of units that is handed over, unless a single unit has more.
const BLOCK: usize = 1 << 17;

/// A row while units are being collected: its unit, a secret coin, its numbers.
struct Row<'a> {
    unit: UnitKey,
    coin: u64,
    values: &'a [f64],
}

/// Bytes of a row before its numbers.
const HEAD: usize = 24;

/// Encoded records of privacy units, in memory or in an encrypted temporary file. They are private: there is no way to print them by accident.
pub struct UnitRows {
    width: usize,
    /// Rows of each unit.
    rows: Vec<u32>,
    store: Store,
}

enum Store {
    Kept(Vec<f64>),
    /// Blocks of whole units, and the number of units in each.
    Sealed(Sealed, Vec<usize>),
}

/// Receives blocks of units: their rows, and where each begins.
pub type EachUnits<'a> = &'a mut dyn FnMut(&[f64], &[usize]) -> ControlFlow<()>;

/// Rows on their way to their units.
pub struct Collector {
    width: usize,
    /// Rows of a unit that count at most.
    most: usize,
    /// Memory of all rows that are kept at most, in numbers.
    max: usize,
    coins: ChaCha20Rng,
    kept: Group,
    /// Whether rows are divided into parts, since they are too many to be kept.
    divided: bool,
    parts: Parts,
    /// Where units go from the parts.
    grouped: Sealed,
}

/// Rows that are divided by unit, in a temporary file.
struct Parts {
    sealed: Sealed,
    /// What is not written yet, and the blocks that are.
    waiting: Vec<(Vec<u8>, Vec<usize>)>,
}

/// Rows in memory, and those of each unit in the order in which they came.
#[derive(Default)]
struct Group {
    values: Vec<f64>,
    coins: Vec<u64>,
    units: HashMap<UnitKey, usize, RandomState>,
    /// The places of the rows of each unit.
    rows: Vec<Vec<usize>>,
}

impl Group {
    fn add(&mut self, row: &Row<'_>) {
        let (next, place) = (self.rows.len(), self.coins.len());
        let unit = *self.units.entry(row.unit).or_insert(next);
        if unit == next {
            self.rows.push(Vec::new());
        }
        self.rows[unit].push(place);
        self.coins.push(row.coin);
        self.values.extend_from_slice(row.values);
    }

    /// About the memory it takes, in numbers: the values, a coin and a place for each row, and a table entry and a list for each unit.
    fn size(&self) -> usize {
        self.values.len() + 2 * self.coins.len() + 12 * self.rows.len()
    }

    /// Leaves the rows of smallest coins, at most so many of each unit, in the order in which they came.
    fn prune(&mut self, most: usize) {
        for rows in self.rows.iter_mut().filter(|rows| rows.len() > most) {
            rows.select_nth_unstable_by_key(most, |&row| (self.coins[row], row));
            rows.truncate(most);
            rows.sort_unstable();
        }
    }

    /// The numbers of a unit.
    fn unit<'a>(&'a self, rows: &'a [usize], width: usize) -> impl Iterator<Item = &'a [f64]> {
        rows.iter().map(move |row| &self.values[row * width..(row + 1) * width])
    }

    /// Forgets rows that were pruned.
    fn compact(&mut self, width: usize) {
        let (mut values, mut coins) = (Vec::new(), Vec::new());
        for rows in &mut self.rows {
            for row in rows {
                values.extend_from_slice(&self.values[*row * width..(*row + 1) * width]);
                coins.push(self.coins[*row]);
                *row = coins.len() - 1;
            }
        }
        (self.values, self.coins) = (values, coins);
    }
}

impl Encoder {
    /// The same, which also reads the [privacy unit](Schema::privacy_unit) of each record: [`Batch::units`](crate::Batch::units). Without one in the schema it is the
    /// same.
    ///
    /// # Errors
    /// If the operating system has no random numbers.
    pub fn with_unit_of(self, schema: &Schema) -> Result<Self, TableError> {
        let Some(unit) = schema.privacy_unit() else { return Ok(self) };
        let secret = sealed::key().map_err(|error| no_room(&error))?;
        Ok(self.with_units(unit.column(), secret))
    }
}

impl Collector {
    /// Collects rows of `width` numbers, of which at most `max` are kept in memory. Of each unit at most `most` rows count, and never more than 32 MB.
    ///
    /// # Privacy
    /// Temporary files are made before a row is read, whether they will be needed or not: the number of rows is private, and does not decide whether a
    /// folder that cannot have them is an error. Attacked by `a_folder_without_temporary_files_is_an_error_for_any_rows`.
    ///
    /// # Errors
    /// If the operating system has no random numbers, or no temporary files.
    pub fn new(width: usize, most: Option<usize>, max: usize) -> Result<Self, TableError> {
        let most = most.unwrap_or(usize::MAX).min(max_rows(width));
        let made = || {
            let coins = ChaCha20Rng::from_seed(sealed::key()?);
            let (kept, parts, grouped) = (Group::default(), Parts::new()?, Sealed::new()?);
            Ok(Self { width, most, max, coins, kept, divided: false, parts, grouped })
        };
        made().map_err(|error| no_room(&error))
    }

    /// Adds rows, one after the other, with the unit of each; `None` for one that is a unit of its own.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn add(&mut self, values: &[f64], units: &[Option<UnitKey>]) -> Result<(), TableError> {
        self.add_rows(values, units).map_err(|error| no_room(&error))
    }

    fn add_rows(&mut self, values: &[f64], units: &[Option<UnitKey>]) -> io::Result<()> {
        for (values, unit) in values.chunks_exact(self.width).zip(units) {
            // 128 random bits are no other unit's.
            let row = Row {
                unit: unit.unwrap_or_else(|| self.coins.random()),
                coin: self.coins.next_u64(),
                values,
            };
            if self.divided {
                self.parts.add(&row)?;
            } else {
                self.kept.add(&row);
            }
        }
        if !self.divided && self.kept.size() > self.max {
            self.divided = true;
            let kept = std::mem::take(&mut self.kept);
            let units: HashMap<usize, UnitKey> = kept.units.iter().map(|(key, unit)| (*unit, *key)).collect();
            let mut order: Vec<(usize, usize)> = Vec::new();
            for (unit, rows) in kept.rows.iter().enumerate() {
                order.extend(rows.iter().map(|row| (*row, unit)));
            }
            order.sort_unstable();
            for (row, unit) in order {
                let values = &kept.values[row * self.width..(row + 1) * self.width];
                self.parts.add(&Row { unit: units[&unit], coin: kept.coins[row], values })?;
            }
        }
        Ok(())
    }

    /// All units.
    ///
    /// # Errors
    /// If the temporary file cannot be written or read.
    pub fn finish(self) -> Result<UnitRows, TableError> {
        self.grouped().map_err(|error| no_room(&error))
    }

    fn grouped(mut self) -> io::Result<UnitRows> {
        let (width, most) = (self.width, self.most);
        if !self.divided {
            self.kept.prune(most);
            let group = &self.kept;
            let rows = group.rows.iter().map(|rows| rows.len() as u32).collect();
            let values =
                group.rows.iter().flat_map(|rows| group.unit(rows, width)).flatten().copied().collect();
            return Ok(UnitRows { width, rows, store: Store::Kept(values) });
        }
        let mut written = Writer {
            sealed: self.grouped,
            units: Vec::new(),
            block: Vec::new(),
            waiting: 0,
            rows: Vec::new(),
        };
        for part in 0..PARTS {
            let group = self.parts.group(part, width, most)?;
            for rows in &group.rows {
                written.push(rows.len(), group.unit(rows, width))?;
            }
        }
        written.flush()?;
        let Writer { sealed, units, rows, .. } = written;
        Ok(UnitRows { width, rows, store: Store::Sealed(sealed, units) })
    }
}

/// Rows of a unit that count at most, of so many numbers each.
#[must_use]
pub fn max_rows(width: usize) -> usize {
    (MAX_NUMBERS / width.max(1)).max(1)
}

impl Parts {
    fn new() -> io::Result<Self> {
        Ok(Self { sealed: Sealed::new()?, waiting: (0..PARTS).map(|_| (Vec::new(), Vec::new())).collect() })
    }

    fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let (waiting, blocks) = &mut self.waiting[(row.unit % PARTS as u128) as usize];
        waiting.extend(row.unit.to_le_bytes());
        waiting.extend(row.coin.to_le_bytes());
        waiting.extend(row.values.iter().flat_map(|value| value.to_le_bytes()));
        if waiting.len() >= PART_BYTES {
            blocks.push(self.sealed.append(waiting)?);
            waiting.clear();
            // A wide row must not leave its room in every part.
            waiting.shrink_to(PART_BYTES);
        }
        Ok(())
    }

    /// The units of a part, in the order in which their first rows came.
    fn group(&mut self, part: usize, width: usize, most: usize) -> io::Result<Group> {
        let (waiting, blocks) = std::mem::take(&mut self.waiting[part]);
        let (mut group, mut values, mut limit) = (Group::default(), Vec::new(), MAX_NUMBERS);
        for block in blocks.into_iter().map(Some).chain([None]) {
            let bytes = match block {
                Some(block) => &self.sealed.read(block)?,
                None => &waiting,
            };
            for row in bytes.chunks_exact(HEAD + 8 * width) {
                values.clear();
                values.extend(row[HEAD..].chunks_exact(8).map(|bytes| f64::from_bits(number(bytes) as u64)));
                group.add(&Row {
                    unit: number(&row[..16]),
                    coin: number(&row[16..HEAD]) as u64,
                    values: &values,
                });
            }
            // A unit of very many rows must not fill the memory.
            if group.values.len() > limit {
                group.prune(most);
                group.compact(width);
                limit = 2 * group.values.len().max(MAX_NUMBERS / 2);
            }
        }
        group.prune(most);
        Ok(group)
    }
}

/// Bytes as a number, the least first.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// Blocks of whole units.
struct Writer {
    sealed: Sealed,
    /// Units in each block.
    units: Vec<usize>,
    block: Vec<u8>,
    /// Units in the block that is not written yet.
    waiting: usize,
    rows: Vec<u32>,
}

impl Writer {
    fn push<'a>(&mut self, count: usize, rows: impl Iterator<Item = &'a [f64]>) -> io::Result<()> {
        self.block.extend(rows.flatten().flat_map(|value| value.to_le_bytes()));
        self.rows.push(count as u32);
        self.waiting += 1;
        if self.block.len() >= 8 * BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting > 0 {
            self.sealed.append(&mut self.block)?;
            self.units.push(self.waiting);
            self.block.clear();
            self.waiting = 0;
        }
        Ok(())
    }
}

/// The error of a temporary file. Its message states nothing of what is in it.
fn no_room(error: &io::Error) -> TableError {
    TableError::NoTemporary { kind: error.kind() }
}

impl UnitRows {
    /// Reads a whole source by a schema that has a [privacy unit](Schema::privacy_unit); `None` if `stop`, which is called for each batch, returns true.
    /// At most `max` numbers are kept in memory.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be read or lacks a column, or there is no room for temporary files.
    pub fn read(
        schema: &Schema,
        source: &Source,
        max: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, TableError> {
        let encoder = Encoder::new(schema)?.with_unit_of(schema)?;
        let rows = schema.privacy_unit().and_then(PrivacyUnit::rows);
        let mut collector = Collector::new(encoder.width(), rows, max)?;
        let mut batches = encoder.stream(source);
        while let Some(batch) = batches.next_batch()? {
            if stop() {
                return Ok(None);
            }
            collector.add(batch.values(), batch.units())?;
        }
        collector.finish().map(Some)
    }

    /// How many units there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Numbers in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All rows, unit by unit, and the number of rows of each, if they are in memory.
    ///
    /// # Errors
    /// Itself, if they are not.
    pub fn into_kept(self) -> Result<(Vec<f64>, Vec<usize>), Box<Self>> {
        match self.store {
            Store::Kept(values) => Ok((values, self.rows.iter().map(|rows| *rows as usize).collect())),
            Store::Sealed(..) => Err(Box::new(self)),
        }
    }

    /// Calls `each` with the rows of all units, or of those of these indices in increasing order, some units at a time, until it returns
    /// [`Break`](ControlFlow::Break): with the rows, one after the other, and with the row that each unit begins at, from 0, and at last their number.
    ///
    /// # Privacy
    /// It does not fail in the middle of a run: units that cannot be read any more are left out.
    pub fn pass(&mut self, wanted: Option<&[usize]>, each: EachUnits<'_>) {
        let (width, rows) = (self.width, &self.rows);
        let mut hand_over = |first: usize, units: usize, chosen: Option<&[usize]>, values: &[f64]| {
            let here = starts(rows[first..first + units].iter().copied());
            let Some(chosen) = chosen else { return each(values, &here) };
            let of = |unit: &usize| &values[here[unit - first] * width..here[unit - first + 1] * width];
            let values: Vec<f64> = chosen.iter().flat_map(of).copied().collect();
            each(&values, &starts(chosen.iter().map(|unit| rows[*unit])))
        };
        match &mut self.store {
            Store::Kept(values) => {
                let _ = hand_over(0, rows.len(), wanted, values);
            }
            Store::Sealed(sealed, units) => {
                let (mut first, mut left) = (0, wanted);
                for (block, units) in units.iter().enumerate() {
                    let chosen =
                        left.map(|left| left.split_at(left.partition_point(|unit| *unit < first + units)));
                    left = chosen.map(|(_, later)| later);
                    let chosen = chosen.map(|(here, _)| here);
                    // A block without chosen units need not be read, but whoever takes the rows may want to end.
                    if chosen.is_some_and(<[usize]>::is_empty) {
                        if left.is_some_and(<[usize]>::is_empty) || hand_over(first, 0, None, &[]).is_break()
                        {
                            return;
                        }
                    } else {
                        let Ok(bytes) = sealed.read(block) else { return };
                        let values = bytes.chunks_exact(8).map(|bytes| f64::from_bits(number(bytes) as u64));
                        if hand_over(first, *units, chosen, &values.collect::<Vec<_>>()).is_break() {
                            return;
                        }
                    }
                    first += units;
                }
            }
        }
    }
}

/// Where each unit begins, and at last the number of rows.
fn starts(rows: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0];
    let mut sum = 0;
    starts.extend(rows.map(|rows| {
        sum += rows as usize;
        sum
    }));
    starts
}

#[cfg(test)]
mod tests;
