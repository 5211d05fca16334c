//! Predictions for the records of a data set, as columns of a file or of a record batch.

use std::path::Path;
use std::sync::Arc;

use reticent_core::math::normal::quantile;
use reticent_core::model::{Link, Predicted, Variances};
use reticent_tables::arrow::RecordBatch;
use reticent_tables::arrow::array::{ArrayRef, Float64Array};
use reticent_tables::arrow::schema::{DataType, Field, Schema};
use reticent_tables::{Encoder, Predictions, Source, TableError, Units};

use crate::error::Error;
use crate::saved::SavedModel;

/// Quantiles of a prediction, and the names of their columns.
const PROBABILITIES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
const QUANTILES: [&str; 5] = ["q05", "q25", "q50", "q75", "q95"];

/// Records that are predicted at once.
const BLOCK: usize = 8192;

/// Writes the predictions for a data set, with columns of it as texts; the names of all columns but the row number.
pub(crate) fn write(
    model: &SavedModel,
    source: &Source,
    ids: &[&str],
    out: &Path,
) -> Result<Vec<String>, Error> {
    let encoder = Encoder::of_features(model.schema())?.carrying(ids);
    let names = names(model, encoder.width(), &usual_quantiles());
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut predictions = Predictions::with_texts(out, ids, &texts)?;
    let mut batches = encoder.stream(source);
    while let Some(batch) = batches.next_batch()? {
        let columns = columns(model, batch.values(), encoder.width(), (names.len(), &PROBABILITIES));
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        predictions.append_with_texts(batch.carried(), &slices)?;
    }
    predictions.finish()?;
    Ok(ids.iter().map(|id| (*id).to_owned()).chain(names).collect())
}

/// The predictions for the rows of a batch, in their order.
pub(crate) fn batch(model: &SavedModel, batch: &RecordBatch) -> Result<RecordBatch, Error> {
    predicted(model, batch, &PROBABILITIES, &usual_quantiles())
}

/// The same with other quantiles.
pub(crate) fn batch_at(
    model: &SavedModel,
    batch: &RecordBatch,
    probabilities: &[f64],
) -> Result<RecordBatch, Error> {
    if let Some(wrong) = probabilities.iter().find(|probability| !(0.0..=1.0).contains(*probability)) {
        let message = format!("a probability is from 0 to 1, not {wrong}");
        return Err(Error::settings(message, "give probabilities such as 0.05 and 0.95"));
    }
    let names: Vec<String> = probabilities.iter().map(|probability| format!("q{probability}")).collect();
    predicted(model, batch, probabilities, &names)
}

fn usual_quantiles() -> Vec<String> {
    QUANTILES.map(str::to_owned).to_vec()
}

fn predicted(
    model: &SavedModel,
    batch: &RecordBatch,
    probabilities: &[f64],
    quantiles: &[String],
) -> Result<RecordBatch, Error> {
    let encoder = Encoder::of_features(model.schema())?;
    let names = names(model, encoder.width(), quantiles);
    let values = encoder.encode(batch)?.into_values();
    let columns = columns(model, &values, encoder.width(), (names.len(), probabilities));
    let arrays = columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef);
    let fields = names.iter().map(|name| Field::new(name, DataType::Float64, false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let given = names.len();
    RecordBatch::try_new(schema, arrays.collect())
        .map_err(|_| TableError::Columns { names: given, given }.into())
}

/// The columns of predictions for encoded rows, in the target's own units.
fn columns(
    model: &SavedModel,
    rows: &[f64],
    width: usize,
    (count, probabilities): (usize, &[f64]),
) -> Vec<Vec<f64>> {
    let units = model.units();
    let mut columns = vec![Vec::with_capacity(rows.len() / width); count];
    for block in rows.chunks(BLOCK * width) {
        for predicted in model.posterior().predict(block, width, probabilities) {
            append(predicted, units, probabilities, &mut columns);
        }
    }
    columns
}

/// The columns of predictions, as those of any record have them.
fn names(model: &SavedModel, inputs: usize, quantiles: &[String]) -> Vec<String> {
    match model.posterior().predict_row(&vec![0.0; inputs], &[]) {
        Predicted::Number { .. } => {
            ["mean", "sd"].map(str::to_owned).into_iter().chain(quantiles.iter().cloned()).collect()
        }
        Predicted::Class { .. } => {
            let levels = model.schema().target().map(|target| target.levels()).unwrap_or_default();
            let probabilities = levels.iter().map(|level| format!("probability_{level}"));
            let spread = std::iter::once("probability_sd".to_owned()).chain(quantiles.iter().cloned());
            probabilities.chain(spread).collect()
        }
        Predicted::Component { probabilities, .. } => {
            let components = (1..=probabilities.len()).map(|k| format!("probability_component_{k}"));
            std::iter::once("log_density".to_owned()).chain(components).collect()
        }
        Predicted::Topics { shares, .. } => {
            let topics = (1..=shares.len()).map(|k| format!("share_topic_{k}"));
            ["log_probability_bound", "words"].map(str::to_owned).into_iter().chain(topics).collect()
        }
        Predicted::Reconstruction { .. } => {
            let inputs = model.schema().encoded_names();
            let probabilities = inputs.iter().map(|name| format!("probability_{name}"));
            std::iter::once("log_probability_bound".to_owned()).chain(probabilities).collect()
        }
    }
}

fn append(predicted: Predicted, units: Units, probabilities: &[f64], columns: &mut [Vec<f64>]) {
    match predicted {
        Predicted::Number { mean, variances, quantiles } => {
            let quantiles = quantiles.into_iter().map(|quantile| units.decode(quantile));
            let sd = units.decode_sd(variances.total().sqrt());
            push(columns, [units.decode(mean), sd].into_iter().chain(quantiles));
        }
        Predicted::Class { probability, score, link, variances } => {
            let spread = spread(score, link, variances, probabilities);
            push(columns, [1.0 - probability, probability].into_iter().chain(spread));
        }
        Predicted::Component { log_density, probabilities } => {
            push(columns, std::iter::once(log_density).chain(probabilities));
        }
        Predicted::Topics { bound, words, shares } => push(columns, [bound, words].into_iter().chain(shares)),
        Predicted::Reconstruction { bound, probabilities, .. } => {
            push(columns, std::iter::once(bound).chain(probabilities));
        }
    }
}

/// Cells of the standard normal distribution over which the standard deviation of a probability is summed.
const CELLS: u32 = 64;

/// The standard deviation and the quantiles of the probability of the positive class: a function of the score, which is normal.
fn spread(score: f64, link: Link, variances: Variances, probabilities: &[f64]) -> impl Iterator<Item = f64> {
    let sd = (variances.records + variances.privacy).max(0.0).sqrt();
    // Variances of targets are part of the link of a probit, and 0 otherwise.
    let at = move |z: f64| link.probability(score + sd * z);
    let cell = |k: u32| at(quantile((f64::from(k) + 0.5) / f64::from(CELLS)));
    let mean = (0..CELLS).map(cell).sum::<f64>() / f64::from(CELLS);
    let square = (0..CELLS).map(|k| (cell(k) - mean).powi(2)).sum::<f64>() / f64::from(CELLS);
    std::iter::once(square.sqrt())
        .chain(probabilities.iter().map(move |&probability| at(quantile(probability))))
}

/// Appends one value to each column.
fn push(columns: &mut [Vec<f64>], values: impl IntoIterator<Item = f64>) {
    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
}
