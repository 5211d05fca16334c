//! From a schema and files or record batches to what models are fitted to.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use reticent_core::budget::Adjacency;
use reticent_core::model::parameters::linear_terms;
use reticent_core::model::{Code, CoefficientPrior, TableShape, Target};
use reticent_core::wall::{Records, WallError};
use reticent_tables::arrow::RecordBatch;
use reticent_tables::{EachUnits, Encoder, Kind, Layout, Rows, Scale, Schema, Source, Stream, UnitRows};

use crate::cancel::Cancel;
use crate::codebook::codebook;
use crate::error::{Error, ErrorKind};
use crate::holdout::{Holdout, Part};

/// A data set: where its records are.
///
/// A path of a file, of a folder or a pattern such as `data/*.parquet` is one, and so are record batches of Apache
/// [Arrow](crate::arrow) and a [`Source`]. Data larger than memory can come [from readers](Source::from_readers) that are opened once for each pass.
///
/// One line of a CSV file is one record, and so is one row of a Parquet file or of a batch, wherever one batch ends and the next begins.
/// Columns are found by name, and values count as what their texts would count as in a CSV file: the same rows give the same fit from any of them.
///
/// ```
/// use std::sync::Arc;
/// use reticent::arrow::{RecordBatch, array::{ArrayRef, BooleanArray, Int64Array}};
/// use reticent::{Adjacency, Fit, Privacy, Schema};
///
/// let schema = Schema::parse(r#"
///     target = { name = "stays", kind = "boolean" }
///     features = [{ name = "age", kind = "numeric", bounds = [18, 95] }]
/// "#)?;
/// let ages = Arc::new(Int64Array::from_iter_values((0..2000).map(|n| 20 + n % 60))) as ArrayRef;
/// let stays = Arc::new(BooleanArray::from_iter((0..2000).map(|n| Some(n % 60 > 30)))) as ArrayRef;
/// let patients = RecordBatch::try_from_iter([("age", ages), ("stays", stays)]).unwrap();
/// let fit = Fit::new("logistic", &schema)?
///     .privacy(Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?)
///     .run(vec![patients.clone()])?;
/// let predictions = fit.model().predict_batch(&patients)?;
/// assert_eq!(predictions.num_rows(), 2000);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Clone)]
pub struct Data {
    place: Place,
    name: Option<String>,
}

#[derive(Clone)]
enum Place {
    Path(PathBuf),
    Source(Source),
}

impl Data {
    /// The same data set by another name. A run that is resumed must name its data as before. Files are named by their paths; record
    /// batches have no name of their own, and a run of them with a [model file](crate::Fit::out) is refused without one.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The name that a resumed run is compared by. `None` for record batches without one.
    pub(crate) fn name(&self) -> Option<String> {
        match (&self.name, &self.place) {
            (Some(name), _) => Some(name.clone()),
            (None, Place::Path(path)) => Some(path.display().to_string()),
            (None, Place::Source(source)) => {
                let files: Vec<String> =
                    source.files().iter().map(|file| file.display().to_string()).collect();
                (!files.is_empty()).then(|| files.join(", "))
            }
        }
    }

    /// Where it is, if it is a path.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Path(path) => Some(path),
            Place::Source(_) => None,
        }
    }

    /// The same for sentences.
    pub(crate) fn label(&self) -> String {
        self.name().unwrap_or_else(|| BATCHES.to_owned())
    }

    /// Files are laid out as stated. Sources keep their own layout.
    pub(crate) fn open(&self, layout: Layout) -> Result<Source, Error> {
        Ok(match &self.place {
            Place::Path(path) => Source::open(path)?.with_layout(layout),
            Place::Source(source) => source.clone(),
        })
    }
}

impl From<&str> for Data {
    fn from(path: &str) -> Self {
        Self::from(PathBuf::from(path))
    }
}

impl From<String> for Data {
    fn from(path: String) -> Self {
        Self::from(PathBuf::from(path))
    }
}

