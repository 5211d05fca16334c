//! A fit that was made, and its model file.

use std::path::Path;

use reticent_core::model::{Posterior, Score};
use reticent_core::receipt::Receipt;
use reticent_core::wall::Closed;
use reticent_files::{Access, AtomicFile};

use crate::charge::Charge;
use crate::error::{Error, ErrorKind};
use crate::journal;
use crate::saved::SavedModel;

/// Puts the model on the disk, settles the run, and only then gives up its journal.
pub(crate) fn keep(out: Option<&Path>, charge: &Charge, bytes: &[u8], closed: Closed) -> Result<(), Error> {
    let io = |why: String| Error::of(ErrorKind::Io, &why, "check the disk");
    charge.before_the_model(journal::sha256(bytes)).map_err(io)?;
    if let Some(out) = out {
        reticent_files::write(out, Access::Owner, bytes).map_err(|error| Error::not_written(out, &error))?;
    }
    closed.settle().map_err(|error| {
        let error = Error::from(error);
        let (message, hint) = (format!("the model is written, but {}", error.message()), error.hint());
        let hint = hint.map(str::to_owned);
        if out.is_some() { error.reworded(message, hint) } else { error }
    })?;
    charge.forget();
    Ok(())
}

/// A fit that was made: settled with the ledger, and in its model file if it has one.
pub struct Fitted {
    pub(crate) model: SavedModel,
    pub(crate) score: Option<Score>,
    /// The contents of the model file.
    pub(crate) bytes: Vec<u8>,
}

impl Fitted {
    /// The posterior.
    #[must_use]
    pub fn posterior(&self) -> &dyn Posterior {
        self.model.posterior()
    }

    /// What was spent, on what, and under which assumptions: as the ledger and the model file have it.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        self.model.receipt()
    }

    /// The model with its schema and card, to predict with.
    #[must_use]
    pub fn model(&self) -> &SavedModel {
        &self.model
    }

    /// The model alone.
    #[must_use]
    pub fn into_model(self) -> SavedModel {
        self.model
    }

    /// The contents of the model file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How good it is on the test records, if there were any.
    ///
    /// # Privacy
    /// Exact statistics of the test records: no receipt covers them.
    #[must_use]
    pub fn score(&self) -> Option<&Score> {
        self.score.as_ref()
    }

    /// Writes the model to a file that is not there yet. Its owner alone may read it; to publish it, change that.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if there is such a file, or it cannot be written.
    pub fn save(&self, file: impl AsRef<Path>) -> Result<(), Error> {
        use std::io::Write as _;
        let file = file.as_ref();
        let write = || {
            let whole = AtomicFile::create(file, Access::Owner)?;
            whole.file()?.write_all(&self.bytes)?;
            whole.finish_new().map(drop)
        };
        write().map_err(|error| Error::not_written(file, &error))
    }
}
