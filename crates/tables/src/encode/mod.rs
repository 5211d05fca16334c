//! From columns of records to rows of numbers, by public facts alone.
//!
//! # Privacy
//! The numbers of a row are a function of that record and of the schema, and the function is total: every value of every
//! stored type has a code, so that no error, message or exit code depends on a record. Nothing is estimated from the data,
//! and how many values were moved to a bound, unknown or missing is not counted. Attacked by
//! `no_value_and_no_type_is_an_error` and `a_row_does_not_depend_on_the_others`.

mod column;
mod levels;
mod read;
mod stored;
mod unit;
mod value;

pub use read::{Batch, Batches, Rows, Stream, Table};

pub(crate) use levels::{Levels, Place};
pub(crate) use stored::{has_texts, numbers, texts};
pub(crate) use value::{Value, number, truth};

use column::ColumnEncoder;

use arrow_array::RecordBatch;

use crate::error::TableError;
use crate::schema::{Column, Kind, Missing, Scale, Schema};
use crate::source::{Chunk, Chunked, Source, Wanted, project};
use crate::units::{UnitKey, UnitSecret};
use unit::UnitColumn;

/// Numbers that are encoded at once: enough to keep the readers busy, few enough to stay in a cache.
const VALUES: usize = 1 << 17;

/// Turns records into rows of numbers: the features in the order of the schema, then the target.
///
/// Files, streams and record batches are all encoded by the same rules. Columns are found by name, in any order and among any others, and
/// only a column that is missing, or there twice, is an error. A value counts as what its text would count as in a CSV file, whatever
/// the type of its column: integers, decimals, dates, dictionaries, texts of numbers.
///
/// | kind | numbers |
/// |---|---|
/// | numeric | one, from the public bounds to $[-1, 1]$; what is outside is moved to the nearer bound |
/// | boolean | one, -1 or 1; the positive class of a target is 1 |
/// | categorical | one for each level, 1 for the value's own and 0 for the others |
/// | categorical target of two levels | one, -1 for the first level and 1 for the second, or the stated positive class |
/// | text | one for each word of the vocabulary: how often it occurs |
/// | numeric or boolean with `missing = "indicator"` | a second one: 1 if the value is missing, -1 if not |
///
/// What the schema does not allow has a code too. A missing number, one that is not finite, and a text that is no number are
/// the middle of the bounds, 0, unless the schema states another value; so are booleans. A level that is not listed is
/// the `unknown` level, or counts as missing; a missing one is the `missing` level, or the `unknown` one, or the first of the
/// list. A missing text has no words. A target that is missing, or is none of the levels, is NaN: the wall takes a row
/// with NaN for an absent record, which contributes nothing.
#[derive(Debug, Clone)]
pub struct Encoder {
    columns: Vec<ColumnEncoder>,
    /// The same columns, as files and batches have them.
    wanted: Vec<Wanted>,
    /// Which of them are carried along as texts.
    carried: Vec<usize>,
    units: Option<UnitColumn>,
    width: usize,
    feature_width: usize,
}

impl Encoder {
    /// Encodes features and target.
    ///
    /// # Errors
    /// [`TableError::NoBounds`] if private bounds have yet to be estimated.
    pub fn new(schema: &Schema) -> Result<Self, TableError> {
        Self::of(schema.features(), schema.target())
    }

    /// Encodes the features alone, for predictions: the files need not have the target.
    ///
    /// # Errors
    /// [`TableError::NoBounds`] if private bounds have yet to be estimated.
    pub fn of_features(schema: &Schema) -> Result<Self, TableError> {
        Self::of(schema.features(), None)
    }

    fn of(features: &[Column], target: Option<&Column>) -> Result<Self, TableError> {
        let (columns, wanted, carried) = (Vec::new(), Vec::new(), Vec::new());
        let mut encoder = Self { columns, wanted, carried, units: None, width: 0, feature_width: 0 };
        for feature in features {
            encoder.push(feature, false)?;
        }
        encoder.feature_width = encoder.width;
        if let Some(target) = target {
            encoder.push(target, true)?;
        }
        Ok(encoder)
    }

