//! Where records come from: CSV files, Parquet files or record batches of Apache Arrow, read some records at a time.

mod arrow;
mod csv;
mod layout;
mod parquet;
mod spool;

pub use layout::{Delimiter, Layout};

pub(crate) use arrow::{NAME as BATCHES, project};
pub(crate) use csv::Written;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema};
use flate2::read::MultiGzDecoder;
use layout::ends_with;
use spool::Spool;

use crate::encode::has_texts;
use crate::error::TableError;

/// How the records of a data set are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of fields, with a header, in UTF-8, laid out as a [`Layout`] states. An empty field is a missing value.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Record batches of Apache Arrow, which are no files.
    Arrow,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
        })
    }
}

impl Format {
    /// The format that a file's name ends with: `.csv` or `.tsv`, with or without `.gz`, and `.parquet`.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        if ends_with(file, &["csv", "csv.gz", "tsv", "tsv.gz"]) {
            Some(Self::Csv)
        } else if ends_with(file, &["parquet"]) {
            Some(Self::Parquet)
        } else {
            None
        }
    }
}

/// A data set: one or more files with the same columns, in sorted order; a stream that was read to its end; or record
/// batches of Apache Arrow. One line of a CSV file is one record, and so is one row of a Parquet file or of a batch.
#[derive(Debug, Clone)]
pub struct Source {
    files: Vec<PathBuf>,
    input: Input,
    layout: Layout,
}

#[derive(Debug, Clone)]
enum Input {
    Csv,
    /// CSV that is read instead of the file.
    Spool(Spool),
    Parquet,
    Arrow(arrow::Batches),
}

/// A column as a file declares it: what is public without reading a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// A value of the first record, if a CSV file has no header.
    pub name: String,
    /// `None` for the columns of a CSV file, which have no types.
    pub found: Option<Found>,
}

/// Types of columns, as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Integers.
    Integers,
    /// Numbers with a fraction.
    Numbers,
    /// True and false.
    Booleans,
    /// Texts.
    Texts,
    /// Anything else, such as dates, bytes and lists.
    Other,
}

impl Found {
    pub(crate) fn of(data_type: &DataType) -> Self {
        match data_type {
            integers if integers.is_integer() => Self::Integers,
            numbers if numbers.is_numeric() => Self::Numbers,
            DataType::Boolean => Self::Booleans,
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Texts,
            _ => Self::Other,
        }
    }

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Integers => "integers",
            Self::Numbers => "numbers",
            Self::Booleans => "booleans",
            Self::Texts => "texts",
            Self::Other => "a type that is neither number, boolean nor text",
        }
    }
}

