//! What is in a data set that its schema does not allow. For the curator of the data: nothing here is private.

use std::io::Read;

use serde::Serialize;

use crate::check_units::UnitCheck;
use crate::encode::{Encoder, Levels, Place, Value, number, texts, truth};
use crate::error::TableError;
use crate::schema::{Column, Kind, Missing, Scale, Schema};
use crate::source::{Chunk, Chunked, Declared, Delimiter, Format, Source, Wanted};

/// Places that are listed; all are counted.
const LISTED: usize = 5;

/// **Not private.** What a schema makes of a data set.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// Records that were read.
    pub records: u64,
    /// What the first file looks like.
    pub file: FileCheck,
    /// Lines that do not parse: their records have missing values only.
    pub malformed_lines: Spots,
    /// Each column of the schema.
    pub columns: Vec<ColumnCheck>,
    /// The privacy unit of the schema, or, without one, columns whose names are like those of identifiers.
    pub units: Vec<UnitCheck>,
}

/// What a file looks like, if not what is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileCheck {
    /// The delimiter that would split the header into more of the schema's columns.
    pub delimiter: Option<Delimiter>,
    /// It begins like a file that gzip compressed, and is not read as one.
    pub gzip: bool,
    /// The first line has none of the schema's columns, and as many fields as there are columns, or more.
    pub no_header: bool,
}

/// Values of a column that its schema does not allow.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnCheck {
    /// As the schema has it.
    pub name: String,
    /// The type that the file declares. CSV files declare none.
    pub stored: Option<&'static str>,
    /// Whether the files lack it: nothing else is known of it then.
    pub absent: bool,
    /// Values that are missing.
    pub missing: Spots,
    /// Numbers that are outside the bounds.
    pub outside: Spots,
    /// Levels that are not listed.
    pub unknown: Spots,
    /// Texts that are no numbers, or neither true nor false.
    pub malformed: Spots,
    /// Whether all records have the same code.
    pub constant: bool,
    /// Entries that the column could have in the schema.
    pub suggestions: Vec<String>,
}

/// How often something occurs, and where first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Spots {
    /// How often.
    pub count: u64,
    /// The first places: lines of a CSV file, the header being 1, or rows of a Parquet file or of record batches, from 1. Of several files, those of each
    /// by itself.
    pub first: Vec<u64>,
}

impl Spots {
    fn add(&mut self, place: u64) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(place);
        }
    }
}

impl Check {
    /// **Not private.** Counts the values of a data set that a schema does not allow. Columns that the files lack are no error here.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be read.
    pub fn new(schema: &Schema, source: &Source) -> Result<Self, TableError> {
        let declared = match source.columns() {
            // A file that is no table may still be one that is laid out otherwise.
            Err(TableError::Damaged { .. }) if source.format() == Format::Csv => Vec::new(),
            other => other?,
        };
        let mut check = Self {
            records: 0,
            file: look(schema, source, &declared)?,
            malformed_lines: Spots::default(),
            columns: schema.columns().map(|column| ColumnCheck::new(column, &declared)).collect(),
            units: Vec::new(),
        };
        let present = |column: &&Column| declared.iter().any(|known| known.name == column.name());
        let columns: Vec<&Column> = schema.columns().filter(present).collect();
        if !columns.is_empty() && !check.file.gzip {
            check.read(source, &columns)?;
        }
        if !check.file.gzip {
            check.units = UnitCheck::all(schema, source, &declared)?;
        }
        for (found, column) in check.columns.iter_mut().zip(schema.columns()) {
            let is_target = schema.target().is_some_and(|target| target.name() == column.name());
            found.suggest(column, is_target);
        }
        Ok(check)
    }