impl From<&Path> for Data {
    fn from(path: &Path) -> Self {
        Self::from(path.to_owned())
    }
}

impl From<&PathBuf> for Data {
    fn from(path: &PathBuf) -> Self {
        Self::from(path.clone())
    }
}

impl From<PathBuf> for Data {
    fn from(path: PathBuf) -> Self {
        Self { place: Place::Path(path), name: None }
    }
}

impl From<Source> for Data {
    fn from(source: Source) -> Self {
        Self { place: Place::Source(source), name: None }
    }
}

impl From<Vec<RecordBatch>> for Data {
    fn from(batches: Vec<RecordBatch>) -> Self {
        Self::from(Source::from_batches(batches))
    }
}

impl From<RecordBatch> for Data {
    fn from(batch: RecordBatch) -> Self {
        Self::from(vec![batch])
    }
}

/// What messages have in place of the names of files.
const BATCHES: &str = "record batches";

/// What a schema states about the rows that it makes.
pub(crate) fn shape(schema: &Schema, records: usize) -> TableShape {
    let columns = schema.features().iter().flat_map(|column| column.input_widths());
    let target = schema.target().map_or(Target::Nothing, |column| match column.kind() {
        Kind::Numeric { .. } => Target::Number,
        _ if column.levels().len() == 2 => Target::TwoClasses,
        _ => Target::Classes,
    });
    let words = schema.features().iter().map(|column| match column.kind() {
        Kind::Text { vocabulary, .. } => vocabulary.len(),
        _ => 0,
    });
    let priors = if target == Target::Classes { Vec::new() } else { priors(schema, target) };
    TableShape { words: Some(words.sum()), priors, ..TableShape::new(columns.collect(), target, records) }
}

/// The priors of coefficients that a schema states, for each coefficient of a column.
fn priors(schema: &Schema, target: Target) -> Vec<CoefficientPrior> {
    if schema.features().iter().all(|column| column.prior().is_none()) {
        return Vec::new();
    }
    let codebook = codebook(schema);
    let scale = if target == Target::Number { codebook.target_scale() } else { 1.0 };
    let (terms, _) = linear_terms(&codebook, &[], scale, 0.0);
    let columns = codebook.columns.iter().flat_map(|column| {
        let coefficients = match &column.code {
            Code::Levels { levels } => levels.len().saturating_sub(1),
            _ => 1,
        };
        std::iter::repeat_n(column, coefficients)
    });
    // The first term is the intercept.
    let stated = terms.into_iter().skip(1).zip(columns).filter_map(|(term, column)| {
        let prior = schema
            .features()
            .iter()
            .find(|feature| feature.name() == column.name)?
            .prior()
            .filter(|_| column.code != Code::Missing)?;
        Some(CoefficientPrior { weights: term.weights, mean: prior.mean, sd: prior.sd })
    });
    stated.collect()
}

/// The first column that is not scaled by bounds.
pub(crate) fn without_bounds(schema: &Schema) -> Option<&str> {
    let moments = |kind: &Kind| matches!(kind, Kind::Numeric { scale: Scale::Moments { .. }, .. });
    schema.columns().find(|column| moments(column.kind())).map(|column| column.name())
}

/// Encoded records: rows that are privacy units by themselves, or units of rows.
pub(crate) enum Encoded {
    Rows(Rows),
    /// With the number of rows that a unit counts as at least.
    Units(UnitRows, usize),
}

impl Encoded {
    /// The number of privacy units.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.count(),
            Self::Units(units, _) => units.count(),
        }
    }
}

/// Encodes all rows, unless the run is cancelled meanwhile. At most `max` numbers are kept in memory.
pub(crate) fn encoded(
    schema: &Schema,
    source: &Source,
    max: usize,
    cancel: &Cancel,
) -> Result<Encoded, Error> {
    let mut stop = || cancel.is_cancelled();
    let Some(unit) = schema.privacy_unit() else {
        let rows = Encoder::new(schema)?.rows_unless(source, max, &mut stop)?;
        return rows.map(Encoded::Rows).ok_or_else(stopped);
    };
    let units = UnitRows::read(schema, source, max, &mut stop)?.ok_or_else(stopped)?;
    Ok(Encoded::Units(units, unit.rows().unwrap_or(1)))
}

