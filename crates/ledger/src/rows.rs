//! The rows of the file and their checksums.
//!
//! A flipped bit in a cap or in a charge, or a missing row, must be an error. So each row has the SHA-256 of its content, and one
//! row of the file has the number of all others and the exclusive or of their checksums. This is no protection against forgery:
//! anyone with write access can recompute them.

use reticent_accounting::filter::{Figures, Limits};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::account::State;
use crate::amount::Units;
use crate::store::{DbError, FORMAT};

type Checksum = [u8; 32];

/// A data set as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataSetRow {
    pub key: i64,
    pub name: String,
    pub schema_fingerprint: String,
    pub adjacency: String,
    /// The cap, and what follows from it.
    pub limits: Limits,
    pub added_at: i64,
}

/// A charge as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct ChargeRow {
    pub id: i64,
    pub token: String,
    pub data_set: i64,
    pub state: State,
    pub reserved: Units,
    pub charged: Units,
    /// What it adds to the filters: none in charges of older formats.
    pub figures: Option<Figures>,
    pub reserved_at: i64,
    pub changed_at: i64,
    pub purpose: String,
    pub plan: String,
    pub receipt: Option<String>,
    pub journal: Option<String>,
    pub progress: Option<String>,
}

/// Hashes fields, each preceded by its kind and length, so that distinct rows have distinct encodings.
struct Fields(Sha256);

impl Fields {
    fn of(table: &str) -> Self {
        Self(Sha256::new()).text(table)
    }

    fn number(mut self, number: i64) -> Self {
        self.0.update([1]);
        self.0.update(number.to_le_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.update([2]);
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    fn optional(self, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.number(number),
            None => self.option(None),
        }
    }

    fn option(mut self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => {
                self.0.update([0]);
                self
            }
        }
    }

    fn units(self, units: Units) -> Self {
        self.number(units.epsilon).number(units.delta)
    }

    fn checksum(self) -> Checksum {
        self.0.finalize().into()
    }
}

/// The query of the data sets of a format. What an older one lacks has a constant in its place.
pub(crate) fn data_sets_of(format: i64) -> String {
    let limits = match format {
        2 | 3 => "2, 0, 0, 0, 0",
        _ => "filter_order, limit_gaussian, limit_renyi, limit_deviation, limit_delta",
    };
    let checksum = if format == 2 { "x''" } else { "checksum" };
    format!(
        "SELECT id, name, schema_fingerprint, adjacency, cap_epsilon, cap_delta, added_at, {limits}, {checksum} FROM data_set"
    )
}

impl DataSetRow {
    pub fn read(row: &Row<'_>) -> rusqlite::Result<(Self, Vec<u8>)> {
        let read = Self {
            key: row.get(0)?,
            name: row.get(1)?,
            schema_fingerprint: row.get(2)?,
            adjacency: row.get(3)?,
            limits: Limits {
                epsilon: row.get(4)?,
                delta: row.get(5)?,
                order: row.get(7)?,
                gaussian: row.get(8)?,
                renyi: row.get(9)?,
                deviation: row.get(10)?,
                basic_delta: row.get(11)?,
            },
            added_at: row.get(6)?,
        };
        Ok((read, row.get(12)?))
    }

    pub fn cap(&self) -> Units {
        Units { epsilon: self.limits.epsilon, delta: self.limits.delta }
    }

    fn checksum(&self, format: i64) -> Checksum {
        let fields = Fields::of("data_set")
            .number(self.key)
            .text(&self.name)
            .text(&self.schema_fingerprint)
            .text(&self.adjacency)
            .units(self.cap())
            .number(self.added_at);
        if format < 4 {
            return fields.checksum();
        }
        let Limits { order, gaussian, renyi, deviation, basic_delta, .. } = self.limits;
        [order, gaussian, renyi, deviation, basic_delta].into_iter().fold(fields, Fields::number).checksum()
    }

    /// The data set of this name.
    pub fn find(connection: &Connection, name: &str) -> Result<Option<Self>, DbError> {
        let found = connection.query_row(&(data_sets_of(FORMAT) + " WHERE name = ?1"), [name], Self::read);
        Ok(found.optional()?.map(|(row, _)| row))
    }

