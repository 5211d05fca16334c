//! A fitted model with all that its file holds, ready to predict.

use std::path::{Path, PathBuf};

use reticent_core::model::{
    Bounded, Codebook, Draws, Model, Parameters, Posterior, QUANTILES, Saved, Score, Scorer, Summary, model,
};
use reticent_core::receipt::Receipt;
use reticent_tables::arrow::RecordBatch;
use reticent_tables::{Array, Column, Encoder, Header, Kind, ModelFile, Scale, Schema, Source, Units};
use serde_json::{Value, json};

use crate::card::{self, Card};
use crate::codebook::codebook;
use crate::data::{self, Data};
use crate::draws;
use crate::effects::{self, Effects};
use crate::error::{Error, ErrorKind};
use crate::guarded::guarded;
use crate::predict;
use crate::simulate;

/// Where the state of a fitted model is in the card of a file.
const STATE: &str = "state";

/// A fitted model with its schema, receipt and card: what a model file holds.
///
/// ```no_run
/// let model = reticent::SavedModel::load("model.reticent")?;
/// println!("{}", model.receipt());
/// model.predict("new.csv", "predictions.csv")?;
/// # Ok::<(), reticent::Error>(())
/// ```
///
/// A file may come from a stranger, and be forged: its checksum is no signature. Texts in it are only texts, numbers are numbers, and
/// parts that do not fit together are an error. Whoever prints its texts must take them for attacks.
pub struct SavedModel {
    /// Where it was read from.
    path: Option<PathBuf>,
    header: Header,
    receipt: Receipt,
    card: Card,
    model: &'static dyn Model,
    schema: Schema,
    posterior: Box<dyn Posterior>,
}

/// What a fit makes a [`SavedModel`] of.
pub(crate) struct Parts {
    pub(crate) model: &'static dyn Model,
    pub(crate) posterior: Box<dyn Posterior>,
    pub(crate) schema: Schema,
    pub(crate) plan: Value,
    pub(crate) receipt: Receipt,
    pub(crate) card: Card,
}

