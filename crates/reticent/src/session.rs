//! A ledger file together with one of its data sets.

use std::path::{Path, PathBuf};

use reticent_core::budget::Privacy;
use reticent_ledger::{Account, Amount, Charge, Ledger};
use reticent_tables::Schema;

use crate::error::{Error, ErrorKind};
use crate::fit::Fit;

/// In place of the fingerprint of a data set that was added without a schema.
pub(crate) const NO_SCHEMA: &str = "none";

/// Begins the fingerprints of versions before this one, which were those of the bytes of schema files.
const OF_BYTES: &str = "fnv1a:";

/// A ledger file and a data set in it: every fit of the session is charged to that data set.
///
/// ```
/// use reticent::{Adjacency, Privacy, Session};
/// # let folder = tempfile::tempdir().unwrap();
/// # let file = folder.path().join("budget.ledger");
///
/// // What may ever be spent on this data set.
/// let cap = Privacy::new(3.0, 1e-5, Adjacency::ReplaceOne)?;
/// let session = Session::create(&file, "ward-7", &cap, None)?;
/// assert_eq!(session.account()?.remaining.epsilon, 3.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    file: PathBuf,
    data_set: String,
}

impl Session {
    /// A data set that is in a ledger.
    ///
    /// # Errors
    /// [`Error`] if it is not, or the file is no ledger.
    pub fn open(file: impl Into<PathBuf>, data_set: impl Into<String>) -> Result<Self, Error> {
        let session = Self { file: file.into(), data_set: data_set.into() };
        session.account()?;
        Ok(session)
    }

    /// Gives a data set a budget, once and for all; makes the file if there is none. With a schema, fits with another one are refused.
    ///
    /// # Errors
    /// [`Error`] if the ledger has the data set already, or cannot be written.
    pub fn create(
        file: impl Into<PathBuf>,
        data_set: impl Into<String>,
        cap: &Privacy,
        schema: Option<&Schema>,
    ) -> Result<Self, Error> {
        let session = Self { file: file.into(), data_set: data_set.into() };
        let fingerprint = schema.map_or_else(|| NO_SCHEMA.to_owned(), Schema::fingerprint);
        let amount = Amount::new(cap.epsilon(), cap.delta());
        let adjacency = cap.adjacency().to_string();
        Ledger::open_or_create(&session.file)?.add_data_set(
            &session.data_set,
            &fingerprint,
            amount,
            &adjacency,
        )?;
        Ok(session)
    }

    /// A fit that is charged to the data set.
    ///
    /// # Errors
    /// Those of [`Fit::new`].
    pub fn fit(&self, model: &str, schema: &Schema) -> Result<Fit, Error> {
        Ok(Fit::new(model, schema)?.ledger(&self.file, &self.data_set))
    }

    /// What is spent, what remains, and which runs are not finished.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read.
    pub fn account(&self) -> Result<Account, Error> {
        Ok(Ledger::open_to_read(&self.file)?.account(&self.data_set)?)
    }

    /// All charges, the oldest first.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read.
    pub fn history(&self) -> Result<Vec<Charge>, Error> {
        Ok(Ledger::open_to_read(&self.file)?.history(&self.data_set)?)
    }

    /// The ledger file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The name of the data set.
    #[must_use]
    pub fn data_set(&self) -> &str {
        &self.data_set
    }
}

/// The fingerprint that a run with this schema is charged under.
pub(crate) fn fingerprint(ledger: &Ledger, data_set: &str, schema: &Schema) -> Result<String, Error> {
    let recorded = ledger.account(data_set)?.data_set.schema_fingerprint;
    if recorded.starts_with(OF_BYTES) {
        let message = format!(
            "data set {data_set:?} was added by an earlier version, which identified schemas in another way"
        );
        let hint = "add it again under another name, with what `Session::account` states as remaining";
        return Err(Error::new(ErrorKind::Schema, message, hint));
    }
    Ok(if recorded == NO_SCHEMA { recorded } else { schema.fingerprint() })
}