    /// All data sets, in the order they were added.
    pub fn all(connection: &Connection) -> Result<Vec<Self>, DbError> {
        let mut query = connection.prepare(&(data_sets_of(FORMAT) + " ORDER BY id"))?;
        let rows = query.query_map([], |row| Ok(Self::read(row)?.0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Inserts the row under the next free key.
    pub fn insert(mut self, connection: &Connection) -> Result<(), DbError> {
        self.key = next(connection, "data_set")?;
        self.insert_with_key(connection)
    }

    pub fn insert_with_key(&self, connection: &Connection) -> Result<(), DbError> {
        let checksum = self.checksum(FORMAT);
        let Limits { epsilon, delta, order, gaussian, renyi, deviation, basic_delta } = self.limits;
        connection.execute(
            "INSERT INTO data_set (id, name, schema_fingerprint, adjacency, cap_epsilon, cap_delta, filter_order,
                limit_gaussian, limit_renyi, limit_deviation, limit_delta, added_at, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                self.key,
                self.name,
                self.schema_fingerprint,
                self.adjacency,
                epsilon,
                delta,
                order,
                gaussian,
                renyi,
                deviation,
                basic_delta,
                self.added_at,
                checksum
            ],
        )?;
        Totals::change(connection, |totals| {
            totals.data_sets += 1;
            totals.toggle(checksum);
        })
    }
}

/// The query of the charges of a format.
pub(crate) fn charges_of(format: i64) -> String {
    let rest = match format {
        2 => "NULL, NULL, NULL, NULL, NULL, x''",
        3 => "journal, progress, NULL, NULL, NULL, checksum",
        _ => "journal, progress, gaussian, renyi, deviation, checksum",
    };
    format!(
        "SELECT id, token, data_set, state, reserved_epsilon, reserved_delta, charged_epsilon, charged_delta, reserved_at,
            changed_at, purpose, plan, receipt, {rest} FROM charge"
    )
}

/// The figures in three columns from `first` on.
pub(crate) fn figures(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Figures>> {
    let deviation: Option<i64> = row.get(first + 2)?;
    let (gaussian, renyi) = (row.get(first)?, row.get(first + 1)?);
    Ok(deviation.map(|deviation| Figures { gaussian, renyi, deviation }))
}

impl ChargeRow {
    pub fn read(row: &Row<'_>) -> rusqlite::Result<(Self, Vec<u8>)> {
        let read = Self {
            id: row.get(0)?,
            token: row.get(1)?,
            data_set: row.get(2)?,
            state: row.get(3)?,
            reserved: Units { epsilon: row.get(4)?, delta: row.get(5)? },
            charged: Units { epsilon: row.get(6)?, delta: row.get(7)? },
            figures: figures(row, 15)?,
            reserved_at: row.get(8)?,
            changed_at: row.get(9)?,
            purpose: row.get(10)?,
            plan: row.get(11)?,
            receipt: row.get(12)?,
            journal: row.get(13)?,
            progress: row.get(14)?,
        };
        Ok((read, row.get(18)?))
    }

    fn checksum(&self, format: i64) -> Checksum {
        let fields = Fields::of("charge")
            .number(self.id)
            .text(&self.token)
            .number(self.data_set)
            .text(self.state.name())
            .units(self.reserved)
            .units(self.charged)
            .number(self.reserved_at)
            .number(self.changed_at)
            .text(&self.purpose)
            .text(&self.plan)
            .option(self.receipt.as_deref())
            .option(self.journal.as_deref())
            .option(self.progress.as_deref());
        if format < 4 {
            return fields.checksum();
        }
        let [gaussian, renyi, deviation] = self.columns();
        fields.optional(gaussian).optional(renyi).optional(deviation).checksum()
    }

    /// The columns of its figures.
    fn columns(&self) -> [Option<i64>; 3] {
        self.figures
            .map_or([None; 3], |Figures { gaussian, renyi, deviation }| [gaussian, renyi, Some(deviation)])
    }

    /// The charge of this number.
    pub fn find(connection: &Connection, id: i64) -> Result<Option<Self>, DbError> {
        let found = connection.query_row(&(charges_of(FORMAT) + " WHERE id = ?1"), [id], Self::read);
        Ok(found.optional()?.map(|(row, _)| row))
    }

    /// The charge of a run that has this token.
    pub fn with_token(connection: &Connection, token: &str) -> Result<Option<Self>, DbError> {
        let found = connection.query_row(&(charges_of(FORMAT) + " WHERE token = ?1"), [token], Self::read);
        Ok(found.optional()?.map(|(row, _)| row))
    }

    /// The charges of a data set, in the order they were reserved.
    pub fn of_data_set(connection: &Connection, key: i64) -> Result<Vec<Self>, DbError> {
        let mut query = connection.prepare(&(charges_of(FORMAT) + " WHERE data_set = ?1 ORDER BY id"))?;
        let rows = query.query_map([key], |row| Ok(Self::read(row)?.0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Inserts the row under the next free number, which is returned.
    pub fn insert(mut self, connection: &Connection) -> Result<i64, DbError> {
        self.id = next(connection, "charge")?;
        self.insert_with_key(connection)?;
        Ok(self.id)
    }

    pub fn insert_with_key(&self, connection: &Connection) -> Result<(), DbError> {
        let checksum = self.checksum(FORMAT);
        let [gaussian, renyi, deviation] = self.columns();
        connection.execute(
            "INSERT INTO charge (id, token, data_set, state, reserved_epsilon, reserved_delta, charged_epsilon, charged_delta,
                gaussian, renyi, deviation, reserved_at, changed_at, purpose, plan, receipt, journal, progress, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            params![
                self.id,
                self.token,
                self.data_set,
                self.state.name(),
                self.reserved.epsilon,
                self.reserved.delta,
                self.charged.epsilon,
                self.charged.delta,
                gaussian,
                renyi,
                deviation,
                self.reserved_at,
                self.changed_at,
                self.purpose,
                self.plan,
                self.receipt,
                self.journal,
                self.progress,
                checksum
            ],
        )?;
        Totals::change(connection, |totals| {
            totals.charges += 1;
            totals.toggle(checksum);
        })
    }

    /// Applies `change` and updates the mutable columns.
    pub fn update(mut self, connection: &Connection, change: impl FnOnce(&mut Self)) -> Result<(), DbError> {
        let before = self.checksum(FORMAT);
        change(&mut self);
        let checksum = self.checksum(FORMAT);
        connection.execute(
            "UPDATE charge SET state = ?2, charged_epsilon = ?3, charged_delta = ?4, changed_at = ?5, receipt = ?6,
                progress = ?7, checksum = ?8 WHERE id = ?1",
            params![
                self.id,
                self.state.name(),
                self.charged.epsilon,
                self.charged.delta,
                self.changed_at,
                self.receipt,
                self.progress,
                checksum
            ],
        )?;
        Totals::change(connection, |totals| {
            totals.toggle(before);
            totals.toggle(checksum);
        })
    }
}

/// One more than the largest id. Rows are never deleted, so no id is used twice.
fn next(connection: &Connection, table: &str) -> Result<i64, DbError> {
    Ok(connection
        .query_row(&format!("SELECT coalesce(max(id), 0) + 1 FROM {table}"), [], |row| row.get(0))?)
}

/// Number of rows and exclusive or of their checksums: the row of the table `whole`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Totals {
    data_sets: i64,
    charges: i64,
    checksum: Checksum,
}

impl Totals {
    fn toggle(&mut self, checksum: Checksum) {
        self.checksum.iter_mut().zip(checksum).for_each(|(sum, byte)| *sum ^= byte);
    }

    fn read(connection: &Connection) -> Result<Self, DbError> {
        let sql = "SELECT data_sets, charges, checksum FROM whole WHERE id = 1";
        let read =
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)));
        let totals = read.optional()?.and_then(|(data_sets, charges, checksum)| {
            Some(Self { data_sets, charges, checksum: checksum.try_into().ok()? })
        });
        totals.ok_or_else(|| DbError::Damage("the totals of its rows are missing".to_owned()))
    }

    fn change(connection: &Connection, change: impl FnOnce(&mut Self)) -> Result<(), DbError> {
        let mut totals = Self::read(connection)?;
        change(&mut totals);
        connection.execute(
            "UPDATE whole SET data_sets = ?1, charges = ?2, checksum = ?3 WHERE id = 1",
            params![totals.data_sets, totals.charges, totals.checksum],
        )?;
        Ok(())
    }
}

/// Inserts the totals of an empty ledger.
pub(crate) fn begin(connection: &Connection) -> Result<(), DbError> {
    let sql = "INSERT INTO whole (id, data_sets, charges, checksum) VALUES (1, 0, 0, ?1)";
    connection.execute(sql, params![Totals::default().checksum])?;
    Ok(())
}

/// Compares every row of a format with checksums with its own, and all rows with the totals.
pub(crate) fn verify(connection: &Connection, format: i64) -> Result<(), DbError> {
    let mut found = Totals::default();
    let mut query = connection.prepare(&data_sets_of(format))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (read, stated) = DataSetRow::read(row)?;
        let checksum = read.checksum(format);
        if stated != checksum {
            return Err(DbError::Damage(format!("data set {:?} does not match its checksum", read.name)));
        }
        found.data_sets += 1;
        found.toggle(checksum);
    }
    let mut query = connection.prepare(&charges_of(format))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (read, stated) = ChargeRow::read(row)?;
        let checksum = read.checksum(format);
        if stated != checksum {
            return Err(DbError::Damage(format!("charge {} does not match its checksum", read.id)));
        }
        found.charges += 1;
        found.toggle(checksum);
    }
    if found != Totals::read(connection)? {
        return Err(DbError::Damage("its rows do not match their totals".to_owned()));
    }
    Ok(())
}
