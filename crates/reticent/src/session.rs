//! A ledger file together with one of its data sets.

use std::path::{Path, PathBuf};

use reticent_core::budget::Privacy;
use reticent_ledger::{Account, Amount, Charge, DataSet, Ledger};
use reticent_tables::{PrivacyUnit, Schema};

use crate::error::{Error, ErrorKind};
use crate::fit::Fit;

/// In place of the fingerprint of a data set that was added without a schema.
pub(crate) const NO_SCHEMA: &str = "none";

/// Between the fingerprint and the privacy unit of a data set, if rows are not its units.
const PER: &str = " per ";

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
        let unit = schema.and_then(Schema::privacy_unit).map(PrivacyUnit::column);
        Self::create_for(file, data_set, cap, (schema, unit))
    }

    /// The same for a data set whose privacy units are all rows with the same value in a column, whatever else the schemas of its fits are. Fits with other units
    /// are refused.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn create_for_units(
        file: impl Into<PathBuf>,
        data_set: impl Into<String>,
        cap: &Privacy,
        column: &str,
    ) -> Result<Self, Error> {
        Self::create_for(file, data_set, cap, (None, Some(column)))
    }

    fn create_for(
        file: impl Into<PathBuf>,
        data_set: impl Into<String>,
        cap: &Privacy,
        (schema, unit): (Option<&Schema>, Option<&str>),
    ) -> Result<Self, Error> {
        let session = Self { file: file.into(), data_set: data_set.into() };
        let fingerprint = schema.map_or_else(|| NO_SCHEMA.to_owned(), Schema::fingerprint);
        let fingerprint = recorded(&fingerprint, unit);
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

/// What a ledger records of a data set beside its cap: the fingerprint of the schema and the column of the privacy unit.
fn recorded(fingerprint: &str, unit: Option<&str>) -> String {
    unit.map_or_else(|| fingerprint.to_owned(), |column| format!("{fingerprint}{PER}{column}"))
}

/// The privacy unit of a data set, if it is not a row.
#[must_use]
pub fn privacy_unit_of(data_set: &DataSet) -> Option<&str> {
    data_set.schema_fingerprint.split_once(PER).map(|(_, column)| column)
}

/// The fingerprint that a run with this schema is charged under.
///
/// # Privacy
/// The cap of a data set is for one privacy unit: costs for rows and for persons do not add up, so a run with another unit is refused. Attacked by
/// `fits_with_another_privacy_unit_are_refused`.
pub(crate) fn fingerprint(ledger: &Ledger, data_set: &str, schema: &Schema) -> Result<String, Error> {
    let known = ledger.account(data_set)?.data_set;
    let print = &known.schema_fingerprint;
    if print.starts_with(OF_BYTES) {
        let message = format!(
            "data set {data_set:?} was added by an earlier version, which identified schemas in another way"
        );
        let hint = "add it again under another name, with what `Session::account` states as remaining";
        return Err(Error::new(ErrorKind::Schema, message, hint));
    }
    let unit = schema.privacy_unit().map(PrivacyUnit::column);
    if unit != privacy_unit_of(&known) {
        let name = |unit: Option<&str>| {
            unit.map_or("rows".to_owned(), |column| format!("all rows with the same {column}"))
        };
        let message = format!(
            "data set {data_set:?} has a budget that protects {}, and the schema protects {}",
            name(privacy_unit_of(&known)),
            name(unit)
        );
        let hint = "state the same `privacy_unit`; costs for different privacy units do not add up";
        return Err(Error::new(ErrorKind::Schema, message, hint));
    }
    let without = print.split_once(PER).map_or(&print[..], |(print, _)| print);
    Ok(if without == NO_SCHEMA { print.clone() } else { recorded(&schema.fingerprint(), unit) })
}