    fn push(&mut self, column: &Column, is_target: bool) -> Result<(), TableError> {
        let encoder = ColumnEncoder::new(column, is_target, self.width)?;
        self.width += encoder.width();
        let few = matches!(column.kind(), Kind::Categorical { .. });
        self.wanted.push(Wanted { name: column.name().to_owned(), few, unit: false });
        self.columns.push(encoder);
        Ok(())
    }

    /// The same, which also reads these columns as texts: [`Batch::carried`]. They need not be in the schema.
    #[must_use]
    pub fn carrying<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        for name in names {
            let place = self.place_of(name.as_ref());
            self.carried.push(place);
        }
        self
    }

    /// The same, which also reads the column that has the privacy unit of each record: [`Batch::units`].
    #[must_use]
    pub(crate) fn with_units(mut self, column: &str, secret: UnitSecret) -> Self {
        let place = self.place_of(column);
        self.wanted[place].unit = true;
        self.units = Some(UnitColumn { place, secret });
        self
    }

    /// The place of a column among those that are read.
    fn place_of(&mut self, name: &str) -> usize {
        let known = self.wanted.iter().position(|wanted| wanted.name == name);
        known.unwrap_or_else(|| {
            self.wanted.push(Wanted { name: name.to_owned(), few: false, unit: false });
            self.wanted.len() - 1
        })
    }

    /// The units of some records of a source.
    pub(crate) fn units(&self, chunk: &Chunk<'_>) -> Vec<Option<UnitKey>> {
        let Some(units) = &self.units else { return Vec::new() };
        match &chunk.records {
            Chunked::Batch(batch) => {
                texts(batch.column(units.place)).iter().map(|text| units.key(text)).collect()
            }
            Chunked::Written(written) => written.column(units.place).map(|text| units.key(text)).collect(),
        }
    }

    /// The texts of the carried columns of some records of a source: `None` for a missing value, or one that is not UTF-8.
    pub(crate) fn carried(&self, chunk: &Chunk<'_>) -> Vec<Vec<Option<String>>> {
        let text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes?).ok().map(str::to_owned);
        let column = |&place: &usize| match &chunk.records {
            Chunked::Batch(batch) => texts(batch.column(place)).iter().map(text).collect(),
            Chunked::Written(written) => written.column(place).map(text).collect(),
        };
        self.carried.iter().map(column).collect()
    }

    /// How many numbers a row has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many numbers of a row are features. The rest is the target.
    #[must_use]
    pub fn feature_width(&self) -> usize {
        self.feature_width
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.columns.iter().map(|column| column.offset()..column.offset() + column.width())
    }

    /// Encodes a batch: one row of it is one record, and becomes one row of the table.
    ///
    /// # Errors
    /// [`TableError::NoColumn`], [`TableError::TwoColumns`] and [`TableError::NoUnits`]. No value is an error, and no type of a feature or target.
    pub fn encode(&self, batch: &RecordBatch) -> Result<Table, TableError> {
        let batch = project(batch, &self.wanted)?;
        let (rows, mut values) = (batch.num_rows(), Vec::with_capacity(batch.num_rows() * self.width));
        // Converted arrays are as long as a slice, not as the batch.
        for start in (0..rows).step_by(self.rows_at_once()) {
            self.append(&batch.slice(start, self.rows_at_once().min(rows - start)), &mut values);
        }
        Ok(Table::new(values, self.width))
    }

    /// Appends the rows of a batch that has the wanted columns alone, in the wanted order.
    fn append(&self, batch: &RecordBatch, out: &mut Vec<f64>) {
        let rows = extended(out, batch.num_rows() * self.width);
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            column.encode_array(array, rows, self.width);
        }
    }

    /// Appends the rows of some records of a source.
    pub(crate) fn append_chunk(&self, chunk: &Chunk<'_>, out: &mut Vec<f64>) {
        match &chunk.records {
            Chunked::Batch(batch) => self.append(batch, out),
            Chunked::Written(written) => {
                let rows = extended(out, written.rows() * self.width);
                for (k, column) in self.columns.iter().enumerate() {
                    column.encode_texts(written.column(k), rows, self.width);
                }
            }
        }
    }

    fn rows_at_once(&self) -> usize {
        (VALUES / self.width).clamp(64, 8192)
    }

    pub(crate) fn wanted(&self) -> &[Wanted] {
        &self.wanted
    }

    /// Reads a source in batches, so that memory does not grow with the data.
    #[must_use]
    pub fn stream<'a>(&'a self, source: &'a Source) -> Batches<'a> {
        Batches::new(self, source)
    }

    /// Reads a whole source.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be read or lacks a column.
    pub fn read(&self, source: &Source) -> Result<Table, TableError> {
        Table::read(self, source)
    }

    /// Reads a whole source to count its records, and keeps them if they have at most `max` numbers.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be read or lacks a column.
    pub fn rows(&self, source: &Source, max: usize) -> Result<Rows, TableError> {
        let rows = self.rows_unless(source, max, &mut || false)?;
        Ok(rows.unwrap_or_else(|| unreachable!("nothing stops it")))
    }

    /// The same, unless `stop` returns true: it is called for each batch, and then there are no rows.
    ///
    /// # Errors
    /// Those of [`rows`](Self::rows).
    pub fn rows_unless(
        &self,
        source: &Source,
        max: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Rows>, TableError> {
        Rows::read(self, source, max, stop)
    }
}

