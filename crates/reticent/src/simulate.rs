//! Simulated records, decoded to the columns of the schema.

use std::path::Path;
use std::sync::Arc;

use reticent_tables::arrow::RecordBatch;
use reticent_tables::arrow::array::{ArrayRef, BooleanArray, Float64Array, StringArray};
use reticent_tables::arrow::schema::{DataType, Field, Schema};
use reticent_tables::{Column, Kind, Missing, Readers, TableFile, Units};

use crate::error::Error;
use crate::saved::SavedModel;

/// Records that are written at once.
const BLOCK: usize = 8192;

/// Writes simulated records: a column for each feature of the schema.
pub(crate) fn write(model: &SavedModel, rows: usize, seed: u64, out: &Path) -> Result<Vec<String>, Error> {
    check(model, seed)?;
    let mut file = TableFile::create(out, fields(model), Readers::Anyone)?;
    for block in 0..rows.div_ceil(BLOCK) {
        file.append(columns(model, (rows - block * BLOCK).min(BLOCK), seed, block as u64))?;
    }
    file.finish()?;
    Ok(model.schema().features().iter().map(|feature| feature.name().to_owned()).collect())
}

/// The same records in memory.
pub(crate) fn batches(model: &SavedModel, rows: usize, seed: u64) -> Result<Vec<RecordBatch>, Error> {
    check(model, seed)?;
    let fields = fields(model);
    let block = |block: usize| {
        let columns = columns(model, (rows - block * BLOCK).min(BLOCK), seed, block as u64);
        RecordBatch::try_new(Arc::clone(&fields), columns)
    };
    // An empty table has columns too.
    let blocks = (0..rows.div_ceil(BLOCK).max(1)).map(block).collect::<Result<_, _>>();
    blocks.map_err(|_| Error::data("the simulated records do not fit the schema", "fit the model again"))
}

/// Refuses models without a distribution of records.
fn check(model: &SavedModel, seed: u64) -> Result<(), Error> {
    if model.posterior().simulate_rows(1, seed, 0).is_some() {
        return Ok(());
    }
    let message = format!("a {} model has no distribution of records", model.kind().name());
    let hint = "fit a model of the records, such as mixture, multivariate-normal, dirichlet or naive-bayes";
    Err(Error::data(message, hint))
}

fn fields(model: &SavedModel) -> Arc<Schema> {
    Arc::new(Schema::new(model.schema().features().iter().map(field).collect::<Vec<Field>>()))
}

/// The columns of a block of records.
fn columns(model: &SavedModel, count: usize, seed: u64, block: u64) -> Vec<ArrayRef> {
    let records = model.posterior().simulate_rows(count, seed, block).unwrap_or_default();
    let mut first = 0;
    let mut columns = Vec::new();
    for feature in model.schema().features() {
        let width = width(feature);
        columns.push(decoded(feature, records.iter().map(|record| &record[first..first + width])));
        first += width;
    }
    columns
}

fn field(column: &Column) -> Field {
    let kind = match column.kind() {
        Kind::Numeric { .. } => DataType::Float64,
        Kind::Boolean { .. } => DataType::Boolean,
        Kind::Categorical { .. } | Kind::Text { .. } => DataType::Utf8,
    };
    Field::new(column.name(), kind, true)
}

/// Whether a column has a number of its own for missing values.
fn has_indicator(column: &Column) -> bool {
    matches!(
        column.kind(),
        Kind::Numeric { missing: Missing::Indicator, .. } | Kind::Boolean { missing: Missing::Indicator }
    )
}

/// Numbers of a column in an encoded record.
fn width(column: &Column) -> usize {
    match column.kind() {
        Kind::Categorical { .. } => column.levels().len(),
        Kind::Text { vocabulary, .. } => vocabulary.len(),
        _ => 1 + usize::from(has_indicator(column)),
    }
}

/// The values of a column. The level of the largest code is the record's: models of numbers give each level a number.
fn decoded<'a>(column: &Column, codes: impl Iterator<Item = &'a [f64]>) -> ArrayRef {
    let known = |codes: &[f64]| !(has_indicator(column) && codes[1] > 0.0);
    match column.kind() {
        Kind::Numeric { scale, .. } => {
            let units = Units::of(*scale).unwrap_or(Units { centre: 0.0, unit: 1.0 });
            let number = |codes: &[f64]| known(codes).then(|| units.decode(codes[0]));
            Arc::new(codes.map(number).collect::<Float64Array>())
        }
        Kind::Boolean { .. } => {
            Arc::new(codes.map(|codes| known(codes).then(|| codes[0] > 0.0)).collect::<BooleanArray>())
        }
        Kind::Categorical { .. } => {
            let levels = column.levels();
            let level = |codes: &[f64]| {
                let largest =
                    (0..codes.len()).fold(0, |best, k| if codes[k] > codes[best] { k } else { best });
                levels.get(largest).copied()
            };
            Arc::new(codes.map(level).collect::<StringArray>())
        }
        Kind::Text { vocabulary, .. } => {
            let text = |codes: &[f64]| {
                let times = |count: f64| count.round().clamp(0.0, 1e6) as usize;
                let words = vocabulary.iter().zip(codes);
                let words = words.flat_map(|(word, &count)| std::iter::repeat_n(word.as_str(), times(count)));
                Some(words.collect::<Vec<_>>().join(" "))
            };
            Arc::new(codes.map(text).collect::<StringArray>())
        }
    }
}