/// The error of a run that was cancelled before anything was reserved.
pub(crate) fn stopped() -> Error {
    let message = "stopped; no model was written, and nothing was charged";
    Error::new(ErrorKind::Stopped, message, "start anew")
}

/// A pass over the rows that are not held out.
fn pass(stream: &Stream, held: Option<(&Holdout, usize)>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>) {
    match held {
        None => stream.pass(each),
        Some((holdout, width)) => holdout.pass(width, Part::Fitted, |each| stream.pass(each), each),
    }
}

/// Encoded records as the wall takes them, without those that are held out.
pub(crate) fn records(encoded: Encoded, holdout: Option<&Holdout>) -> Result<Records, WallError> {
    let rows = match encoded {
        Encoded::Rows(rows) => rows,
        Encoded::Units(units, least) => return units_of_rows(units, least),
    };
    let (all_rows, width) = (rows.count(), rows.width());
    let count = holdout.map_or(all_rows, |holdout| holdout.counts().1);
    match rows {
        Rows::Kept(table) => {
            let values = table.into_values();
            let fitted = holdout.map(|holdout| holdout.part(&values, width, Part::Fitted));
            Records::new(fitted.unwrap_or(values), width)
        }
        Rows::Streamed(stream) => {
            let holdout = holdout.cloned();
            let pass = move |wanted: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
                let held = holdout.as_ref().map(|holdout| (holdout, width));
                let Some(wanted) = wanted else { return pass(&stream, held, each) };
                // Whoever takes the rows also states whether to stop; a block without rows only asks.
                let mut stop = || each(&[]).is_break();
                let rows = match &holdout {
                    None => stream.some(wanted, &mut stop),
                    Some(holdout) => stream.some(&holdout.places(wanted), &mut stop),
                };
                let _ = each(&rows);
            };
            Records::streamed(count, width, Box::new(pass))
        }
    }
}

/// Units of rows as the wall takes them.
pub(crate) fn units_of_rows(units: UnitRows, least: usize) -> Result<Records, WallError> {
    let (count, width) = (units.count(), units.width());
    let records = match units.into_kept() {
        Ok((values, rows)) => Records::of_units(values, width, &rows),
        Err(mut units) => {
            let pass = move |wanted: Option<&[usize]>, each: EachUnits<'_>| units.pass(wanted, each);
            Records::streamed_units(count, width, Box::new(pass))
        }
    };
    Ok(records?.counting_at_least(least))
}

/// The public number of records. Under add/remove it must not be read from the file, not even whether there are any.
pub(crate) fn number_of_records(
    source: &Source,
    rows: usize,
    adjacency: Option<Adjacency>,
    stated: Option<usize>,
) -> Result<usize, Error> {
    if adjacency.is_none_or(|adjacency| adjacency == Adjacency::ReplaceOne) {
        if rows == 0 {
            let message = format!("{}: there are no records", files(source));
            return Err(Error::data(message, "give a file with at least one record"));
        }
        if stated.is_some() {
            let hint = "leave `records` out, or choose add-remove for `adjacency`";
            return Err(Error::settings("the number of records is public here and read from the file", hint));
        }
        return Ok(rows);
    }
    stated.filter(|records| *records > 0).ok_or_else(|| {
        let hint = "state about how many there are with `records`, from what is publicly known";
        Error::settings("under add-remove adjacency the number of records is private", hint)
    })
}

/// The names of files in a sentence.
pub(crate) fn files(source: &Source) -> String {
    match source.files() {
        [] => BATCHES.to_owned(),
        [file] => file.display().to_string(),
        files => format!("{} files", files.len()),
    }
}