impl SavedModel {
    /// Reads a model file.
    ///
    /// # Errors
    /// [`Error`] if it is no model file, one of a newer format, damaged, or holds no model that this version can use.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, Error> {
        let file = file.as_ref();
        Self::of_file(ModelFile::read(file)?, file)
    }

    /// The model of a file whose bytes are at hand.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |fault: &dyn std::fmt::Display| {
            Error::of(ErrorKind::Data, fault, "give a file that a fit has written")
        };
        Self::from_file(ModelFile::from_bytes(bytes).map_err(|fault| damaged(&fault))?)
    }

    /// The model of a file that was read from this path.
    pub(crate) fn of_file(model: ModelFile, path: &Path) -> Result<Self, Error> {
        let loaded = Self::from_file(model).map_err(|error| error.in_file(path))?;
        Ok(Self { path: Some(path.to_owned()), ..loaded })
    }

    /// The model of a file whose contents were read already.
    ///
    /// # Errors
    /// [`Error`] if it holds no model that this version can use.
    pub fn from_file(file: ModelFile) -> Result<Self, Error> {
        let ModelFile { header, arrays } = file;
        let schema = header.schema.clone().ok_or_else(unusable)?;
        if !(header.plan.is_object() || header.plan.is_null()) {
            return Err(unusable());
        }
        let receipt = card::read("receipt", &header.receipt)?;
        let card = card::read("card", &header.card)?;
        let arrays = arrays
            .into_iter()
            .map(|(name, array)| (name, (array.shape().to_vec(), array.values().to_vec())))
            .collect();
        let saved = Saved { arrays, state: header.card[STATE].clone() };
        let model = model(&header.model).map_err(|_| unusable())?;
        let load = || model.load(&saved).ok();
        let posterior = within_bounds(guarded(load).flatten().ok_or_else(unusable)?, &schema);
        // The file may be anything with a right checksum: predictions rely on these sizes.
        let inputs = data::shape(&schema, 1).inputs();
        if header.bounds["inputs"] != json!(inputs) || !predicts(posterior.as_ref(), inputs) {
            return Err(unusable());
        }
        Ok(Self { path: None, header, receipt, card, model, schema, posterior })
    }

    /// A model that was just fitted, and what its file will hold.
    pub(crate) fn fitted(parts: Parts) -> Result<(Self, Vec<u8>), Error> {
        let Parts { model, posterior, schema, plan, receipt, card } = parts;
        let Saved { arrays, state } = posterior.save()?;
        let unwritable = |why: &dyn std::fmt::Display| {
            Error::data(format!("the model cannot be written: {why}"), "check the plan")
        };
        let json = |part: serde_json::Result<Value>| part.map_err(|error| unwritable(&error));
        let mut card_json = json(serde_json::to_value(&card))?;
        card_json[STATE] = state;
        let header = Header {
            model: model.name().to_owned(),
            family: model.declaration().family.to_owned(),
            schema: Some(schema.clone()),
            bounds: json!({ "inputs": data::shape(&schema, 1).inputs(), "clamped_to": [-1.0, 1.0] }),
            plan,
            receipt: json(serde_json::to_value(&receipt))?,
            card: card_json,
        };
        let mut file = ModelFile::new(header);
        for (name, (shape, values)) in arrays {
            file.arrays.insert(name, Array::new(shape, values).map_err(|fault| unwritable(&fault))?);
        }
        let bytes = file.to_bytes().map_err(|fault| unwritable(&fault))?;
        let header = file.header;
        Ok((Self { path: None, header, receipt, card, model, schema, posterior }, bytes))
    }

    /// What kind of model it is.
    #[must_use]
    pub fn kind(&self) -> &'static dyn Model {
        self.model
    }

    /// How records are read and encoded.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What was spent, on what, and under which assumptions.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The data set of a ledger that the fit was charged to, by its receipt.
    #[must_use]
    pub fn data_set(&self) -> Option<&str> {
        self.receipt.ledger.strip_prefix("data set \"")?.strip_suffix('"')
    }

    /// What the model is for, and what was asked for.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The posterior. Its numbers are in encoded units: inputs and numeric targets between -1 and 1.
    #[must_use]
    pub fn posterior(&self) -> &dyn Posterior {
        self.posterior.as_ref()
    }

    /// The names and units behind encoded rows.
    #[must_use]
    pub fn codebook(&self) -> Codebook {
        codebook(&self.schema)
    }

    /// The parameters with their joint posterior distribution, named and in the units of the schema.
    ///
    /// # Errors
    /// [`Error`] if the file is forged, so that its parts do not fit together.
    pub fn parameters(&self) -> Result<Parameters, Error> {
        self.guarded(|model| model.posterior.parameters(&model.codebook()))
    }

    /// The posterior of each parameter: mean, standard deviation, quantiles, and the part of the deviation that is due to privacy noise.
    ///
    /// # Errors
    /// [`Error`] if the file is forged, so that its parts do not fit together.
    pub fn summary(&self) -> Result<Vec<Summary>, Error> {
        self.guarded(|model| model.posterior.parameters(&model.codebook()).summary())
    }

    /// Joint draws of all parameters. They are post-processing, so the seed is public.
    ///
    /// # Errors
    /// [`Error`] if the file is forged, so that its parts do not fit together.
    pub fn draws(&self, count: usize, seed: u64) -> Result<Draws, Error> {
        self.guarded(|model| model.posterior.parameters(&model.codebook()).draws(count, seed))
    }

    /// Writes joint draws of all parameters to a `.csv` or `.parquet` file: `draw`, their number from 0, and a column for each parameter.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be written.
    pub fn write_draws(&self, count: usize, seed: u64, out: impl AsRef<Path>) -> Result<(), Error> {
        draws::write(&self.draws(count, seed)?, out.as_ref())
    }

    /// Writes simulated records to a `.csv` or `.parquet` file: draws from the posterior predictive distribution, in the columns and levels of the schema,
    /// without the target. The names of the columns.
    ///
    /// They have the structure of the model and nothing else: what the model does not describe, such as the dependence between columns that it takes for
    /// independent, is not in them. They are post-processing of what was released, so the seed is public.
    ///
    /// # Errors
    /// [`Error`] if the model has no distribution of records, or the file cannot be written.
    pub fn simulate(&self, rows: usize, seed: u64, out: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        self.guarded(|model| simulate::write(model, rows, seed, out.as_ref()))?
    }

    /// As [`simulate`](Self::simulate), in memory.
    ///
    /// # Errors
    /// [`Error`] if the model has no distribution of records.
    pub fn simulate_batches(&self, rows: usize, seed: u64) -> Result<Vec<RecordBatch>, Error> {
        self.guarded(|model| simulate::batches(model, rows, seed))?
    }

    /// Everything in the file but the arrays and the state, for programs.
    #[must_use]
    pub fn header(&self) -> Header {
        let mut header = self.header.clone();
        header.card.as_object_mut().map(|card| card.remove(STATE));
        header
    }

    /// How to get from encoded targets to the column's own units. Classes have none.
    #[must_use]
    pub fn units(&self) -> Units {
        self.schema.target_units().unwrap_or(Units { centre: 0.0, unit: 1.0 })
    }

    /// What is made of the model, unless its parts do not fit together: a model of a forged file may panic when it is used, and that is an
    /// error here.
    ///
    /// # Errors
    /// [`Error`] if the work panicked.
    pub fn guarded<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T, Error> {
        guarded(|| work(self)).ok_or_else(|| match &self.path {
            Some(path) => unusable().in_file(path),
            None => unusable(),
        })
    }

    /// Writes predictions for a data set to a `.csv` or `.parquet` file, in the target's own units. The names of their columns.
    ///
    /// # Errors
    /// [`Error`] if the data set cannot be read, or the file not be written.
    pub fn predict(&self, data: impl Into<Data>, out: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        self.predict_with(data, &[] as &[&str], out)
    }

    /// As [`predict`](Self::predict), with columns of the data set carried through to the file as texts, after the row number. They need not be in the
    /// schema.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_with<S: AsRef<str>>(
        &self,
        data: impl Into<Data>,
        ids: &[S],
        out: impl AsRef<Path>,
    ) -> Result<Vec<String>, Error> {
        let source = data.into().open(self.schema.layout())?;
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        self.guarded(|model| predict::write(model, &source, &ids, out.as_ref()))?
    }

    /// The predictions for the rows of a batch, in their order, in the target's own units: the columns that [`predict`](Self::predict) writes,
    /// without `row`.
    ///
    /// # Errors
    /// [`Error`] if the batch lacks a feature of the schema.
    pub fn predict_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        self.guarded(|model| predict::batch(model, batch))?
    }

    /// The same with the quantiles at these probabilities, from 0 to 1, in place of the five usual ones: of the target if it is a number, of the probability of
    /// the positive class if it has two. Models without either have none.
    ///
    /// # Errors
    /// As [`predict_batch`](Self::predict_batch).
    pub fn predict_batch_at(&self, batch: &RecordBatch, probabilities: &[f64]) -> Result<RecordBatch, Error> {
        self.guarded(|model| predict::batch_at(model, batch, probabilities))?
    }

    /// Compares predictions with the targets of a data set.
    ///
    /// # Privacy
    /// Scores are exact statistics of these records, without noise: no receipt covers them.
    ///
    /// # Errors
    /// [`Error`] if the data set cannot be read, or has no record with a target.
    pub fn evaluate(&self, data: impl Into<Data>) -> Result<Score, Error> {
        let source = data.into().open(self.schema.layout())?;
        self.guarded(|model| score(model.posterior(), &model.schema, &source))?
    }

    /// How the prediction changes along each column but texts, against a reference: the means that the fit has released, else the middle
    /// of the bounds. `None` for models without a target.
    #[must_use]
    pub fn effects(&self) -> Option<Effects> {
        effects::effects(self)
    }

    /// Encoded inputs in the middle of every column.
    #[must_use]
    pub fn middle(&self) -> Vec<f64> {
        effects::middle(&self.schema)
    }
}

