//! Facts read from the data itself, by people who say that these are harmless. Everything here is marked in the schema
//! as [`Origin::AssumedPublic`] and listed by [`Schema::assumptions`], so that receipts can say so.

use std::collections::BTreeSet;

use arrow_array::ArrayRef;

use super::{Column, Kind, Origin, Scale, Schema, SchemaError};
use crate::encode::{Encoder, Numbers, numbers, texts, truth};
use crate::error::TableError;
use crate::source::{Format, Found, Source, Wanted};

/// More levels than this are no list that someone will read.
const MOST_LEVELS: usize = 1000;

impl Schema {
    /// **Not private.** The same schema, with numbers scaled by the mean and standard deviation of these rows, as the
    /// benchmarks of the Bayesian network papers do with their training rows. A deviation of 0 becomes 1.
    ///
    /// The rows are those of the [unscaled](Self::unscaled) schema.
    ///
    /// # Errors
    /// [`SchemaError`] if there are no rows or they are not those of this schema.
    pub fn assuming_public_moments<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
    ) -> Result<Self, SchemaError> {
        self.learn(rows, |values| {
            let sd = (values.squares / values.count).sqrt();
            Scale::Moments { mean: values.mean, sd: if sd == 0.0 { 1.0 } else { sd } }
        })
    }

    /// **Not private.** The same schema, with the lowest and highest numbers of these rows for bounds. If these are the
    /// same number, it is given some room.
    ///
    /// The rows are those of the [unscaled](Self::unscaled) schema.
    ///
    /// # Errors
    /// [`SchemaError`] if there are no rows or they are not those of this schema.
    pub fn assuming_public_bounds<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
    ) -> Result<Self, SchemaError> {
        self.learn(rows, |values| roomy(values.low, values.high))
    }

    fn learn<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
        scale: impl Fn(&Summary) -> Scale,
    ) -> Result<Self, SchemaError> {
        let encoder = Encoder::new(&self.unscaled()).expect("a schema without scales has no bounds to buy");
        let mut summaries = vec![Summary::default(); encoder.width()];
        for row in rows {
            if row.len() != encoder.width() {
                return Err(SchemaError::Width { expected: encoder.width(), given: row.len() });
            }
            summaries.iter_mut().zip(row).for_each(|(summary, &value)| summary.add(value));
        }
        if summaries.iter().any(|summary| summary.count == 0.0) {
            return Err(SchemaError::NoRows);
        }
        let mut places = encoder.places();
        self.map(|column| {
            let place = places.next().expect("each column has a place");
            match column.kind() {
                Kind::Numeric { .. } => column.rescaled(scale(&summaries[place]), Origin::AssumedPublic),
                _ => Ok(column.clone()),
            }
        })
    }

    /// **Not private.** A schema for a data set, with bounds and levels as they occur in it. Columns of a CSV file whose
    /// values are all numbers are numeric, others boolean or categorical; columns of a type that cannot be used are left out.
    ///
    /// Missing texts become the level `missing`. What missing numbers and booleans count as is left to be stated.
    ///
    /// # Errors
    /// [`TableError`] if the files cannot be read, have no such target, or have texts with too many levels.
    pub fn from_data_assuming_public(source: &Source, target: Option<&str>) -> Result<Self, TableError> {
        let usable = source.columns()?.into_iter().filter(|column| column.found != Some(Found::Other));
        let names: Vec<String> = usable.map(|column| column.name).collect();
        if let Some(target) = target.filter(|target| !names.iter().any(|name| name == target)) {
            return Err(TableError::NoTarget { column: target.to_owned() });
        }
        let wanted: Vec<Wanted> =
            names.iter().map(|name| Wanted { name: name.clone(), few: false }).collect();
        let mut surveys = vec![Survey::default(); names.len()];
        let mut chunks = source.chunks(&wanted, 8192);
        while let Some(chunk) = chunks.next_chunk()? {
            for ((survey, array), name) in surveys.iter_mut().zip(&chunk.arrays).zip(&names) {
                survey.add(array, source.format()).map_err(|fault| fault.at(chunk.file, name))?;
                if survey.levels.len() > MOST_LEVELS && !survey.numeric() {
                    let (file, column) = (chunk.file.to_owned(), name.clone());
                    return Err(TableError::ManyLevels { file, column, most: MOST_LEVELS });
                }
            }
        }
        let (mut found, mut features) = (None, Vec::new());
        for (survey, name) in surveys.into_iter().zip(names) {
            let is_target = Some(name.as_str()) == target;
            let mut column = Column::new(name, survey.kind())?;
            column.origin = Origin::AssumedPublic;
            if is_target {
                found = Some(column);
            } else {
                features.push(column);
            }
        }
        Ok(Self::new(found, features)?)
    }
}

/// Bounds that are different numbers.
fn roomy(low: f64, high: f64) -> Scale {
    let room = if low < high { 0.0 } else { low.abs().max(1.0) };
    Scale::Bounds { low: low - room, high: high + room }
}

/// Range and moments of numbers, in one pass (Welford's recursion).
#[derive(Clone)]
struct Summary {
    count: f64,
    mean: f64,
    squares: f64,
    low: f64,
    high: f64,
}

impl Default for Summary {
    fn default() -> Self {
        Self { count: 0.0, mean: 0.0, squares: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Summary {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (value - self.mean);
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }
}

/// What occurs in a column.
#[derive(Clone, Default)]
struct Survey {
    numbers: Summary,
    levels: BTreeSet<String>,
    flags: bool,
    missing: bool,
    /// A value that is no number.
    other: bool,
    /// A value that is neither true nor false.
    neither: bool,
}

impl Survey {
    fn add(&mut self, array: &ArrayRef, format: Format) -> Result<(), crate::encode::Fault> {
        if format == Format::Parquet {
            match Found::of(array.data_type()) {
                Found::Booleans => {
                    (self.flags, self.other) = (true, true);
                    return Ok(());
                }
                Found::Integers | Found::Numbers => {
                    if let Numbers::Typed(values) = numbers(array, format)? {
                        let finite = values.iter().flatten().filter(|value| value.is_finite());
                        finite.for_each(|value| self.numbers.add(value));
                    }
                    return Ok(());
                }
                Found::Texts | Found::Other => self.other = true,
            }
        }
        for text in &texts(array)? {
            let Some(text) = text else {
                self.missing = true;
                continue;
            };
            match text.trim_ascii().parse::<f64>() {
                Ok(number) if number.is_finite() => self.numbers.add(number),
                Ok(_) => {}
                Err(_) => self.other = true,
            }
            self.flags |= truth(text.trim_ascii()).is_some();
            self.neither |= truth(text.trim_ascii()).is_none();
            if self.levels.len() <= MOST_LEVELS && !self.levels.contains(text) {
                self.levels.insert(text.to_owned());
            }
        }
        Ok(())
    }

    fn numeric(&self) -> bool {
        !self.other && self.numbers.count > 0.0
    }

    fn kind(self) -> Kind {
        if self.numeric() {
            Kind::Numeric { scale: roomy(self.numbers.low, self.numbers.high), missing: None }
        } else if self.flags && !self.neither {
            Kind::Boolean { missing: None }
        } else {
            let missing = self.missing.then(|| "missing".to_owned());
            Kind::Categorical { levels: self.levels.into_iter().collect(), unknown: None, missing }
        }
    }
}
