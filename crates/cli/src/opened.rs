//! A model file, ready to predict.

use std::path::{Path, PathBuf};

use reticent_models::{Bounded, Fitted, Model, Predicted, QUANTILES, Saved, Score, Scorer, model};
use reticent_tables::{Array, Column, Encoder, Header, Kind, ModelFile, Scale, Schema, Source, Units};
use serde_json::{Value, json};

use crate::contents::{self, Card, Receipt};
use crate::data;
use crate::guarded::guarded;
use crate::output::Failure;

/// Where the state of a fitted model is in the card.
const STATE: &str = "state";

/// A fitted model with what its file holds.
pub(crate) struct Opened {
    /// Where it was read from.
    path: Option<PathBuf>,
    /// As it is in the file, for programs. What is shown to people comes from the fields below.
    pub(crate) header: Header,
    pub(crate) receipt: Receipt,
    pub(crate) card: Card,
    /// What kind of model it is.
    pub(crate) about: &'static str,
    pub(crate) schema: Schema,
    pub(crate) fitted: Box<dyn Fitted>,
}

impl Opened {
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        Self::of(ModelFile::read(file)?, file)
    }

    /// The model of a file that was read from this path.
    pub(crate) fn of(file: ModelFile, path: &Path) -> Result<Self, Failure> {
        let opened = Self::new(file).map_err(|failure| in_file(Some(path), failure))?;
        Ok(Self { path: Some(path.to_owned()), ..opened })
    }

    /// The model of a file, which may be anything with a right checksum.
    pub(crate) fn new(file: ModelFile) -> Result<Self, Failure> {
        let ModelFile { header, arrays } = file;
        let schema = header.schema.clone().ok_or_else(unusable)?;
        if !(header.plan.is_object() || header.plan.is_null()) {
            return Err(unusable());
        }
        let receipt = contents::read("receipt", &header.receipt)?;
        let card = contents::read("card", &header.card)?;
        let arrays = arrays
            .into_iter()
            .map(|(name, array)| (name, (array.shape().to_vec(), array.values().to_vec())))
            .collect();
        let saved = Saved { arrays, state: header.card[STATE].clone() };
        let model = model(&header.model).map_err(|_| unusable())?;
        let load = || model.load(&saved).ok();
        let fitted = within_bounds(guarded(load).flatten().ok_or_else(unusable)?, &schema);
        // The file may be anything with a right checksum: predictions rely on these sizes.
        let inputs = data::facts(&schema, 1).inputs();
        if header.bounds["inputs"] != json!(inputs) || !predicts(fitted.as_ref(), inputs) {
            return Err(unusable());
        }
        Ok(Self { path: None, header, receipt, card, about: model.about(), schema, fitted })
    }

    /// What the file of a fitted model holds.
    pub(crate) fn bytes(
        model: &dyn Model,
        fitted: &dyn Fitted,
        schema: &Schema,
        plan: Value,
        receipt: Value,
        card: Value,
    ) -> Result<Vec<u8>, Failure> {
        let Saved { arrays, state } = fitted.save()?;
        let mut card = card;
        card[STATE] = state;
        let header = Header {
            model: model.name().to_owned(),
            family: model.family().to_owned(),
            schema: Some(schema.clone()),
            bounds: json!({ "inputs": data::facts(schema, 1).inputs(), "clamped_to": [-1.0, 1.0] }),
            plan,
            receipt,
            card,
        };
        let mut whole = ModelFile::new(header);
        for (name, (shape, values)) in arrays {
            let array = Array::new(shape, values).expect("an array is as long as it says");
            whole.arrays.insert(name, array);
        }
        whole
            .to_bytes()
            .map_err(|fault| Failure::failed(format!("the model cannot be written: {fault}"), None))
    }

    /// How to get from encoded targets to the column's own units. Classes have none.
    pub(crate) fn units(&self) -> Units {
        self.schema.target_units().unwrap_or(Units { centre: 0.0, unit: 1.0 })
    }

    /// What is made of the model, unless its parts do not fit together.
    pub(crate) fn guarded<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T, Failure> {
        guarded(|| work(self)).ok_or_else(|| in_file(self.path.as_deref(), unusable()))
    }

    /// Compares predictions with the targets of a data set.
    pub(crate) fn score(&self, source: &Source) -> Result<Score, Failure> {
        score(self.fitted.as_ref(), &self.schema, source)
    }
}

/// The same model, with predictions within the bounds of the target if it has any.
pub(crate) fn within_bounds(fitted: Box<dyn Fitted>, schema: &Schema) -> Box<dyn Fitted> {
    let bounded =
        |column: &Column| matches!(column.kind(), Kind::Numeric { scale: Scale::Bounds { .. }, .. });
    if schema.target().is_some_and(bounded) { Box::new(Bounded(fitted)) } else { fitted }
}

/// A failure with the file that it is about.
fn in_file(path: Option<&Path>, failure: Failure) -> Failure {
    match path {
        Some(path) => Failure { message: format!("{}: {}", path.display(), failure.message), ..failure },
        None => failure,
    }
}

fn unusable() -> Failure {
    let hint = "use a newer program, or fit the model again";
    Failure::failed("holds no model that this program can use", Some(hint.to_owned()))
}

/// Whether a model can predict for so many inputs. Arrays of sizes that do not fit together are only noticed by trying.
fn predicts(fitted: &dyn Fitted, inputs: usize) -> bool {
    guarded(|| fitted.predict(&vec![0.0; inputs], &[0.5])).is_some()
}

/// Compares predictions with the targets of a data set.
pub(crate) fn score(fitted: &dyn Fitted, schema: &Schema, source: &Source) -> Result<Score, Failure> {
    let encoder = Encoder::new(schema)?;
    let mut scorer = Scorer::new(schema.target_units().map_or(1.0, |units| units.unit));
    let mut batches = encoder.stream(source);
    while let Some(batch) = batches.next_batch()? {
        for row in batch.rows() {
            let (inputs, target) = row.split_at(encoder.feature_width());
            if target.iter().any(|value| !value.is_finite()) {
                scorer.leave_out();
                continue;
            }
            let predicted: Predicted = fitted.predict(inputs, &QUANTILES);
            scorer.add(&predicted, target.first().copied().unwrap_or(0.0));
        }
    }
    scorer.finish().ok_or_else(|| {
        let message = format!("{}: there are no records to test on", data::name(source));
        Failure::failed(
            message,
            Some("give a file with at least one record whose target is known".to_owned()),
        )
    })
}