/// The same model, with predictions within the bounds of the target if it has any.
pub(crate) fn within_bounds(posterior: Box<dyn Posterior>, schema: &Schema) -> Box<dyn Posterior> {
    let bounded =
        |column: &Column| matches!(column.kind(), Kind::Numeric { scale: Scale::Bounds { .. }, .. });
    if schema.target().is_some_and(bounded) { Box::new(Bounded(posterior)) } else { posterior }
}

fn unusable() -> Error {
    Error::data("holds no model that this program can use", "use a newer program, or fit the model again")
}

/// Whether a model can predict for so many inputs. Arrays of sizes that do not fit together are only noticed by trying.
fn predicts(posterior: &dyn Posterior, inputs: usize) -> bool {
    guarded(|| posterior.predict_row(&vec![0.0; inputs], &[0.5])).is_some()
}

/// Compares predictions with the targets of a data set.
pub(crate) fn score(posterior: &dyn Posterior, schema: &Schema, source: &Source) -> Result<Score, Error> {
    let encoder = Encoder::new(schema)?;
    let mut scorer = Scorer::new(schema.target_units().map_or(1.0, |units| units.unit));
    let (width, mut inputs, mut targets) = (encoder.feature_width(), Vec::new(), Vec::new());
    let mut batches = encoder.stream(source);
    while let Some(batch) = batches.next_batch()? {
        inputs.clear();
        targets.clear();
        for row in batch.rows() {
            let (features, target) = row.split_at(width);
            if target.iter().any(|value| !value.is_finite()) {
                scorer.leave_out();
                continue;
            }
            inputs.extend_from_slice(features);
            targets.push(target.first().copied().unwrap_or(0.0));
        }
        let predicted = posterior.predict(&inputs, width, &QUANTILES);
        predicted.iter().zip(&targets).for_each(|(predicted, target)| scorer.add(predicted, *target));
    }
    scorer.finish().ok_or_else(|| {
        let message = format!("{}: there are no records to test on", data::files(source));
        Error::data(message, "give a file with at least one record whose target is known")
    })
}