    /// Reads these columns, which are in the files.
    fn read(&mut self, source: &Source, columns: &[&Column]) -> Result<(), TableError> {
        let readers: Vec<Reader> = columns.iter().map(|column| Reader::new(column)).collect();
        // Columns are all features here, and a positive class belongs to a target.
        let known = columns.iter().map(|&column| column.clone().without_emphasis()).collect();
        let encoder = Encoder::new(&without_private_bounds(&Schema::new(None, known)?))?;
        let places: Vec<std::ops::Range<usize>> = encoder.places().collect();
        let wanted: Vec<Wanted> = encoder.wanted().to_vec();
        let (mut chunks, mut values, mut first) = (source.chunks(&wanted, 4096), Vec::new(), Vec::new());
        let (mut file, mut in_file) = (None, 0);
        while let Some(chunk) = chunks.next_chunk()? {
            if file != Some(chunk.file) {
                (file, in_file) = (Some(chunk.file), 0);
            }
            values.clear();
            encoder.append_chunk(&chunk, &mut values);
            if first.is_empty() {
                first = values[..encoder.width()].to_vec();
            }
            let offset = in_file + if source.format() == Format::Csv { 2 } else { 1 };
            let skipped = self.skip_malformed(&chunk, offset);
            for (k, (reader, name)) in readers.iter().zip(&wanted).enumerate() {
                let found = self.columns.iter_mut().find(|column| column.name == name.name);
                let found = found.expect("columns are those of the schema");
                reader.count(&chunk.records, k, offset, &skipped, found);
                let same = |row: &[f64]| bits(&row[places[k].clone()]).eq(bits(&first[places[k].clone()]));
                found.constant &= values.chunks_exact(encoder.width()).all(same);
            }
            self.records += chunk.rows() as u64;
            in_file += chunk.rows() as u64;
        }
        Ok(())
    }

    /// Lines that do not parse are counted as such, and not once more in each column.
    fn skip_malformed(&mut self, chunk: &Chunk<'_>, offset: u64) -> Vec<usize> {
        let Chunked::Written(written) = &chunk.records else { return Vec::new() };
        written.malformed().iter().for_each(|&row| self.malformed_lines.add(offset + row as u64));
        written.malformed().to_vec()
    }
}

fn bits(values: &[f64]) -> impl Iterator<Item = u64> {
    values.iter().map(|value| value.to_bits())
}

/// Private bounds are not known yet: values are checked against their public range.
fn without_private_bounds(schema: &Schema) -> Schema {
    let private = schema.private_bounds().map(|(column, range)| (column.name().to_owned(), range));
    private.collect::<Vec<_>>().into_iter().fold(schema.clone(), |schema, (name, (low, high))| {
        schema.with_private_bounds(&name, low, high).unwrap_or(schema)
    })
}

/// How the values of a column are classified.
enum Reader {
    Number(Option<(f64, f64)>),
    Flag,
    Level(Levels),
    Text,
}

impl Reader {
    fn new(column: &Column) -> Self {
        match column.kind() {
            Kind::Numeric { scale: Scale::Bounds { low, high } | Scale::Private { low, high }, .. } => {
                Self::Number(Some((*low, *high)))
            }
            Kind::Numeric { scale: Scale::Moments { .. }, .. } => Self::Number(None),
            Kind::Boolean { .. } => Self::Flag,
            Kind::Categorical { .. } => Self::Level(Levels::new(column, false)),
            Kind::Text { .. } => Self::Text,
        }
    }

    fn count(
        &self,
        records: &Chunked,
        column: usize,
        offset: u64,
        skipped: &[usize],
        found: &mut ColumnCheck,
    ) {
        let mut value = |(row, text): (usize, Option<&[u8]>)| {
            if skipped.binary_search(&row).is_err() {
                self.value(text, offset + row as u64, found);
            }
        };
        match records {
            Chunked::Written(written) => written.column(column).enumerate().for_each(&mut value),
            Chunked::Batch(batch) => texts(batch.column(column)).iter().enumerate().for_each(&mut value),
        }
    }

