//! Predictions out, keyed to the records that they are for.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

use crate::error::TableError;
use crate::table_file::{Readers, TableFile};

/// The column with the number of the record that a prediction is for, from 0.
const ROW: &str = "row";

/// The column with the number of a draw, from 0.
const DRAW: &str = "draw";

/// Writes predictions to a CSV or Parquet file, whichever its name ends with. The file appears when it is finished.
///
/// Predictions for private records are private. The file is readable by its owner alone.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("predictions.csv");
/// use reticent_tables::Predictions;
///
/// let mut predictions = Predictions::create(&path, &["mean", "sd"])?;
/// predictions.append(&[&[1.5, 2.0], &[0.25, 0.5]])?;
/// predictions.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,mean,sd\n0,1.5,0.25\n1,2.0,0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Predictions {
    file: TableFile,
    texts: usize,
    numbers: usize,
    rows: i64,
}

impl Predictions {
    /// Begins a file with these columns beside the row number.
    ///
    /// # Errors
    /// [`TableError`] if the file cannot be written, is of an unknown format, or has two columns of the same name.
    pub fn create(path: impl AsRef<Path>, names: &[&str]) -> Result<Self, TableError> {
        Self::with_texts(path, &[], names)
    }

    /// As [`create`](Self::create), with columns of texts after the row number.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn with_texts(path: impl AsRef<Path>, texts: &[&str], names: &[&str]) -> Result<Self, TableError> {
        Self::keyed(path.as_ref(), ROW, Readers::Owner, texts, names)
    }

    /// As [`create`](Self::create), with another name for the column of numbers from 0, for a file of draws from a posterior: it is
    /// public if the posterior is, and may be read like any other.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn of_draws(path: impl AsRef<Path>, names: &[&str]) -> Result<Self, TableError> {
        Self::keyed(path.as_ref(), DRAW, Readers::Anyone, &[], names)
    }

    fn keyed(
        path: &Path,
        key: &str,
        readers: Readers,
        texts: &[&str],
        names: &[&str],
    ) -> Result<Self, TableError> {
        let key = Field::new(key, DataType::Int64, false);
        let of_texts = texts.iter().map(|name| Field::new(*name, DataType::Utf8, true));
        let numbers = names.iter().map(|name| Field::new(*name, DataType::Float64, false));
        let fields: Vec<Field> = std::iter::once(key).chain(of_texts).chain(numbers).collect();
        let file = TableFile::create(path, Arc::new(Schema::new(fields)), readers)?;
        Ok(Self { file, texts: texts.len(), numbers: names.len(), rows: 0 })
    }

    /// Appends predictions for the next records: the values of each column.
    ///
    /// # Errors
    /// [`TableError`] if these are not the columns announced, of one length, or cannot be written.
    pub fn append(&mut self, columns: &[&[f64]]) -> Result<(), TableError> {
        self.append_with_texts(&[], columns)
    }

    /// As [`append`](Self::append), with the values of the columns of texts: `None` is a missing one.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_with_texts(
        &mut self,
        texts: &[Vec<Option<String>>],
        columns: &[&[f64]],
    ) -> Result<(), TableError> {
        let rows = columns.first().map_or(0, |column| column.len());
        let lengths = columns.iter().map(|column| column.len()).chain(texts.iter().map(Vec::len));
        if (texts.len(), columns.len()) != (self.texts, self.numbers)
            || lengths.into_iter().any(|n| n != rows)
        {
            return Err(TableError::Columns {
                names: self.texts + self.numbers,
                given: texts.len() + columns.len(),
            });
        }
        let keys = Arc::new(Int64Array::from_iter_values(self.rows..self.rows + rows as i64)) as ArrayRef;
        let of_texts = texts.iter().map(|column| Arc::new(StringArray::from_iter(column)) as ArrayRef);
        let numbers = columns.iter().map(|column| Arc::new(Float64Array::from(column.to_vec())) as ArrayRef);
        self.rows += rows as i64;
        self.file.append(std::iter::once(keys).chain(of_texts).chain(numbers).collect())
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`TableError::Unwritable`]; there is no file then.
    pub fn finish(self) -> Result<(), TableError> {
        self.file.finish()
    }
}