/// The new end of a vector: so many zeros.
fn extended(values: &mut Vec<f64>, by: usize) -> &mut [f64] {
    let start = values.len();
    values.resize(start + by, 0.0);
    &mut values[start..]
}

impl Schema {
    /// The name of each number of a row: that of its column, followed by `=` and the level, or `:` and the word. The name of
    /// an indicator ends with `=missing`.
    #[must_use]
    pub fn encoded_names(&self) -> Vec<String> {
        let features = self.features().iter().flat_map(|column| match column.kind() {
            Kind::Categorical { .. } => with_parts(column, "=", &column.levels()),
            Kind::Text { vocabulary, .. } => with_parts(column, ":", vocabulary),
            Kind::Numeric { missing: Missing::Indicator, .. }
            | Kind::Boolean { missing: Missing::Indicator } => {
                vec![column.name().to_owned(), format!("{}=missing", column.name())]
            }
            Kind::Numeric { .. } | Kind::Boolean { .. } => vec![column.name().to_owned()],
        });
        let target = self.target().into_iter().flat_map(|column| match column.levels() {
            levels if levels.len() > 2 => with_parts(column, "=", &levels),
            _ => vec![column.name().to_owned()],
        });
        features.chain(target).collect()
    }

    /// How to get from an encoded numeric target back to its units: `None` if there is no numeric target, or no scale yet.
    #[must_use]
    pub fn target_units(&self) -> Option<Units> {
        match *self.target()?.kind() {
            Kind::Numeric { scale, .. } => Units::of(scale),
            _ => None,
        }
    }
}

fn with_parts<S: AsRef<str>>(column: &Column, sign: &str, parts: &[S]) -> Vec<String> {
    parts.iter().map(|part| format!("{}{sign}{}", column.name(), part.as_ref())).collect()
}

/// The affine map between a column's own units and its encoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// What is encoded as 0.
    pub centre: f64,
    /// The length of the encoding's unit.
    pub unit: f64,
}

impl Units {
    /// `None` for private bounds that have yet to be estimated.
    #[must_use]
    pub fn of(scale: Scale) -> Option<Self> {
        match scale {
            // Halved before they are added, so that no bounds overflow.
            Scale::Bounds { low, high } => {
                Some(Self { centre: high / 2.0 + low / 2.0, unit: high / 2.0 - low / 2.0 })
            }
            Scale::Moments { mean, sd } => Some(Self { centre: mean, unit: sd }),
            Scale::Private { .. } => None,
        }
    }

    fn encode(self, value: f64) -> f64 {
        (value - self.centre) / self.unit
    }

    /// An encoded mean, quantile or value in the column's own units.
    #[must_use]
    pub fn decode(self, value: f64) -> f64 {
        self.centre + self.unit * value
    }

    /// An encoded standard deviation in the column's own units.
    #[must_use]
    pub fn decode_sd(self, sd: f64) -> f64 {
        self.unit * sd
    }
}