impl Source {
    /// A file, a folder of files, or a pattern such as `data/part-*.parquet`.
    ///
    /// # Errors
    /// [`TableError`] if there is nothing to read or the files are of different formats.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TableError> {
        let path = path.as_ref();
        let files = if path.is_dir() {
            let unreadable =
                |error: std::io::Error| TableError::Unreadable { file: path.to_owned(), kind: error.kind() };
            let mut files = Vec::new();
            for entry in std::fs::read_dir(path).map_err(unreadable)? {
                files.push(entry.map_err(unreadable)?.path());
            }
            files
        } else if path.is_file() {
            if Format::of(path).is_none() {
                return Err(TableError::UnknownFormat { file: path.to_owned() });
            }
            vec![path.to_owned()]
        } else {
            matching(path)?
        };
        Self::of_files(path, files)
    }

    fn of_files(path: &Path, mut files: Vec<PathBuf>) -> Result<Self, TableError> {
        // A folder may hold other things, such as the marks that distributed writers leave.
        files.retain(|file| Format::of(file).is_some() && file.is_file());
        files.sort();
        let mut formats = files.iter().filter_map(|file| Format::of(file));
        let Some(format) = formats.next() else {
            return Err(TableError::NoFiles { path: path.to_owned() });
        };
        if formats.any(|other| other != format) {
            return Err(TableError::MixedFormats { path: path.to_owned() });
        }
        let input = if format == Format::Parquet { Input::Parquet } else { Input::Csv };
        Ok(Self { files, input, layout: Layout::default() })
    }

    /// Reads a CSV file from a stream, such as standard input, to its end. What it held is kept in memory if it is less than
    /// 64 MiB, or in a temporary file without a name: records may be read in several passes.
    ///
    /// # Errors
    /// [`TableError::Unreadable`] if the stream fails or there is no room.
    pub fn from_stream(input: impl Read) -> Result<Self, TableError> {
        let file = PathBuf::from("standard input");
        match Spool::fill(input) {
            Ok(spool) => {
                Ok(Self { files: vec![file], input: Input::Spool(spool), layout: Layout::default() })
            }
            Err(error) => Err(TableError::Unreadable { file, kind: error.kind() }),
        }
    }

    /// Record batches in memory. They may differ in the order and types of their columns, which are found by name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use reticent_tables::arrow::{RecordBatch, array::{ArrayRef, Int64Array}};
    /// use reticent_tables::{Column, Encoder, Schema, Source};
    ///
    /// let ages = Arc::new(Int64Array::from(vec![Some(20), None, Some(250)])) as ArrayRef;
    /// let source = Source::from_batches([RecordBatch::try_from_iter([("age", ages)])?]);
    /// let schema = Schema::new(None, vec![Column::numeric("age", 0.0, 80.0)?])?;
    /// let table = Encoder::new(&schema)?.read(&source)?;
    /// assert_eq!(table.into_values(), [-0.5, 0.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_batches(batches: impl IntoIterator<Item = RecordBatch>) -> Self {
        Self::from_arrow(arrow::Batches::Kept(batches.into_iter().collect()))
    }

    /// Record batches from a reader, for data that does not fit in memory. Records are read in several passes: `open` is called for each, maybe
    /// on another thread, and must give the same rows each time.
    ///
    /// # Privacy
    /// The message of an error or a panic of a reader may contain a value of a record, so it is dropped:
    /// [`TableError::Reader`] has none.
    pub fn from_readers<F>(open: F) -> Self
    where
        F: Fn() -> Result<Box<dyn RecordBatchReader + Send>, ArrowError> + Send + Sync + 'static,
    {
        Self::from_arrow(arrow::Batches::Opened(Arc::new(open)))
    }

    fn from_arrow(batches: arrow::Batches) -> Self {
        Self { files: Vec::new(), input: Input::Arrow(batches), layout: Layout::default() }
    }

    /// The same data set, with CSV files that are laid out like this.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// How its CSV files are laid out, as far as it is stated.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Its files, in the order they are read. Record batches have none.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// How its records are stored. A stream is [`Format::Csv`].
    #[must_use]
    pub fn format(&self) -> Format {
        match self.input {
            Input::Csv | Input::Spool(_) => Format::Csv,
            Input::Parquet => Format::Parquet,
            Input::Arrow(_) => Format::Arrow,
        }
    }

    /// The columns that the first file, the first batch or the reader declares. No record is read; but the first line of a CSV file without a header is
    /// a record.
    ///
    /// # Errors
    /// [`TableError`] if the file is not what it should be.
    pub fn columns(&self) -> Result<Vec<Declared>, TableError> {
        match &self.input {
            Input::Csv | Input::Spool(_) => {
                let file = &self.files[0];
                let delimiter = self.layout.delimiter_of(file);
                csv::columns(file, self.text(file)?, delimiter, self.layout.quoted_newlines)
            }
            Input::Parquet => parquet::columns(&self.files[0]),
            Input::Arrow(batches) => batches.columns(),
        }
    }

    /// The bytes of a CSV file as they are stored.
    pub(crate) fn stored(&self, file: &Path) -> Result<Box<dyn Read + Send>, TableError> {
        match &self.input {
            Input::Spool(spool) => Ok(Box::new(spool.reader())),
            _ => match File::open(file) {
                Ok(open) => Ok(Box::new(open)),
                Err(error) => Err(TableError::Unreadable { file: file.to_owned(), kind: error.kind() }),
            },
        }
    }

    /// The text of a CSV file.
    fn text(&self, file: &Path) -> Result<Box<dyn Read + Send>, TableError> {
        let stored = self.stored(file)?;
        Ok(if self.layout.is_gzip(file) { Box::new(MultiGzDecoder::new(stored)) } else { stored })
    }

    /// Reads these columns, `rows` records at a time.
    pub(crate) fn chunks<'a>(&'a self, columns: &'a [Wanted], rows: usize) -> Chunks<'a> {
        let waiting = match self.input {
            Input::Arrow(_) => VecDeque::from([Path::new(BATCHES)]),
            _ => self.files.iter().map(PathBuf::as_path).collect(),
        };
        Chunks { source: self, columns, rows, waiting, open: None }
    }
}

fn matching(path: &Path) -> Result<Vec<PathBuf>, TableError> {
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(matches) = pattern.and_then(|pattern| glob::glob(pattern).ok()) else {
        return Err(TableError::Unreadable { file: path.to_owned(), kind: std::io::ErrorKind::NotFound });
    };
    matches
        .map(|entry| {
            entry.map_err(|error| TableError::Unreadable {
                file: error.path().to_owned(),
                kind: error.error().kind(),
            })
        })
        .collect()
}

