//! From private records to a model that may be published.

mod checks;

pub(crate) use checks::check_writable;

use std::path::PathBuf;

use reticent_core::budget::Privacy;
use reticent_core::model::{Limits, Model, Posterior, SettingValue, TableShape, model};
use reticent_core::observer::Step;
use reticent_core::receipt::{BOUNDS_WERE_STATED, Receipt};
use reticent_core::wall::{Closed, NoiseSource, Wall};
use reticent_tables::{Encoder, Layout, PrivacyUnit, Schema, Source};
use serde_json::{Value, json};

use crate::bounds::DEFAULT_BOUNDS_SHARE;
use crate::cancel::Cancel;
use crate::card::Card;
use crate::charge::{Charge, OnProgress};
use crate::data::{self, Data, Encoded};
use crate::error::Error;
use crate::fitted::{Fitted, keep};
use crate::holdout::{self, Holdout, Part};
use crate::memory::{default_memory, numbers};
use crate::plan::{self, Plan, Request};
use crate::resume::{Place, RunKind};
use crate::same_records::FirstRecords;
use crate::saved::{Parts, SavedModel, score, within_bounds};
use crate::scores::{self, PUBLIC_NOTE};
use crate::settings::Settings;

/// Called with what the curator should know.
type OnNotice = Box<dyn FnMut(&str)>;

/// A fit to be made: the model, what is publicly known about the records, and what may be spent.
///
/// ```no_run
/// use reticent::{Adjacency, Fit, Privacy, Schema};
///
/// let schema = Schema::load("schema.toml")?;
/// let fit = Fit::new("logistic", &schema)?
///     .privacy(Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?)
///     .ledger("budget.ledger", "ward-7")
///     .run("patients.parquet")?;
/// println!("{}", fit.receipt());
/// fit.save("model.reticent")?;
/// # Ok::<(), reticent::Error>(())
/// ```
///
/// A run that names its model file beforehand, by [`out`](Self::out), keeps what it releases in a journal beside it until the model
/// is on the disk and the ledger is settled. Whatever ends it before, the same fit with [`resume`](Self::resume) continues at no further
/// cost: released values are read back, not drawn again.
#[must_use = "nothing is fitted until `run`"]
pub struct Fit {
    model: &'static dyn Model,
    schema: Schema,
    privacy: Option<Privacy>,
    /// Whether a fit without a guarantee was asked for.
    without_privacy: bool,
    settings: Settings,
    plan: Option<Value>,
    records: Option<usize>,
    memory: u64,
    bounds_share: f64,
    limits: Limits,
    layout: Option<Layout>,
    assume_public_moments: bool,
    holdout: Option<f64>,
    test: Option<Data>,
    test_is_public: bool,
    ledger: Option<(PathBuf, String)>,
    out: Option<PathBuf>,
    resume: bool,
    overwrite: bool,
    on_progress: Option<OnProgress>,
    on_notice: Option<OnNotice>,
    cancel: Cancel,
}

impl Fit {
    /// A fit of a model to records with this schema. A privacy budget must follow.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if there is no model of this name; the message lists those that there are.
    pub fn new(name: &str, schema: &Schema) -> Result<Self, Error> {
        Ok(Self {
            model: model(name)?,
            schema: schema.clone(),
            privacy: None,
            without_privacy: false,
            settings: Settings::new(),
            plan: None,
            records: None,
            memory: default_memory(),
            bounds_share: DEFAULT_BOUNDS_SHARE,
            limits: Limits::default(),
            layout: None,
            assume_public_moments: false,
            holdout: None,
            test: None,
            test_is_public: false,
            ledger: None,
            out: None,
            resume: false,
            overwrite: false,
            on_progress: None,
            on_notice: None,
            cancel: Cancel::new(),
        })
    }

    /// What may be spent.
    pub fn privacy(self, privacy: Privacy) -> Self {
        Self { privacy: Some(privacy), without_privacy: false, ..self }
    }

    /// **Not private**: a baseline without noise, to keep to yourself.
    pub fn without_privacy(self) -> Self {
        Self { privacy: None, without_privacy: true, ..self }
    }

    /// Charges the run to a data set of a ledger, which refuses it if too little is left.
    pub fn ledger(self, file: impl Into<PathBuf>, data_set: impl Into<String>) -> Self {
        Self { ledger: Some((file.into(), data_set.into())), ..self }
    }

    /// The class of the target whose probability is modelled, instead of the one that the schema states, or the second one.
    ///
    /// # Errors
    /// [`ErrorKind::Data`](crate::ErrorKind::Data) if the target has not two classes, or this is none of them.
    pub fn positive(mut self, class: &str) -> Result<Self, Error> {
        self.schema = self.schema.with_positive(class)?;
        Ok(self)
    }

