//! What is wrong with a fit is found before anything is spent.

use std::path::Path;

use reticent_core::model::{TableShape, check_settings};
use reticent_tables::{Encoder, PrivacyUnit, Schema, Source};

use super::Fit;
use crate::data::{self, Data};
use crate::error::{Error, ErrorKind};
use crate::scores;
use crate::settings::check_epsilon;

impl Fit {
    /// The table before the number of its records is known. Settings out of their ranges, and targets that the model has no fit for,
    /// are refused.
    pub(super) fn shape(&self, schema: &Schema) -> Result<TableShape, Error> {
        let mut shape = data::shape(schema, 0);
        shape.settings.clone_from(&self.settings);
        shape.limits = self.limits;
        check_settings(self.model, &shape)?;
        if schema.target().is_none() && schema.privacy_unit().and_then(PrivacyUnit::rows) > Some(1) {
            let name = self.model.name();
            let message = format!(
                "a {name} model needs each privacy unit to count once, and with several rows of each they count as much as they have rows"
            );
            return Err(Error::settings(
                message,
                "leave `rows_per_unit` out for the mean of the rows of a unit, or state 1",
            ));
        }
        Ok(shape)
    }

    /// Whether the model can spend what it may spend.
    pub(super) fn check_budget(&self) -> Result<(), Error> {
        let Some(privacy) = &self.privacy else {
            if self.without_privacy {
                return Ok(());
            }
            let hint = "give it a privacy budget, or ask for a baseline without privacy";
            return Err(Error::settings("a fit needs a privacy budget", hint));
        };
        check_epsilon(privacy)?;
        if privacy.delta() == 0.0 && !self.model.declaration().can_be_pure {
            let name = self.model.name();
            let message = format!("a {name} model has Gaussian noise, which needs a delta above 0");
            return Err(Error::settings(
                message,
                "delta is a small probability, well below 1/N, such as 1e-5",
            ));
        }
        Ok(())
    }

    /// A private model needs bounds where a schema has moments.
    pub(super) fn needs_bounds(&self, schema: &Schema) -> Result<(), Error> {
        let Some(column) = data::without_bounds(schema) else { return Ok(()) };
        let message = format!(
            "column {column:?}: a {} model needs `bounds = [low, high]`, and found `mean` and `sd`",
            self.model.name()
        );
        Err(Error::new(ErrorKind::Schema, message, "state the range that is publicly known"))
    }

    /// The schema, with what was assumed to be public.
    pub(super) fn prepared_schema(&self, source: &Source) -> Result<Schema, Error> {
        let mut schema = self.schema.clone();
        let needs_bounds = self.model.declaration().needs_bounds || !self.without_privacy;
        if self.assume_public_moments {
            if needs_bounds {
                let message = format!("a {} model is scaled by bounds, not by moments", self.model.name());
                let hint =
                    "take bounds from the data with `Schema::from_data_assuming_public`, or state them";
                return Err(Error::settings(message, hint));
            }
            let unscaled = Encoder::new(&schema.unscaled())?.read(source)?;
            schema = schema.assuming_public_moments(unscaled.rows())?;
        }
        if needs_bounds {
            self.needs_bounds(&schema)?;
        }
        Ok(schema)
    }

    /// Reads the test records once, so that what is wrong with their files costs nothing.
    pub(super) fn check_tests(
        &self,
        training: &Source,
        tests: &Source,
        encoder: &Encoder,
    ) -> Result<(), Error> {
        scores::refuse_training_files(training, tests)?;
        if let Some(out) = self.out.as_ref().filter(|_| !self.test_is_public) {
            check_writable(&scores::scores_beside(out))?;
        }
        let mut batches = encoder.stream(tests);
        while batches.next_batch()?.is_some() {
            if self.cancel.is_cancelled() {
                return Err(data::stopped());
            }
        }
        Ok(())
    }

    /// A run with a journal can be resumed, and then its data must be the same.
    pub(super) fn check_name(&self, data: &Data) -> Result<(), Error> {
        if self.out.is_none() || data.name().is_some() {
            return Ok(());
        }
        let message = "record batches have no name, which a run with a model file is resumed by";
        Err(Error::settings(message, "give them one with `Data::named`"))
    }
}

/// Tries to write beside the file, before anything is spent on what will go there.
pub(crate) fn check_writable(file: &Path) -> Result<(), Error> {
    reticent_files::check_writable(file).map_err(|error| Error::not_written(file, &error))
}