    fn value(&self, text: Option<&[u8]>, place: u64, found: &mut ColumnCheck) {
        match self {
            Self::Number(bounds) => match number(text) {
                Value::Missing => found.missing.add(place),
                Value::Malformed => found.malformed.add(place),
                Value::Known(number) => {
                    if bounds.is_some_and(|(low, high)| !(low..=high).contains(&number)) {
                        found.outside.add(place);
                    }
                }
            },
            Self::Flag => match truth(text) {
                Value::Missing => found.missing.add(place),
                Value::Malformed => found.malformed.add(place),
                Value::Known(_) => {}
            },
            Self::Level(levels) => match levels.place(text) {
                Place::Missing => found.missing.add(place),
                Place::Unknown => found.unknown.add(place),
                Place::Level(_) => {}
            },
            Self::Text => {
                if text.is_none_or(|text| text.is_empty() || std::str::from_utf8(text).is_err()) {
                    found.missing.add(place);
                }
            }
        }
    }
}

impl ColumnCheck {
    fn new(column: &Column, declared: &[Declared]) -> Self {
        let known = declared.iter().find(|known| known.name == column.name());
        let stored = known.and_then(|known| known.found);
        Self {
            name: column.name().to_owned(),
            stored: stored.map(|found| found.name()),
            absent: known.is_none(),
            missing: Spots::default(),
            outside: Spots::default(),
            unknown: Spots::default(),
            malformed: Spots::default(),
            constant: known.is_some(),
            suggestions: Vec::new(),
        }
    }

    /// What would mend it. Nothing here is taken from the values: bounds and levels are what is publicly known.
    fn suggest(&mut self, column: &Column, is_target: bool) {
        let mut suggest = |when: bool, text: &str| {
            if when {
                self.suggestions.push(text.to_owned());
            }
        };
        let missing = self.missing.count > 0 && !is_target;
        match column.kind() {
            Kind::Numeric { missing: rule, .. } => {
                let malformed = self.malformed.count > 0 && !is_target;
                suggest((missing || malformed) && *rule == Missing::Unstated, "missing = \"indicator\"");
                suggest(
                    self.outside.count > 0,
                    "bounds = [low, high], wider, from what is publicly known and not from these records",
                );
            }
            Kind::Boolean { missing: rule } => {
                suggest(missing && *rule == Missing::Unstated, "missing = \"indicator\"");
                suggest(self.malformed.count > 0, "kind = \"categorical\", levels = [...] with all levels");
            }
            Kind::Categorical { unknown, missing: rule, .. } => {
                suggest(self.unknown.count > 0 && unknown.is_none(), "unknown = \"other\"");
                suggest(missing && rule.is_none(), "missing = \"level\"");
            }
            Kind::Text { .. } => {}
        }
    }
}

/// Looks at the start of the first file for what its schema does not state.
fn look(schema: &Schema, source: &Source, declared: &[Declared]) -> Result<FileCheck, TableError> {
    if source.format() != Format::Csv {
        return Ok(FileCheck::default());
    }
    let mut magic = Vec::new();
    let stored = source.stored(&source.files()[0])?;
    // What cannot be read is found out when all of it is read.
    let _ = stored.take(2).read_to_end(&mut magic);
    let found = |names: &[Declared]| {
        schema.columns().filter(|column| names.iter().any(|name| name.name == column.name())).count()
    };
    let here = found(declared);
    let mut check = FileCheck { delimiter: None, gzip: here == 0 && magic == [0x1f, 0x8b], no_header: false };
    if check.gzip {
        return Ok(check);
    }
    let mut best = here;
    for delimiter in Delimiter::ALL {
        let layout = crate::source::Layout { delimiter: Some(delimiter), ..source.layout() };
        let names = source.clone().with_layout(layout).columns().unwrap_or_default();
        if found(&names) > best {
            (best, check.delimiter) = (found(&names), Some(delimiter));
        }
    }
    check.no_header = best == 0 && declared.len() >= schema.columns().count();
    Ok(check)
}
