//! Predictions for the records of a data set, as columns of a file.

use std::path::Path;

use reticent_core::model::Predicted;
use reticent_tables::{Encoder, Predictions, Source, Units};

use crate::error::Error;
use crate::saved::SavedModel;

/// Quantiles of a prediction, and what their columns are called.
const QUANTILES: [(f64, &str); 5] =
    [(0.05, "q05"), (0.25, "q25"), (0.5, "q50"), (0.75, "q75"), (0.95, "q95")];

/// Writes the predictions for a data set; the names of their columns.
pub(crate) fn write(model: &SavedModel, source: &Source, out: &Path) -> Result<Vec<String>, Error> {
    let encoder = Encoder::of_features(model.schema())?;
    let units = model.units();
    let probabilities = QUANTILES.map(|(probability, _)| probability);
    let names = names(model, encoder.width());
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut predictions = Predictions::create(out, &texts)?;
    let mut batches = encoder.stream(source);
    while let Some(batch) = batches.next_batch()? {
        let mut columns = vec![Vec::with_capacity(batch.rows().len()); names.len()];
        for row in batch.rows() {
            let values = values(model.posterior().predict(row, &probabilities), units);
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        predictions.append(&slices)?;
    }
    predictions.finish()?;
    Ok(names)
}

/// The columns of predictions, as those of any record have them.
fn names(model: &SavedModel, inputs: usize) -> Vec<String> {
    match model.posterior().predict(&vec![0.0; inputs], &[]) {
        Predicted::Number { .. } => {
            ["mean", "sd"].into_iter().chain(QUANTILES.map(|(_, name)| name)).map(str::to_owned).collect()
        }
        Predicted::Class { .. } => {
            let levels = model.schema().target().map(|target| target.levels()).unwrap_or_default();
            levels.iter().map(|level| format!("probability_{level}")).collect()
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

fn values(predicted: Predicted, units: Units) -> Vec<f64> {
    match predicted {
        Predicted::Number { mean, variances, quantiles } => {
            let quantiles = quantiles.into_iter().map(|quantile| units.decode(quantile));
            let sd = units.decode_sd(variances.total().sqrt());
            [units.decode(mean), sd].into_iter().chain(quantiles).collect()
        }
        Predicted::Class { probability, .. } => vec![1.0 - probability, probability],
        Predicted::Component { log_density, probabilities } => {
            std::iter::once(log_density).chain(probabilities).collect()
        }
        Predicted::Topics { bound, words, shares } => [bound, words].into_iter().chain(shares).collect(),
        Predicted::Reconstruction { bound, probabilities, .. } => {
            std::iter::once(bound).chain(probabilities).collect()
        }
    }
}
