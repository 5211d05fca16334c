//! Where records come from: CSV or Parquet files that are one data set, read in batches.

mod csv;
mod parquet;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use crate::error::TableError;

/// How a table is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma separated, with a header, in UTF-8. An empty field is a missing value.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
        })
    }
}

impl Format {
    /// The format that a file's name ends with.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("csv") {
            Some(Self::Csv)
        } else if extension.eq_ignore_ascii_case("parquet") {
            Some(Self::Parquet)
        } else {
            None
        }
    }
}

/// A data set: one or more files with the same columns, in sorted order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    files: Vec<PathBuf>,
    format: Format,
}

/// A column as a file declares it: what may be known without reading a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its type. The columns of a CSV file have none.
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

    pub(crate) fn name(self) -> &'static str {
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
        Ok(Self { files, format })
    }

    /// Its files, in the order they are read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// How its files are written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The columns that the first file declares. No record is read; but the first line of a CSV file without a header is
    /// a record.
    ///
    /// # Errors
    /// [`TableError`] if the file is not what it should be.
    pub fn columns(&self) -> Result<Vec<Declared>, TableError> {
        match self.format {
            Format::Csv => csv::columns(&self.files[0]),
            Format::Parquet => parquet::columns(&self.files[0]),
        }
    }

    /// Reads these columns, `rows` records at a time.
    pub(crate) fn chunks<'a>(&'a self, columns: &'a [Wanted], rows: usize) -> Chunks<'a> {
        Chunks { columns, rows, format: self.format, waiting: self.files.iter().collect(), open: None }
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
}

/// Some records of the wanted columns, in the wanted order.
pub(crate) struct Chunk<'a> {
    pub(crate) file: &'a Path,
    pub(crate) arrays: Vec<ArrayRef>,
    pub(crate) rows: usize,
}

/// Reads all files of a source in order.
pub(crate) struct Chunks<'a> {
    columns: &'a [Wanted],
    rows: usize,
    format: Format,
    waiting: VecDeque<&'a PathBuf>,
    open: Option<(&'a Path, Reader)>,
}

enum Reader {
    Csv(Box<csv::Reader>),
    Parquet(parquet::Reader),
}

impl<'a> Chunks<'a> {
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk<'a>>, TableError> {
        loop {
            if let Some((file, reader)) = &mut self.open {
                let chunk = match reader {
                    Reader::Csv(reader) => reader.next_chunk(file)?,
                    Reader::Parquet(reader) => reader.next_chunk(file)?,
                };
                if let Some((rows, arrays)) = chunk {
                    return Ok(Some(Chunk { file, arrays, rows }));
                }
            }
            let Some(file) = self.waiting.pop_front() else {
                self.open = None;
                return Ok(None);
            };
            let reader = match self.format {
                Format::Csv => Reader::Csv(Box::new(csv::Reader::open(file, self.columns, self.rows)?)),
                Format::Parquet => Reader::Parquet(parquet::Reader::open(file, self.columns, self.rows)?),
            };
            self.open = Some((file, reader));
        }
    }
}

/// Where the wanted columns are among those of a file.
fn positions(file: &Path, names: &[&str], wanted: &[Wanted]) -> Result<Vec<usize>, TableError> {
    let mut known: HashMap<&str, (usize, bool)> = HashMap::new();
    for (position, name) in names.iter().enumerate() {
        known.entry(name).and_modify(|(_, twice)| *twice = true).or_insert((position, false));
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