/// A column that is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// Whether few different texts are expected. Parquet files have these as a dictionary, which is faster to look up.
    pub(crate) few: bool,
    /// Whether it has the privacy unit of each record.
    pub(crate) unit: bool,
}

/// Some records of the wanted columns, in the wanted order.
pub(crate) struct Chunk<'a> {
    pub(crate) file: &'a Path,
    pub(crate) records: Chunked,
}

/// There are two representations because a batch of texts would copy each field of a CSV file once more.
pub(crate) enum Chunked {
    /// Texts of a CSV file.
    Written(Written),
    /// Arrays of whatever types a Parquet file or a caller has.
    Batch(RecordBatch),
}

impl Chunk<'_> {
    pub(crate) fn rows(&self) -> usize {
        match &self.records {
            Chunked::Written(written) => written.rows(),
            Chunked::Batch(batch) => batch.num_rows(),
        }
    }
}

/// Reads a source from its first record to its last.
pub(crate) struct Chunks<'a> {
    source: &'a Source,
    columns: &'a [Wanted],
    rows: usize,
    waiting: VecDeque<&'a Path>,
    open: Option<(&'a Path, Reader)>,
}

enum Reader {
    Csv(Box<csv::Reader>),
    Parquet(parquet::Reader),
    Arrow(arrow::Reader),
}

impl<'a> Chunks<'a> {
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk<'a>>, TableError> {
        loop {
            if let Some((file, reader)) = &mut self.open {
                let records = match reader {
                    Reader::Csv(reader) => reader.next_chunk(file)?.map(Chunked::Written),
                    Reader::Parquet(reader) => reader.next_chunk(file)?.map(Chunked::Batch),
                    Reader::Arrow(reader) => reader.next_chunk(self.columns)?.map(Chunked::Batch),
                };
                if let Some(records) = records {
                    return Ok(Some(Chunk { file, records }));
                }
            }
            let Some(file) = self.waiting.pop_front() else {
                self.open = None;
                return Ok(None);
            };
            self.open = Some((file, self.reader(file)?));
        }
    }

    fn reader(&self, file: &Path) -> Result<Reader, TableError> {
        let (columns, rows) = (self.columns, self.rows);
        Ok(match &self.source.input {
            Input::Csv | Input::Spool(_) => {
                let layout = self.source.layout;
                let (text, delimiter) = (self.source.text(file)?, layout.delimiter_of(file));
                let reader = csv::Reader::open(file, text, delimiter, layout.quoted_newlines, columns, rows)?;
                Reader::Csv(Box::new(reader))
            }
            Input::Parquet => Reader::Parquet(parquet::Reader::open(file, columns, rows)?),
            Input::Arrow(batches) => Reader::Arrow(arrow::Reader::open(batches, columns, rows)?),
        })
    }
}

/// Where the wanted columns are among those of a file or batch.
fn positions(file: &Path, names: &[&str], wanted: &[Wanted]) -> Result<Vec<usize>, TableError> {
    // There may be thousands of columns, and many batches.
    if names.iter().copied().eq(wanted.iter().map(|column| column.name.as_str())) {
        return Ok((0..names.len()).collect());
    }
    let mut known: HashMap<&str, (usize, bool)> = HashMap::new();
    for (position, name) in names.iter().enumerate() {
        known.entry(name).and_modify(|(_, twice)| *twice = true).or_insert((position, false));
    }
    // All that are missing, so that one look at the file mends it.
    let absent = wanted.iter().filter(|column| !known.contains_key(column.name.as_str()));
    let columns: Vec<String> = absent.map(|column| column.name.clone()).collect();
    if columns.len() > 1 {
        return Err(TableError::NoColumns { file: file.to_owned(), columns });
    }
    let position = |column: &Wanted| {
        let (file, name) = (file.to_owned(), column.name.clone());
        match known.get(column.name.as_str()) {
            Some(&(position, false)) => Ok(position),
            Some((_, true)) => Err(TableError::TwoColumns { file, column: name }),
            None => Err(TableError::NoColumn { file, column: name }),
        }
    };
    wanted.iter().map(position).collect()
}

/// Where the wanted columns are, by their declared types: one with the privacy unit must have texts, since all rows would be units of their own.
fn typed_positions(file: &Path, schema: &Schema, wanted: &[Wanted]) -> Result<Vec<usize>, TableError> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let positions = positions(file, &names, wanted)?;
    let mut units = wanted.iter().zip(&positions).filter(|(column, _)| column.unit);
    match units.find(|(_, position)| !has_texts(schema.field(**position).data_type())) {
        Some((column, _)) => Err(TableError::NoUnits { file: file.to_owned(), column: column.name.clone() }),
        None => Ok(positions),
    }
}