    /// Protects all rows with the same value in a column together, such as those of one person, instead of single rows; in place of what the schema
    /// states.
    ///
    /// # Errors
    /// [`ErrorKind::Schema`](crate::ErrorKind::Schema) if the column is the target or a feature.
    pub fn privacy_unit(mut self, unit: PrivacyUnit) -> Result<Self, Error> {
        self.schema = self.schema.with_privacy_unit(unit)?;
        Ok(self)
    }

    /// A setting of the model; the others have their defaults. It is checked when the fit is planned.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<SettingValue>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// A plan that [`Plan::to_json`] made, edited or not. Its settings replace those of this fit.
    ///
    /// # Errors
    /// [`ErrorKind::Data`](crate::ErrorKind::Data) if it is for another model. The rest of it is checked when the fit is planned.
    pub fn plan(mut self, file: &Value) -> Result<Self, Error> {
        let (plan, settings) = plan::read_file(self.model, file)?;
        self.plan = Some(plan);
        self.settings = settings.unwrap_or(self.settings);
        Ok(self)
    }

    /// About how many records, or privacy units, there are: a public guess, which add-remove adjacency needs. Under replace-one adjacency their number is
    /// public and read from the file.
    pub fn records(self, records: usize) -> Self {
        Self { records: Some(records), ..self }
    }

