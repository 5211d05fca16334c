//! Bounds, moments and levels read from the data itself, under the assumption that they are public. The schema marks them
//! as [`Origin::AssumedPublic`], and [`Schema::assumptions`] lists them for the receipt.

use std::collections::BTreeSet;

use arrow_array::ArrayRef;

use super::{Column, Kind, Missing, Origin, Scale, Schema, SchemaError};
use crate::encode::{Encoder, Value, number, numbers, texts, truth};
use crate::error::TableError;
use crate::source::{Chunked, Found, Source, Wanted};

/// A longer list of levels is not reviewed by anybody.
const MAX_LEVELS: usize = 1000;

impl Schema {
    /// **Not private.** The same schema, with numbers scaled by the mean and standard deviation of these rows, as the
    /// benchmarks of the Bayesian network papers do with their training rows. A deviation of 0 becomes 1. Values that are not
    /// finite are left out.
    ///
    /// The rows are those of the [unscaled](Self::unscaled) schema.
    ///
    /// # Errors
    /// [`SchemaError`] if there are no rows or they are not those of this schema.
    pub fn assuming_public_moments<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
    ) -> Result<Self, SchemaError> {
        self.rescaled_by(rows, |values| {
            let sd = (values.squares / values.count).sqrt();
            Scale::Moments { mean: values.mean, sd: if sd > 0.0 { sd } else { 1.0 } }
        })
    }

    /// **Not private.** The same schema, with the lowest and highest numbers of these rows for bounds. If these are the
    /// same number, it is given some room. Values that are not finite are left out.
    ///
    /// The rows are those of the [unscaled](Self::unscaled) schema.
    ///
    /// # Errors
    /// [`SchemaError`] if there are no rows or they are not those of this schema.
    pub fn assuming_public_bounds<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
    ) -> Result<Self, SchemaError> {
        self.rescaled_by(rows, |values| roomy(values.low, values.high))
    }

    fn rescaled_by<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r [f64]>,
        scale: impl Fn(&Summary) -> Scale,
    ) -> Result<Self, SchemaError> {
        let encoder = Encoder::new(&self.unscaled()).expect("an unscaled schema has no private bounds");
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
                Kind::Numeric { .. } => {
                    column.rescaled(scale(&summaries[place.start]), Origin::AssumedPublic)
                }
                _ => Ok(column.clone()),
            }
        })
    }

    /// **Not private.** A schema for a data set, with bounds and levels as they occur in it, whatever types a file has: columns
    /// whose values are all numbers are numeric, others boolean or categorical. Columns without a value, and those of dates, lists
    /// and other types that are hardly ever levels, are left out.
    ///
    /// Missing texts become the level `missing`. Missing numbers and booleans count as the middle until something else is stated.
    ///
    /// # Errors
    /// [`TableError`] if the files cannot be read, have no such target or no value of it, or have texts with too many levels.
    pub fn from_data_assuming_public(source: &Source, target: Option<&str>) -> Result<Self, TableError> {
        let usable = source.columns()?.into_iter().filter(|column| column.found != Some(Found::Other));
        let names: Vec<String> = usable.map(|column| column.name).collect();
        if let Some(target) = target.filter(|target| !names.iter().any(|name| name == target)) {
            return Err(TableError::NoTarget { column: target.to_owned() });
        }
        if names.is_empty() {
            return Err(SchemaError::NoFeatures.into());
        }
        let wanted: Vec<Wanted> =
            names.iter().map(|name| Wanted { name: name.clone(), few: false, unit: false }).collect();
        let mut surveys = vec![Survey::default(); names.len()];
        let mut chunks = source.chunks(&wanted, 8192);
        while let Some(chunk) = chunks.next_chunk()? {
            for (k, (survey, name)) in surveys.iter_mut().zip(&names).enumerate() {
                match &chunk.records {
                    Chunked::Written(written) => written.column(k).for_each(|text| survey.add(text)),
                    Chunked::Batch(batch) => survey.add_stored(batch.column(k)),
                }
                if survey.levels.len() > MAX_LEVELS && !survey.numeric() {
                    let (file, column) = (chunk.file.to_owned(), name.clone());
                    return Err(TableError::ManyLevels { file, column, max: MAX_LEVELS });
                }
            }
        }
        let (mut found, mut features) = (None, Vec::new());
        for (survey, name) in surveys.into_iter().zip(names) {
            let is_target = Some(name.as_str()) == target;
            let Some(kind) = survey.kind() else {
                if is_target {
                    return Err(TableError::NoValues { column: name });
                }
                continue;
            };
            let mut column = Column::new(name, kind)?;
            column.origin = Origin::AssumedPublic;
            if is_target {
                found = Some(column);
            } else {
                features.push(column);
            }
        }
        Ok(Self::new(found, features)?.with_layout(source.layout()))
    }
}

/// Bounds that are different numbers; those of no numbers are -1 and 1.
fn roomy(low: f64, high: f64) -> Scale {
    if low > high {
        return Scale::Bounds { low: -1.0, high: 1.0 };
    }
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
        if !value.is_finite() {
            return;
        }
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
    missing: bool,
    /// A value that is true or false.
    flags: bool,
    /// A value that is no number.
    other: bool,
    /// A value that is neither true nor false.
    neither: bool,
}

impl Survey {
    fn add_stored(&mut self, array: &ArrayRef) {
        if matches!(Found::of(array.data_type()), Found::Integers | Found::Numbers) {
            numbers(array).iter().flatten().for_each(|number| self.numbers.add(number));
        } else {
            texts(array).iter().for_each(|text| self.add(text));
        }
    }

    fn add(&mut self, text: Option<&[u8]>) {
        let Some(text) = text.and_then(|text| std::str::from_utf8(text).ok()).filter(|text| !text.is_empty())
        else {
            self.missing = true;
            return;
        };
        match number(Some(text.as_bytes())) {
            Value::Known(number) => self.numbers.add(number),
            Value::Missing => {}
            Value::Malformed => self.other = true,
        }
        match truth(Some(text.as_bytes())) {
            Value::Known(_) => self.flags = true,
            Value::Missing => {}
            Value::Malformed => self.neither = true,
        }
        if self.levels.len() <= MAX_LEVELS && !self.levels.contains(text) {
            self.levels.insert(text.to_owned());
        }
    }

    fn numeric(&self) -> bool {
        !self.other && self.numbers.count > 0.0
    }

    /// Nothing for a column without a value.
    fn kind(self) -> Option<Kind> {
        if self.numeric() {
            let scale = roomy(self.numbers.low, self.numbers.high);
            Some(Kind::Numeric { scale, missing: Missing::Unstated })
        } else if self.flags && !self.neither {
            Some(Kind::Boolean { missing: Missing::Unstated })
        } else if self.levels.is_empty() {
            None
        } else {
            let missing = self.missing.then(|| "missing".to_owned());
            Some(Kind::Categorical { levels: self.levels.into_iter().collect(), unknown: None, missing })
        }
    }
}
