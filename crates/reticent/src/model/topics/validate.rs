//! Ranges of the fields of a plan.

use super::{Cells, TopicModel, TopicsPlan};
use crate::field::{self, FieldError};

impl TopicsPlan {
    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let TopicModel { topics, words, document_prior, word_prior, length, .. } = self.model;
        field::integer("model.topics", topics as u64, 1..=100_000)?;
        field::integer("model.words", words as u64, 1..=1 << 24)?;
        field::number("model.document_prior", document_prior, field::PRIOR)?;
        field::number("model.word_prior", word_prior, field::PRIOR)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::batch(self.batch, self.records)?;
        field::integer("steps", self.steps, field::STEPS)?;
        field::number("clip", self.clip, field::CLIP)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        self.step_size.validate()?;
        if let Cells::Shrunk { shape } = self.cells {
            field::number("cells.shrunk.shape", shape, 1e-3..=20.0)?;
        }
        for (name, length) in [("model.length", length), ("mean_length", self.mean_length)] {
            length.map_or(Ok(()), |length| field::number(name, length, field::PRIOR))?;
        }
        field::number("start_shape", self.start_shape, 1e-3..=1e6)?;
        field::reasons(&self.why)
    }
}