    /// Bytes of encoded records that are kept in memory, [`default_memory`] unless stated. More records are read again for each release, or, with a privacy unit,
    /// kept in an encrypted temporary file.
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: bytes, ..self }
    }

    /// The share of the budget for bounds that the schema leaves private, [`DEFAULT_BOUNDS_SHARE`] by default.
    pub fn bounds_share(self, share: f64) -> Self {
        Self { bounds_share: share, ..self }
    }

    /// Allows a fit that takes much memory, time or disk.
    pub fn allow_large(self) -> Self {
        Self { limits: Limits::none(), ..self }
    }

    /// How CSV files are laid out, in place of what the schema states.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// **Not private**: scales by the mean and deviation of the data, for models without privacy that allow it.
    pub fn assume_public_moments(self) -> Self {
        Self { assume_public_moments: true, ..self }
    }

    /// Holds this share of the records out of the fit, by secret coins, for a private [`Evaluation`](crate::Evaluation) afterwards. Which they are is kept in a
    /// [file](crate::Holdout) beside the model that must not be published. Replace-one adjacency only.
    pub fn holdout(self, share: f64) -> Self {
        Self { holdout: Some(share), ..self }
    }

    /// **Not private**: records to evaluate the model on. With a model file, scores go to a file beside it.
    pub fn test(self, data: impl Into<Data>) -> Self {
        Self { test: Some(data.into()), ..self }
    }

    /// Declares that the test records are public: their scores go into the model file.
    pub fn test_is_public(self) -> Self {
        Self { test_is_public: true, ..self }
    }

    /// Where the model goes, once it is fitted and before the ledger is settled. Its owner alone may read it.
    pub fn out(self, file: impl Into<PathBuf>) -> Self {
        Self { out: Some(file.into()), ..self }
    }

    /// Whether to continue the run that was interrupted, from the journal beside the model file.
    pub fn resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    /// Whether to replace the model file, whatever it is and has cost.
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Calls a function before each release, on the thread of the run.
    pub fn on_progress(self, on_progress: impl FnMut(Step<'_>) + Send + 'static) -> Self {
        Self { on_progress: Some(Box::new(on_progress)), ..self }
    }

    /// **Not private**: calls a function with what the curator of the records should know, such as that they have a budget under another name. It depends on the
    /// records: show it to whoever holds them, and to nobody else.
    pub fn on_notice(self, on_notice: impl FnMut(&str) + 'static) -> Self {
        Self { on_notice: Some(Box::new(on_notice)), ..self }
    }

    /// Ends the run early once this flag is set, midway through a pass over a large file too.
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Refuses settings that the model does not have or that are out of their ranges, and targets that it has no fit for. [`run`](Self::run)
    /// does so first; a caller that reads a stream may want to know before.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) and [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn check_settings(&self) -> Result<(), Error> {
        self.shape(&self.schema).map(drop)
    }

    /// What the fit would release, cost and achieve for so many records. No record is read.
    ///
    /// # Errors
    /// What [`run`](Self::run) would refuse before it reads a record.
    pub fn planned(&self, records: usize) -> Result<Plan, Error> {
        if records == 0 {
            return Err(Error::settings(
                "`records` must be at least 1",
                "state the public number of records",
            ));
        }
        self.needs_bounds(&self.schema)?;
        self.check_budget()?;
        let shape = TableShape { records, ..self.shape(&self.schema)? };
        self.accepted(&self.schema, shape)
    }

    /// Fits the model to private records: plans it, reserves its cost, makes the releases, writes the model and settles.
    ///
    /// # Errors
    /// [`Error`]. What is wrong with files, settings or the budget is found before anything is charged. After that the message states what
    /// stays charged.
    pub fn run(mut self, data: impl Into<Data>) -> Result<Fitted, Error> {
        let data = data.into();
        self.check_name(&data)?;
        // Bad settings are refused before a record is read.
        self.shape(&self.schema)?;
        let layout = self.layout.unwrap_or(self.schema.layout());
        let source = data.open(layout)?;
        let schema = self.prepared_schema(&source)?;
        self.check_budget()?;
        let shape = self.shape(&schema)?;
        let test = self.test.take();
        let tests = test.as_ref().map(|test| test.open(layout)).transpose()?;
        // What could fail should fail before anything is spent.
        let known = if schema.private_bounds().next().is_some() { schema.unscaled() } else { schema.clone() };
        let encoder = Encoder::new(&known)?;
        if let Some(tests) = &tests {
            self.check_tests(&source, tests, &encoder)?;
        }
        let (out, ledger, stated) = (self.out.clone(), self.ledger.clone(), self.schema.clone());
        let place = Place {
            out: out.as_deref(),
            ledger: ledger.as_ref(),
            schema: &stated,
            kind: RunKind::Fit,
            model: self.model.name(),
            private: !self.without_privacy,
            resume: self.resume,
            overwrite: self.overwrite,
        };
        place.check_vacant()?;
        if let Some(out) = &out {
            check_writable(out).map_err(|error| place.kept(error))?;
        }
        if self.holdout.is_some() && schema.privacy_unit().is_some() {
            return Err(holdout::no_units());
        }
        let rows = data::encoded(&known, &source, numbers(self.memory), &self.cancel)?;
        let adjacency = self.privacy.map(|privacy| privacy.adjacency());
        let holdout = self.holdout.map(|share| {
            Holdout::of_fit(share, rows.count(), self.privacy.as_ref(), out.as_deref(), self.resume)
        });
        let holdout = holdout.transpose().map_err(|error| place.kept(error))?;
        let fitted = holdout.as_ref().map_or_else(|| rows.count(), |holdout| holdout.counts().1);
        let records = data::number_of_records(&source, fitted, adjacency, self.records)?;
        let plan = self.accepted(&schema, TableShape { records, ..shape })?;
        let plan_json = match self.privacy {
            Some(_) => plan.to_json(),
            None => reticent_core::model::without_privacy(plan.to_json()),
        };
        let of = self.whole_run(&data, &plan_json, holdout.as_ref());
        let charge = place.charge(&of, self.on_progress.take(), self.cancel.clone())?;
        let first = self.notice_known_records(&data, &source);
        // Whatever fails from here on is reported with what stays charged and how to resume.
        let unfinished = |error| place.unfinished(&charge, self.cancel.is_cancelled(), error);
        // Before the first release, so that a run that is resumed has the same records.
        if let (Some(holdout), Some(out)) = (&holdout, &out) {
            holdout.write_beside(out).map_err(unfinished)?;
        }
        let read = Read { source: &source, holdout: holdout.as_ref() };
        let inferred = self.infer(&plan, &schema, &read, rows, &charge);
        if let (Some(first), Some((file, data_set)), true) = (first, &ledger, charge.is_started()) {
            first.remember(file, data_set);
        }
        let Inferred { schema, posterior, mut closed } = inferred.map_err(unfinished)?;
        self.complete(&mut closed.receipt, &schema, records);
        closed.receipt.assumptions.extend(holdout.as_ref().map(|held| held.assumption(Part::Fitted)));
        let public = tests.as_ref().filter(|_| self.test_is_public);
        let public = public.map(|tests| score(posterior.as_ref(), &schema, tests));
        // What is wrong with the test records is reported once the model is safe.
        let in_file = public.as_ref().and_then(|score| score.as_ref().ok());
        closed.receipt.assumptions.extend(in_file.map(|_| PUBLIC_NOTE.to_owned()));
        let warnings = posterior.warnings(&schema.encoded_names());
        let card = Card::new(self.model, &schema, self.privacy.as_ref(), &self.settings, in_file, warnings);
        let card = Card { holdout: holdout.as_ref().map(Holdout::stated), ..card };
        let receipt = closed.receipt.clone();
        let parts = Parts { model: self.model, posterior, schema, plan: plan_json, receipt, card };
        let (model, bytes) = SavedModel::fitted(parts).map_err(unfinished)?;
        keep(out.as_deref(), &charge, &bytes, closed).map_err(unfinished)?;
        let score = match (public, &tests) {
            (Some(score), _) => Some(score?),
            (None, Some(tests)) => Some(score(model.posterior(), model.schema(), tests)?),
            (None, None) => None,
        };
        if let (Some(score), Some(test), Some(out), false) = (&score, &test, &out, self.test_is_public) {
            scores::write(out, test.label(), score)?;
        }
        Ok(Fitted { model, score, bytes })
    }

    /// Reports whether a ledger has the records under another name. Returns what it is to remember of them.
    fn notice_known_records(&mut self, data: &Data, source: &Source) -> Option<FirstRecords> {
        self.privacy?;
        let first = FirstRecords::read(&self.schema, source)?;
        let folders = data.path().into_iter().chain(self.out.as_deref()).map(|file| match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        });
        let ledger = self.ledger.as_ref().map(|(file, data_set)| (file.as_path(), data_set.as_str()));
        if let Some(on_notice) = &mut self.on_notice
            && let Some(notice) = first.notice(ledger, &folders.collect::<Vec<_>>())
        {
            on_notice(&notice);
        }
        Some(first)
    }

    fn accepted(&self, schema: &Schema, shape: TableShape) -> Result<Plan, Error> {
        Plan::new(Request {
            model: self.model,
            schema,
            shape,
            privacy: self.privacy,
            bounds_share: self.bounds_share,
            memory: self.memory,
            given: self.plan.as_ref(),
        })
    }

    /// What is fitted to what, how: a run that is resumed must be the same.
    fn whole_run(&self, data: &Data, plan: &Value, holdout: Option<&Holdout>) -> Value {
        let mut of = json!({
            "data": data.label(),
            "schema": self.schema.fingerprint(),
            "asked": self.privacy.map(|privacy| [privacy.epsilon(), privacy.delta()]),
            "adjacency": self.privacy.map(|privacy| privacy.adjacency().to_string()),
            "bounds_share": self.bounds_share,
            "data_set": self.ledger.as_ref().map(|(_, data_set)| data_set),
            "plan": plan,
        });
        if let Some(holdout) = holdout {
            of["holdout"] = holdout.digest().into();
        }
        of
    }

    /// Builds the wall, estimates bounds if the schema leaves some private, and fits.
    fn infer(
        &self,
        plan: &Plan,
        schema: &Schema,
        read: &Read<'_>,
        rows: Encoded,
        charge: &Charge,
    ) -> Result<Inferred, Error> {
        let mut schema = schema.clone();
        let wall = |records| {
            let noise = NoiseSource::from_os()?;
            let wall = Wall::open(records, noise, plan.stages()?, self.privacy.as_ref(), charge.ledger())?;
            Ok::<_, Error>(wall.observed_by(charge.observer()))
        };
        let mut wall = match &plan.bounds {
            None => wall(data::records(rows, read.holdout)?)?,
            Some(bounds) => {
                drop(rows);
                let encoded = |schema: &Schema| {
                    let rows = data::encoded(schema, read.source, numbers(self.memory), &self.cancel)?;
                    Ok::<_, Error>(data::records(rows, read.holdout)?)
                };
                let mut wall = wall(encoded(&bounds.columns)?)?;
                schema = bounds.estimate(&schema, &mut wall)?;
                wall.next_stage(encoded(&schema)?)?;
                wall
            }
        };
        let (posterior, projections) = plan.planned.fit(&mut wall)?;
        Ok(Inferred { posterior: within_bounds(posterior, &schema), schema, closed: wall.close(projections) })
    }

    /// Adds what the guarantee rests on beside the wall.
    fn complete(&self, receipt: &mut Receipt, schema: &Schema, records: usize) {
        if !schema.is_stated() {
            receipt.assumptions.retain(|assumption| assumption != BOUNDS_WERE_STATED);
        }
        if let Some(unit) = schema.privacy_unit() {
            receipt.protects(unit.column());
        }
        let rules = [schema.unit_rules(), schema.assumptions(), schema.value_rules()];
        receipt.assumptions.extend(rules.into_iter().flatten());
        let large = self.privacy.map(|privacy| privacy.delta()).filter(|delta| delta * records as f64 >= 1.0);
        receipt.assumptions.extend(large.map(|delta| {
            format!(
                "delta {delta:e} is at least 1/N and was allowed explicitly: it permits to publish whole records"
            )
        }));
    }
}

/// Where records are read from, and which of them are not.
struct Read<'a> {
    source: &'a Source,
    holdout: Option<&'a Holdout>,
}

/// A posterior behind a wall that is closed, and not settled.
struct Inferred {
    /// With the bounds that were estimated.
    schema: Schema,
    posterior: Box<dyn Posterior>,
    closed: Closed,
}
